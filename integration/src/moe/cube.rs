//! The ops on CubeCL's tensors: girih's launchers.

use burn::tensor::DType;
use burn_cubecl::{CubeBackend, tensor::CubeTensor};
use cubecl::std::tensor::TensorHandle;
use girih::{Bounds, Result};
use girih_kernels::{
    Activation, MatmulOptions, combine_experts, combine_experts_backward, gather, gather_matmul,
    grouped_inner_matmul, grouped_matmul, route_experts, route_experts_backward,
};

use super::backend::{MoeBackend, Wanted};
use crate::cube::{Place, handle, unchecked_call};
use crate::matmul::{cube::transposed, sum_type};

impl MoeBackend for CubeBackend {
    fn route_to_experts(
        scores: CubeTensor,
        k: usize,
        normalise: bool,
    ) -> (CubeTensor, CubeTensor, CubeTensor, CubeTensor, CubeTensor) {
        let out = Place::of(&scores);
        let sums = sum_type(scores.dtype);
        let routes = route_experts(&out.client, &handle(scores), k, normalise);
        let routes = routes.unwrap_or_else(unchecked_call);
        let list = |list: TensorHandle| out.clone().of_type(DType::I32).tensor(list);
        (
            out.clone().of_type(sums).tensor(routes.weights),
            list(routes.chosen),
            list(routes.places),
            list(routes.sources),
            list(routes.ends),
        )
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

    fn through_experts(
        tokens: CubeTensor,
        weights: CubeTensor,
        up: CubeTensor,
        down: CubeTensor,
        places: CubeTensor,
        sources: CubeTensor,
        ends: CubeTensor,
        activation: Activation,
    ) -> CubeTensor {
        let out = Place::of(&tokens);
        let experts = Experts::new(
            &out, tokens, weights, up, down, places, sources, ends, activation,
        );
        let sums = experts.forward(None);
        out.tensor(sums.unwrap_or_else(unchecked_call).sums)
    }

    fn through_experts_kept(
        tokens: CubeTensor,
        weights: CubeTensor,
        up: CubeTensor,
        down: CubeTensor,
        places: CubeTensor,
        sources: CubeTensor,
        ends: CubeTensor,
        activation: Activation,
    ) -> (CubeTensor, CubeTensor, CubeTensor, CubeTensor) {
        let out = Place::of(&tokens);
        let experts = Experts::new(
            &out, tokens, weights, up, down, places, sources, ends, activation,
        );
        let before = experts.room();
        let passed = experts
            .forward(Some(&before))
            .unwrap_or_else(unchecked_call);
        let tensor = |tensor: TensorHandle| out.clone().tensor(tensor);
        (
            tensor(passed.sums),
            tensor(before),
            tensor(passed.hidden),
            tensor(passed.made),
        )
    }

    fn through_experts_backward(
        gradient: CubeTensor,
        tokens: CubeTensor,
        weights: CubeTensor,
        up: CubeTensor,
        down: CubeTensor,
        places: CubeTensor,
        sources: CubeTensor,
        ends: CubeTensor,
        before: CubeTensor,
        hidden: CubeTensor,
        made: CubeTensor,
        activation: Activation,
        wanted: Wanted,
    ) -> (CubeTensor, CubeTensor, CubeTensor, CubeTensor) {
        let out = Place::of(&tokens);
        let of_weights = Place::of(&weights);
        let experts = Experts::new(
            &out, tokens, weights, up, down, places, sources, ends, activation,
        );
        let [gradient, before, hidden, made] = [gradient, before, hidden, made].map(handle);
        let found = experts.backward(&gradient, &before, hidden, made, wanted);
        let found = found.unwrap_or_else(unchecked_call);
        let tensor = |tensor: Option<TensorHandle>| match tensor {
            Some(tensor) => out.clone().tensor(tensor),
            None => out.clone().empty(),
        };
        (
            tensor(found.tokens),
            of_weights.tensor(found.weights),
            tensor(found.up),
            tensor(found.down),
        )
    }
}

/// Experts, and who goes to them.
struct Experts<'a> {
    place: &'a Place,
    tokens: TensorHandle,
    weights: TensorHandle,
    up: TensorHandle,
    down: TensorHandle,
    places: TensorHandle,
    sources: TensorHandle,
    ends: TensorHandle,
    activation: Activation,
}

/// What a pass through experts gives.
struct Passed {
    hidden: TensorHandle,
    made: TensorHandle,
    sums: TensorHandle,
}

/// The gradients that are wanted.
struct Gradients {
    tokens: Option<TensorHandle>,
    weights: TensorHandle,
    up: Option<TensorHandle>,
    down: Option<TensorHandle>,
}

impl<'a> Experts<'a> {
    #[allow(clippy::too_many_arguments)]
    fn new(
        place: &'a Place,
        tokens: CubeTensor,
        weights: CubeTensor,
        up: CubeTensor,
        down: CubeTensor,
        places: CubeTensor,
        sources: CubeTensor,
        ends: CubeTensor,
        activation: Activation,
    ) -> Self {
        let [tokens, weights, up, down] = [tokens, weights, up, down].map(handle);
        let [places, sources, ends] = [places, sources, ends].map(handle);
        Self {
            place,
            tokens,
            weights,
            up,
            down,
            places,
            sources,
            ends,
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

    /// The experts' results by token; what comes before the activation goes to `before`.
    fn forward(&self, before: Option<&TensorHandle>) -> Result<Passed> {
        let client = &self.place.client;
        let options = MatmulOptions {
            activation: self.activation,
            before,
            ..MatmulOptions::default()
        };
        let hidden = gather_matmul(
            client,
            &self.tokens,
            &self.sources,
            &self.up,
            Some(&self.ends),
            Bounds::Mask,
            &options,
        )?
        .into_inner();
        let made = grouped_matmul(
            client,
            &hidden,
            &self.down,
            &self.ends,
            &MatmulOptions::default(),
        )?;
        let sums = combine_experts(client, &made, &self.places, Some(&self.weights))?;
        Ok(Passed { hidden, made, sums })
    }

    fn backward(
        &self,
        gradient: &TensorHandle,
        before: &TensorHandle,
        hidden: TensorHandle,
        made: TensorHandle,
        wanted: Wanted,
    ) -> Result<Gradients> {
        let (client, ends) = (&self.place.client, &self.ends);
        let plain = MatmulOptions::default();
        let combined =
            combine_experts_backward(client, gradient, &made, &self.places, &self.weights)?;
        // What is not needed any more makes room for what is.
        drop(made);
        let down = match wanted.down {
            true => Some(grouped_inner_matmul(
                client,
                &transposed(hidden),
                &combined.rows,
                ends,
                &plain,
            )?),
            false => None,
        };
        let mut found = Gradients {
            tokens: None,
            weights: combined.weights,
            up: None,
            down,
        };
        if !wanted.tokens && !wanted.up {
            return Ok(found);
        }
        let options = MatmulOptions {
            activation: self.activation,
            slope_at: Some(before),
            ..MatmulOptions::default()
        };
        let down = transposed(self.down.clone());
        let of_before = grouped_matmul(client, &combined.rows, &down, ends, &options)?;
        drop(combined.rows);
        if wanted.up {
            let given = gather(client, &self.tokens, &self.sources, 0, Bounds::Mask)?.into_inner();
            let given = transposed(given);
            found.up = Some(grouped_inner_matmul(
                client, &given, &of_before, ends, &plain,
            )?);
        }
        if wanted.tokens {
            let up = transposed(self.up.clone());
            let of_routes = grouped_matmul(client, &of_before, &up, ends, &plain)?;
            found.tokens = Some(combine_experts(client, &of_routes, &self.places, None)?);
        }
        Ok(found)
    }
}
