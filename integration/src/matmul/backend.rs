//! Products as an extension of Burn's backends.

use burn::backend::{
    Backend, backend_extension,
    tensor::{FloatTensor, IntTensor},
};

/// Products of matrices on a backend's own tensors.
///
/// Arguments are those of [`matmul`](crate::matmul()), [`grouped_matmul`](crate::grouped_matmul),
/// [`gather_matmul`](crate::gather_matmul) and [`matmul_scatter`](crate::matmul_scatter), which check them; an op called
/// directly panics on what they refuse.
#[backend_extension(
    Cube: cfg(any(feature = "cpu", feature = "cuda", feature = "vulkan", feature = "wgpu")),
    Autodiff,
    Fusion: cfg(feature = "fusion")
)]
pub trait MatmulBackend: Backend {
    /// A product, in batches of equal extents.
    #[fusion(meta = metadata::product)]
    fn product(a: FloatTensor<Self>, b: FloatTensor<Self>) -> FloatTensor<Self>;

    /// Products of rows in groups with the groups' matrices.
    #[fusion(meta = metadata::grouped)]
    fn product_of_groups(
        rows: FloatTensor<Self>,
        matrices: FloatTensor<Self>,
        ends: IntTensor<Self>,
    ) -> FloatTensor<Self>;

    /// Products of gathered rows in groups with the groups' matrices.
    #[fusion(meta = metadata::gathered)]
    fn product_of_gathered(
        tokens: FloatTensor<Self>,
        index: IntTensor<Self>,
        matrices: FloatTensor<Self>,
        ends: IntTensor<Self>,
    ) -> FloatTensor<Self>;

    /// Products of rows in groups, times the rows' factors, added up to `tokens` rows that an index names.
    #[fusion(meta = metadata::scattered)]
    fn product_scattered(
        rows: FloatTensor<Self>,
        matrices: FloatTensor<Self>,
        ends: IntTensor<Self>,
        index: IntTensor<Self>,
        factors: FloatTensor<Self>,
        tokens: usize,
    ) -> FloatTensor<Self>;

    /// For each group of rows the product of one matrix, transposed, with the other: the gradient of groups' matrices.
    #[fusion(meta = metadata::inner)]
    fn product_within_groups(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        ends: IntTensor<Self>,
    ) -> FloatTensor<Self>;
}

/// What fusion knows of a product before it is computed.
#[cfg(feature = "fusion")]
mod metadata {
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::Shape;

    fn like(tensor: &TensorSpec, shape: Shape) -> TensorSpec {
        TensorSpec::new(shape, tensor.dtype)
    }

    pub(super) fn product(a: &TensorSpec, b: &TensorSpec) -> TensorSpec {
        let last = a.shape.num_dims() - 1;
        let mut shape = a.shape.clone();
        shape[last] = b.shape[last];
        like(a, shape)
    }

    pub(super) fn grouped(
        rows: &TensorSpec,
        matrices: &TensorSpec,
        _ends: &TensorSpec,
    ) -> TensorSpec {
        like(rows, Shape::from([rows.shape[0], matrices.shape[2]]))
    }

    pub(super) fn gathered(
        tokens: &TensorSpec,
        index: &TensorSpec,
        matrices: &TensorSpec,
        _ends: &TensorSpec,
    ) -> TensorSpec {
        like(tokens, Shape::from([index.shape[0], matrices.shape[2]]))
    }

    pub(super) fn scattered(
        rows: &TensorSpec,
        matrices: &TensorSpec,
        _ends: &TensorSpec,
        _index: &TensorSpec,
        _factors: &TensorSpec,
        tokens: &usize,
    ) -> TensorSpec {
        like(rows, Shape::from([*tokens, matrices.shape[2]]))
    }

    pub(super) fn inner(a: &TensorSpec, b: &TensorSpec, ends: &TensorSpec) -> TensorSpec {
        like(a, Shape::from([ends.shape[0], a.shape[1], b.shape[1]]))
    }
}
