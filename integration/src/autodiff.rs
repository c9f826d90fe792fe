//! The backward passes, over whichever backend computes: `CubeBackend` or `Fusion<CubeBackend>`.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, binary, unary};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, TensorMetadata};
use burn::tensor::Shape;
use girih::Bounds;
use girih_kernels::{Duplicates, GatherOptions, ScatterMode, ScatterOptions};

use crate::IndexBackend;
use crate::gradients::{Combined, lost};

/// The op reported an offence; its gradient has nothing to add.
pub(crate) fn unreported(bounds: Bounds) -> Bounds {
    match bounds {
        Bounds::Report => Bounds::Mask,
        other => other,
    }
}

/// What a backward pass keeps of its op.
#[derive(Debug, Clone)]
pub(crate) struct Kept<B: IndexBackend> {
    pub(crate) index: IntTensor<B>,
    pub(crate) axis: usize,
    pub(crate) options: ScatterOptions,
}

impl<B: IndexBackend> Kept<B> {
    fn new(index: &IntTensor<B>, axis: usize, options: ScatterOptions) -> Self {
        let bounds = unreported(options.bounds);
        Self {
            index: index.clone(),
            axis,
            options: ScatterOptions { bounds, ..options },
        }
    }

    /// The gradient of updates: each is the gradient of the slice it went to.
    pub(crate) fn gather(&self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        let options = self.options.bounds.into();
        B::gather_float_alone(gradient, self.index.clone(), self.axis, options)
    }

    /// The gradient of a table: each slice is the sum of the gradients of its copies.
    pub(crate) fn scatter_sum(&self, gradient: FloatTensor<B>, extent: usize) -> FloatTensor<B> {
        B::scatter_sum_float_alone(gradient, self.index.clone(), self.axis, extent, self.sums())
    }

    /// How sums are taken: as the op combined, but that the path asked for may be none of theirs.
    fn sums(&self) -> ScatterOptions {
        let duplicates = match self.options.duplicates {
            Duplicates::Deterministic => Duplicates::Deterministic,
            _ => Duplicates::Unordered,
        };
        ScatterOptions {
            duplicates,
            path: None,
            ..self.options
        }
    }

    /// The gradient of updates of which one is left of those that went to one place.
    fn gather_winners(&self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        let extent = gradient.shape()[self.axis];
        let gathered = self.gather(gradient);
        match self.options.duplicates {
            Duplicates::Unordered => gathered,
            _ => {
                let lost = lost::<B>(self, extent, &gathered);
                B::float_mask_fill(gathered, lost, 0.into())
            }
        }
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
            options,
        } = self;
        let any = options.bounds.into();
        B::scatter_float_alone(gradient, index, zeros, axis, ScatterMode::Set, any)
    }
}

/// What a backward pass keeps of a gather.
#[derive(Debug, Clone)]
struct Gathered<B: IndexBackend> {
    index: IntTensor<B>,
    axis: usize,
    options: GatherOptions,
}

impl<B: IndexBackend> Gathered<B> {
    fn new(index: &IntTensor<B>, axis: usize, options: GatherOptions) -> Self {
        Self {
            index: index.clone(),
            axis,
            options: GatherOptions {
                bounds: unreported(options.bounds),
                ..options
            },
        }
    }

    /// The gradient of the gradient of a table: of each slice that was added, its copy of the gradient; of the padding's 0.
    fn gather(self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        let Self {
            index,
            axis,
            options,
        } = self;
        let gradient = match options.padding {
            None => gradient,
            Some(padding) => {
                let (place, dtype) = (padding as i64, index.dtype().into());
                let padding = B::int_arange(place..place + 1, &gradient.device(), dtype);
                Kept::<B>::new(&padding, axis, Bounds::Mask.into()).zero_written(gradient)
            }
        };
        B::gather_float_alone(gradient, index, axis, options)
    }
}

#[derive(Debug)]
struct Gather;

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
struct GatherBackward;

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
            |gradient| of_updates.gather_winners(gradient),
        );
    }
}

/// Products and extremes.
#[derive(Debug)]
struct ScatterCombined;

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
