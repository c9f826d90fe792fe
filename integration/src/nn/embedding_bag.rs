//! [`EmbeddingBag`].

use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Int, Tensor};
use girih_kernels::Reduction;

use crate::{BagOptions, Error, Grouping, embedding_bag};

/// How an [`EmbeddingBag`] combines vectors.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
pub enum BagMode {
    /// Added up.
    Sum,
    /// Added up, and divided by their number.
    Mean,
    /// The largest, element by element.
    Max,
}

impl From<BagMode> for Reduction {
    fn from(mode: BagMode) -> Self {
        match mode {
            BagMode::Sum => Self::Sum,
            BagMode::Mean => Self::Mean,
            BagMode::Max => Self::Max,
        }
    }
}

/// Configuration of an [`EmbeddingBag`].
#[derive(Config, Debug)]
pub struct EmbeddingBagConfig {
    /// How many vectors there are.
    pub n_embedding: usize,
    /// How long each is.
    pub d_model: usize,
    /// How a bag's are combined.
    #[config(default = "BagMode::Mean")]
    pub mode: BagMode,
    /// How they begin.
    #[config(default = "Initializer::Normal{mean:0.0, std:1.0}")]
    pub initializer: Initializer,
    /// The vector that stands for nothing: it does not count, and has no gradient.
    pub padding: Option<usize>,
}

/// A table of vectors, of which those of a bag of numbers are combined: [`embedding_bag`], which makes no vector for each number.
///
/// A number out of range does not count; a bag in which nothing counts is 0.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use girih_burn::nn::{BagMode, EmbeddingBagConfig};
///
/// # #[cfg(feature = "cpu")] {
/// let device = Device::cpu();
/// let bags = EmbeddingBagConfig::new(100, 8).with_mode(BagMode::Sum).with_padding(Some(0)).init(&device);
/// let words = Tensor::<2, Int>::from_ints([[4, 7, 0], [0, 0, 0]], &device);
/// assert_eq!(bags.forward(words)?.dims(), [2, 8]);
/// let (words, offsets) = (Tensor::from_ints([4, 7, 9], &device), Tensor::from_ints([0, 1, 3], &device));
/// assert_eq!(bags.forward_ragged(words, offsets, None)?.dims(), [2, 8]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct EmbeddingBag {
    /// The vectors, of shape `[n_embedding, d_model]`.
    pub weight: Param<Tensor<2>>,
    /// How a bag's are combined.
    #[module(skip)]
    pub mode: BagMode,
    /// The vector that does not count.
    #[module(skip)]
    pub padding: Option<usize>,
}

impl ModuleDisplay for EmbeddingBag {
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

impl EmbeddingBagConfig {
    /// A new embedding of bags.
    pub fn init(&self, device: &Device) -> EmbeddingBag {
        let shape = [self.n_embedding, self.d_model];
        EmbeddingBag {
            weight: self.initializer.init(shape, device),
            mode: self.mode,
            padding: self.padding,
        }
    }
}

impl EmbeddingBag {
    /// The bags of these numbers, one a row: of shape `[bags, length]`, to `[bags, d_model]`.
    ///
    /// # Errors
    /// As [`embedding_bag`].
    pub fn forward(&self, input: Tensor<2, Int>) -> Result<Tensor<2>, Error> {
        self.rows(input, None)
    }

    /// As [`forward`](Self::forward), each vector multiplied by a weight first.
    ///
    /// # Errors
    /// As [`embedding_bag`].
    pub fn forward_weighted(
        &self,
        input: Tensor<2, Int>,
        weights: Tensor<2>,
    ) -> Result<Tensor<2>, Error> {
        self.rows(input, Some(weights))
    }

    /// The bags of a list of numbers, bag `b` those from `offsets[b]` to before `offsets[b + 1]`, and a weight for each if there are
    /// weights.
    ///
    /// # Errors
    /// As [`embedding_bag`].
    pub fn forward_ragged(
        &self,
        input: Tensor<1, Int>,
        offsets: Tensor<1, Int>,
        weights: Option<Tensor<1>>,
    ) -> Result<Tensor<2>, Error> {
        self.bags(input, Grouping::Offsets(offsets), weights)
    }

    fn rows(&self, input: Tensor<2, Int>, weights: Option<Tensor<2>>) -> Result<Tensor<2>, Error> {
        let [bags, length] = input.dims();
        if length == 0 {
            let [_, d_model] = self.weight.dims();
            let weight = self.weight.val();
            return Ok(Tensor::zeros(
                [bags, d_model],
                (&weight.device(), weight.dtype()),
            ));
        }
        let weights = weights.map(|weights| {
            let count = weights.shape().num_elements();
            weights.reshape([count])
        });
        let input = input.reshape([bags * length]);
        self.bags(input, Grouping::Length(length), weights)
    }

    fn bags(
        &self,
        input: Tensor<1, Int>,
        grouping: Grouping,
        weights: Option<Tensor<1>>,
    ) -> Result<Tensor<2>, Error> {
        let options = BagOptions {
            weights,
            padding: self.padding,
            ..BagOptions::new(self.mode.into())
        };
        Ok(embedding_bag(self.weight.val(), input, grouping, options)?.into_inner())
    }
}
