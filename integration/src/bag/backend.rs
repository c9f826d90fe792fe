//! Segments and bags as an extension of Burn's backends.

use burn::backend::{
    Backend, backend_extension,
    tensor::{FloatTensor, IntTensor},
};
use girih::Bounds;
use girih_kernels::{BagBackwardOptions, Determinism, Reduction};

/// What the list of integers beside an op's entries says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Where each segment begins, and where the last ends.
    Offsets,
    /// Nothing: all segments have this length.
    Length(usize),
    /// The segment of each entry, of so many, in ascending order.
    SortedIds(usize),
    /// The segment of each entry, of so many, in any order.
    Ids(usize),
}

/// What rows of a bag count, and how they are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bag {
    /// How rows are combined.
    pub reduction: Reduction,
    /// What the list says.
    pub listed: Listed,
    /// The row of the table that does not count.
    pub padding: Option<usize>,
    /// What an index out of range does.
    pub bounds: Bounds,
    /// Whether there are weights; without, they are an empty tensor.
    pub weighted: bool,
    /// Whether the gradient may depend on the run.
    pub determinism: Determinism,
    /// Whether what the gradient needs is kept. Autodiff says so of what it tracks.
    pub keeps: bool,
}

/// Segments and bags of a backend's own tensors.
///
/// Arguments are those of [`embedding_bag`](crate::embedding_bag()) and [`segment_reduce`](crate::segment_reduce()), which check
/// them; an op called directly panics on what they refuse. What an op keeps beside its result is for its gradient: an empty tensor
/// where that needs nothing, or nobody asks for it.
#[backend_extension(
    Cube: cfg(any(feature = "cpu", feature = "cuda", feature = "vulkan", feature = "wgpu")),
    Autodiff,
    Fusion: cfg(feature = "fusion")
)]
pub trait BagBackend: Backend {
    /// Rows of a table combined bag by bag, the entries that extremes came from, how many count, and the record.
    #[fusion(meta = metadata::embedding_bag)]
    fn embedding_bag_float(
        table: FloatTensor<Self>,
        index: IntTensor<Self>,
        list: IntTensor<Self>,
        weights: FloatTensor<Self>,
        bag: Bag,
    ) -> (
        FloatTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
    );

    /// The gradients of the table and of the weights: an empty tensor for the one that is not asked for, or not there.
    #[fusion(meta = metadata::embedding_bag_backward)]
    #[allow(clippy::too_many_arguments)]
    fn embedding_bag_backward_float(
        gradient: FloatTensor<Self>,
        table: FloatTensor<Self>,
        index: IntTensor<Self>,
        list: IntTensor<Self>,
        weights: FloatTensor<Self>,
        args: IntTensor<Self>,
        counts: IntTensor<Self>,
        bag: Bag,
        options: BagBackwardOptions,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// Rows combined segment by segment, and the rows that extremes came from, if they are kept.
    #[fusion(meta = metadata::segment_reduce)]
    fn segment_reduce_float(
        values: FloatTensor<Self>,
        list: IntTensor<Self>,
        reduction: Reduction,
        listed: Listed,
        keeps: bool,
    ) -> (FloatTensor<Self>, IntTensor<Self>);

    /// Rows of integers combined segment by segment.
    #[fusion(meta = metadata::segment_reduce_int)]
    fn segment_reduce_int(
        values: IntTensor<Self>,
        list: IntTensor<Self>,
        reduction: Reduction,
        listed: Listed,
    ) -> IntTensor<Self>;

    /// The gradient of the rows.
    #[fusion(meta = metadata::segment_reduce_backward)]
    fn segment_reduce_backward_float(
        gradient: FloatTensor<Self>,
        values: FloatTensor<Self>,
        list: IntTensor<Self>,
        args: IntTensor<Self>,
        reduction: Reduction,
        listed: Listed,
    ) -> FloatTensor<Self>;
}

impl Listed {
    /// How many segments so many entries are in, with a list of that length.
    pub(crate) fn segments(self, list: usize, entries: usize) -> usize {
        match self {
            Self::Offsets => list.saturating_sub(1),
            Self::Length(length) => entries / length.max(1),
            Self::SortedIds(segments) | Self::Ids(segments) => segments,
        }
    }
}

/// Whether the entries that elements came from are kept.
pub(crate) const fn keeps_args(reduction: Reduction) -> bool {
    matches!(reduction, Reduction::Max | Reduction::Min)
}

/// What fusion knows of an op's outputs before it runs.
#[cfg(feature = "fusion")]
mod metadata {
    use super::{Bag, BagBackwardOptions, Listed, Reduction, keeps_args};
    use crate::cube::{RECORD_DTYPE, record_shape, with_extent};
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::{DType, Shape};

    /// What is kept, or an empty tensor.
    fn kept(shape: Shape, is_kept: bool, dtype: DType) -> TensorSpec {
        let none = Shape::from([0]);
        TensorSpec::new(if is_kept { shape } else { none }, dtype)
    }

    pub(super) fn embedding_bag(
        table: &TensorSpec,
        index: &TensorSpec,
        list: &TensorSpec,
        _weights: &TensorSpec,
        bag: &Bag,
    ) -> (TensorSpec, TensorSpec, TensorSpec, TensorSpec) {
        let bags = bag.listed.segments(list.shape[0], index.shape[0]);
        let shape = with_extent(&table.shape, 0, bags);
        let is_mean = bag.reduction == Reduction::Mean;
        (
            TensorSpec::new(shape.clone(), table.dtype),
            kept(shape, bag.keeps && keeps_args(bag.reduction), DType::I32),
            kept(Shape::from([bags]), bag.keeps && is_mean, DType::U32),
            TensorSpec::new(record_shape(bag.bounds), RECORD_DTYPE),
        )
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn embedding_bag_backward(
        _gradient: &TensorSpec,
        table: &TensorSpec,
        _index: &TensorSpec,
        _list: &TensorSpec,
        weights: &TensorSpec,
        _args: &TensorSpec,
        _counts: &TensorSpec,
        bag: &Bag,
        options: &BagBackwardOptions,
    ) -> (TensorSpec, TensorSpec) {
        let of = |tensor: &TensorSpec, is_there| kept(tensor.shape.clone(), is_there, tensor.dtype);
        (
            of(table, options.table),
            of(weights, options.weights && bag.weighted),
        )
    }

    pub(super) fn segment_reduce(
        values: &TensorSpec,
        list: &TensorSpec,
        reduction: &Reduction,
        listed: &Listed,
        keeps: &bool,
    ) -> (TensorSpec, TensorSpec) {
        let reduced = segment_reduce_int(values, list, reduction, listed);
        let args = kept(
            reduced.shape.clone(),
            *keeps && keeps_args(*reduction),
            DType::I32,
        );
        (reduced, args)
    }

    pub(super) fn segment_reduce_int(
        values: &TensorSpec,
        list: &TensorSpec,
        _reduction: &Reduction,
        listed: &Listed,
    ) -> TensorSpec {
        let segments = listed.segments(list.shape[0], values.shape[0]);
        TensorSpec::new(with_extent(&values.shape, 0, segments), values.dtype)
    }

    pub(super) fn segment_reduce_backward(
        _gradient: &TensorSpec,
        values: &TensorSpec,
        _list: &TensorSpec,
        _args: &TensorSpec,
        _reduction: &Reduction,
        _listed: &Listed,
    ) -> TensorSpec {
        values.clone()
    }
}
