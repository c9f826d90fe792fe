//! Zeros, and numbers in another type.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

use super::super::rows::{address, buffer, room};
use crate::scan::cubes;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::server::Handle;
use girih::device::{Device, Target};

/// Zeros.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn zeros_kernel<A: Numeric, N: Size>(
    out: &mut [Vector<A, N>],
    vectors: usize,
    #[define(A)] _type: ElemType,
) {
    let mut at = ABSOLUTE_POS;
    let step = CUBE_COUNT * CUBE_DIM as usize;
    while at < vectors {
        out[at] = Vector::new(A::from_int(0));
        at += step;
    }
}

/// The same numbers in another type.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn convert_kernel<A: Numeric, E: Numeric>(
    from: &[A],
    to: &mut [E],
    count: usize,
    #[define(A, E)] _types: [ElemType; 2],
) {
    let mut at = ABSOLUTE_POS;
    let step = CUBE_COUNT * CUBE_DIM as usize;
    while at < count {
        to[at] = E::cast_from(from[at]);
        at += step;
    }
}

/// Units for so many elements, one or a few to each.
pub(crate) fn each(device: &Device, elements: usize) -> (CubeCount, CubeDim) {
    let most = device.client().properties().hardware.max_units_per_cube;
    let units = 1u32 << most.clamp(1, 256).ilog2();
    let all = elements.div_ceil(units as usize).max(1);
    let all = match device.target() {
        Target::Cpu => all.min(16),
        _ => all,
    };
    (cubes(device, all), CubeDim::new_1d(units))
}

/// So many zeros.
pub(crate) fn zeros(device: &Device, element: ElemType, count: usize) -> Handle {
    let client = device.client();
    let widths = device.vector_widths(element.size());
    let width = widths
        .into_iter()
        .find(|width| count.is_multiple_of(*width))
        .unwrap_or(1);
    let out = room(client, count, element.size());
    let vectors = count / width;
    if vectors > 0 {
        let (cubes, cube) = each(device, vectors);
        // SAFETY: vectors are below their number.
        unsafe {
            zeros_kernel::launch_unchecked(
                client,
                cubes,
                cube,
                address(&[count]),
                width,
                buffer(&out, count),
                vectors,
                element,
            );
        }
    }
    out
}

/// The same numbers in another type.
pub(crate) fn convert(
    device: &Device,
    from: &Handle,
    given: ElemType,
    to: &Handle,
    wanted: ElemType,
    count: usize,
) {
    if count == 0 {
        return;
    }
    let (cubes, cube) = each(device, count);
    // SAFETY: elements are below their number.
    unsafe {
        convert_kernel::launch_unchecked(
            device.client(),
            cubes,
            cube,
            address(&[count]),
            buffer(from, count),
            buffer(to, count),
            count,
            [given, wanted],
        );
    }
}
