//! A mixture of experts as an extension of Burn's backends.
#![allow(clippy::type_complexity, reason = "five tensors of one launch")]

use burn::backend::{
    Backend, backend_extension,
    tensor::{FloatTensor, IntTensor},
};
use girih_kernels::Activation;

/// Which gradients of experts are computed; those that are not are empty tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// That of the tokens.
    pub tokens: bool,
    /// That of the first products' matrices.
    pub up: bool,
    /// That of the second products'.
    pub down: bool,
}

/// Routers and experts on a backend's own tensors.
///
/// Arguments are those that [`MoeLayer`](crate::MoeLayer) gives, which checks them; an op called directly panics on what
/// `girih_kernels`' launchers refuse. Ops that end in `backward` have no gradient themselves.
#[backend_extension(
    Cube: cfg(any(feature = "cpu", feature = "cuda", feature = "vulkan", feature = "wgpu")),
    Autodiff,
    Fusion: cfg(feature = "fusion")
)]
pub trait MoeBackend: Backend {
    /// Of each token the weights of the `k` experts with the largest scores, these experts, and the places of its routes in the order of
    /// experts; the token of each place; where the places of each expert end.
    #[fusion(meta = metadata::route)]
    fn route_to_experts(
        scores: FloatTensor<Self>,
        k: usize,
        normalise: bool,
    ) -> (
        FloatTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
    );

    /// The gradient of the scores.
    #[fusion(meta = metadata::route_backward)]
    fn route_to_experts_backward(
        gradient: FloatTensor<Self>,
        scores: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        chosen: IntTensor<Self>,
        normalise: bool,
    ) -> FloatTensor<Self>;

    /// What experts make of their tokens, weighted and added up by token.
    #[fusion(meta = metadata::through)]
    #[allow(clippy::too_many_arguments)]
    fn through_experts(
        tokens: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        up: FloatTensor<Self>,
        down: FloatTensor<Self>,
        places: IntTensor<Self>,
        sources: IntTensor<Self>,
        ends: IntTensor<Self>,
        activation: Activation,
    ) -> FloatTensor<Self>;

    /// The same, and of each place what the gradients need: its first product, the activation of it, and its second product.
    #[fusion(meta = metadata::through_kept)]
    #[allow(clippy::too_many_arguments)]
    fn through_experts_kept(
        tokens: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        up: FloatTensor<Self>,
        down: FloatTensor<Self>,
        places: IntTensor<Self>,
        sources: IntTensor<Self>,
        ends: IntTensor<Self>,
        activation: Activation,
    ) -> (
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
    );

    /// The gradients of the tokens, the weights, and both kinds of matrices.
    #[fusion(meta = metadata::through_backward)]
    #[allow(clippy::too_many_arguments)]
    fn through_experts_backward(
        gradient: FloatTensor<Self>,
        tokens: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        up: FloatTensor<Self>,
        down: FloatTensor<Self>,
        places: IntTensor<Self>,
        sources: IntTensor<Self>,
        ends: IntTensor<Self>,
        before: FloatTensor<Self>,
        hidden: FloatTensor<Self>,
        made: FloatTensor<Self>,
        activation: Activation,
        wanted: Wanted,
    ) -> (
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
    );
}

/// What fusion knows of an op's outputs before it runs.
#[cfg(feature = "fusion")]
mod metadata {
    use super::{Activation, Wanted};
    use crate::matmul::sum_type;
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::{DType, Shape};

    type Specs5 = (TensorSpec, TensorSpec, TensorSpec, TensorSpec, TensorSpec);
    type Specs4 = (TensorSpec, TensorSpec, TensorSpec, TensorSpec);

    pub(super) fn route(scores: &TensorSpec, k: &usize, _normalise: &bool) -> Specs5 {
        let [tokens, experts] = [scores.shape[0], scores.shape[1]];
        let of_routes = Shape::from([tokens, *k]);
        let list = |shape: Shape| TensorSpec::new(shape, DType::I32);
        (
            TensorSpec::new(of_routes.clone(), sum_type(scores.dtype)),
            list(of_routes.clone()),
            list(of_routes),
            list(Shape::from([tokens * k])),
            list(Shape::from([experts])),
        )
    }

    pub(super) fn route_backward(
        _gradient: &TensorSpec,
        scores: &TensorSpec,
        _weights: &TensorSpec,
        _chosen: &TensorSpec,
        _normalise: &bool,
    ) -> TensorSpec {
        scores.clone()
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn through(
        tokens: &TensorSpec,
        _weights: &TensorSpec,
        _up: &TensorSpec,
        _down: &TensorSpec,
        _places: &TensorSpec,
        _sources: &TensorSpec,
        _ends: &TensorSpec,
        _activation: &Activation,
    ) -> TensorSpec {
        tokens.clone()
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn through_kept(
        tokens: &TensorSpec,
        _weights: &TensorSpec,
        up: &TensorSpec,
        _down: &TensorSpec,
        _places: &TensorSpec,
        sources: &TensorSpec,
        _ends: &TensorSpec,
        _activation: &Activation,
    ) -> Specs4 {
        let rows = |columns: usize| {
            TensorSpec::new(Shape::from([sources.shape[0], columns]), tokens.dtype)
        };
        let hidden = rows(up.shape[2]);
        (
            tokens.clone(),
            hidden.clone(),
            hidden,
            rows(tokens.shape[1]),
        )
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn through_backward(
        _gradient: &TensorSpec,
        tokens: &TensorSpec,
        weights: &TensorSpec,
        up: &TensorSpec,
        down: &TensorSpec,
        _places: &TensorSpec,
        _sources: &TensorSpec,
        _ends: &TensorSpec,
        _before: &TensorSpec,
        _hidden: &TensorSpec,
        _made: &TensorSpec,
        _activation: &Activation,
        wanted: &Wanted,
    ) -> Specs4 {
        let of = |tensor: &TensorSpec, is_wanted: bool| match is_wanted {
            true => tensor.clone(),
            false => TensorSpec::new(Shape::from([0]), tensor.dtype),
        };
        (
            of(tokens, wanted.tokens),
            weights.clone(),
            of(up, wanted.up),
            of(down, wanted.down),
        )
    }
}
