//! Sorts as an extension of Burn's backends.

use burn::backend::{
    Backend, backend_extension,
    tensor::{FloatTensor, IntTensor},
};
use girih_kernels::Side;

/// Sorts, selections, counts and searches on a backend's own tensors.
///
/// Places are integers of 32 bits, or of 64 along an axis of 2^31 elements or more. Arguments are those of
/// [`sort`](crate::sort()), [`top_k`](crate::top_k), [`bincount`](crate::bincount) and
/// [`search_sorted`](crate::search_sorted), which check them; an op called directly panics on what they refuse.
#[backend_extension(
    Cube: cfg(any(feature = "cpu", feature = "cuda", feature = "vulkan", feature = "wgpu")),
    Autodiff,
    Fusion: cfg(feature = "fusion")
)]
pub trait SortBackend: Backend {
    /// A float tensor sorted.
    #[fusion(dtype = tensor, shape = tensor)]
    fn sort_alone_float(
        tensor: FloatTensor<Self>,
        axis: usize,
        descending: bool,
    ) -> FloatTensor<Self>;

    /// An integer tensor sorted.
    #[fusion(dtype = tensor, shape = tensor)]
    fn sort_alone_int(tensor: IntTensor<Self>, axis: usize, descending: bool) -> IntTensor<Self>;

    /// A float tensor sorted, and where its elements were.
    #[fusion(meta = metadata::sort)]
    fn sort_with_places_float(
        tensor: FloatTensor<Self>,
        axis: usize,
        descending: bool,
    ) -> (FloatTensor<Self>, IntTensor<Self>);

    /// An integer tensor sorted, and where its elements were.
    #[fusion(meta = metadata::sort)]
    fn sort_with_places_int(
        tensor: IntTensor<Self>,
        axis: usize,
        descending: bool,
    ) -> (IntTensor<Self>, IntTensor<Self>);

    /// Where the elements of a sorted float tensor were.
    #[fusion(meta = metadata::places)]
    fn places_of_sorted_float(
        tensor: FloatTensor<Self>,
        axis: usize,
        descending: bool,
    ) -> IntTensor<Self>;

    /// Where the elements of a sorted integer tensor were.
    #[fusion(meta = metadata::places)]
    fn places_of_sorted_int(
        tensor: IntTensor<Self>,
        axis: usize,
        descending: bool,
    ) -> IntTensor<Self>;

    /// The largest or smallest of a float tensor, and their places.
    #[fusion(meta = metadata::top_k)]
    fn top_k_float(
        tensor: FloatTensor<Self>,
        axis: usize,
        k: usize,
        largest: bool,
    ) -> (FloatTensor<Self>, IntTensor<Self>);

    /// The largest or smallest of an integer tensor, and their places.
    #[fusion(meta = metadata::top_k)]
    fn top_k_int(
        tensor: IntTensor<Self>,
        axis: usize,
        k: usize,
        largest: bool,
    ) -> (IntTensor<Self>, IntTensor<Self>);

    /// How often each number is there.
    #[fusion(meta = metadata::bincount)]
    fn bincount_int(values: IntTensor<Self>, bins: usize) -> IntTensor<Self>;

    /// Where float values go in sorted rows.
    #[fusion(meta = metadata::search)]
    fn search_sorted_float(
        sorted: FloatTensor<Self>,
        values: FloatTensor<Self>,
        side: Side,
    ) -> IntTensor<Self>;

    /// Where integers go in sorted rows.
    #[fusion(meta = metadata::search)]
    fn search_sorted_int(
        sorted: IntTensor<Self>,
        values: IntTensor<Self>,
        side: Side,
    ) -> IntTensor<Self>;
}

/// What fusion knows of an op's outputs before it runs.
#[cfg(feature = "fusion")]
mod metadata {
    use crate::cube::with_extent;
    use crate::sort::{COUNT, index_of};
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::Shape;
    use girih_kernels::Side;

    pub(super) fn sort(
        tensor: &TensorSpec,
        axis: &usize,
        descending: &bool,
    ) -> (TensorSpec, TensorSpec) {
        (tensor.clone(), places(tensor, axis, descending))
    }

    pub(super) fn places(tensor: &TensorSpec, axis: &usize, _descending: &bool) -> TensorSpec {
        TensorSpec::new(tensor.shape.clone(), index_of(tensor.shape[*axis]))
    }

    pub(super) fn top_k(
        tensor: &TensorSpec,
        axis: &usize,
        k: &usize,
        _largest: &bool,
    ) -> (TensorSpec, TensorSpec) {
        let shape = with_extent(&tensor.shape, *axis, *k);
        let places = TensorSpec::new(shape.clone(), index_of(tensor.shape[*axis]));
        (TensorSpec::new(shape, tensor.dtype), places)
    }

    pub(super) fn bincount(_values: &TensorSpec, bins: &usize) -> TensorSpec {
        TensorSpec::new(Shape::from([*bins]), COUNT)
    }

    pub(super) fn search(sorted: &TensorSpec, values: &TensorSpec, _side: &Side) -> TensorSpec {
        let last = sorted.shape.num_dims() - 1;
        TensorSpec::new(values.shape.clone(), index_of(sorted.shape[last]))
    }
}
