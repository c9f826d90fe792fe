//! The backward passes, over whichever backend computes: `CubeBackend` or `Fusion<CubeBackend>`.

mod kept;
mod steps;

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::ops::{Backward, OpsKind};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, TensorMetadata};
use girih::Bounds;
use girih_kernels::{GatherOptions, ScatterMode, ScatterOptions};

use crate::IndexBackend;
use crate::gradients::Combined;
use kept::Gathered;
pub(crate) use kept::{Kept, unreported};
use steps::{Gather, GatherBackward, ScatterAdd, ScatterCombined, ScatterSet, ScatterSum};

/// Runs an op, and where a gradient may be asked for remembers `state`. What it keeps is cloned only then: a clone would keep the op
/// from its inputs' memory, and is one more tensor for fusion to drop. The op gives its float result and whatever else.
macro_rules! remembered {
    ($ops:expr, $state:expr, $run:expr) => {
        match $ops.stateful() {
            OpsKind::Tracked(prep) => {
                let state = $state;
                let (values, rest) = $run;
                (prep.finish(state, values), rest)
            }
            OpsKind::UnTracked(prep) => {
                let (values, rest) = $run;
                (prep.finish(values), rest)
            }
        }
    };
}
pub(crate) use remembered;

/// A gather that `run` does, remembered; what else it gives is passed on.
fn tracked_gather<B: IndexBackend, C: CheckpointStrategy, R>(
    table: FloatTensor<Autodiff<B, C>>,
    index: IntTensor<B>,
    axis: usize,
    options: GatherOptions,
    run: impl FnOnce(FloatTensor<B>, IntTensor<B>) -> (FloatTensor<B>, R),
) -> (FloatTensor<Autodiff<B, C>>, R) {
    // The guard of the node is taken before its tensor.
    let ops = Gather.prepare::<C>([table.node()]).compute_bound();
    let table = table.into_primitive();
    let extent = table.shape()[axis];
    let kept = |index: &IntTensor<B>| Gathered::<B>::new(index, axis, options);
    remembered!(ops, (kept(&index), extent), run(table, index))
}

/// The same of sums of slices.
fn tracked_sum<B: IndexBackend, C: CheckpointStrategy, R>(
    updates: FloatTensor<Autodiff<B, C>>,
    index: IntTensor<B>,
    axis: usize,
    options: ScatterOptions,
    run: impl FnOnce(FloatTensor<B>, IntTensor<B>) -> (FloatTensor<B>, R),
) -> (FloatTensor<Autodiff<B, C>>, R) {
    let ops = ScatterSum.prepare::<C>([updates.node()]).compute_bound();
    let updates = updates.into_primitive();
    let kept = |index: &IntTensor<B>| Kept::<B>::new(index, axis, options);
    remembered!(ops, kept(&index), run(updates, index))
}

/// The same of a scatter of updates into a target.
#[allow(clippy::type_complexity, reason = "two tensors of one type")]
fn tracked_scatter<B: IndexBackend, C: CheckpointStrategy, R>(
    (target, updates): (FloatTensor<Autodiff<B, C>>, FloatTensor<Autodiff<B, C>>),
    index: IntTensor<B>,
    axis: usize,
    mode: ScatterMode,
    options: ScatterOptions,
    run: impl FnOnce(FloatTensor<B>, IntTensor<B>, FloatTensor<B>) -> (FloatTensor<B>, R),
) -> (FloatTensor<Autodiff<B, C>>, R) {
    let nodes = [target.node(), updates.node()];
    let (target, updates) = (target.into_primitive(), updates.into_primitive());
    let kept = |index: &IntTensor<B>| Kept::<B>::new(index, axis, options);
    match mode {
        ScatterMode::Add => {
            let ops = ScatterAdd.prepare::<C>(nodes).compute_bound();
            remembered!(ops, kept(&index), run(target, index, updates))
        }
        ScatterMode::Set => {
            let ops = ScatterSet.prepare::<C>(nodes).compute_bound();
            remembered!(ops, kept(&index), run(target, index, updates))
        }
        ScatterMode::Mul | ScatterMode::Min | ScatterMode::Max => {
            let ops = ScatterCombined.prepare::<C>(nodes).compute_bound();
            match ops.stateful() {
                OpsKind::Tracked(prep) => {
                    let (kept, inputs) = (kept(&index), (target.clone(), updates.clone()));
                    let (values, rest) = run(target, index, updates);
                    let state = Combined::new(kept, mode, inputs, values.clone());
                    (prep.finish(state, values), rest)
                }
                OpsKind::UnTracked(prep) => {
                    let (values, rest) = run(target, index, updates);
                    (prep.finish(values), rest)
                }
            }
        }
    }
}

impl<B: IndexBackend, C: CheckpointStrategy> IndexBackend for Autodiff<B, C> {
    fn gather_float(
        table: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        options: GatherOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        tracked_gather::<B, C, _>(table, index, axis, options, |table, index| {
            B::gather_float(table, index, axis, options)
        })
    }

    fn gather_float_alone(
        table: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        options: GatherOptions,
    ) -> FloatTensor<Self> {
        let run = |table, index| (B::gather_float_alone(table, index, axis, options), ());
        tracked_gather::<B, C, _>(table, index, axis, options, run).0
    }

    fn gather_backward_float(
        gradient: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        options: GatherOptions,
    ) -> FloatTensor<Self> {
        let ops = GatherBackward
            .prepare::<C>([gradient.node()])
            .compute_bound();
        let gradient = gradient.into_primitive();
        let kept = |index: &IntTensor<B>| Gathered::<B>::new(index, axis, options);
        let run = |gradient, index| {
            let sums = B::gather_backward_float(gradient, index, axis, extent, options);
            (sums, ())
        };
        remembered!(ops, kept(&index), run(gradient, index)).0
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
        options: ScatterOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        let run =
            |target, index, updates| B::scatter_float(target, index, updates, axis, mode, options);
        tracked_scatter::<B, C, _>((target, updates), index, axis, mode, options, run)
    }

    fn scatter_float_alone(
        target: FloatTensor<Self>,
        index: IntTensor<Self>,
        updates: FloatTensor<Self>,
        axis: usize,
        mode: ScatterMode,
        options: ScatterOptions,
    ) -> FloatTensor<Self> {
        let run = |target, index, updates| {
            let values = B::scatter_float_alone(target, index, updates, axis, mode, options);
            (values, ())
        };
        tracked_scatter::<B, C, _>((target, updates), index, axis, mode, options, run).0
    }

    fn scatter_int_alone(
        target: IntTensor<Self>,
        index: IntTensor<Self>,
        updates: IntTensor<Self>,
        axis: usize,
        mode: ScatterMode,
        options: ScatterOptions,
    ) -> IntTensor<Self> {
        B::scatter_int_alone(target, index, updates, axis, mode, options)
    }

    fn scatter_int(
        target: IntTensor<Self>,
        index: IntTensor<Self>,
        updates: IntTensor<Self>,
        axis: usize,
        mode: ScatterMode,
        options: ScatterOptions,
    ) -> (IntTensor<Self>, IntTensor<Self>) {
        B::scatter_int(target, index, updates, axis, mode, options)
    }

    fn scatter_sum_float(
        updates: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        options: ScatterOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        tracked_sum::<B, C, _>(updates, index, axis, options, |updates, index| {
            B::scatter_sum_float(updates, index, axis, extent, options)
        })
    }

    fn scatter_sum_float_alone(
        updates: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        options: ScatterOptions,
    ) -> FloatTensor<Self> {
        let run = |updates, index| {
            let sums = B::scatter_sum_float_alone(updates, index, axis, extent, options);
            (sums, ())
        };
        tracked_sum::<B, C, _>(updates, index, axis, options, run).0
    }

    fn scatter_sum_int_alone(
        updates: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        options: ScatterOptions,
    ) -> IntTensor<Self> {
        B::scatter_sum_int_alone(updates, index, axis, extent, options)
    }

    fn scatter_sum_int(
        updates: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        options: ScatterOptions,
    ) -> (IntTensor<Self>, IntTensor<Self>) {
        B::scatter_sum_int(updates, index, axis, extent, options)
    }
}
