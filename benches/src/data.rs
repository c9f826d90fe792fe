//! Random elements that the host knows without keeping them: each is a hash of its position.

use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;

/// Random bits of elements that are summed.
pub(crate) const BITS_TO_SUM: u32 = 7;

/// The element at a position: an odd multiple of 2^-bits between -1 and 1, `bits` at most 24. It is never 0, and exact in
/// every type with so many bits of significand.
pub(crate) fn value(position: u32, seed: u32, bits: u32) -> f32 {
    let mut hash = position.wrapping_mul(0x9e37_79b1) ^ seed;
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x85eb_ca77);
    hash ^= hash >> 13;
    let odd = 2 * (hash >> (32 - bits)) as i32 + 1 - (1 << bits);
    odd as f32 / (1u32 << bits) as f32
}

/// As [`value`], for every position.
#[cube(launch_unchecked)]
fn fill_kernel<E: Numeric>(
    out: &mut [E],
    seed: u32,
    #[comptime] bits: u32,
    #[define(E)] _dtype: ElemType,
) {
    let mut position = ABSOLUTE_POS;
    let stride = CUBE_COUNT * CUBE_DIM as usize;
    while position < out.len() {
        let mut hash = (position as u32 * 0x9e37_79b1u32) ^ seed;
        hash ^= hash >> 15u32;
        hash *= 0x85eb_ca77u32;
        hash ^= hash >> 13u32;
        let shift = comptime!(32 - bits);
        let one = comptime!(1i32 << bits);
        let odd = 2i32 * (hash >> shift) as i32 + 1i32 - one;
        let scale = comptime!(1.0f32 / (1u32 << bits) as f32);
        out[position] = E::cast_from(f32::cast_from(odd) * scale);
        position += stride;
    }
}

/// The same value everywhere.
#[cube(launch_unchecked)]
fn constant_kernel<E: Numeric>(out: &mut [E], value: f32, #[define(E)] _dtype: ElemType) {
    let mut position = ABSOLUTE_POS;
    let stride = CUBE_COUNT * CUBE_DIM as usize;
    while position < out.len() {
        out[position] = E::cast_from(value);
        position += stride;
    }
}

/// 1 where the source is above 0, and 0 elsewhere.
#[cube(launch_unchecked)]
fn positive_kernel(source: &[f32], mask: &mut [u8]) {
    let mut position = ABSOLUTE_POS;
    let stride = CUBE_COUNT * CUBE_DIM as usize;
    while position < mask.len() {
        mask[position] = u8::cast_from(source[position] > 0.0f32);
        position += stride;
    }
}

/// Marks the elements of a contiguous tensor of f32 that are above 0.
pub(crate) fn positive(client: &Client, source: &TensorHandle, mask: &TensorHandle) {
    let (cubes, cube) = spread(client);
    let ((from, _), (to, _)) = (whole(source), whole(mask));
    // SAFETY: the kernel stays below the length of the mask, which is that of the source.
    unsafe { positive_kernel::launch_unchecked(client, cubes, cube, from, to) }
}

/// Fills a contiguous tensor with random elements.
pub(crate) fn fill(client: &Client, tensor: &TensorHandle, seed: u32, bits: u32) {
    let (cubes, cube) = spread(client);
    let (out, _) = whole(tensor);
    // SAFETY: the kernel writes below the length of its argument alone.
    unsafe { fill_kernel::launch_unchecked(client, cubes, cube, out, seed, bits, tensor.dtype) }
}

/// Fills a contiguous tensor with one value.
pub(crate) fn constant(client: &Client, tensor: &TensorHandle, value: f32) {
    let (cubes, cube) = spread(client);
    let (out, _) = whole(tensor);
    // SAFETY: the kernel writes below the length of its argument alone.
    unsafe { constant_kernel::launch_unchecked(client, cubes, cube, out, value, tensor.dtype) }
}

/// A contiguous tensor as a kernel's slice, and its length.
pub(crate) fn whole(tensor: &TensorHandle) -> (BufferArg, usize) {
    let len = tensor.shape().iter().product();
    // SAFETY: the benchmark's tensors are contiguous and have buffers of their own, of this length.
    (
        unsafe { BufferArg::from_raw_parts(tensor.handle.clone(), len) },
        len,
    )
}

/// A cube that suits the device.
pub(crate) fn cube(client: &Client) -> CubeDim {
    CubeDim::new_1d(client.properties().hardware.max_units_per_cube.min(256))
}

/// Enough cubes to fill a device, for kernels that stride over their buffer.
fn spread(client: &Client) -> (CubeCount, CubeDim) {
    (CubeCount::new_1d(4096), cube(client))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_odd_multiples_between_the_bounds() {
        for bits in [1, BITS_TO_SUM, 8, 24] {
            for position in 0..1000 {
                let value = value(position, 5, bits);
                let scaled = value * (1u32 << bits) as f32;
                assert!(value.abs() < 1.0 && scaled.fract() == 0.0 && scaled as i32 % 2 != 0);
            }
        }
    }
}
