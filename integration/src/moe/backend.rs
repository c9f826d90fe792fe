//! A mixture of experts as an extension of Burn's backends.

use burn::backend::{
    Backend, ExtensionType, backend_extension,
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

/// Who goes where, of `T` tokens with `k` experts of `E` each.
#[derive(Clone, Debug, ExtensionType)]
#[extension_type(fusion: cfg(feature = "fusion"))]
pub struct MoeRoutes<B: Backend> {
    /// Of each token the weights of its experts, `[T, k]`.
    pub weights: FloatTensor<B>,
    /// These experts, the one with the largest score first, `[T, k]`.
    pub chosen: IntTensor<B>,
    /// The places of its routes in the order of experts, `[T, k]`.
    pub places: IntTensor<B>,
    /// The token of each place, `[T k]`.
    pub sources: IntTensor<B>,
    /// Where the places of each expert end, `[E]`.
    pub ends: IntTensor<B>,
}

/// Experts, and the tokens that go to them.
#[derive(Clone, Debug, ExtensionType)]
#[extension_type(fusion: cfg(feature = "fusion"))]
pub struct MoeExperts<B: Backend> {
    /// `[T, M]`.
    pub tokens: FloatTensor<B>,
    /// The matrices of the first products, `[E, M, H]`.
    pub up: FloatTensor<B>,
    /// Those of the second, `[E, H, M]`.
    pub down: FloatTensor<B>,
    /// Who goes where.
    #[extension_type]
    pub routes: MoeRoutes<B>,
}

/// What the gradients of experts need of each place.
#[derive(Clone, Debug, ExtensionType)]
#[extension_type(fusion: cfg(feature = "fusion"))]
pub struct MoeKept<B: Backend> {
    /// Its token, `[T k, M]`.
    pub given: FloatTensor<B>,
    /// Its first product, `[T k, H]`.
    pub before: FloatTensor<B>,
    /// The activation of that, `[T k, H]`.
    pub hidden: FloatTensor<B>,
    /// Its second product, `[T k, M]`.
    pub made: FloatTensor<B>,
}

/// What experts make of their tokens, and what gradients need.
#[derive(Clone, Debug, ExtensionType)]
#[extension_type(fusion: cfg(feature = "fusion"))]
pub struct MoePassed<B: Backend> {
    /// Weighted and added up by token, `[T, M]`.
    pub sums: FloatTensor<B>,
    /// What gradients need.
    #[extension_type]
    pub kept: MoeKept<B>,
}

/// The gradients of experts, of the shapes of what they are for.
#[derive(Clone, Debug, ExtensionType)]
#[extension_type(fusion: cfg(feature = "fusion"))]
pub struct MoeGradients<B: Backend> {
    /// That of the tokens.
    pub tokens: FloatTensor<B>,
    /// That of the weights.
    pub weights: FloatTensor<B>,
    /// That of the first products' matrices.
    pub up: FloatTensor<B>,
    /// That of the second products'.
    pub down: FloatTensor<B>,
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
    /// Of each token the `k` experts with the largest scores, and the routes to them.
    #[fusion(meta = metadata::route)]
    fn route_to_experts(scores: FloatTensor<Self>, k: usize, normalise: bool) -> MoeRoutes<Self>;

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
    fn through_experts(
        #[extension_type] experts: MoeExperts<Self>,
        activation: Activation,
    ) -> FloatTensor<Self>;

    /// The same, and what the gradients need.
    #[fusion(meta = metadata::through_kept)]
    fn through_experts_kept(
        #[extension_type] experts: MoeExperts<Self>,
        activation: Activation,
    ) -> MoePassed<Self>;

    /// The gradients of the tokens, the weights, and both kinds of matrices.
    #[fusion(meta = metadata::through_backward)]
    fn through_experts_backward(
        gradient: FloatTensor<Self>,
        #[extension_type] experts: MoeExperts<Self>,
        #[extension_type] kept: MoeKept<Self>,
        activation: Activation,
        wanted: Wanted,
    ) -> MoeGradients<Self>;
}

/// What fusion knows of an op's outputs before it runs.
#[cfg(feature = "fusion")]
mod metadata {
    use super::{
        Activation, MoeExpertsMetadata, MoeGradientsMetadata, MoeKeptMetadata, MoePassedMetadata,
        MoeRoutesMetadata, Wanted,
    };
    use crate::matmul::sum_type;
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::{DType, Shape};

    pub(super) fn route(scores: &TensorSpec, k: &usize, _normalise: &bool) -> MoeRoutesMetadata {
        let [tokens, experts] = [scores.shape[0], scores.shape[1]];
        let of_routes = Shape::from([tokens, *k]);
        let list = |shape: Shape| TensorSpec::new(shape, DType::I32);
        MoeRoutesMetadata {
            weights: TensorSpec::new(of_routes.clone(), sum_type(scores.dtype)),
            chosen: list(of_routes.clone()),
            places: list(of_routes),
            sources: list(Shape::from([tokens * k])),
            ends: list(Shape::from([experts])),
        }
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

    pub(super) fn through(experts: &MoeExpertsMetadata, _activation: &Activation) -> TensorSpec {
        experts.tokens.clone()
    }

    pub(super) fn through_kept(
        experts: &MoeExpertsMetadata,
        _activation: &Activation,
    ) -> MoePassedMetadata {
        let places = experts.routes.sources.shape[0];
        let rows =
            |columns: usize| TensorSpec::new(Shape::from([places, columns]), experts.tokens.dtype);
        let of_token = rows(experts.tokens.shape[1]);
        let hidden = rows(experts.up.shape[2]);
        MoePassedMetadata {
            sums: experts.tokens.clone(),
            kept: MoeKeptMetadata {
                given: of_token.clone(),
                before: hidden.clone(),
                hidden,
                made: of_token,
            },
        }
    }

    pub(super) fn through_backward(
        _gradient: &TensorSpec,
        experts: &MoeExpertsMetadata,
        _kept: &MoeKeptMetadata,
        _activation: &Activation,
        wanted: &Wanted,
    ) -> MoeGradientsMetadata {
        let of = |tensor: &TensorSpec, is_wanted: bool| match is_wanted {
            true => tensor.clone(),
            false => TensorSpec::new(Shape::from([0]), tensor.dtype),
        };
        MoeGradientsMetadata {
            tokens: of(&experts.tokens, wanted.tokens),
            weights: experts.routes.weights.clone(),
            up: of(&experts.up, wanted.up),
            down: of(&experts.down, wanted.down),
        }
    }
}
