//! Activations of accumulators: tensor cores wait while they are computed, so that each instruction counts.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use crate::matmul::activation::{self, Activation};
use cubecl::prelude::*;
use girih::cuda::approximate::sigmoid;

/// The activation.
#[cube]
pub(super) fn activate(x: f32, #[comptime] activation: Activation) -> f32 {
    if comptime!(activation == Activation::Silu) {
        x * sigmoid(x)
    } else {
        activation::activate::<f32>(x, activation)
    }
}

/// Its derivative.
#[cube]
pub(super) fn slope(x: f32, #[comptime] activation: Activation) -> f32 {
    if comptime!(activation == Activation::Silu) {
        let part = sigmoid(x);
        part + x * part * (1.0f32 - part)
    } else {
        activation::slope::<f32>(x, activation)
    }
}
