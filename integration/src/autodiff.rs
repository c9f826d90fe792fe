//! The backward passes, over whichever backend computes: `CubeBackend` or `Fusion<CubeBackend>`.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, binary, unary};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, TensorMetadata};
use burn::tensor::Shape;
use girih::Bounds;
use girih_kernels::ScatterMode;

use crate::IndexBackend;

/// What a backward pass keeps of its op.
#[derive(Debug, Clone)]
struct Kept<B: IndexBackend> {
    index: IntTensor<B>,
    axis: usize,
    bounds: Bounds,
}

impl<B: IndexBackend> Kept<B> {
    fn new(index: &IntTensor<B>, axis: usize, bounds: Bounds) -> Self {
        // The op reported an offence; its gradient has nothing to add.
        let bounds = match bounds {
            Bounds::Report => Bounds::Mask,
            other => other,
        };
        Self {
            index: index.clone(),
            axis,
            bounds,
        }
    }

    /// The gradient of updates: each is the gradient of the slice it went to.
    fn gather(self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        B::gather_float_alone(gradient, self.index, self.axis, self.bounds)
    }

    /// The gradient of a table: each slice is the sum of the gradients of its copies.
    fn scatter_sum(self, gradient: FloatTensor<B>, extent: usize) -> FloatTensor<B> {
        B::scatter_sum_float_alone(gradient, self.index, self.axis, extent, self.bounds)
    }

    /// The gradient of a target that was overwritten: zero where it was.
    fn zero_written(self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        let mut shape = gradient.shape();
        shape[self.axis] = self.index.shape()[0];
        let ones = Shape::from(vec![1; shape.num_dims()]);
        let zero = B::float_zeros(ones, &gradient.device(), gradient.dtype().into());
        let zeros = B::float_expand(zero, shape);
        let Self {
            index,
            axis,
            bounds,
        } = self;
        B::scatter_float(gradient, index, zeros, axis, ScatterMode::Set, bounds).0
    }
}

#[derive(Debug)]
struct Gather;

impl<B: IndexBackend> Backward<B, 1> for Gather {
    type State = (Kept<B>, usize);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (kept, extent) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            kept.scatter_sum(gradient, extent)
        });
    }
}

#[derive(Debug)]
struct ScatterAdd;

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
struct ScatterSet;

impl<B: IndexBackend> Backward<B, 2> for ScatterSet {
    type State = Kept<B>;

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (of_target, of_updates) = (ops.state.clone(), ops.state);
        binary::<B, _, _>(
            ops.parents,
            ops.node,
            grads,
            |gradient| of_target.zero_written(gradient),
            |gradient| of_updates.gather(gradient),
        );
    }
}

#[derive(Debug)]
struct ScatterSum;

impl<B: IndexBackend> Backward<B, 1> for ScatterSum {
    type State = Kept<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let kept = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            kept.gather(gradient)
        });
    }
}

/// A gather that `run` does, remembered; what else it gives is passed on.
fn tracked_gather<B: IndexBackend, C: CheckpointStrategy, R>(
    table: FloatTensor<Autodiff<B, C>>,
    index: IntTensor<B>,
    axis: usize,
    bounds: Bounds,
    run: impl FnOnce(FloatTensor<B>, IntTensor<B>) -> (FloatTensor<B>, R),
) -> (FloatTensor<Autodiff<B, C>>, R) {
    // The guard of the node is taken before its tensor.
    let ops = Gather.prepare::<C>([table.node()]).compute_bound();
    let table = table.into_primitive();
    let state = (Kept::<B>::new(&index, axis, bounds), table.shape()[axis]);
    let (values, rest) = run(table, index);
    let values = match ops.stateful() {
        OpsKind::Tracked(prep) => prep.finish(state, values),
        OpsKind::UnTracked(prep) => prep.finish(values),
    };
    (values, rest)
}

/// The same of sums of slices.
fn tracked_sum<B: IndexBackend, C: CheckpointStrategy, R>(
    updates: FloatTensor<Autodiff<B, C>>,
    index: IntTensor<B>,
    axis: usize,
    bounds: Bounds,
    run: impl FnOnce(FloatTensor<B>, IntTensor<B>) -> (FloatTensor<B>, R),
) -> (FloatTensor<Autodiff<B, C>>, R) {
    let ops = ScatterSum.prepare::<C>([updates.node()]).compute_bound();
    let state = Kept::<B>::new(&index, axis, bounds);
    let (values, rest) = run(updates.into_primitive(), index);
    let values = match ops.stateful() {
        OpsKind::Tracked(prep) => prep.finish(state, values),
        OpsKind::UnTracked(prep) => prep.finish(values),
    };
    (values, rest)
}

impl<B: IndexBackend, C: CheckpointStrategy> IndexBackend for Autodiff<B, C> {
    fn gather_float(
        table: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        tracked_gather::<B, C, _>(table, index, axis, bounds, |table, index| {
            B::gather_float(table, index, axis, bounds)
        })
    }

    fn gather_float_alone(
        table: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> FloatTensor<Self> {
        let run = |table, index| (B::gather_float_alone(table, index, axis, bounds), ());
        tracked_gather::<B, C, _>(table, index, axis, bounds, run).0
    }

    fn gather_int_alone(
        table: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> IntTensor<Self> {
        B::gather_int_alone(table, index, axis, bounds)
    }

    fn gather_int(
        table: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> (IntTensor<Self>, IntTensor<Self>) {
        B::gather_int(table, index, axis, bounds)
    }

    fn scatter_float(
        target: FloatTensor<Self>,
        index: IntTensor<Self>,
        updates: FloatTensor<Self>,
        axis: usize,
        mode: ScatterMode,
        bounds: Bounds,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        let nodes = [target.node(), updates.node()];
        let (target, updates) = (target.into_primitive(), updates.into_primitive());
        let state = Kept::<B>::new(&index, axis, bounds);
        let (values, record) = B::scatter_float(target, index, updates, axis, mode, bounds);
        let values = match mode {
            ScatterMode::Add => match ScatterAdd.prepare::<C>(nodes).compute_bound().stateful() {
                OpsKind::Tracked(prep) => prep.finish(state, values),
                OpsKind::UnTracked(prep) => prep.finish(values),
            },
            _ => match ScatterSet.prepare::<C>(nodes).compute_bound().stateful() {
                OpsKind::Tracked(prep) => prep.finish(state, values),
                OpsKind::UnTracked(prep) => prep.finish(values),
            },
        };
        (values, record)
    }

    fn scatter_int(
        target: IntTensor<Self>,
        index: IntTensor<Self>,
        updates: IntTensor<Self>,
        axis: usize,
        mode: ScatterMode,
        bounds: Bounds,
    ) -> (IntTensor<Self>, IntTensor<Self>) {
        B::scatter_int(target, index, updates, axis, mode, bounds)
    }

    fn scatter_sum_float(
        updates: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        tracked_sum::<B, C, _>(updates, index, axis, bounds, |updates, index| {
            B::scatter_sum_float(updates, index, axis, extent, bounds)
        })
    }

    fn scatter_sum_float_alone(
        updates: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> FloatTensor<Self> {
        let run = |updates, index| {
            let sums = B::scatter_sum_float_alone(updates, index, axis, extent, bounds);
            (sums, ())
        };
        tracked_sum::<B, C, _>(updates, index, axis, bounds, run).0
    }

    fn scatter_sum_int_alone(
        updates: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> IntTensor<Self> {
        B::scatter_sum_int_alone(updates, index, axis, extent, bounds)
    }

    fn scatter_sum_int(
        updates: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> (IntTensor<Self>, IntTensor<Self>) {
        B::scatter_sum_int(updates, index, axis, extent, bounds)
    }
}
