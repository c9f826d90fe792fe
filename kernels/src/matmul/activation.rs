//! What becomes of an element of a product before it is stored.

use cubecl::prelude::*;

/// A function of each element of a product, in the type of its sums.
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
pub(crate) fn activate<F: Float>(x: F, #[comptime] activation: Activation) -> F {
    match comptime!(activation) {
        Activation::Identity => x,
        // The comparison is false for NaN, which stays.
        Activation::Relu => select(x < F::new(0.0), F::new(0.0), x),
        Activation::Silu => x / (F::new(1.0) + F::exp(-x)),
        Activation::Gelu => F::new(0.5) * x * (F::new(1.0) + F::erf(x * F::new(0.707_106_77))),
    }
}

/// The derivative of an activation. Where it has none, at 0 of `Relu`, it is 0.
#[cube]
pub(crate) fn slope<F: Float>(x: F, #[comptime] activation: Activation) -> F {
    match comptime!(activation) {
        Activation::Identity => F::new(1.0),
        // NaN passes the gradient, as it passed the activation.
        Activation::Relu => select(x <= F::new(0.0), F::new(0.0), F::new(1.0)),
        Activation::Silu => {
            let sigmoid = F::new(1.0) / (F::new(1.0) + F::exp(-x));
            sigmoid * (F::new(1.0) + x * (F::new(1.0) - sigmoid))
        }
        Activation::Gelu => {
            let below = F::new(0.5) * (F::new(1.0) + F::erf(x * F::new(0.707_106_77)));
            below + x * F::new(0.398_942_3) * F::exp(F::new(-0.5) * x * x)
        }
    }
}
