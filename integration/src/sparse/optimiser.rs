//! The optimisers.

use burn::config::Config;
use burn::tensor::Tensor;
use girih_kernels::SparseStep;

use super::{SparseGrad, check, inner, step};
use crate::Error;
use crate::nn::Embedding;

/// Configuration of [`SparseSgd`].
#[derive(Config, Debug, Copy)]
pub struct SparseSgdConfig {
    /// What is left of the velocity after each step; 0 for none.
    #[config(default = 0.0)]
    pub momentum: f64,
    /// What is taken off the gradient before it joins the velocity.
    #[config(default = 0.0)]
    pub dampening: f64,
    /// Whether momentum is Nesterov's.
    #[config(default = false)]
    pub nesterov: bool,
}

/// Configuration of [`SparseAdaGrad`].
#[derive(Config, Debug, Copy)]
pub struct SparseAdaGradConfig {
    /// How the learning rate falls: it is divided by `1 + lr_decay * (step - 1)`.
    #[config(default = 0.0)]
    pub lr_decay: f64,
    /// What keeps the divisor from 0.
    #[config(default = 1e-5)]
    pub epsilon: f64,
}

/// Configuration of [`SparseAdam`].
#[derive(Config, Debug, Copy)]
pub struct SparseAdamConfig {
    /// What is left of the mean of gradients after each step.
    #[config(default = 0.9)]
    pub beta_1: f64,
    /// What is left of the mean of their squares.
    #[config(default = 0.999)]
    pub beta_2: f64,
    /// What keeps the divisor from 0.
    #[config(default = 1e-5)]
    pub epsilon: f64,
}

/// What an optimiser knows of a table.
#[derive(Debug, Clone, Default)]
struct States {
    time: u32,
    states: [Option<Tensor<2>>; 2],
}

macro_rules! optimisers {
    ($($(#[$doc:meta])* $name:ident by $config:ident: |$given:ident, $rate:ident, $time:ident| $made:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $name {
            config: $config,
            table: States,
        }

        impl $config {
            /// The optimiser, of one embedding.
            pub fn init(&self) -> $name {
                $name { config: *self, table: States::default() }
            }
        }

        impl $name {
            /// The embedding after a step, with that learning rate, on the rows of the gradient; the other rows keep their bits, and
            /// so do theirs of the state.
            ///
            /// The state is made on the first step, as large as the table, and written where it is from then on. So is the table,
            /// if nothing else has its memory.
            ///
            /// # Errors
            /// Every [`Error`] but [`Error::Read`], before anything runs; the embedding is then lost.
            pub fn step(
                &mut self,
                lr: f64,
                embedding: Embedding,
                gradient: SparseGrad,
            ) -> Result<Embedding, Error> {
                self.table.time += 1;
                let ($given, $rate, $time) = (self.config, lr, self.table.time);
                let by = $made;
                self.table.step(embedding, gradient, by)
            }
        }
    )*};
}
optimisers! {
    /// Stochastic gradient descent on the rows that were used, with momentum if asked for.
    ///
    /// Without dampening a step on a row is that of Burn's `Sgd` on a table whose other rows have no gradient, but that the velocity
    /// of a row without a gradient rests.
    SparseSgd by SparseSgdConfig: |config, rate, _time| match config.momentum {
        0.0 => SparseStep::Sgd { rate },
        momentum => SparseStep::Momentum {
            rate,
            momentum,
            dampening: config.dampening,
            nesterov: config.nesterov,
        },
    };
    /// AdaGrad on the rows that were used: the same as Burn's `AdaGrad`, to which a row without a gradient is nothing.
    SparseAdaGrad by SparseAdaGradConfig: |config, rate, time| SparseStep::Adagrad {
        rate: rate / (1.0 + config.lr_decay * f64::from(time - 1)),
        epsilon: config.epsilon,
    };
    /// Adam on the rows that were used.
    ///
    /// A step on a row is that of Burn's `Adam`, but that the means of a row without a gradient rest, where those of a dense table
    /// fall towards 0 and still move the row ("lazy" Adam). The bias is corrected by the number of steps of the table.
    ///
    /// ```
    /// use burn::tensor::{Device, Int, Tensor};
    /// use girih_burn::{SparseAdamConfig, nn::EmbeddingConfig};
    ///
    /// # #[cfg(feature = "cpu")] {
    /// let device = Device::cpu().autodiff();
    /// let mut embedding = EmbeddingConfig::new(1000, 4).init(&device);
    /// let mut adam = SparseAdamConfig::new().init();
    /// let words = Tensor::<2, Int>::from_ints([[5, 7, 5]], &device);
    /// let (rows, record) = embedding.forward_sparse(words)?;
    /// let gradients = rows.powi_scalar(2).mean().backward();
    /// if let Some(gradient) = record.grad(&gradients)? {
    ///     embedding = adam.step(0.01, embedding, gradient)?; // rows 5 and 7 alone
    /// }
    /// # drop(embedding);
    /// # }
    /// # Ok::<(), girih_burn::Error>(())
    /// ```
    SparseAdam by SparseAdamConfig: |config, rate, time| SparseStep::Adam {
        rate,
        beta_1: config.beta_1,
        beta_2: config.beta_2,
        epsilon: config.epsilon,
        time,
    };
}

impl States {
    fn step(
        &mut self,
        embedding: Embedding,
        gradient: SparseGrad,
        by: SparseStep,
    ) -> Result<Embedding, Error> {
        let gradient = SparseGrad {
            index: inner(gradient.index),
            rows: inner(gradient.rows),
            extent: gradient.extent,
        };
        check(&inner(embedding.weight.val()), &self.states, &gradient, by)?;
        let states = std::mem::take(&mut self.states);
        let Embedding { weight, padding } = embedding;
        let weight = weight.map(|weight| {
            let is_tracked = weight.device().is_autodiff();
            let requires_grad = weight.is_require_grad();
            let (stepped, states) = step(inner(weight), states, gradient, by);
            self.states = states;
            match is_tracked {
                true => Tensor::from_inner(stepped).set_require_grad(requires_grad),
                false => stepped,
            }
        });
        Ok(Embedding { weight, padding })
    }
}
