//! A mixture of experts.

mod autodiff;
mod backend;
mod cube;

pub use backend::{MoeBackend, MoeExperts, MoeGradients, MoeKept, MoePassed, MoeRoutes, Wanted};

use burn::backend::Dispatch;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::tensor::activation::softmax;
use burn::tensor::{Device, Distribution, Int, Tensor};
use girih_kernels::{Activation, supports_route_experts};

use crate::validate::{Argument, Call};
use crate::{Error, bincount, matmul};

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

impl From<MoeActivation> for Activation {
    fn from(activation: MoeActivation) -> Self {
        match activation {
            MoeActivation::Relu => Self::Relu,
            MoeActivation::Gelu => Self::Gelu,
            MoeActivation::Silu => Self::Silu,
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
    /// Where a token would go to no expert, or to more than there are; where there are more than 2048.
    pub fn init(&self, device: &Device) -> Result<MoeLayer, Error> {
        if self.top_k == 0 || self.top_k > self.experts {
            return Err(Error::Kernel(girih::Error::Argument {
                call: "MoeLayerConfig::init",
                argument: "top_k",
                given: self.top_k.to_string(),
                allowed: format!("1 to {}, as many as there are experts", self.experts),
            }));
        }
        supports_route_experts("MoeLayerConfig::init", 0, self.experts, self.top_k)?;
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
/// Everything stays on the device, and tokens are not padded to a capacity. One op routes: it chooses the experts of each token and
/// puts the routes (token, expert) in the order of experts, without a sort. One op is the experts: the first product gathers the
/// tokens of its rows and takes the activation along, the second makes a row for each route, and a pass adds up each token's rows,
/// times their weights, in the order of its experts. Nothing is added atomically: every run gives the same bits, of gradients too.
/// For gradients it keeps of each route its token, what it has within its expert, before and after the activation, and its row.
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
        let (out, scores, chosen) = self.compute(tokens)?;
        let [count, experts] = scores.dims();
        let all = (count * self.top_k).max(1) as f32;
        let part = bincount(chosen, experts)?.float().div_scalar(all);
        let mean = softmax(scores, 1).mean_dim(0).reshape([experts]);
        // The mean of products is their sum over the experts' number.
        let balance = (part.cast(mean.dtype()) * mean).mean();
        let experts = experts as f32;
        Ok((out, balance.mul_scalar(experts * experts)))
    }

    /// The result, the router's scores, and the experts of each token.
    fn compute<const D: usize>(
        &self,
        tokens: Tensor<D>,
    ) -> Result<(Tensor<D>, Tensor<2>, Tensor<2, Int>), Error> {
        const CALL: &str = "MoeLayer::forward";
        let shape = tokens.shape();
        let [model, _] = self.router.dims();
        let width = shape[D - 1];
        if width != model {
            let mut allowed = shape.to_vec();
            allowed[D - 1] = model;
            return Err(Error::Kernel(girih::Error::Shape {
                call: CALL,
                argument: "tokens",
                given: shape.to_vec(),
                allowed,
            }));
        }
        let count = shape.num_elements() / model.max(1);
        let tokens = tokens.reshape([count, model]);
        let (router, up, down) = (self.router.val(), self.up.val(), self.down.val());
        let call = Call::new(CALL, Argument::new("tokens", &tokens), 1)?;
        call.goes_to_experts(&router, &up, &down, self.top_k)?;
        let scores = matmul(tokens.clone(), router)?;
        let routes =
            Dispatch::route_to_experts(scores.clone().into_dispatch(), self.top_k, self.normalise);
        let chosen = Tensor::from_dispatch(routes.chosen.clone());
        let experts = MoeExperts {
            tokens: tokens.into_dispatch(),
            up: up.into_dispatch(),
            down: down.into_dispatch(),
            routes,
        };
        let out = Dispatch::through_experts(experts, self.activation.into());
        let out: Tensor<2> = Tensor::from_dispatch(out);
        Ok((out.reshape(shape), scores, chosen))
    }
}
