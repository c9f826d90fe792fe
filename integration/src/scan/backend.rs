//! Scans and compactions as an extension of Burn's backends.

use burn::backend::{
    Backend, backend_extension,
    tensor::{BoolTensor, FloatTensor, IntTensor},
};
use girih_kernels::{Determinism, ScanOperation};

/// Scans and compactions on a backend's own tensors.
///
/// A compaction gives a tensor with room for every element, of which the first are the result, and their count, a tensor of
/// one unsigned integer. Arguments are those of [`scan`](crate::scan()), [`mask_select`](crate::mask_select) and
/// [`nonzero`](crate::nonzero), which check them; an op called directly panics on what they refuse.
#[backend_extension(
    Cube: cfg(any(feature = "cpu", feature = "cuda", feature = "vulkan", feature = "wgpu")),
    Autodiff,
    Fusion: cfg(feature = "fusion")
)]
pub trait ScanBackend: Backend {
    /// A float tensor scanned.
    #[fusion(dtype = tensor, shape = tensor)]
    fn scan_float(
        tensor: FloatTensor<Self>,
        axis: usize,
        operation: ScanOperation,
        determinism: Determinism,
    ) -> FloatTensor<Self>;

    /// An integer tensor scanned.
    #[fusion(dtype = tensor, shape = tensor)]
    fn scan_int(
        tensor: IntTensor<Self>,
        axis: usize,
        operation: ScanOperation,
        determinism: Determinism,
    ) -> IntTensor<Self>;

    /// Sums of a float tensor that begin anew where an element of `begins`, of its shape, is not 0.
    #[fusion(dtype = tensor, shape = tensor)]
    fn sum_segments_float(
        tensor: FloatTensor<Self>,
        begins: IntTensor<Self>,
        axis: usize,
    ) -> FloatTensor<Self>;

    /// The elements of a float tensor where the mask is true.
    #[fusion(meta = metadata::select)]
    fn select_masked_float(
        tensor: FloatTensor<Self>,
        mask: BoolTensor<Self>,
    ) -> (FloatTensor<Self>, IntTensor<Self>);

    /// The elements of an integer tensor where the mask is true.
    #[fusion(meta = metadata::select)]
    fn select_masked_int(
        tensor: IntTensor<Self>,
        mask: BoolTensor<Self>,
    ) -> (IntTensor<Self>, IntTensor<Self>);

    /// The coordinates of the elements that are true.
    #[fusion(meta = metadata::nonzero)]
    fn nonzero_bool(mask: BoolTensor<Self>) -> (IntTensor<Self>, IntTensor<Self>);

    /// The first so many rows of a contiguous float tensor: in its memory, but where they are a small part of it. Burn's slice would
    /// copy them, but where they end at a multiple of what the device aligns.
    #[fusion(meta = metadata::first)]
    fn first_float(room: FloatTensor<Self>, count: usize) -> FloatTensor<Self>;

    /// The first so many rows of a contiguous integer tensor.
    #[fusion(meta = metadata::first)]
    fn first_int(room: IntTensor<Self>, count: usize) -> IntTensor<Self>;
}

/// What fusion knows of a compaction's outputs before it runs: the room and the count.
#[cfg(feature = "fusion")]
mod metadata {
    use crate::cube::with_extent;
    use crate::scan::{count_dtype, place_dtype};
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::Shape;

    type Outputs = (TensorSpec, TensorSpec);

    fn count(elements: usize) -> TensorSpec {
        TensorSpec::new(Shape::from([1]), count_dtype(elements))
    }

    pub(super) fn select(tensor: &TensorSpec, _mask: &TensorSpec) -> Outputs {
        let elements = tensor.shape.num_elements();
        let room = TensorSpec::new(Shape::from([elements]), tensor.dtype);
        (room, count(elements))
    }

    pub(super) fn first(room: &TensorSpec, count: &usize) -> TensorSpec {
        TensorSpec::new(with_extent(&room.shape, 0, *count), room.dtype)
    }

    pub(super) fn nonzero(mask: &TensorSpec) -> Outputs {
        let elements = mask.shape.num_elements();
        let shape = Shape::from([elements, mask.shape.num_dims()]);
        let room = TensorSpec::new(shape, place_dtype(elements));
        (room, count(elements))
    }
}
