//! The backward passes, over whichever backend computes.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, binary};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, TensorMetadata};
use burn::tensor::Shape;
use girih::Bounds;

use super::MatmulBackend;
use crate::IndexBackend;

/// The tensor with its last two axes exchanged.
fn transposed<B: MatmulBackend>(tensor: FloatTensor<B>) -> FloatTensor<B> {
    let rank = tensor.shape().num_dims();
    B::float_swap_dims(tensor, rank - 2, rank - 1)
}

/// The rows that an index names, zeros where it names none.
fn gathered<B: IndexBackend>(rows: FloatTensor<B>, index: IntTensor<B>) -> FloatTensor<B> {
    B::gather_float(rows, index, 0, Bounds::Mask.into()).0
}

#[derive(Debug)]
struct Product;

impl<B: MatmulBackend> Backward<B, 2> for Product {
    type State = (FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (a, b) = ops.state;
        binary::<B, _, _>(
            ops.parents,
            ops.node,
            grads,
            |gradient| B::product(gradient, transposed::<B>(b)),
            |gradient| B::product(transposed::<B>(a), gradient),
        );
    }
}

#[derive(Debug)]
struct Groups;

impl<B: MatmulBackend> Backward<B, 2> for Groups {
    /// The rows, the matrices and the ends.
    type State = (FloatTensor<B>, FloatTensor<B>, IntTensor<B>);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (rows, matrices, ends) = ops.state;
        let of_rows = ends.clone();
        binary::<B, _, _>(
            ops.parents,
            ops.node,
            grads,
            |gradient| B::product_of_groups(gradient, transposed::<B>(matrices), of_rows),
            |gradient| B::product_within_groups(rows, gradient, ends),
        );
    }
}

#[derive(Debug)]
struct Gathered;

impl<B: MatmulBackend + IndexBackend> Backward<B, 2> for Gathered {
    /// The tokens, the index, the matrices and the ends.
    type State = (FloatTensor<B>, IntTensor<B>, FloatTensor<B>, IntTensor<B>);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (tokens, index, matrices, ends) = ops.state;
        let count = tokens.shape()[0];
        let (of_tokens, of_ends) = (index.clone(), ends.clone());
        binary::<B, _, _>(
            ops.parents,
            ops.node,
            grads,
            |gradient| {
                let rows = Shape::from([gradient.shape()[0]]);
                let ones = B::float_ones(rows, &gradient.device(), gradient.dtype().into());
                let matrices = transposed::<B>(matrices);
                B::product_scattered(gradient, matrices, of_ends, of_tokens, ones, count)
            },
            |gradient| B::product_within_groups(gathered::<B>(tokens, index), gradient, ends),
        );
    }
}

#[derive(Debug)]
struct Scattered;

/// What the gradients of a scattered product need.
#[derive(Debug, Clone)]
struct Kept<B: MatmulBackend> {
    rows: FloatTensor<B>,
    matrices: FloatTensor<B>,
    ends: IntTensor<B>,
    index: IntTensor<B>,
    factors: FloatTensor<B>,
}

impl<B: MatmulBackend + IndexBackend> Backward<B, 3> for Scattered {
    type State = Kept<B>;

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [rows, matrices, factors] = ops.parents;
        let gradient = grads.consume::<B>(&ops.node);
        let kept = ops.state;
        let column = Shape::from([kept.factors.shape()[0], 1]);
        let scale = B::float_reshape(kept.factors, column);
        if let Some(node) = matrices {
            let scaled = B::float_mul(kept.rows.clone(), scale.clone());
            let of_rows = gathered::<B>(gradient.clone(), kept.index.clone());
            let found = B::product_within_groups(scaled, of_rows, kept.ends.clone());
            grads.register::<B>(node.id, found);
        }
        if rows.is_none() && factors.is_none() {
            return;
        }
        // What each row's element is worth to the result, but for the row's factor.
        let worth = B::product_of_gathered(
            gradient,
            kept.index,
            transposed::<B>(kept.matrices),
            kept.ends,
        );
        if let Some(node) = factors {
            let shape = Shape::from([kept.rows.shape()[0]]);
            let each = B::float_sum_dim(B::float_mul(worth.clone(), kept.rows), 1);
            grads.register::<B>(node.id, B::float_reshape(each, shape));
        }
        if let Some(node) = rows {
            grads.register::<B>(node.id, B::float_mul(worth, scale));
        }
    }
}

#[derive(Debug)]
struct Within;

impl<B: MatmulBackend> Backward<B, 2> for Within {
    /// Both operands and the ends.
    type State = (FloatTensor<B>, FloatTensor<B>, IntTensor<B>);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (a, b, ends) = ops.state;
        let of_a = ends.clone();
        binary::<B, _, _>(
            ops.parents,
            ops.node,
            grads,
            |gradient| B::product_of_groups(b, transposed::<B>(gradient), of_a),
            |gradient| B::product_of_groups(a, gradient, ends),
        );
    }
}

impl<B: MatmulBackend + IndexBackend, C: CheckpointStrategy> MatmulBackend for Autodiff<B, C> {
    fn product(a: FloatTensor<Self>, b: FloatTensor<Self>) -> FloatTensor<Self> {
        // The guards of the nodes are taken before their tensors.
        let ops = Product.prepare::<C>([a.node(), b.node()]).compute_bound();
        let (a, b) = (a.into_primitive(), b.into_primitive());
        match ops.stateful() {
            OpsKind::Tracked(prep) => prep.finish((a.clone(), b.clone()), B::product(a, b)),
            OpsKind::UnTracked(prep) => prep.finish(B::product(a, b)),
        }
    }

    fn product_of_groups(
        rows: FloatTensor<Self>,
        matrices: FloatTensor<Self>,
        ends: IntTensor<Self>,
    ) -> FloatTensor<Self> {
        let nodes = [rows.node(), matrices.node()];
        let (rows, matrices) = (rows.into_primitive(), matrices.into_primitive());
        let out = B::product_of_groups(rows.clone(), matrices.clone(), ends.clone());
        match Groups.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((rows, matrices, ends), out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        }
    }

    fn product_of_gathered(
        tokens: FloatTensor<Self>,
        index: IntTensor<Self>,
        matrices: FloatTensor<Self>,
        ends: IntTensor<Self>,
    ) -> FloatTensor<Self> {
        let nodes = [tokens.node(), matrices.node()];
        let (tokens, matrices) = (tokens.into_primitive(), matrices.into_primitive());
        let out = B::product_of_gathered(
            tokens.clone(),
            index.clone(),
            matrices.clone(),
            ends.clone(),
        );
        match Gathered.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((tokens, index, matrices, ends), out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        }
    }

    fn product_scattered(
        rows: FloatTensor<Self>,
        matrices: FloatTensor<Self>,
        ends: IntTensor<Self>,
        index: IntTensor<Self>,
        factors: FloatTensor<Self>,
        tokens: usize,
    ) -> FloatTensor<Self> {
        let nodes = [rows.node(), matrices.node(), factors.node()];
        let [rows, matrices, factors] =
            [rows, matrices, factors].map(|tensor| tensor.into_primitive());
        let out = B::product_scattered(
            rows.clone(),
            matrices.clone(),
            ends.clone(),
            index.clone(),
            factors.clone(),
            tokens,
        );
        let kept = Kept::<B> {
            rows,
            matrices,
            ends,
            index,
            factors,
        };
        match Scattered.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish(kept, out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        }
    }

    fn product_within_groups(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        ends: IntTensor<Self>,
    ) -> FloatTensor<Self> {
        let nodes = [a.node(), b.node()];
        let (a, b) = (a.into_primitive(), b.into_primitive());
        let out = B::product_within_groups(a.clone(), b.clone(), ends.clone());
        match Within.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((a, b, ends), out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        }
    }
}
