//! A mixture of experts.

use burn::config::Config;
use burn::module::{Module, Param};
use burn::tensor::activation::{gelu, relu, silu, softmax};
use burn::tensor::{DType, Device, Distribution, Int, Tensor};

use super::{gather_matmul, matmul, matmul_scatter};
use crate::{Bounds, Error, argsort, bincount, cumsum, gather, top_k};

/// What is between the two products of an expert.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
pub enum MoeActivation {
    /// `max(x, 0)`.
    Relu,
    /// `x (1 + erf(x / sqrt(2))) / 2`.
    Gelu,
    /// `x / (1 + exp(-x))`.
    Silu,
}

impl MoeActivation {
    fn of(self, tensor: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Relu => relu(tensor),
            Self::Gelu => gelu(tensor),
            Self::Silu => silu(tensor),
        }
    }
}

/// What a [`MoeLayer`] is made of.
#[derive(Config, Debug)]
pub struct MoeLayerConfig {
    /// The width of a token.
    pub d_model: usize,
    /// The width within an expert.
    pub d_hidden: usize,
    /// How many experts there are.
    pub experts: usize,
    /// How many of them each token goes to.
    pub top_k: usize,
    /// What is between an expert's products.
    #[config(default = "MoeActivation::Silu")]
    pub activation: MoeActivation,
    /// Whether the weights of a token's experts are made to sum to 1.
    #[config(default = true)]
    pub normalise: bool,
}

impl MoeLayerConfig {
    /// A layer with random weights, uniform as Glorot and Bengio (2010) propose.
    ///
    /// # Errors
    /// Where a token would go to no expert, or to more than there are.
    pub fn init(&self, device: &Device) -> Result<MoeLayer, Error> {
        if self.top_k == 0 || self.top_k > self.experts {
            return Err(Error::Kernel(girih::Error::Argument {
                call: "MoeLayerConfig::init",
                argument: "top_k",
                given: self.top_k.to_string(),
                allowed: format!("1 to {}, as many as there are experts", self.experts),
            }));
        }
        let [model, hidden, experts] = [self.d_model, self.d_hidden, self.experts];
        Ok(MoeLayer {
            router: weights([model, experts], model + experts, device),
            up: weights([experts, model, hidden], model + hidden, device),
            down: weights([experts, hidden, model], model + hidden, device),
            top_k: self.top_k,
            activation: self.activation,
            normalise: self.normalise,
        })
    }
}

/// Uniform in as wide a range as Glorot and Bengio (2010) give a layer with so many inputs and outputs.
fn weights<const D: usize>(shape: [usize; D], ends: usize, device: &Device) -> Param<Tensor<D>> {
    let limit = (6.0 / ends.max(1) as f64).sqrt();
    let range = Distribution::Uniform(-limit, limit);
    Param::from_tensor(Tensor::random(shape, range, device))
}

/// A mixture of experts: each token goes to the experts that a router scores highest, and is what they make of it, weighted
/// by the router's probabilities.
///
/// `p = softmax(x router)`; of the `top_k` largest `p[e]`, `out = sum over e of p[e] act(x up[e]) down[e]`, with the `p` of
/// a token divided by their sum unless told otherwise.
///
/// Everything stays on the device: the tokens are neither copied into the order of their experts nor padded to a
/// capacity. The routes (token, expert) are sorted by expert, counts of them say where each expert's begin, the first product
/// gathers the tokens of its rows, and the second adds its rows to their tokens.
///
/// ```
/// # use burn::tensor::{Device, Distribution, Tensor};
/// # use girih_burn::MoeLayerConfig;
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let layer = MoeLayerConfig::new(8, 16, 4, 2).init(&device)?;
/// let tokens = Tensor::<3>::random([2, 5, 8], Distribution::Default, &device);
/// assert_eq!(layer.forward(tokens)?.dims(), [2, 5, 8]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct MoeLayer {
    /// `[d_model, experts]`.
    pub router: Param<Tensor<2>>,
    /// `[experts, d_model, d_hidden]`.
    pub up: Param<Tensor<3>>,
    /// `[experts, d_hidden, d_model]`.
    pub down: Param<Tensor<3>>,
    top_k: usize,
    #[module(skip)]
    activation: MoeActivation,
    normalise: bool,
}

/// Which tokens go where: one route for each token and each of its experts, in the order of experts.
#[derive(Debug, Clone)]
struct Routes {
    /// The token of each.
    token: Tensor<1, Int>,
    /// The weight of each.
    weight: Tensor<1>,
    /// Where the routes to each expert end.
    ends: Tensor<1, Int>,
    /// How many there are to each expert.
    counts: Tensor<1, Int>,
    /// The router's probabilities, `[tokens, experts]`.
    probabilities: Tensor<2>,
}

impl MoeLayer {
    /// The layer's result: of the shape of `tokens`, whose last extent is `d_model`.
    ///
    /// # Errors
    /// Every [`Error`] but [`Error::Read`], before anything runs.
    pub fn forward<const D: usize>(&self, tokens: Tensor<D>) -> Result<Tensor<D>, Error> {
        Ok(self.compute(tokens)?.0)
    }

    /// As [`forward`](Self::forward), and a loss that is least, 1, where all experts get equally many tokens:
    /// `experts * sum over e of f[e] mean(p[e])`, where `f[e]` is the part of the routes that go to expert `e`.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn forward_with_balance<const D: usize>(
        &self,
        tokens: Tensor<D>,
    ) -> Result<(Tensor<D>, Tensor<1>), Error> {
        let (out, routes) = self.compute(tokens)?;
        let [count, experts] = routes.probabilities.dims();
        let all = (count * self.top_k).max(1) as f32;
        let part = routes.counts.float().div_scalar(all);
        let mean = routes.probabilities.mean_dim(0).reshape([experts]);
        // The mean of products is their sum over the experts' number.
        let balance = (part.cast(mean.dtype()) * mean).mean();
        let experts = experts as f32;
        Ok((out, balance.mul_scalar(experts * experts)))
    }

    fn compute<const D: usize>(&self, tokens: Tensor<D>) -> Result<(Tensor<D>, Routes), Error> {
        let shape = tokens.shape();
        let [model, _] = self.router.dims();
        let width = shape[D - 1];
        if width != model {
            let mut allowed = shape.to_vec();
            allowed[D - 1] = model;
            return Err(Error::Kernel(girih::Error::Shape {
                call: "MoeLayer::forward",
                argument: "tokens",
                given: shape.to_vec(),
                allowed,
            }));
        }
        let count = shape.num_elements() / model.max(1);
        let tokens = tokens.reshape([count, model]);
        let routes = self.route(tokens.clone())?;
        let up = gather_matmul(
            tokens,
            routes.token.clone(),
            self.up.val(),
            routes.ends.clone(),
        )?;
        let out = matmul_scatter(
            self.activation.of(up),
            self.down.val(),
            routes.ends.clone(),
            routes.token.clone(),
            routes.weight.clone(),
            count,
        )?;
        Ok((out.reshape(shape), routes))
    }

    fn route(&self, tokens: Tensor<2>) -> Result<Routes, Error> {
        let probabilities = softmax(matmul(tokens, self.router.val())?, 1);
        let [count, experts] = probabilities.dims();
        let (weights, chosen) = top_k(probabilities.clone(), 1, self.top_k, true)?;
        let weights = match self.normalise {
            true => weights.clone() / weights.sum_dim(1),
            false => weights,
        };
        let routes = count * self.top_k;
        let (weights, chosen) = (weights.reshape([routes]), chosen.reshape([routes]));
        let order = argsort(chosen.clone(), 0, false)?;
        let counts = bincount(chosen, experts)?;
        let ends = cumsum(counts.clone(), 0)?.cast(DType::I32);
        let token = order.clone().div_scalar(self.top_k as i32);
        let weight = gather(weights, 0, order, Bounds::Mask)?.into_inner();
        Ok(Routes {
            token,
            weight,
            ends,
            counts,
            probabilities,
        })
    }
}
