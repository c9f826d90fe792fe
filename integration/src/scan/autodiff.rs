//! The backward passes, over whichever backend computes.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::tensor::{BoolTensor, FloatTensor, IntTensor};
use burn::backend::{Autodiff, TensorMetadata, get_or_init_device_settings};
use burn::tensor::{BoolDType, IntDType, Shape, Slice};
use girih::Bounds;
use girih_kernels::{Determinism, ScanOperation};

use super::ScanBackend;
use crate::IndexBackend;
use crate::autodiff::remembered;

/// How a gradient is summed: as the op was.
#[derive(Debug, Clone, Copy)]
struct Along {
    axis: usize,
    determinism: Determinism,
}

impl Along {
    fn scan<B: ScanBackend>(
        self,
        tensor: FloatTensor<B>,
        operation: ScanOperation,
    ) -> FloatTensor<B> {
        B::scan_float(tensor, self.axis, operation, self.determinism)
    }

    /// Sums from each element to the end.
    fn sums_from_each<B: ScanBackend>(self, tensor: FloatTensor<B>) -> FloatTensor<B> {
        let reversed = B::float_flip(tensor, &[self.axis]);
        let sums = self.scan::<B>(reversed, ScanOperation::Sum);
        B::float_flip(sums, &[self.axis])
    }
}

/// The type that a tensor's device compares in.
fn bools<B: ScanBackend>(tensor: &FloatTensor<B>) -> BoolDType {
    get_or_init_device_settings::<B>(&tensor.device()).bool_dtype
}

fn zeros<B: ScanBackend>(like: &FloatTensor<B>) -> FloatTensor<B> {
    B::float_zeros(like.shape(), &like.device(), like.dtype().into())
}

#[derive(Debug)]
struct Sum;

impl<B: ScanBackend> Backward<B, 1> for Sum {
    type State = Along;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let along = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            along.sums_from_each::<B>(gradient)
        });
    }
}

#[derive(Debug)]
struct Product;

impl<B: ScanBackend> Backward<B, 1> for Product {
    /// The input, and the products.
    type State = (Along, FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (along, input, products) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            of_factors::<B>(along, input, products, gradient)
        });
    }
}

/// The gradient of factors. Before a row's first 0 the products without a factor are the products over it. At the first 0
/// they are those with 1 in its place. After it they are all 0.
fn of_factors<B: ScanBackend>(
    along: Along,
    input: FloatTensor<B>,
    products: FloatTensor<B>,
    gradient: FloatTensor<B>,
) -> FloatTensor<B> {
    let bools = bools::<B>(&gradient);
    let is_zero = B::float_equal_elem(input.clone(), 0.into(), bools);
    let seen = B::scan_int(
        B::bool_into_int(is_zero.clone(), IntDType::I32),
        along.axis,
        ScanOperation::Sum,
        along.determinism,
    );
    let is_before = B::int_equal_elem(seen.clone(), 0.into(), bools);
    let is_first = B::bool_and(is_zero, B::int_equal_elem(seen, 1.into(), bools));

    let weighted = B::float_mul(gradient.clone(), products);
    let before = B::float_div(along.sums_from_each::<B>(weighted), input.clone());
    let replaced = B::float_mask_fill(input, is_first.clone(), 1.into());
    let products = along.scan::<B>(replaced, ScanOperation::Product);
    let first = along.sums_from_each::<B>(B::float_mul(gradient, products));

    let result = B::float_mask_where(zeros::<B>(&first), is_before, before);
    B::float_mask_where(result, is_first, first)
}

#[derive(Debug)]
struct Extreme;

impl<B: ScanBackend> Backward<B, 1> for Extreme {
    /// The result.
    type State = (Along, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (along, extremes) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            of_extremes::<B>(along.axis, extremes, gradient)
        });
    }
}

/// The gradient of what was smallest or largest: the sum over the run of results that are equal, at its first.
fn of_extremes<B: ScanBackend>(
    axis: usize,
    extremes: FloatTensor<B>,
    gradient: FloatTensor<B>,
) -> FloatTensor<B> {
    let shape = extremes.shape();
    let extent = shape[axis];
    if extent == 0 {
        return gradient;
    }
    let bools = bools::<B>(&gradient);
    let part = |from: usize, to: usize| {
        let mut slices = vec![Slice::full(); shape.num_dims()];
        slices[axis] = Slice::from(from..to);
        B::float_slice(extremes.clone(), &slices)
    };
    let (before, after) = (part(0, extent - 1), part(1, extent));
    // A NaN stays: what follows it is its run. It is not equal to itself; to ask whether it is another one is answered with no on some
    // devices.
    let is_nan = |tensor: &FloatTensor<B>| {
        B::bool_not(B::float_equal(tensor.clone(), tensor.clone(), bools))
    };
    let stays = B::bool_and(is_nan(&before), is_nan(&after));
    let is_same = B::bool_or(B::float_equal(before, after, bools), stays);
    let changes = B::bool_into_int(B::bool_not(is_same), IntDType::I32);
    let mut edge = shape;
    edge[axis] = 1;
    let edge = B::int_ones(edge, &gradient.device(), IntDType::I32);
    let begins = B::int_cat(vec![edge.clone(), changes.clone()], axis);
    // From the end on a run begins with its last element.
    let ends = B::int_flip(B::int_cat(vec![changes, edge], axis), &[axis]);
    let reversed = B::float_flip(gradient, &[axis]);
    let sums = B::float_flip(B::sum_segments_float(reversed, ends, axis), &[axis]);
    let is_begin = B::int_equal_elem(begins, 1.into(), bools);
    B::float_mask_where(zeros::<B>(&sums), is_begin, sums)
}

#[derive(Debug)]
struct Select;

impl<B: ScanBackend + IndexBackend> Backward<B, 1> for Select {
    /// The mask, and the shape that it has.
    type State = (BoolTensor<B>, Shape);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (mask, shape) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            of_selected::<B>(mask, shape, gradient)
        });
    }
}

/// The gradient of what was selected from: each kept element has that of its rank.
fn of_selected<B: ScanBackend + IndexBackend>(
    mask: BoolTensor<B>,
    shape: Shape,
    gradient: FloatTensor<B>,
) -> FloatTensor<B> {
    let flat = B::bool_reshape(mask, Shape::from([shape.num_elements()]));
    let ones = B::bool_into_int(flat.clone(), IntDType::I32);
    let ranks = B::scan_int(ones, 0, ScanOperation::Sum, Determinism::Any);
    let ranks = B::int_sub_scalar(ranks, 1.into());
    let of_ranks = B::gather_float_alone(gradient, ranks, 0, Bounds::Clamp.into());
    let kept = B::float_mask_where(zeros::<B>(&of_ranks), flat, of_ranks);
    B::float_reshape(kept, shape)
}

impl<B: ScanBackend + IndexBackend, C: CheckpointStrategy> ScanBackend for Autodiff<B, C> {
    fn scan_float(
        tensor: FloatTensor<Self>,
        axis: usize,
        operation: ScanOperation,
        determinism: Determinism,
    ) -> FloatTensor<Self> {
        // The guard of the node is taken before its tensor.
        let nodes = [tensor.node()];
        let tensor = tensor.into_primitive();
        let along = Along { axis, determinism };
        let run = |tensor| B::scan_float(tensor, axis, operation, determinism);
        match operation {
            ScanOperation::Sum => {
                let ops = Sum.prepare::<C>(nodes).compute_bound();
                remembered!(ops, along, (run(tensor), ())).0
            }
            ScanOperation::Product => {
                match Product.prepare::<C>(nodes).compute_bound().stateful() {
                    OpsKind::Tracked(prep) => {
                        let products = run(tensor.clone());
                        prep.finish((along, tensor, products.clone()), products)
                    }
                    OpsKind::UnTracked(prep) => prep.finish(run(tensor)),
                }
            }
            ScanOperation::Min | ScanOperation::Max => {
                match Extreme.prepare::<C>(nodes).compute_bound().stateful() {
                    OpsKind::Tracked(prep) => {
                        let extremes = run(tensor);
                        prep.finish((along, extremes.clone()), extremes)
                    }
                    OpsKind::UnTracked(prep) => prep.finish(run(tensor)),
                }
            }
        }
    }

    fn scan_int(
        tensor: IntTensor<Self>,
        axis: usize,
        operation: ScanOperation,
        determinism: Determinism,
    ) -> IntTensor<Self> {
        B::scan_int(tensor, axis, operation, determinism)
    }

    fn sum_segments_float(
        tensor: FloatTensor<Self>,
        begins: IntTensor<Self>,
        axis: usize,
    ) -> FloatTensor<Self> {
        let ops = Segments.prepare::<C>([tensor.node()]).compute_bound();
        let tensor = tensor.into_primitive();
        let run = |begins| (B::sum_segments_float(tensor, begins, axis), ());
        remembered!(ops, (begins.clone(), axis), run(begins)).0
    }

    fn select_masked_float(
        tensor: FloatTensor<Self>,
        mask: BoolTensor<Self>,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        let ops = Select.prepare::<C>([tensor.node()]).compute_bound();
        let tensor = tensor.into_primitive();
        let shape = tensor.shape();
        remembered!(
            ops,
            (mask.clone(), shape),
            B::select_masked_float(tensor, mask)
        )
    }

    fn select_masked_int(
        tensor: IntTensor<Self>,
        mask: BoolTensor<Self>,
    ) -> (IntTensor<Self>, IntTensor<Self>) {
        B::select_masked_int(tensor, mask)
    }

    fn nonzero_bool(mask: BoolTensor<Self>) -> (IntTensor<Self>, IntTensor<Self>) {
        B::nonzero_bool(mask)
    }

    fn first_float(room: FloatTensor<Self>, count: usize) -> FloatTensor<Self> {
        let ops = First.prepare::<C>([room.node()]).compute_bound();
        let room = room.into_primitive();
        let shape = room.shape();
        let values = B::first_float(room, count);
        match ops.stateful() {
            OpsKind::Tracked(prep) => prep.finish(shape, values),
            OpsKind::UnTracked(prep) => prep.finish(values),
        }
    }

    fn first_int(room: IntTensor<Self>, count: usize) -> IntTensor<Self> {
        B::first_int(room, count)
    }
}

#[derive(Debug)]
struct First;

impl<B: ScanBackend> Backward<B, 1> for First {
    /// The shape of the room.
    type State = Shape;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let shape = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            let mut slices = vec![Slice::full(); shape.num_dims()];
            slices[0] = Slice::from(0..gradient.shape()[0]);
            let zeros = B::float_zeros(shape, &gradient.device(), gradient.dtype().into());
            B::float_slice_assign(zeros, &slices, gradient)
        });
    }
}

#[derive(Debug)]
struct Segments;

impl<B: ScanBackend> Backward<B, 1> for Segments {
    /// Where segments begin, and the axis.
    type State = (IntTensor<B>, usize);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (begins, axis) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            of_segments::<B>(begins, axis, gradient)
        });
    }
}

/// The gradient of sums in segments: the sums of the gradient from each element to the end of its segment.
fn of_segments<B: ScanBackend>(
    begins: IntTensor<B>,
    axis: usize,
    gradient: FloatTensor<B>,
) -> FloatTensor<B> {
    let shape = begins.shape();
    let extent = shape[axis];
    if extent == 0 {
        return gradient;
    }
    let mut slices = vec![Slice::full(); shape.num_dims()];
    slices[axis] = Slice::from(1..extent);
    let dtype = begins.dtype();
    let after = B::int_slice(begins, &slices);
    let mut edge = shape;
    edge[axis] = 1;
    let edge = B::int_ones(edge, &gradient.device(), dtype.into());
    let ends = B::int_flip(B::int_cat(vec![after, edge], axis), &[axis]);
    let reversed = B::float_flip(gradient, &[axis]);
    B::float_flip(B::sum_segments_float(reversed, ends, axis), &[axis])
}
