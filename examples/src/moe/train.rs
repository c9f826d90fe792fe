//! The training.

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use girih_burn::Error;

use super::model::SplitMix64;
use super::{CharModel, Sizes, Text};

/// How to train.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Steps of the optimiser.
    pub steps: usize,
    /// Positions of a batch.
    pub batch: usize,
    /// Characters that the model sees.
    pub context: usize,
    /// What the weights and the batches are drawn from.
    pub seed: u64,
    /// The step length of Adam.
    pub learning_rate: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            steps: 120,
            batch: 128,
            context: 8,
            seed: 0,
            learning_rate: 0.005,
        }
    }
}

/// What is known after a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// How many steps are done.
    pub steps: usize,
    /// The cross-entropy of the last batch, in nats a character; read back from the device every tenth step and at the
    /// end.
    pub loss: Option<f32>,
}

/// What training gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// Steps, and the loss before each, as they were read back.
    pub losses: Vec<(usize, f32)>,
    /// How the model goes on with the text's beginning.
    pub sample: String,
}

/// How much an uneven load of the experts costs.
const BALANCE: f32 = 0.01;

/// Characters of the sample.
const SAMPLE: usize = 60;

/// Trains a model on `device`, telling `observe` after each step.
///
/// Sums over experts are taken in no fixed order, so that two runs with one seed may differ in the last bits of a loss.
///
/// # Errors
/// Where girih's ops refuse the device.
pub fn train(
    text: &Text,
    device: &Device,
    settings: Settings,
    mut observe: impl FnMut(Progress),
) -> Result<Trained, Error> {
    let device = device.clone().autodiff();
    let mut random = SplitMix64(settings.seed);
    let sizes = Sizes {
        alphabet: text.alphabet().len(),
        context: settings.context,
        embedding: 8,
        width: 64,
        hidden: 64,
        experts: 8,
        top_k: 2,
    };
    let mut model = CharModel::new(sizes, &mut random, &device)?;
    let mut adam = AdamConfig::new().init();
    let mut losses = vec![];
    for step in 0..settings.steps {
        let batch = Batch::random(text, settings, &mut random, &device);
        let (scores, balance) = model.forward(batch.seen)?;
        let likelihoods = (log_softmax(scores, 1) * batch.next).sum_dim(1);
        let entropy = likelihoods.mean().neg();
        let shown = step % 10 == 0 || step + 1 == settings.steps;
        let loss = shown.then(|| entropy.clone().into_scalar());
        let loss: Option<f32> = loss;
        let gradients = (entropy + balance.mul_scalar(BALANCE)).backward();
        let gradients = GradientsParams::from_grads(gradients, &model);
        model = adam.step(settings.learning_rate, model, gradients);
        losses.extend(loss.map(|loss| (step, loss)));
        observe(Progress {
            steps: step + 1,
            loss,
        });
    }
    let sample = sample(&model, text, settings.context, &device)?;
    Ok(Trained { losses, sample })
}

/// Positions of the text: what each sees, and the next character as a row that is 1 there.
struct Batch {
    seen: Tensor<1, Int>,
    next: Tensor<2>,
}

impl Batch {
    fn random(text: &Text, settings: Settings, random: &mut SplitMix64, device: &Device) -> Self {
        let (numbers, alphabet) = (text.numbers(), text.alphabet().len());
        let mut seen = vec![];
        let mut next = vec![0.0_f32; settings.batch * alphabet];
        for row in next.chunks_exact_mut(alphabet) {
            let first = random.below(numbers.len() - settings.context);
            let end = first + settings.context;
            seen.extend(numbers[first..end].iter().map(|&number| number as i32));
            row[numbers[end]] = 1.0;
        }
        let shape = [settings.batch, alphabet];
        Self {
            seen: Tensor::from_ints(seen.as_slice(), device),
            next: Tensor::from_data(TensorData::new(next, shape), device),
        }
    }
}

/// What the model holds most likely, character after character, from the text's beginning on.
fn sample(
    model: &CharModel,
    text: &Text,
    context: usize,
    device: &Device,
) -> Result<String, Error> {
    let mut numbers: Vec<usize> = text.numbers()[..context].to_vec();
    for _ in 0..SAMPLE {
        let seen = &numbers[numbers.len() - context..];
        let seen: Vec<i32> = seen.iter().map(|&number| number as i32).collect();
        let (scores, _) = model.forward(Tensor::from_ints(seen.as_slice(), device))?;
        let scores: Vec<f32> = scores.into_data().iter::<f32>().collect();
        let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        numbers.extend(best);
    }
    let alphabet = text.alphabet();
    Ok(numbers.into_iter().map(|number| alphabet[number]).collect())
}
