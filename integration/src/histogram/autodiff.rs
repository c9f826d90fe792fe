//! The backward passes, over whichever backend computes.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, TensorMetadata};
use burn::tensor::Shape;
use girih::Bounds;

use super::HistogramBackend;
use super::backend::Range;
use crate::IndexBackend;
use crate::autodiff::remembered;

/// Weights were added up.
#[derive(Debug)]
struct Weigh;

impl<B: HistogramBackend + IndexBackend> Backward<B, 1> for Weigh {
    /// The bin of every weight, -1 where it has none.
    type State = IntTensor<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let places = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            let shape = places.shape();
            let flat = B::int_reshape(places, Shape::from([shape.num_elements()]));
            // A weight's gradient is that of its bin, and 0 without one.
            let of_bins = B::gather_float_alone(gradient, flat, 0, Bounds::Mask.into());
            B::float_reshape(of_bins, shape)
        });
    }
}

/// The sums, and their gradient where one is asked for: `bins` says which bin each value is in.
fn weighed<B: HistogramBackend + IndexBackend, C: CheckpointStrategy, V: Clone>(
    values: V,
    weights: FloatTensor<Autodiff<B, C>>,
    sums: impl FnOnce(V, FloatTensor<B>) -> FloatTensor<B>,
    bins: impl FnOnce(V) -> IntTensor<B>,
) -> FloatTensor<Autodiff<B, C>> {
    // The guard of the node is taken before its tensor.
    let ops = Weigh.prepare::<C>([weights.node()]).compute_bound();
    let weights = weights.into_primitive();
    remembered!(ops, bins(values.clone()), (sums(values, weights), ())).0
}

impl<B: HistogramBackend + IndexBackend, C: CheckpointStrategy> HistogramBackend
    for Autodiff<B, C>
{
    fn histogram_float(values: FloatTensor<Self>, bins: usize, range: Range) -> IntTensor<Self> {
        B::histogram_float(values.into_primitive(), bins, range)
    }

    fn histogram_int(values: IntTensor<Self>, bins: usize, range: Range) -> IntTensor<Self> {
        B::histogram_int(values, bins, range)
    }

    fn weigh_float(
        values: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        bins: usize,
        range: Range,
    ) -> FloatTensor<Self> {
        let values = values.into_primitive();
        weighed::<B, C, _>(
            values,
            weights,
            |values, weights| B::weigh_float(values, weights, bins, range),
            |values| B::bins_float(values, bins, range),
        )
    }

    fn weigh_int(
        values: IntTensor<Self>,
        weights: FloatTensor<Self>,
        bins: usize,
        range: Range,
    ) -> FloatTensor<Self> {
        weighed::<B, C, _>(
            values,
            weights,
            |values, weights| B::weigh_int(values, weights, bins, range),
            |values| B::bins_int(values, bins, range),
        )
    }

    fn bins_float(values: FloatTensor<Self>, bins: usize, range: Range) -> IntTensor<Self> {
        B::bins_float(values.into_primitive(), bins, range)
    }

    fn bins_int(values: IntTensor<Self>, bins: usize, range: Range) -> IntTensor<Self> {
        B::bins_int(values, bins, range)
    }
}
