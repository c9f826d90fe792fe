//! The model: embeddings of the last characters side by side, a layer, a mixture of experts, the scores of the next.

use burn::module::{Module, Param};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Int, Tensor, TensorData};
use girih_burn::{Bounds, Error, MoeLayer, MoeLayerConfig, gather, matmul};

/// How large a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Characters that there are.
    pub alphabet: usize,
    /// Characters that the model sees.
    pub context: usize,
    /// Numbers of each character.
    pub embedding: usize,
    /// The width of the layers.
    pub width: usize,
    /// The width within an expert.
    pub hidden: usize,
    /// Experts.
    pub experts: usize,
    /// Experts of a position.
    pub top_k: usize,
}

/// A model that says which character comes next.
#[derive(Module, Debug)]
pub struct CharModel {
    table: Param<Tensor<2>>,
    input: Param<Tensor<2>>,
    experts: MoeLayer,
    output: Param<Tensor<2>>,
}

impl CharModel {
    /// A model with Glorot-uniform weights, drawn on the host so that a seed means the same weights on every device.
    ///
    /// # Errors
    /// Where a position would go to no expert, or to more than there are.
    pub fn new(sizes: Sizes, random: &mut SplitMix64, device: &Device) -> Result<Self, Error> {
        let mut weights = |shape: &[usize]| {
            let ends = shape[shape.len() - 2] + shape[shape.len() - 1];
            let limit = (6.0 / ends as f32).sqrt();
            let values: Vec<f32> = (0..shape.iter().product())
                .map(|_| limit * (2.0 * random.uniform() - 1.0))
                .collect();
            TensorData::new(values, shape.to_vec())
        };
        let Sizes {
            width,
            hidden,
            experts: count,
            ..
        } = sizes;
        let mut experts = MoeLayerConfig::new(width, hidden, count, sizes.top_k).init(device)?;
        experts.router = Param::from_data(weights(&[width, count]), device);
        experts.up = Param::from_data(weights(&[count, width, hidden]), device);
        experts.down = Param::from_data(weights(&[count, hidden, width]), device);
        let inputs = sizes.context * sizes.embedding;
        Ok(Self {
            table: Param::from_data(weights(&[sizes.alphabet, sizes.embedding]), device),
            input: Param::from_data(weights(&[inputs, width]), device),
            experts,
            output: Param::from_data(weights(&[width, sizes.alphabet]), device),
        })
    }

    /// The scores of each next character, `[positions, alphabet]`, and how far the experts are from an even load.
    /// `seen` has the characters that each position sees, one position after another.
    ///
    /// # Errors
    /// Where girih's ops refuse the device.
    pub fn forward(&self, seen: Tensor<1, Int>) -> Result<(Tensor<2>, Tensor<1>), Error> {
        let [inputs, _] = self.input.dims();
        let [_, embedding] = self.table.dims();
        let positions = seen.dims()[0] * embedding / inputs;
        let embedded = gather(self.table.val(), 0, seen, Bounds::Mask)?.into_inner();
        let embedded = embedded.reshape([positions, inputs]);
        let hidden = relu(matmul(embedded, self.input.val())?);
        let (made, balance) = self.experts.forward_with_balance(hidden.clone())?;
        Ok((matmul(hidden + made, self.output.val())?, balance))
    }
}

/// Steele, Lea and Flood's generator (2014).
#[derive(Debug, Clone)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number of `[0, 1)`, uniformly.
    pub fn uniform(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u64 << 24) as f32
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}
