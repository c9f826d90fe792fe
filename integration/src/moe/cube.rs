//! The ops on CubeCL's tensors: girih's launchers.

use burn::tensor::DType;
use burn_cubecl::{CubeBackend, tensor::CubeTensor};
use cubecl::std::tensor::TensorHandle;
use girih::{Bounds, Result};
use girih_kernels::{
    Activation, MatmulOptions, combine_experts, combine_experts_backward, gather, gather_matmul,
    grouped_inner_matmul, grouped_matmul, route_experts, route_experts_backward,
};

use super::backend::{MoeBackend, MoeExperts, MoeGradients, MoeKept, MoePassed, MoeRoutes, Wanted};
use crate::cube::{Place, handle, unchecked_call};
use crate::matmul::{cube::transposed, sum_type};

impl MoeBackend for CubeBackend {
    fn route_to_experts(scores: CubeTensor, k: usize, normalise: bool) -> MoeRoutes<Self> {
        let out = Place::of(&scores);
        let sums = sum_type(scores.dtype);
        let routes = route_experts(&out.client, &handle(scores), k, normalise);
        let routes = routes.unwrap_or_else(unchecked_call);
        let list = |list: TensorHandle| out.clone().of_type(DType::I32).tensor(list);
        MoeRoutes {
            weights: out.clone().of_type(sums).tensor(routes.weights),
            chosen: list(routes.chosen),
            places: list(routes.places),
            sources: list(routes.sources),
            ends: list(routes.ends),
        }
    }

    fn route_to_experts_backward(
        gradient: CubeTensor,
        scores: CubeTensor,
        weights: CubeTensor,
        chosen: CubeTensor,
        normalise: bool,
    ) -> CubeTensor {
        let out = Place::of(&scores);
        let [gradient, scores, weights, chosen] = [gradient, scores, weights, chosen].map(handle);
        let found = route_experts_backward(
            &out.client,
            &gradient,
            &scores,
            &weights,
            &chosen,
            normalise,
        );
        out.tensor(found.unwrap_or_else(unchecked_call))
    }

    fn through_experts(experts: MoeExperts<Self>, activation: Activation) -> CubeTensor {
        let out = Place::of(&experts.tokens);
        let sums = Layer::new(&out, experts, activation).forward();
        out.tensor(sums.unwrap_or_else(unchecked_call))
    }

    fn through_experts_kept(experts: MoeExperts<Self>, activation: Activation) -> MoePassed<Self> {
        let out = Place::of(&experts.tokens);
        let rows = Layer::new(&out, experts, activation).forward_kept();
        let (sums, rows) = rows.unwrap_or_else(unchecked_call);
        let tensor = |tensor: TensorHandle| out.clone().tensor(tensor);
        MoePassed {
            sums: tensor(sums),
            kept: MoeKept {
                given: tensor(rows.given),
                before: tensor(rows.before),
                hidden: tensor(rows.hidden),
                made: tensor(rows.made),
            },
        }
    }

    fn through_experts_backward(
        gradient: CubeTensor,
        experts: MoeExperts<Self>,
        kept: MoeKept<Self>,
        activation: Activation,
        wanted: Wanted,
    ) -> MoeGradients<Self> {
        let out = Place::of(&experts.tokens);
        let of_weights = Place::of(&experts.routes.weights);
        let rows = Rows {
            given: handle(kept.given),
            before: handle(kept.before),
            hidden: handle(kept.hidden),
            made: handle(kept.made),
        };
        let layer = Layer::new(&out, experts, activation);
        let found = layer.backward(&handle(gradient), rows, wanted);
        let found = found.unwrap_or_else(unchecked_call);
        let tensor = |tensor: Option<TensorHandle>| match tensor {
            Some(tensor) => out.clone().tensor(tensor),
            None => out.clone().empty(),
        };
        MoeGradients {
            tokens: tensor(found.tokens),
            weights: of_weights.tensor(found.weights),
            up: tensor(found.up),
            down: tensor(found.down),
        }
    }
}

/// [`MoeExperts`] as launchers take them, but for what only the router's gradient needs.
struct Layer<'a> {
    place: &'a Place,
    tokens: TensorHandle,
    up: TensorHandle,
    down: TensorHandle,
    weights: TensorHandle,
    places: TensorHandle,
    sources: TensorHandle,
    ends: TensorHandle,
    activation: Activation,
}

/// What is [`MoeKept`] of each place.
struct Rows {
    given: TensorHandle,
    before: TensorHandle,
    hidden: TensorHandle,
    made: TensorHandle,
}

/// The gradients that are wanted.
struct Gradients {
    tokens: Option<TensorHandle>,
    weights: TensorHandle,
    up: Option<TensorHandle>,
    down: Option<TensorHandle>,
}

impl<'a> Layer<'a> {
    fn new(place: &'a Place, experts: MoeExperts<CubeBackend>, activation: Activation) -> Self {
        let MoeExperts {
            tokens,
            up,
            down,
            routes,
        } = experts;
        Self {
            place,
            tokens: handle(tokens),
            up: handle(up),
            down: handle(down),
            weights: handle(routes.weights),
            places: handle(routes.places),
            sources: handle(routes.sources),
            ends: handle(routes.ends),
            activation,
        }
    }

    /// Room for what each place has within its expert.
    fn room(&self) -> TensorHandle {
        let shape = vec![self.sources.shape()[0], self.up.shape()[2]];
        let size = self.tokens.dtype.size();
        let bytes = shape.iter().product::<usize>() * size;
        let room = self.place.client.empty(bytes.max(size));
        TensorHandle::new_contiguous(shape, room, self.tokens.dtype)
    }

    /// The experts' results by token. The first product gathers its rows itself.
    fn forward(&self) -> Result<TensorHandle> {
        let options = MatmulOptions {
            activation: self.activation,
            ..MatmulOptions::default()
        };
        let hidden = gather_matmul(
            &self.place.client,
            &self.tokens,
            &self.sources,
            &self.up,
            Some(&self.ends),
            Bounds::Mask,
            &options,
        )?
        .into_inner();
        Ok(self.combined(&hidden)?.1)
    }

    /// The same, and what gradients need. That of the first matrices reads the gathered tokens: they are gathered once, for both.
    fn forward_kept(&self) -> Result<(TensorHandle, Rows)> {
        let client = &self.place.client;
        let given = gather(client, &self.tokens, &self.sources, 0, Bounds::Mask)?.into_inner();
        let before = self.room();
        let options = MatmulOptions {
            activation: self.activation,
            before: Some(&before),
            ..MatmulOptions::default()
        };
        let hidden = grouped_matmul(client, &given, &self.up, &self.ends, &options)?;
        let (made, sums) = self.combined(&hidden)?;
        let rows = Rows {
            given,
            before,
            hidden,
            made,
        };
        Ok((sums, rows))
    }

    /// The second products, and their sums by token.
    fn combined(&self, hidden: &TensorHandle) -> Result<(TensorHandle, TensorHandle)> {
        let client = &self.place.client;
        let plain = MatmulOptions::default();
        let made = grouped_matmul(client, hidden, &self.down, &self.ends, &plain)?;
        let sums = combine_experts(client, &made, &self.places, Some(&self.weights))?;
        Ok((made, sums))
    }

    fn backward(&self, gradient: &TensorHandle, rows: Rows, wanted: Wanted) -> Result<Gradients> {
        let (client, ends) = (&self.place.client, &self.ends);
        let plain = MatmulOptions::default();
        // What is not needed any more makes room for what is.
        let Rows {
            given,
            before,
            hidden,
            made,
        } = rows;
        let combined =
            combine_experts_backward(client, gradient, &made, &self.places, &self.weights)?;
        drop(made);
        let within = |rows: TensorHandle, gradient: &TensorHandle| {
            grouped_inner_matmul(client, &transposed(rows), gradient, ends, &plain)
        };
        let mut found = Gradients {
            tokens: None,
            weights: combined.weights,
            up: None,
            down: match wanted.down {
                true => Some(within(hidden, &combined.rows)?),
                false => None,
            },
        };
        if !wanted.tokens && !wanted.up {
            return Ok(found);
        }
        let options = MatmulOptions {
            activation: self.activation,
            slope_at: Some(&before),
            ..MatmulOptions::default()
        };
        let down = transposed(self.down.clone());
        let of_before = grouped_matmul(client, &combined.rows, &down, ends, &options)?;
        drop(combined.rows);
        if wanted.up {
            found.up = Some(within(given, &of_before)?);
        }
        if wanted.tokens {
            let up = transposed(self.up.clone());
            let of_routes = grouped_matmul(client, &of_before, &up, ends, &plain)?;
            found.tokens = Some(combine_experts(client, &of_routes, &self.places, None)?);
        }
        Ok(found)
    }
}
