//! The kernels of activations that no product takes along.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

use crate::matmul::activation::{Activation, activate, slope};
use cubecl::ir::ElemType;
use cubecl::prelude::*;

/// `out = activation(values)`.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn activate_kernel<E: Float, W: Float, N: Size>(
    values: &[Vector<E, N>],
    out: &mut [Vector<E, N>],
    vectors: usize,
    #[comptime] activation: Activation,
    #[define(E, W)] _types: [ElemType; 2],
) {
    let mut at = ABSOLUTE_POS;
    while at < vectors {
        let value = values[at];
        let mut made = Vector::<E, N>::new(E::from_int(0));
        #[unroll]
        for lane in 0..N::value() {
            let x = W::cast_from(value.extract(lane));
            made.insert(lane, E::cast_from(activate::<W>(x, activation)));
        }
        out[at] = made;
        at += CUBE_COUNT * CUBE_DIM as usize;
    }
}

/// `gradient *=` the activation's slope at `values`.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn activate_backward_kernel<E: Float, W: Float, N: Size>(
    values: &[Vector<E, N>],
    gradient: &mut [Vector<E, N>],
    vectors: usize,
    #[comptime] activation: Activation,
    #[define(E, W)] _types: [ElemType; 2],
) {
    let mut at = ABSOLUTE_POS;
    while at < vectors {
        let value = values[at];
        let above = gradient[at];
        let mut below = Vector::<E, N>::new(E::from_int(0));
        #[unroll]
        for lane in 0..N::value() {
            let x = W::cast_from(value.extract(lane));
            let factor = W::cast_from(above.extract(lane));
            below.insert(lane, E::cast_from(factor * slope::<W>(x, activation)));
        }
        gradient[at] = below;
        at += CUBE_COUNT * CUBE_DIM as usize;
    }
}
