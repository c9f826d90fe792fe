//! Row-sparse gradients and steps on them as an extension of Burn's backends.

use burn::backend::{
    Backend, backend_extension,
    tensor::{FloatTensor, IntTensor},
};
use girih::Bounds;
use girih_kernels::SparseStep;

/// Rows of gradients of a backend's own tensors, and steps of optimisers on them.
///
/// Arguments are those of [`SparseGrad`](crate::SparseGrad) and of the optimisers, which check them; an op called directly panics on
/// what they refuse.
#[backend_extension(
    Cube: cfg(any(feature = "cpu", feature = "cuda", feature = "vulkan", feature = "wgpu")),
    Autodiff,
    Fusion: cfg(feature = "fusion")
)]
pub trait SparseBackend: Backend {
    /// Rows of a gradient added up by what they are of: which row of the table each is, and the rows.
    #[fusion(meta = metadata::combine)]
    fn combine_rows_float(
        gradient: FloatTensor<Self>,
        index: IntTensor<Self>,
        extent: usize,
        padding: Option<usize>,
        bounds: Bounds,
    ) -> (IntTensor<Self>, FloatTensor<Self>);

    /// A parameter and its states after a step on some rows; states that the step has not are given back as they are.
    #[fusion(meta = metadata::step)]
    fn sparse_step_float(
        parameter: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        index: IntTensor<Self>,
        rows: FloatTensor<Self>,
        step: SparseStep,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);
}

/// What fusion knows of an op's outputs before it runs.
#[cfg(feature = "fusion")]
mod metadata {
    use super::{Bounds, SparseStep};
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::DType;

    pub(super) fn combine(
        gradient: &TensorSpec,
        index: &TensorSpec,
        _extent: &usize,
        _padding: &Option<usize>,
        _bounds: &Bounds,
    ) -> (TensorSpec, TensorSpec) {
        let which = TensorSpec::new(index.shape.clone(), DType::I32);
        (which, gradient.clone())
    }

    pub(super) fn step(
        parameter: &TensorSpec,
        first: &TensorSpec,
        second: &TensorSpec,
        _index: &TensorSpec,
        _rows: &TensorSpec,
        _step: &SparseStep,
    ) -> (TensorSpec, TensorSpec, TensorSpec) {
        (parameter.clone(), first.clone(), second.clone())
    }
}
