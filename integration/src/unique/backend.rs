//! Values each once, as an extension of Burn's backends.

use burn::backend::{
    Backend, backend_extension,
    tensor::{FloatTensor, IntTensor},
};

/// Values each once, of a backend's own tensors.
///
/// The first output has room for every element, of which the first are the result; the last one is their count, a tensor of one
/// unsigned integer. Arguments are those of [`unique`](crate::unique()) and [`unique_all`](crate::unique_all), which check them;
/// an op called directly panics on what they refuse.
#[backend_extension(
    Cube: cfg(any(feature = "cpu", feature = "cuda", feature = "vulkan", feature = "wgpu")),
    Autodiff,
    Fusion: cfg(feature = "fusion")
)]
pub trait UniqueBackend: Backend {
    /// The values of a float tensor.
    #[fusion(meta = metadata::unique)]
    fn unique_float(tensor: FloatTensor<Self>) -> (FloatTensor<Self>, IntTensor<Self>);

    /// The values of an integer tensor.
    #[fusion(meta = metadata::unique)]
    fn unique_int(tensor: IntTensor<Self>) -> (IntTensor<Self>, IntTensor<Self>);

    /// The values of a float tensor, how often each is there, and which each element has.
    #[fusion(meta = metadata::unique_all)]
    fn unique_all_float(
        tensor: FloatTensor<Self>,
    ) -> (
        FloatTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
    );

    /// The values of an integer tensor, how often each is there, and which each element has.
    #[fusion(meta = metadata::unique_all)]
    fn unique_all_int(
        tensor: IntTensor<Self>,
    ) -> (
        IntTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
    );
}

/// What fusion knows of the outputs before an op runs: the room and the count.
#[cfg(feature = "fusion")]
mod metadata {
    use crate::scan::{count_dtype, place_dtype};
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::Shape;

    fn count(elements: usize) -> TensorSpec {
        TensorSpec::new(Shape::from([1]), count_dtype(elements))
    }

    pub(super) fn unique(tensor: &TensorSpec) -> (TensorSpec, TensorSpec) {
        let elements = tensor.shape.num_elements();
        let room = TensorSpec::new(Shape::from([elements]), tensor.dtype);
        (room, count(elements))
    }

    pub(super) fn unique_all(
        tensor: &TensorSpec,
    ) -> (TensorSpec, TensorSpec, TensorSpec, TensorSpec) {
        let elements = tensor.shape.num_elements();
        let (values, count) = unique(tensor);
        let counts = TensorSpec::new(Shape::from([elements]), place_dtype(elements));
        let inverse = TensorSpec::new(tensor.shape.clone(), place_dtype(elements));
        (values, counts, inverse, count)
    }
}
