//! The backward passes, over whichever backend computes.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, TensorMetadata};
use burn::tensor::Shape;
use girih::Bounds;

use super::LookupBackend;
use crate::autodiff::{remembered, unreported};

/// What a backward pass keeps of an op along an axis.
#[derive(Debug, Clone)]
struct Kept<B: LookupBackend> {
    index: IntTensor<B>,
    axis: usize,
    bounds: Bounds,
}

impl<B: LookupBackend> Kept<B> {
    fn new(index: &IntTensor<B>, axis: usize, bounds: Bounds) -> Self {
        Self {
            index: index.clone(),
            axis,
            bounds: unreported(bounds),
        }
    }
}

#[derive(Debug)]
struct Take;

impl<B: LookupBackend> Backward<B, 1> for Take {
    type State = (Kept<B>, usize);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (kept, extent) = ops.state;
        let Kept {
            index,
            axis,
            bounds,
        } = kept;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            B::sum_along_float_alone(gradient, index, axis, extent, bounds)
        });
    }
}

#[derive(Debug)]
struct Sum;

impl<B: LookupBackend> Backward<B, 1> for Sum {
    type State = Kept<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let Kept {
            index,
            axis,
            bounds,
        } = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            B::take_along_float_alone(gradient, index, axis, bounds)
        });
    }
}

/// What a backward pass keeps of a paged gather.
#[derive(Debug, Clone)]
struct Pages<B: LookupBackend> {
    table: IntTensor<B>,
    offsets: IntTensor<B>,
    shape: Shape,
    bounds: Bounds,
}

#[derive(Debug)]
struct Paged;

impl<B: LookupBackend> Backward<B, 1> for Paged {
    type State = Pages<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let Pages {
            table,
            offsets,
            shape,
            bounds,
        } = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            let [count, page] = [shape[0], shape[1]];
            let rows = gradient.shape()[0];
            // A row that is nowhere has number -1, which is masked.
            let list = B::page_rows(table, offsets, count, page, rows, bounds);
            let extent = count * page;
            let sums = B::gather_backward_float(gradient, list, 0, extent, Bounds::Mask.into());
            B::float_reshape(sums, shape)
        });
    }
}

/// What `run` takes along an axis, remembered; what else it gives is passed on.
fn tracked_take<B: LookupBackend, C: CheckpointStrategy, R>(
    table: FloatTensor<Autodiff<B, C>>,
    index: IntTensor<B>,
    axis: usize,
    bounds: Bounds,
    run: impl FnOnce(FloatTensor<B>, IntTensor<B>) -> (FloatTensor<B>, R),
) -> (FloatTensor<Autodiff<B, C>>, R) {
    // The guard of the node is taken before its tensor.
    let ops = Take.prepare::<C>([table.node()]).compute_bound();
    let table = table.into_primitive();
    let extent = table.shape()[axis];
    let kept = |index: &IntTensor<B>| Kept::<B>::new(index, axis, bounds);
    remembered!(ops, (kept(&index), extent), run(table, index))
}

/// The same of sums along an axis.
fn tracked_sum<B: LookupBackend, C: CheckpointStrategy, R>(
    updates: FloatTensor<Autodiff<B, C>>,
    index: IntTensor<B>,
    axis: usize,
    bounds: Bounds,
    run: impl FnOnce(FloatTensor<B>, IntTensor<B>) -> (FloatTensor<B>, R),
) -> (FloatTensor<Autodiff<B, C>>, R) {
    let ops = Sum.prepare::<C>([updates.node()]).compute_bound();
    let updates = updates.into_primitive();
    let kept = |index: &IntTensor<B>| Kept::<B>::new(index, axis, bounds);
    remembered!(ops, kept(&index), run(updates, index))
}

/// The same of rows of pages.
fn tracked_pages<B: LookupBackend, C: CheckpointStrategy, R>(
    pages: FloatTensor<Autodiff<B, C>>,
    [table, offsets]: [IntTensor<B>; 2],
    bounds: Bounds,
    run: impl FnOnce(FloatTensor<B>, IntTensor<B>, IntTensor<B>) -> (FloatTensor<B>, R),
) -> (FloatTensor<Autodiff<B, C>>, R) {
    let ops = Paged.prepare::<C>([pages.node()]).compute_bound();
    let pages = pages.into_primitive();
    let kept = |pages: &FloatTensor<B>, table: &IntTensor<B>, offsets: &IntTensor<B>| Pages::<B> {
        table: table.clone(),
        offsets: offsets.clone(),
        shape: pages.shape(),
        bounds: unreported(bounds),
    };
    remembered!(
        ops,
        kept(&pages, &table, &offsets),
        run(pages, table, offsets)
    )
}

impl<B: LookupBackend, C: CheckpointStrategy> LookupBackend for Autodiff<B, C> {
    fn take_along_float(
        table: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        tracked_take::<B, C, _>(table, index, axis, bounds, |table, index| {
            B::take_along_float(table, index, axis, bounds)
        })
    }

    fn take_along_float_alone(
        table: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> FloatTensor<Self> {
        let run = |table, index| (B::take_along_float_alone(table, index, axis, bounds), ());
        tracked_take::<B, C, _>(table, index, axis, bounds, run).0
    }

    fn sum_along_float(
        updates: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        tracked_sum::<B, C, _>(updates, index, axis, bounds, |updates, index| {
            B::sum_along_float(updates, index, axis, extent, bounds)
        })
    }

    fn sum_along_float_alone(
        updates: FloatTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> FloatTensor<Self> {
        let run = |updates, index| {
            let sums = B::sum_along_float_alone(updates, index, axis, extent, bounds);
            (sums, ())
        };
        tracked_sum::<B, C, _>(updates, index, axis, bounds, run).0
    }

    fn paged_gather_float(
        pages: FloatTensor<Self>,
        table: IntTensor<Self>,
        offsets: IntTensor<Self>,
        rows: usize,
        bounds: Bounds,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        let run =
            |pages, table, offsets| B::paged_gather_float(pages, table, offsets, rows, bounds);
        tracked_pages::<B, C, _>(pages, [table, offsets], bounds, run)
    }

    fn paged_gather_float_alone(
        pages: FloatTensor<Self>,
        table: IntTensor<Self>,
        offsets: IntTensor<Self>,
        rows: usize,
        bounds: Bounds,
    ) -> FloatTensor<Self> {
        let run = |pages, table, offsets| {
            let values = B::paged_gather_float_alone(pages, table, offsets, rows, bounds);
            (values, ())
        };
        tracked_pages::<B, C, _>(pages, [table, offsets], bounds, run).0
    }

    fn take_along_int(
        table: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> (IntTensor<Self>, IntTensor<Self>) {
        B::take_along_int(table, index, axis, bounds)
    }

    fn sum_along_int(
        updates: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> (IntTensor<Self>, IntTensor<Self>) {
        B::sum_along_int(updates, index, axis, extent, bounds)
    }

    fn paged_gather_int(
        pages: IntTensor<Self>,
        table: IntTensor<Self>,
        offsets: IntTensor<Self>,
        rows: usize,
        bounds: Bounds,
    ) -> (IntTensor<Self>, IntTensor<Self>) {
        B::paged_gather_int(pages, table, offsets, rows, bounds)
    }

    fn take_along_int_alone(
        table: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        bounds: Bounds,
    ) -> IntTensor<Self> {
        B::take_along_int_alone(table, index, axis, bounds)
    }

    fn sum_along_int_alone(
        updates: IntTensor<Self>,
        index: IntTensor<Self>,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> IntTensor<Self> {
        B::sum_along_int_alone(updates, index, axis, extent, bounds)
    }

    fn paged_gather_int_alone(
        pages: IntTensor<Self>,
        table: IntTensor<Self>,
        offsets: IntTensor<Self>,
        rows: usize,
        bounds: Bounds,
    ) -> IntTensor<Self> {
        B::paged_gather_int_alone(pages, table, offsets, rows, bounds)
    }

    fn page_rows(
        table: IntTensor<Self>,
        offsets: IntTensor<Self>,
        count: usize,
        page: usize,
        rows: usize,
        bounds: Bounds,
    ) -> IntTensor<Self> {
        B::page_rows(table, offsets, count, page, rows, bounds)
    }
}
