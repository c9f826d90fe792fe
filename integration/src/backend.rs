//! The ops as an extension of Burn's backends.
//!
//! The macro writes the implementations for `Dispatch`, which finds the backend of a tensor, and for
//! `Fusion<B>`, where an op waits in the queue with the others. [`cube`](crate::cube) launches the
//! kernels, [`autodiff`](crate::autodiff) has the backward passes.

use burn::backend::{
    Backend, backend_extension,
    tensor::{FloatTensor, IntTensor},
};
use girih::Bounds;
use girih_kernels::{GatherOptions, ScatterMode, ScatterOptions};

/// Gather and scatter on a backend's own tensors.
///
/// Each op returns its result and a record, an integer tensor: under [`Bounds::Report`] the position of the
/// first index out of range, or `u32::MAX` where there is none; else it is empty. Arguments are those of
/// [`gather`](crate::gather()), [`scatter`](crate::scatter()) and [`scatter_sum`](crate::scatter_sum()),
/// which check them; an op called directly panics on what they refuse.
#[backend_extension(
    Cube: cfg(any(feature = "cpu", feature = "cuda", feature = "vulkan", feature = "wgpu")),
    Autodiff,
    Fusion: cfg(feature = "fusion")
)]
pub trait IndexBackend: Backend {
    /// Slices of a float table.
    #[fusion(meta = metadata::gather_float)]
    fn gather_float(
        table: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        options: GatherOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>);

    /// Slices of an integer table.
    #[fusion(meta = metadata::gather)]
    fn gather_int(
        table: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> (IntTensor<Self>, IntTensor<Self>);

    /// Slices of a float table without a record, which under fusion costs as much as the slices do: under any policy but
    /// [`Bounds::Report`].
    #[fusion(meta = metadata::gather_float_alone)]
    fn gather_float_alone(
        table: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        options: GatherOptions,
    ) -> FloatTensor<Self>;

    /// The gradient of a float table of which slices were gathered, with so many along the axis: under any policy but
    /// [`Bounds::Report`].
    #[fusion(meta = metadata::gather_backward)]
    fn gather_backward_float(
        gradient: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        options: GatherOptions,
    ) -> FloatTensor<Self>;

    /// The same of an integer table.
    #[fusion(meta = metadata::gather_alone)]
    fn gather_int_alone(
        table: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> IntTensor<Self>;

    /// A float target with slices written or combined with.
    #[fusion(meta = metadata::scatter)]
    fn scatter_float(
        target: FloatTensor<Self>,
        index: IntTensor<Self>,
        updates: FloatTensor<Self>,
        axis: usize,
        mode: ScatterMode,
        options: ScatterOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>);

    /// An integer target with slices written or combined with.
    #[fusion(meta = metadata::scatter)]
    fn scatter_int(
        target: IntTensor<Self>,
        index: IntTensor<Self>,
        updates: IntTensor<Self>,
        axis: usize,
        mode: ScatterMode,
        options: ScatterOptions,
    ) -> (IntTensor<Self>, IntTensor<Self>);

    /// A float target with slices written or combined with, without a record: under any policy but [`Bounds::Report`].
    #[fusion(meta = metadata::scatter_alone)]
    fn scatter_float_alone(
        target: FloatTensor<Self>,
        index: IntTensor<Self>,
        updates: FloatTensor<Self>,
        axis: usize,
        mode: ScatterMode,
        options: ScatterOptions,
    ) -> FloatTensor<Self>;

    /// The same of an integer target.
    #[fusion(meta = metadata::scatter_alone)]
    fn scatter_int_alone(
        target: IntTensor<Self>,
        index: IntTensor<Self>,
        updates: IntTensor<Self>,
        axis: usize,
        mode: ScatterMode,
        options: ScatterOptions,
    ) -> IntTensor<Self>;

    /// Sums of float slices, `extent` of them along the axis.
    #[fusion(meta = metadata::scatter_sum)]
    fn scatter_sum_float(
        updates: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        options: ScatterOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>);

    /// Sums of integer slices, `extent` of them along the axis.
    #[fusion(meta = metadata::scatter_sum)]
    fn scatter_sum_int(
        updates: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        options: ScatterOptions,
    ) -> (IntTensor<Self>, IntTensor<Self>);

    /// Sums of float slices without a record: under any policy but [`Bounds::Report`].
    #[fusion(meta = metadata::scatter_sum_alone)]
    fn scatter_sum_float_alone(
        updates: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        options: ScatterOptions,
    ) -> FloatTensor<Self>;

    /// The same of integers.
    #[fusion(meta = metadata::scatter_sum_alone)]
    fn scatter_sum_int_alone(
        updates: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        options: ScatterOptions,
    ) -> IntTensor<Self>;
}

/// What fusion knows of an op's outputs before it runs. Burn trusts the shapes, so they are computed by
/// the functions that [`cube`](crate::cube) allocates with.
#[cfg(feature = "fusion")]
mod metadata {
    use super::{Bounds, GatherOptions, ScatterMode, ScatterOptions};
    use crate::cube::{RECORD_DTYPE, record_shape, with_extent};
    use burn::backend::fusion::custom::TensorSpec;

    type Outputs = (TensorSpec, TensorSpec);

    fn record(bounds: &Bounds) -> TensorSpec {
        TensorSpec::new(record_shape(*bounds), RECORD_DTYPE)
    }

    pub(super) fn gather(
        table: &TensorSpec,
        index: &TensorSpec,
        axis: &usize,
        bounds: &Bounds,
    ) -> Outputs {
        scatter_sum(table, index, axis, &index.shape[0], &(*bounds).into())
    }

    pub(super) fn gather_float(
        table: &TensorSpec,
        index: &TensorSpec,
        axis: &usize,
        options: &GatherOptions,
    ) -> Outputs {
        gather(table, index, axis, &options.bounds)
    }

    pub(super) fn gather_float_alone(
        table: &TensorSpec,
        index: &TensorSpec,
        axis: &usize,
        options: &GatherOptions,
    ) -> TensorSpec {
        gather_float(table, index, axis, options).0
    }

    pub(super) fn gather_backward(
        gradient: &TensorSpec,
        _index: &TensorSpec,
        axis: &usize,
        extent: &usize,
        _options: &GatherOptions,
    ) -> TensorSpec {
        TensorSpec::new(with_extent(&gradient.shape, *axis, *extent), gradient.dtype)
    }

    pub(super) fn gather_alone(
        table: &TensorSpec,
        index: &TensorSpec,
        axis: &usize,
        bounds: &Bounds,
    ) -> TensorSpec {
        gather(table, index, axis, bounds).0
    }

    pub(super) fn scatter_sum_alone(
        updates: &TensorSpec,
        index: &TensorSpec,
        axis: &usize,
        extent: &usize,
        options: &ScatterOptions,
    ) -> TensorSpec {
        scatter_sum(updates, index, axis, extent, options).0
    }

    pub(super) fn scatter(
        target: &TensorSpec,
        _index: &TensorSpec,
        _updates: &TensorSpec,
        _axis: &usize,
        _mode: &ScatterMode,
        options: &ScatterOptions,
    ) -> Outputs {
        (target.clone(), record(&options.bounds))
    }

    pub(super) fn scatter_alone(
        target: &TensorSpec,
        _index: &TensorSpec,
        _updates: &TensorSpec,
        _axis: &usize,
        _mode: &ScatterMode,
        _options: &ScatterOptions,
    ) -> TensorSpec {
        target.clone()
    }

    pub(super) fn scatter_sum(
        updates: &TensorSpec,
        _index: &TensorSpec,
        axis: &usize,
        extent: &usize,
        options: &ScatterOptions,
    ) -> Outputs {
        let shape = with_extent(&updates.shape, *axis, *extent);
        (
            TensorSpec::new(shape, updates.dtype),
            record(&options.bounds),
        )
    }
}
