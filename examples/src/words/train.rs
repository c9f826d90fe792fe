//! The training.

use burn::module::Param;
use burn::tensor::activation::log_sigmoid;
use burn::tensor::{Device, Int, Tensor, TensorData};
use girih_burn::nn::Embedding;
use girih_burn::{Error, SparseAdam, SparseAdamConfig, SparseGrad};

use super::{Corpus, Pair};

/// Words that are drawn for each pair as ones that are not near.
const OTHERS: usize = 5;
/// Pairs of a step.
const BATCH: usize = 256;

/// How to train.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Steps of the optimiser, of 256 pairs each.
    pub steps: usize,
    /// What the first vectors and the batches are drawn from.
    pub seed: u64,
    /// How long a vector is.
    pub width: usize,
    /// How far apart near words are.
    pub window: usize,
    /// The step length of Adam.
    pub learning_rate: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            steps: 600,
            seed: 0,
            width: 32,
            window: 4,
            learning_rate: 0.02,
        }
    }
}

/// What is known after a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// How many steps are done.
    pub steps: usize,
    /// The mean loss of the last step's pairs before it, in nats; read back from the device every tenth step and at the end.
    pub loss: Option<f32>,
}

/// A vector for each word.
#[derive(Debug, Clone)]
pub struct Vectors {
    width: usize,
    values: Vec<f32>,
}

impl Vectors {
    /// The vector of a word.
    pub fn of(&self, word: usize) -> &[f32] {
        &self.values[word * self.width..(word + 1) * self.width]
    }

    /// The words whose vectors point most nearly where that of a word points, the nearest first, and the cosines of the angles.
    pub fn nearest(&self, word: usize, count: usize) -> Vec<(usize, f32)> {
        let words = self.values.len() / self.width;
        let others = (0..words).filter(|&other| other != word);
        let mut near: Vec<_> = others
            .map(|other| (other, self.cosine(word, other)))
            .collect();
        near.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
        near.truncate(count);
        near
    }

    fn cosine(&self, a: usize, b: usize) -> f32 {
        let dot = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let (a, b) = (self.of(a), self.of(b));
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(f32::MIN_POSITIVE)
    }
}

/// Numbers that are the same in every run and on every device (Steele and others, 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, end: usize) -> usize {
        (self.uniform() * end as f64) as usize
    }
}

/// A table of vectors, and its optimiser.
struct Table {
    embedding: Embedding,
    adam: SparseAdam,
}

impl Table {
    fn new(words: usize, settings: &Settings, random: &mut SplitMix64, device: &Device) -> Self {
        let count = words * settings.width;
        let value = |_| (random.uniform() as f32 - 0.5) / settings.width as f32;
        let values: Vec<f32> = (0..count).map(value).collect();
        let data = TensorData::new(values, [words, settings.width]);
        Self {
            embedding: Embedding {
                weight: Param::from_tensor(Tensor::from_data(data, device)),
                padding: None,
            },
            adam: SparseAdamConfig::new().init(),
        }
    }

    /// The table after a step on the rows of a gradient.
    fn step(mut self, rate: f64, gradient: Option<SparseGrad>) -> Result<Self, Error> {
        if let Some(gradient) = gradient {
            self.embedding = self.adam.step(rate, self.embedding, gradient)?;
        }
        Ok(self)
    }
}

/// Learns a vector for each word of a text: near words' vectors agree, those of words drawn at random do not. Tells `observe` after
/// each step.
///
/// # Errors
/// Where girih's ops refuse the device.
pub fn train(
    corpus: &Corpus,
    device: &Device,
    settings: Settings,
    mut observe: impl FnMut(Progress),
) -> Result<Vectors, Error> {
    let device = device.clone().autodiff();
    let mut random = SplitMix64(settings.seed);
    let mut tables = [(); 2].map(|()| {
        let words = corpus.words().len();
        Table::new(words, &settings, &mut random, &device)
    });
    let batches = Batches::new(corpus, settings.window);
    for step in 0..settings.steps {
        let (words, others) = batches.draw(&mut random, &device);
        let loss;
        (tables, loss) = step_of(tables, words, others, settings.learning_rate)?;
        let shown = step % 10 == 0 || step + 1 == settings.steps;
        observe(Progress {
            steps: step + 1,
            loss: shown.then(|| loss.into_scalar()),
        });
    }
    let [table, _] = tables;
    let values = table.embedding.weight.val().into_data();
    Ok(Vectors {
        width: settings.width,
        values: values.iter::<f32>().collect(),
    })
}

/// The tables after one step on the rows of a batch, and its loss before the step.
fn step_of(
    [words_table, others_table]: [Table; 2],
    words: Tensor<2, Int>,
    others: Tensor<2, Int>,
    rate: f64,
) -> Result<([Table; 2], Tensor<1>), Error> {
    let (word, of_words) = words_table.embedding.forward_sparse(words)?;
    let (other, of_others) = others_table.embedding.forward_sparse(others)?;
    let loss = loss(word, other);
    let gradients = loss.clone().backward();
    let tables = [
        words_table.step(rate, of_words.grad(&gradients)?)?,
        others_table.step(rate, of_others.grad(&gradients)?)?,
    ];
    Ok((tables, loss))
}

/// The mean of what it costs that each word's first other is near it, and that the rest are not.
fn loss(words: Tensor<3>, others: Tensor<3>) -> Tensor<1> {
    let agreement = (words * others).sum_dim(2);
    let [batch, all, _] = agreement.dims();
    let near = agreement.clone().slice([0..batch, 0..1, 0..1]);
    let far = agreement.slice([0..batch, 1..all, 0..1]);
    let far = log_sigmoid(far.neg()).mean() * (all - 1) as f32;
    (log_sigmoid(near).mean() + far).neg()
}

/// Where batches come from.
struct Batches {
    pairs: Vec<Pair>,
    /// Sums of counts to the power of 3/4, which words that are not near are drawn by.
    cumulated: Vec<f64>,
}

impl Batches {
    fn new(corpus: &Corpus, window: usize) -> Self {
        let mut sum = 0.0;
        let cumulated = corpus.counts().iter().map(|&count| {
            sum += (count as f64).powf(0.75);
            sum
        });
        Self {
            cumulated: cumulated.collect(),
            pairs: corpus.pairs(window),
        }
    }

    /// Words, and for each the one near it and others.
    fn draw(&self, random: &mut SplitMix64, device: &Device) -> (Tensor<2, Int>, Tensor<2, Int>) {
        let (mut words, mut others) = (vec![], vec![]);
        let last = self.cumulated.len() - 1;
        for _ in 0..BATCH {
            let pair = self.pairs[random.below(self.pairs.len())];
            words.push(pair.word as i32);
            others.push(pair.near as i32);
            for _ in 0..OTHERS {
                let drawn = random.uniform() * self.cumulated[last];
                let word = self.cumulated.partition_point(|&up_to| up_to <= drawn);
                others.push(word.min(last) as i32);
            }
        }
        let tensor = |numbers: Vec<i32>, columns| {
            Tensor::from_data(TensorData::new(numbers, [BATCH, columns]), device)
        };
        (tensor(words, 1), tensor(others, 1 + OTHERS))
    }
}
