//! The backward passes, over whichever backend computes.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, TensorMetadata};
use burn::tensor::{IndexingUpdateOp, Shape};
use girih_kernels::Side;

use super::SortBackend;

/// Elements changed places.
#[derive(Debug)]
struct Sort;

impl<B: SortBackend> Backward<B, 1> for Sort {
    /// Where the elements were, and the axis.
    type State = (IntTensor<B>, usize);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (places, axis) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            // Where each element went: the places, sorted, were there.
            let back = B::places_of_sorted_int(places, axis, false);
            B::float_gather(axis, gradient, back)
        });
    }
}

/// Some elements were taken.
#[derive(Debug)]
struct TopK;

impl<B: SortBackend> Backward<B, 1> for TopK {
    /// Where the elements were, the axis, and the shape that they were taken from.
    type State = (IntTensor<B>, usize, Shape);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (places, axis, shape) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            let zeros = B::float_zeros(shape, &gradient.device(), gradient.dtype().into());
            B::float_scatter(axis, zeros, places, gradient, IndexingUpdateOp::Add)
        });
    }
}

impl<B: SortBackend, C: CheckpointStrategy> SortBackend for Autodiff<B, C> {
    fn sort_alone_float(
        tensor: FloatTensor<Self>,
        axis: usize,
        descending: bool,
    ) -> FloatTensor<Self> {
        let ops = Sort.prepare::<C>([tensor.node()]).compute_bound();
        let tensor = tensor.into_primitive();
        match ops.stateful() {
            // The gradient needs the places.
            OpsKind::Tracked(prep) => {
                let (values, places) = B::sort_with_places_float(tensor, axis, descending);
                prep.finish((places, axis), values)
            }
            OpsKind::UnTracked(prep) => prep.finish(B::sort_alone_float(tensor, axis, descending)),
        }
    }

    fn sort_alone_int(tensor: IntTensor<Self>, axis: usize, descending: bool) -> IntTensor<Self> {
        B::sort_alone_int(tensor, axis, descending)
    }

    fn sort_with_places_float(
        tensor: FloatTensor<Self>,
        axis: usize,
        descending: bool,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        // The guard of the node is taken before its tensor.
        let ops = Sort.prepare::<C>([tensor.node()]).compute_bound();
        let tensor = tensor.into_primitive();
        let (values, places) = B::sort_with_places_float(tensor, axis, descending);
        let values = match ops.stateful() {
            OpsKind::Tracked(prep) => prep.finish((places.clone(), axis), values),
            OpsKind::UnTracked(prep) => prep.finish(values),
        };
        (values, places)
    }

    fn sort_with_places_int(
        tensor: IntTensor<Self>,
        axis: usize,
        descending: bool,
    ) -> (IntTensor<Self>, IntTensor<Self>) {
        B::sort_with_places_int(tensor, axis, descending)
    }

    fn places_of_sorted_float(
        tensor: FloatTensor<Self>,
        axis: usize,
        descending: bool,
    ) -> IntTensor<Self> {
        B::places_of_sorted_float(tensor.into_primitive(), axis, descending)
    }

    fn places_of_sorted_int(
        tensor: IntTensor<Self>,
        axis: usize,
        descending: bool,
    ) -> IntTensor<Self> {
        B::places_of_sorted_int(tensor, axis, descending)
    }

    fn top_k_float(
        tensor: FloatTensor<Self>,
        axis: usize,
        k: usize,
        largest: bool,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        let ops = TopK.prepare::<C>([tensor.node()]).compute_bound();
        let tensor = tensor.into_primitive();
        let shape = tensor.shape();
        let (values, places) = B::top_k_float(tensor, axis, k, largest);
        let values = match ops.stateful() {
            OpsKind::Tracked(prep) => prep.finish((places.clone(), axis, shape), values),
            OpsKind::UnTracked(prep) => prep.finish(values),
        };
        (values, places)
    }

    fn top_k_int(
        tensor: IntTensor<Self>,
        axis: usize,
        k: usize,
        largest: bool,
    ) -> (IntTensor<Self>, IntTensor<Self>) {
        B::top_k_int(tensor, axis, k, largest)
    }

    fn bincount_int(values: IntTensor<Self>, bins: usize) -> IntTensor<Self> {
        B::bincount_int(values, bins)
    }

    fn search_sorted_float(
        sorted: FloatTensor<Self>,
        values: FloatTensor<Self>,
        side: Side,
    ) -> IntTensor<Self> {
        B::search_sorted_float(sorted.into_primitive(), values.into_primitive(), side)
    }

    fn search_sorted_int(
        sorted: IntTensor<Self>,
        values: IntTensor<Self>,
        side: Side,
    ) -> IntTensor<Self> {
        B::search_sorted_int(sorted, values, side)
    }
}
