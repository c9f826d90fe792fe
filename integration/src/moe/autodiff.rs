//! The backward passes, over whichever backend computes.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, AutodiffBackend};
use girih_kernels::Activation;

use super::backend::{MoeBackend, MoeExperts, MoeGradients, MoeKept, MoePassed, MoeRoutes, Wanted};

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

/// Experts, as a node with four parents: the tokens, their routes' weights, and both kinds of matrices.
#[derive(Debug)]
struct ThroughExperts;

impl<B: MoeBackend> Backward<B, 4> for ThroughExperts {
    type State = (MoeExperts<B>, MoeKept<B>, Activation);

    fn backward(self, ops: Ops<Self::State, 4>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [tokens, weights, up, down] = ops.parents;
        let gradient = grads.consume::<B>(&ops.node);
        let (experts, kept, activation) = ops.state;
        let wanted = Wanted {
            tokens: tokens.is_some(),
            up: up.is_some(),
            down: down.is_some(),
        };
        let found = B::through_experts_backward(gradient, experts, kept, activation, wanted);
        let found = [
            (tokens, found.tokens),
            (weights, found.weights),
            (up, found.up),
            (down, found.down),
        ];
        for (parent, gradient) in found {
            if let Some(node) = parent {
                grads.register::<B>(node.id, gradient);
            }
        }
    }
}

impl<B: MoeBackend, C: CheckpointStrategy> MoeExperts<Autodiff<B, C>> {
    /// The same without the graph. What waits for a node's guard is taken before.
    fn into_inner(self) -> MoeExperts<B> {
        let Self {
            tokens,
            up,
            down,
            routes,
        } = self;
        MoeExperts {
            tokens: tokens.into_primitive(),
            up: up.into_primitive(),
            down: down.into_primitive(),
            routes: MoeRoutes {
                weights: routes.weights.into_primitive(),
                chosen: routes.chosen,
                places: routes.places,
                sources: routes.sources,
                ends: routes.ends,
            },
        }
    }
}

impl<B: MoeBackend, C: CheckpointStrategy> MoeBackend for Autodiff<B, C> {
    fn route_to_experts(scores: FloatTensor<Self>, k: usize, normalise: bool) -> MoeRoutes<Self> {
        // The guard of the node is taken before its tensor.
        let ops = Router.prepare::<C>([scores.node()]).compute_bound();
        let scores = scores.into_primitive();
        let routes = B::route_to_experts(scores.clone(), k, normalise);
        let weights = match ops.stateful() {
            OpsKind::Tracked(prep) => {
                let kept = KeptRoutes::<B> {
                    scores,
                    weights: routes.weights.clone(),
                    chosen: routes.chosen.clone(),
                    normalise,
                };
                prep.finish(kept, routes.weights)
            }
            OpsKind::UnTracked(prep) => prep.finish(routes.weights),
        };
        MoeRoutes {
            weights,
            chosen: routes.chosen,
            places: routes.places,
            sources: routes.sources,
            ends: routes.ends,
        }
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

    fn through_experts(experts: MoeExperts<Self>, activation: Activation) -> FloatTensor<Self> {
        let nodes = [
            experts.tokens.node(),
            experts.routes.weights.node(),
            experts.up.node(),
            experts.down.node(),
        ];
        let experts = experts.into_inner();
        match ThroughExperts
            .prepare::<C>(nodes)
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prep) => {
                let passed = B::through_experts_kept(experts.clone(), activation);
                prep.finish((experts, passed.kept, activation), passed.sums)
            }
            OpsKind::UnTracked(prep) => prep.finish(B::through_experts(experts, activation)),
        }
    }

    fn through_experts_kept(experts: MoeExperts<Self>, activation: Activation) -> MoePassed<Self> {
        let MoePassed { sums, kept } = B::through_experts_kept(experts.into_inner(), activation);
        MoePassed {
            sums: Self::from_inner(sums),
            kept: MoeKept {
                given: Self::from_inner(kept.given),
                before: Self::from_inner(kept.before),
                hidden: Self::from_inner(kept.hidden),
                made: Self::from_inner(kept.made),
            },
        }
    }

    fn through_experts_backward(
        gradient: FloatTensor<Self>,
        experts: MoeExperts<Self>,
        kept: MoeKept<Self>,
        activation: Activation,
        wanted: Wanted,
    ) -> MoeGradients<Self> {
        let kept = MoeKept {
            given: kept.given.into_primitive(),
            before: kept.before.into_primitive(),
            hidden: kept.hidden.into_primitive(),
            made: kept.made.into_primitive(),
        };
        let found = B::through_experts_backward(
            gradient.into_primitive(),
            experts.into_inner(),
            kept,
            activation,
            wanted,
        );
        MoeGradients {
            tokens: Self::from_inner(found.tokens),
            weights: Self::from_inner(found.weights),
            up: Self::from_inner(found.up),
            down: Self::from_inner(found.down),
        }
    }
}
