//! [`Embedding`].

use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Gradients, Int, Tensor};
use girih::Bounds;
use girih_kernels::GatherOptions;

use crate::sparse::inner;
use crate::{Error, SparseGrad, gather};

/// Configuration of an [`Embedding`]: that of Burn's, and a padding.
#[derive(Config, Debug)]
pub struct EmbeddingConfig {
    /// How many vectors there are.
    pub n_embedding: usize,
    /// How long each is.
    pub d_model: usize,
    /// How they begin.
    #[config(default = "Initializer::Normal{mean:0.0, std:1.0}")]
    pub initializer: Initializer,
    /// The vector that stands for nothing: it has no gradient.
    pub padding: Option<usize>,
}

/// A table of vectors, looked up by number: Burn's `nn::Embedding` on girih's gather, whose gradient is a scatter by atomics, or, by
/// [`forward_sparse`](Self::forward_sparse), the rows that were used alone.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use girih_burn::nn::EmbeddingConfig;
///
/// # #[cfg(feature = "cpu")] {
/// let device = Device::cpu();
/// let embedding = EmbeddingConfig::new(100, 8).init(&device);
/// let words = Tensor::<2, Int>::from_ints([[4, 7, 4], [0, 99, 1]], &device);
/// assert_eq!(embedding.forward(words).dims(), [2, 3, 8]);
/// # }
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct Embedding {
    /// The vectors, of shape `[n_embedding, d_model]`.
    pub weight: Param<Tensor<2>>,
    /// The vector that has no gradient.
    #[module(skip)]
    pub padding: Option<usize>,
}

impl ModuleDisplay for Embedding {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        DisplaySettings::new()
            .with_new_line_after_attribute(false)
            .optional()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        let [n_embedding, d_model] = self.weight.dims();
        content
            .add("n_embedding", &n_embedding)
            .add("d_model", &d_model)
            .optional()
    }
}

impl EmbeddingConfig {
    /// A new embedding.
    pub fn init(&self, device: &Device) -> Embedding {
        let shape = [self.n_embedding, self.d_model];
        Embedding {
            weight: self.initializer.init(shape, device),
            padding: self.padding,
        }
    }
}

impl Embedding {
    /// The vectors of these numbers: of shape `[batch, length]`, to `[batch, length, d_model]`. A number out of range has a vector of
    /// zeros, and no gradient.
    ///
    /// # Panics
    /// Where [`try_forward`](Self::try_forward) has an error: the numbers are on another device than the table, or the device is
    /// without what the kernels need.
    pub fn forward(&self, input: Tensor<2, Int>) -> Tensor<3> {
        match self.try_forward(input) {
            Ok(vectors) => vectors,
            Err(error) => panic!("girih-burn: Embedding: {error}"),
        }
    }

    /// As [`forward`](Self::forward).
    ///
    /// # Errors
    /// As [`gather`].
    pub fn try_forward(&self, input: Tensor<2, Int>) -> Result<Tensor<3>, Error> {
        let [batch, length] = input.dims();
        let index = listed(input);
        let options = GatherOptions {
            padding: self.padding,
            ..Bounds::Mask.into()
        };
        let rows = gather(self.weight.val(), 0, index, options)?.into_inner();
        Ok(batched(rows, batch, length))
    }

    /// As [`try_forward`](Self::try_forward), and a record that gives the gradient as the rows that were used, for a
    /// [`SparseAdam`](crate::SparseAdam), [`SparseAdaGrad`](crate::SparseAdaGrad) or [`SparseSgd`](crate::SparseSgd). The table itself
    /// has no gradient from this call: no memory of its size is written.
    ///
    /// # Errors
    /// As [`gather`].
    pub fn forward_sparse(
        &self,
        input: Tensor<2, Int>,
    ) -> Result<(Tensor<3>, EmbeddingRecord), Error> {
        let [batch, length] = input.dims();
        let index = listed(input);
        let [extent, _] = self.weight.dims();
        let table = self.weight.val();
        let rows = match table.device().is_autodiff() {
            // Below autodiff, so that the rows are where gradients end.
            true => {
                let rows = gather(table.inner(), 0, index.clone().inner(), Bounds::Mask)?;
                Tensor::from_inner(rows.into_inner()).require_grad()
            }
            false => gather(table, 0, index.clone(), Bounds::Mask)?.into_inner(),
        };
        let record = EmbeddingRecord {
            rows: rows.clone(),
            index,
            extent,
            padding: self.padding,
        };
        Ok((batched(rows, batch, length), record))
    }
}

/// The numbers one after another. A reshape takes 0 for an extent that stays, so that lines of none are no part of one.
fn listed(input: Tensor<2, Int>) -> Tensor<1, Int> {
    let [batch, length] = input.dims();
    match batch * length {
        0 => Tensor::zeros([0], (&input.device(), input.dtype())),
        count => input.reshape([count]),
    }
}

/// The rows as lines of so many.
fn batched(rows: Tensor<2>, batch: usize, length: usize) -> Tensor<3> {
    let [_, d_model] = rows.dims();
    match (batch, length) {
        // The rows are none and stay so, in front; then they take their place.
        (1.., 0) => rows.reshape([0, batch, d_model]).swap_dims(0, 1),
        _ => rows.reshape([batch, length, d_model]),
    }
}

/// What a forward pass keeps for its gradient.
#[derive(Debug, Clone)]
pub struct EmbeddingRecord {
    rows: Tensor<2>,
    index: Tensor<1, Int>,
    extent: usize,
    padding: Option<usize>,
}

impl EmbeddingRecord {
    /// The gradient of the table from those of a backward pass: each row that was used once, however often it was. `None`, where
    /// the pass did not reach the call.
    ///
    /// # Errors
    /// As [`SparseGrad::new`].
    pub fn grad(&self, gradients: &Gradients) -> Result<Option<SparseGrad>, Error> {
        let Some(gradient) = self.rows.grad(gradients) else {
            return Ok(None);
        };
        let index = inner(self.index.clone());
        let bounds = Bounds::Mask;
        SparseGrad::new(index, gradient, self.extent, self.padding, bounds).map(Some)
    }
}
