//! Operands that look random.

use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;

/// A number that an element type has, by its position: of integers -128 to 127, of others as many of -1 to 1.
pub(super) fn value(position: usize, seed: u32, dtype: ElemType) -> f64 {
    let number = f64::from((mixed(position as u32, seed) >> 24) as i32 - 128);
    match dtype {
        ElemType::Int(_) => number,
        _ => number / 128.0,
    }
}

fn mixed(position: u32, seed: u32) -> u32 {
    let mut hash = position.wrapping_mul(0x9e37_79b1) ^ seed;
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x85eb_ca77);
    hash ^ hash >> 13
}

/// The same on the device.
#[cube(launch_unchecked)]
fn fill_kernel<E: Numeric>(out: &mut [E], len: usize, seed: u32, #[define(E)] _type: ElemType) {
    let kind = elem_type_of::<E>();
    let mut position = ABSOLUTE_POS;
    let stride = CUBE_COUNT * CUBE_DIM as usize;
    while position < len {
        let mut hash = (position as u32 * 0x9e37_79b1u32) ^ seed;
        hash ^= hash >> 15u32;
        hash *= 0x85eb_ca77u32;
        hash ^= hash >> 13u32;
        let number = f32::cast_from(hash >> 24u32) - 128.0f32;
        let scale = comptime!(match kind {
            ElemType::Int(_) => 1.0f32,
            _ => 128.0f32,
        });
        out[position] = E::cast_from(number / scale);
        position += stride;
    }
}

/// A tensor of numbers that its seed says.
pub(super) fn filled(client: &Client, shape: &[usize], dtype: ElemType, seed: u32) -> TensorHandle {
    let len: usize = shape.iter().product();
    let handle = client.empty(len * dtype.size());
    let units = client.properties().hardware.max_units_per_cube.min(256);
    // SAFETY: the kernel stays below the length.
    unsafe {
        fill_kernel::launch_unchecked(
            client,
            CubeCount::new_1d(2048),
            CubeDim::new_1d(units),
            BufferArg::from_raw_parts(handle.clone(), len),
            len,
            seed,
            dtype,
        );
    }
    TensorHandle::new_contiguous(shape.to_vec(), handle, dtype)
}
