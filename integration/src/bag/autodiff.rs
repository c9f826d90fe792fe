//! The backward passes, over whichever backend computes.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, AutodiffBackend};
use girih_kernels::{BagBackwardOptions, Reduction};

use super::BagBackend;
use super::backend::{Bag, Listed};
use crate::autodiff::unreported;

/// What the gradient of bags is computed from.
#[derive(Debug, Clone)]
struct KeptBags<B: BagBackend> {
    table: FloatTensor<B>,
    index: IntTensor<B>,
    list: IntTensor<B>,
    weights: FloatTensor<B>,
    args: IntTensor<B>,
    counts: IntTensor<B>,
    bag: Bag,
}

#[derive(Debug)]
struct EmbeddingBag;

impl<B: BagBackend> Backward<B, 2> for EmbeddingBag {
    type State = KeptBags<B>;

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [table, weights] = ops.parents;
        let gradient = grads.consume::<B>(&ops.node);
        let kept = ops.state;
        let bag = Bag {
            bounds: unreported(kept.bag.bounds),
            ..kept.bag
        };
        // Each is computed only where it is tracked.
        let weights = weights.filter(|_| bag.weighted);
        let options = BagBackwardOptions {
            determinism: bag.determinism,
            table: table.is_some(),
            weights: weights.is_some(),
        };
        let (of_table, of_weights) = B::embedding_bag_backward_float(
            gradient,
            kept.table,
            kept.index,
            kept.list,
            kept.weights,
            kept.args,
            kept.counts,
            bag,
            options,
        );
        if let Some(node) = table {
            grads.register::<B>(node.id, of_table);
        }
        if let Some(node) = weights {
            grads.register::<B>(node.id, of_weights);
        }
    }
}

/// What the gradient of segments is computed from.
#[derive(Debug, Clone)]
struct KeptSegments<B: BagBackend> {
    values: FloatTensor<B>,
    list: IntTensor<B>,
    args: IntTensor<B>,
    reduction: Reduction,
    listed: Listed,
}

#[derive(Debug)]
struct Segments;

impl<B: BagBackend> Backward<B, 1> for Segments {
    type State = KeptSegments<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let kept = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            B::segment_reduce_backward_float(
                gradient,
                kept.values,
                kept.list,
                kept.args,
                kept.reduction,
                kept.listed,
            )
        });
    }
}

impl<B: BagBackend, C: CheckpointStrategy> BagBackend for Autodiff<B, C> {
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
    ) {
        // The guards of the nodes are taken before their tensors.
        let ops = EmbeddingBag
            .prepare::<C>([table.node(), weights.node()])
            .compute_bound();
        let (table, weights) = (table.into_primitive(), weights.into_primitive());
        let run = |table, index, list, weights, keeps| {
            B::embedding_bag_float(table, index, list, weights, Bag { keeps, ..bag })
        };
        match ops.stateful() {
            OpsKind::Tracked(prep) => {
                let given = (table.clone(), index.clone(), list.clone(), weights.clone());
                let (values, args, counts, record) = run(table, index, list, weights, true);
                let (table, index, list, weights) = given;
                let state = KeptBags::<B> {
                    table,
                    index,
                    list,
                    weights,
                    args: args.clone(),
                    counts: counts.clone(),
                    bag,
                };
                (prep.finish(state, values), args, counts, record)
            }
            OpsKind::UnTracked(prep) => {
                let (values, args, counts, record) = run(table, index, list, weights, bag.keeps);
                (prep.finish(values), args, counts, record)
            }
        }
    }

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
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let (table, weights) = B::embedding_bag_backward_float(
            gradient.into_primitive(),
            table.into_primitive(),
            index,
            list,
            weights.into_primitive(),
            args,
            counts,
            bag,
            options,
        );
        (Self::from_inner(table), Self::from_inner(weights))
    }

    fn segment_reduce_float(
        values: FloatTensor<Self>,
        list: IntTensor<Self>,
        reduction: Reduction,
        listed: Listed,
        keeps: bool,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        let ops = Segments.prepare::<C>([values.node()]).compute_bound();
        let values = values.into_primitive();
        let run =
            |values, list, keeps| B::segment_reduce_float(values, list, reduction, listed, keeps);
        match ops.stateful() {
            OpsKind::Tracked(prep) => {
                let given = (values.clone(), list.clone());
                let (reduced, args) = run(values, list, true);
                let (values, list) = given;
                let state = KeptSegments::<B> {
                    values,
                    list,
                    args: args.clone(),
                    reduction,
                    listed,
                };
                (prep.finish(state, reduced), args)
            }
            OpsKind::UnTracked(prep) => {
                let (reduced, args) = run(values, list, keeps);
                (prep.finish(reduced), args)
            }
        }
    }

    fn segment_reduce_int(
        values: IntTensor<Self>,
        list: IntTensor<Self>,
        reduction: Reduction,
        listed: Listed,
    ) -> IntTensor<Self> {
        B::segment_reduce_int(values, list, reduction, listed)
    }

    fn segment_reduce_backward_float(
        gradient: FloatTensor<Self>,
        values: FloatTensor<Self>,
        list: IntTensor<Self>,
        args: IntTensor<Self>,
        reduction: Reduction,
        listed: Listed,
    ) -> FloatTensor<Self> {
        Self::from_inner(B::segment_reduce_backward_float(
            gradient.into_primitive(),
            values.into_primitive(),
            list,
            args,
            reduction,
            listed,
        ))
    }
}
