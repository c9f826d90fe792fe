//! Histograms as an extension of Burn's backends.

use burn::backend::{
    Backend, backend_extension,
    tensor::{FloatTensor, IntTensor},
};

/// The bins of a histogram: the equal parts of a range, or the numbers themselves.
pub type Range = Option<[f64; 2]>;

/// Histograms of a backend's own tensors.
///
/// Arguments are those of [`histogram`](crate::histogram()) and [`weighted_histogram`](crate::weighted_histogram), which check
/// them; an op called directly panics on what they refuse.
#[backend_extension(
    Cube: cfg(any(feature = "cpu", feature = "cuda", feature = "vulkan", feature = "wgpu")),
    Autodiff,
    Fusion: cfg(feature = "fusion")
)]
pub trait HistogramBackend: Backend {
    /// How many floats there are in each bin.
    #[fusion(meta = metadata::counts)]
    fn histogram_float(values: FloatTensor<Self>, bins: usize, range: Range) -> IntTensor<Self>;

    /// How many integers there are in each bin.
    #[fusion(meta = metadata::counts)]
    fn histogram_int(values: IntTensor<Self>, bins: usize, range: Range) -> IntTensor<Self>;

    /// The weight of floats in each bin.
    #[fusion(meta = metadata::sums)]
    fn weigh_float(
        values: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        bins: usize,
        range: Range,
    ) -> FloatTensor<Self>;

    /// The weight of integers in each bin.
    #[fusion(meta = metadata::sums)]
    fn weigh_int(
        values: IntTensor<Self>,
        weights: FloatTensor<Self>,
        bins: usize,
        range: Range,
    ) -> FloatTensor<Self>;

    /// The bin of every float, -1 where it has none.
    #[fusion(meta = metadata::places)]
    fn bins_float(values: FloatTensor<Self>, bins: usize, range: Range) -> IntTensor<Self>;

    /// The bin of every integer, -1 where it has none.
    #[fusion(meta = metadata::places)]
    fn bins_int(values: IntTensor<Self>, bins: usize, range: Range) -> IntTensor<Self>;
}

/// What fusion knows of an op's output before it runs.
#[cfg(feature = "fusion")]
mod metadata {
    use super::Range;
    use crate::sort::COUNT;
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::{DType, Shape};

    pub(super) fn counts(_values: &TensorSpec, bins: &usize, _range: &Range) -> TensorSpec {
        TensorSpec::new(Shape::from([*bins]), COUNT)
    }

    pub(super) fn sums(
        _values: &TensorSpec,
        weights: &TensorSpec,
        bins: &usize,
        _range: &Range,
    ) -> TensorSpec {
        TensorSpec::new(Shape::from([*bins]), weights.dtype)
    }

    pub(super) fn places(values: &TensorSpec, _bins: &usize, _range: &Range) -> TensorSpec {
        TensorSpec::new(values.shape.clone(), DType::I32)
    }
}
