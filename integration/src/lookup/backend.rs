//! Lookups as an extension of Burn's backends.

use burn::backend::{
    backend_extension,
    tensor::{FloatTensor, IntTensor},
};
use girih::Bounds;

use crate::IndexBackend;

/// Lookups on a backend's own tensors.
///
/// An op returns its result and a record, as those of [`IndexBackend`] do, unless its name says that it has none. Arguments are
/// those of [`take_along_axis`](crate::take_along_axis), [`sum_along_axis`](crate::sum_along_axis) and
/// [`paged_gather`](crate::paged_gather), which check them; an op called directly panics on what they refuse.
#[backend_extension(
    Cube: cfg(any(feature = "cpu", feature = "cuda", feature = "vulkan", feature = "wgpu")),
    Autodiff,
    Fusion: cfg(feature = "fusion")
)]
pub trait LookupBackend: IndexBackend {
    /// Elements of a float table along an axis.
    #[fusion(meta = metadata::take)]
    fn take_along_float(
        table: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> (FloatTensor<Self>, IntTensor<Self>);

    /// Elements of an integer table along an axis.
    #[fusion(meta = metadata::take)]
    fn take_along_int(
        table: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> (IntTensor<Self>, IntTensor<Self>);

    /// Sums of floats along an axis, `extent` of them.
    #[fusion(meta = metadata::sum)]
    fn sum_along_float(
        updates: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> (FloatTensor<Self>, IntTensor<Self>);

    /// Sums of integers along an axis, `extent` of them.
    #[fusion(meta = metadata::sum)]
    fn sum_along_int(
        updates: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> (IntTensor<Self>, IntTensor<Self>);

    /// Rows of pages of floats.
    #[fusion(meta = metadata::paged)]
    fn paged_gather_float(
        pages: FloatTensor<Self>,
        table: IntTensor<Self>,
        offsets: IntTensor<Self>,
        rows: usize,
        bounds: Bounds,
    ) -> (FloatTensor<Self>, IntTensor<Self>);

    /// Rows of pages of integers.
    #[fusion(meta = metadata::paged)]
    fn paged_gather_int(
        pages: IntTensor<Self>,
        table: IntTensor<Self>,
        offsets: IntTensor<Self>,
        rows: usize,
        bounds: Bounds,
    ) -> (IntTensor<Self>, IntTensor<Self>);

    /// Elements of a float table along an axis, without a record: under any policy but [`Bounds::Report`].
    #[fusion(meta = metadata::take_alone)]
    fn take_along_float_alone(
        table: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> FloatTensor<Self>;

    /// The same of an integer table.
    #[fusion(meta = metadata::take_alone)]
    fn take_along_int_alone(
        table: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> IntTensor<Self>;

    /// Sums of floats along an axis, without a record: under any policy but [`Bounds::Report`].
    #[fusion(meta = metadata::sum_alone)]
    fn sum_along_float_alone(
        updates: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> FloatTensor<Self>;

    /// The same of integers.
    #[fusion(meta = metadata::sum_alone)]
    fn sum_along_int_alone(
        updates: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> IntTensor<Self>;

    /// Rows of pages of floats, without a record: under any policy but [`Bounds::Report`].
    #[fusion(meta = metadata::paged_alone)]
    fn paged_gather_float_alone(
        pages: FloatTensor<Self>,
        table: IntTensor<Self>,
        offsets: IntTensor<Self>,
        rows: usize,
        bounds: Bounds,
    ) -> FloatTensor<Self>;

    /// The same of pages of integers.
    #[fusion(meta = metadata::paged_alone)]
    fn paged_gather_int_alone(
        pages: IntTensor<Self>,
        table: IntTensor<Self>,
        offsets: IntTensor<Self>,
        rows: usize,
        bounds: Bounds,
    ) -> IntTensor<Self>;

    /// Which of all rows of `count` pages of `page` rows each row of a paged gather is, or -1.
    #[fusion(meta = metadata::page_rows)]
    fn page_rows(
        table: IntTensor<Self>,
        offsets: IntTensor<Self>,
        count: usize,
        page: usize,
        rows: usize,
        bounds: Bounds,
    ) -> IntTensor<Self>;
}

/// What fusion knows of an op's outputs before it runs. Burn trusts the shapes, so they are computed by
/// the functions that [`cube`](super::cube) allocates with.
#[cfg(feature = "fusion")]
mod metadata {
    use super::Bounds;
    use crate::cube::{RECORD_DTYPE, record_shape, with_extent};
    use crate::lookup::cube::{row_dtype, rows_shape};
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::Shape;

    type Outputs = (TensorSpec, TensorSpec);

    fn record(bounds: &Bounds) -> TensorSpec {
        TensorSpec::new(record_shape(*bounds), RECORD_DTYPE)
    }

    pub(super) fn take(
        table: &TensorSpec,
        index: &TensorSpec,
        _axis: &usize,
        bounds: &Bounds,
    ) -> Outputs {
        let taken = TensorSpec::new(index.shape.clone(), table.dtype);
        (taken, record(bounds))
    }

    pub(super) fn take_alone(
        table: &TensorSpec,
        index: &TensorSpec,
        axis: &usize,
        bounds: &Bounds,
    ) -> TensorSpec {
        take(table, index, axis, bounds).0
    }

    pub(super) fn sum(
        updates: &TensorSpec,
        _index: &TensorSpec,
        axis: &usize,
        extent: &usize,
        bounds: &Bounds,
    ) -> Outputs {
        let shape = with_extent(&updates.shape, *axis, *extent);
        (TensorSpec::new(shape, updates.dtype), record(bounds))
    }

    pub(super) fn sum_alone(
        updates: &TensorSpec,
        index: &TensorSpec,
        axis: &usize,
        extent: &usize,
        bounds: &Bounds,
    ) -> TensorSpec {
        sum(updates, index, axis, extent, bounds).0
    }

    pub(super) fn paged(
        pages: &TensorSpec,
        _table: &TensorSpec,
        _offsets: &TensorSpec,
        rows: &usize,
        bounds: &Bounds,
    ) -> Outputs {
        let shape = rows_shape(&pages.shape, *rows);
        (TensorSpec::new(shape, pages.dtype), record(bounds))
    }

    pub(super) fn paged_alone(
        pages: &TensorSpec,
        table: &TensorSpec,
        offsets: &TensorSpec,
        rows: &usize,
        bounds: &Bounds,
    ) -> TensorSpec {
        paged(pages, table, offsets, rows, bounds).0
    }

    pub(super) fn page_rows(
        _table: &TensorSpec,
        _offsets: &TensorSpec,
        count: &usize,
        page: &usize,
        rows: &usize,
        _bounds: &Bounds,
    ) -> TensorSpec {
        TensorSpec::new(Shape::from([*rows]), row_dtype(count * page))
    }
}
