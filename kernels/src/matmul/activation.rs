//! What becomes of an element of a product before it is stored.

use cubecl::prelude::*;

/// A function of each element of a product, in `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Activation {
    /// The element itself.
    #[default]
    Identity,
    /// `max(x, 0)`; of NaN, NaN.
    Relu,
    /// `x / (1 + exp(-x))`.
    Silu,
    /// `x (1 + erf(x / sqrt(2))) / 2`.
    Gelu,
}

#[cube]
pub(crate) fn activate(x: f32, #[comptime] activation: Activation) -> f32 {
    match comptime!(activation) {
        Activation::Identity => x,
        // The comparison is false for NaN, which stays.
        Activation::Relu => select(x < 0.0f32, 0.0f32, x),
        Activation::Silu => x / (1.0f32 + f32::exp(-x)),
        Activation::Gelu => 0.5f32 * x * (1.0f32 + f32::erf(x * 0.707_106_77f32)),
    }
}
