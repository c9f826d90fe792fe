//! The steps back through gathers and scatters: what each asks of what was kept.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, binary, unary};

use super::kept::{Gathered, Kept};
use crate::IndexBackend;
use crate::gradients::Combined;

#[derive(Debug)]
pub(super) struct Gather;

impl<B: IndexBackend> Backward<B, 1> for Gather {
    type State = (Gathered<B>, usize);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (kept, extent) = ops.state;
        let Gathered {
            index,
            axis,
            options,
        } = kept;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            B::gather_backward_float(gradient, index, axis, extent, options)
        });
    }
}

#[derive(Debug)]
pub(super) struct GatherBackward;

impl<B: IndexBackend> Backward<B, 1> for GatherBackward {
    type State = Gathered<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let kept = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            kept.gather(gradient)
        });
    }
}

#[derive(Debug)]
pub(super) struct ScatterAdd;

impl<B: IndexBackend> Backward<B, 2> for ScatterAdd {
    type State = Kept<B>;

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let kept = ops.state;
        binary::<B, _, _>(
            ops.parents,
            ops.node,
            grads,
            |gradient| gradient,
            |gradient| kept.gather(gradient),
        );
    }
}

#[derive(Debug)]
pub(super) struct ScatterSet;

impl<B: IndexBackend> Backward<B, 2> for ScatterSet {
    type State = Kept<B>;

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (of_target, of_updates) = (ops.state.clone(), ops.state);
        binary::<B, _, _>(
            ops.parents,
            ops.node,
            grads,
            |gradient| of_target.zero_written(gradient),
            |gradient| of_updates.gather_winners(gradient),
        );
    }
}

/// Products and extremes.
#[derive(Debug)]
pub(super) struct ScatterCombined;

impl<B: IndexBackend> Backward<B, 2> for ScatterCombined {
    type State = Combined<B>;

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (of_target, of_updates) = (ops.state.clone(), ops.state);
        binary::<B, _, _>(
            ops.parents,
            ops.node,
            grads,
            |gradient| of_target.of_target(gradient),
            |gradient| of_updates.of_updates(gradient),
        );
    }
}

#[derive(Debug)]
pub(super) struct ScatterSum;

impl<B: IndexBackend> Backward<B, 1> for ScatterSum {
    type State = Kept<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let kept = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            kept.gather(gradient)
        });
    }
}
