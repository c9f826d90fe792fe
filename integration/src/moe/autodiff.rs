//! The backward passes, over whichever backend computes.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, AutodiffBackend};
use girih_kernels::Activation;

use super::backend::{MoeBackend, Wanted};

/// What the gradient of a router is computed from.
#[derive(Debug, Clone)]
struct KeptRoutes<B: MoeBackend> {
    scores: FloatTensor<B>,
    weights: FloatTensor<B>,
    chosen: IntTensor<B>,
    normalise: bool,
}

#[derive(Debug)]
struct Router;

impl<B: MoeBackend> Backward<B, 1> for Router {
    type State = KeptRoutes<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let kept = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            B::route_to_experts_backward(
                gradient,
                kept.scores,
                kept.weights,
                kept.chosen,
                kept.normalise,
            )
        });
    }
}

/// What the gradients of experts are computed from.
#[derive(Debug, Clone)]
struct KeptExperts<B: MoeBackend> {
    tokens: FloatTensor<B>,
    weights: FloatTensor<B>,
    up: FloatTensor<B>,
    down: FloatTensor<B>,
    places: IntTensor<B>,
    sources: IntTensor<B>,
    ends: IntTensor<B>,
    before: FloatTensor<B>,
    hidden: FloatTensor<B>,
    made: FloatTensor<B>,
    activation: Activation,
}

#[derive(Debug)]
struct Experts;

impl<B: MoeBackend> Backward<B, 4> for Experts {
    type State = KeptExperts<B>;

    fn backward(self, ops: Ops<Self::State, 4>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [tokens, weights, up, down] = ops.parents;
        let gradient = grads.consume::<B>(&ops.node);
        let kept = ops.state;
        let wanted = Wanted {
            tokens: tokens.is_some(),
            up: up.is_some(),
            down: down.is_some(),
        };
        let (of_tokens, of_weights, of_up, of_down) = B::through_experts_backward(
            gradient,
            kept.tokens,
            kept.weights,
            kept.up,
            kept.down,
            kept.places,
            kept.sources,
            kept.ends,
            kept.before,
            kept.hidden,
            kept.made,
            kept.activation,
            wanted,
        );
        let found = [
            (tokens, of_tokens),
            (weights, of_weights),
            (up, of_up),
            (down, of_down),
        ];
        for (parent, gradient) in found {
            if let Some(node) = parent {
                grads.register::<B>(node.id, gradient);
            }
        }
    }
}

impl<B: MoeBackend, C: CheckpointStrategy> MoeBackend for Autodiff<B, C> {
    fn route_to_experts(
        scores: FloatTensor<Self>,
        k: usize,
        normalise: bool,
    ) -> (
        FloatTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
    ) {
        // The guard of the node is taken before its tensor.
        let ops = Router.prepare::<C>([scores.node()]).compute_bound();
        let scores = scores.into_primitive();
        let (weights, chosen, places, sources, ends) =
            B::route_to_experts(scores.clone(), k, normalise);
        let weights = match ops.stateful() {
            OpsKind::Tracked(prep) => {
                let kept = KeptRoutes::<B> {
                    scores,
                    weights: weights.clone(),
                    chosen: chosen.clone(),
                    normalise,
                };
                prep.finish(kept, weights)
            }
            OpsKind::UnTracked(prep) => prep.finish(weights),
        };
        (weights, chosen, places, sources, ends)
    }

    fn route_to_experts_backward(
        gradient: FloatTensor<Self>,
        scores: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        chosen: IntTensor<Self>,
        normalise: bool,
    ) -> FloatTensor<Self> {
        Self::from_inner(B::route_to_experts_backward(
            gradient.into_primitive(),
            scores.into_primitive(),
            weights.into_primitive(),
            chosen,
            normalise,
        ))
    }

    fn through_experts(
        tokens: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        up: FloatTensor<Self>,
        down: FloatTensor<Self>,
        places: IntTensor<Self>,
        sources: IntTensor<Self>,
        ends: IntTensor<Self>,
        activation: Activation,
    ) -> FloatTensor<Self> {
        let nodes = [tokens.node(), weights.node(), up.node(), down.node()];
        let [tokens, weights, up, down] =
            [tokens, weights, up, down].map(|tensor| tensor.into_primitive());
        match Experts.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let (out, before, hidden, made) = B::through_experts_kept(
                    tokens.clone(),
                    weights.clone(),
                    up.clone(),
                    down.clone(),
                    places.clone(),
                    sources.clone(),
                    ends.clone(),
                    activation,
                );
                let kept = KeptExperts::<B> {
                    tokens,
                    weights,
                    up,
                    down,
                    places,
                    sources,
                    ends,
                    before,
                    hidden,
                    made,
                    activation,
                };
                prep.finish(kept, out)
            }
            OpsKind::UnTracked(prep) => prep.finish(B::through_experts(
                tokens, weights, up, down, places, sources, ends, activation,
            )),
        }
    }

    fn through_experts_kept(
        tokens: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        up: FloatTensor<Self>,
        down: FloatTensor<Self>,
        places: IntTensor<Self>,
        sources: IntTensor<Self>,
        ends: IntTensor<Self>,
        activation: Activation,
    ) -> (
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
    ) {
        let [tokens, weights, up, down] =
            [tokens, weights, up, down].map(|tensor| tensor.into_primitive());
        let (out, before, hidden, made) =
            B::through_experts_kept(tokens, weights, up, down, places, sources, ends, activation);
        (
            Self::from_inner(out),
            Self::from_inner(before),
            Self::from_inner(hidden),
            Self::from_inner(made),
        )
    }

    fn through_experts_backward(
        gradient: FloatTensor<Self>,
        tokens: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        up: FloatTensor<Self>,
        down: FloatTensor<Self>,
        places: IntTensor<Self>,
        sources: IntTensor<Self>,
        ends: IntTensor<Self>,
        before: FloatTensor<Self>,
        hidden: FloatTensor<Self>,
        made: FloatTensor<Self>,
        activation: Activation,
        wanted: Wanted,
    ) -> (
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
    ) {
        let [gradient, tokens, weights, up, down] =
            [gradient, tokens, weights, up, down].map(|tensor| tensor.into_primitive());
        let [before, hidden, made] = [before, hidden, made].map(|tensor| tensor.into_primitive());
        let (of_tokens, of_weights, of_up, of_down) = B::through_experts_backward(
            gradient, tokens, weights, up, down, places, sources, ends, before, hidden, made,
            activation, wanted,
        );
        (
            Self::from_inner(of_tokens),
            Self::from_inner(of_weights),
            Self::from_inner(of_up),
            Self::from_inner(of_down),
        )
    }
}
