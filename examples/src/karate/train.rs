//! The training: two members' sides are told, the loss is theirs alone.

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use girih_burn::{Bounds, Error};

use super::{ADMINISTRATOR, Club, Faction, Gcn, Graph, INSTRUCTOR};

/// The members whose sides are told.
const TOLD: [usize; 2] = [INSTRUCTOR, ADMINISTRATOR];

/// How to train.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Steps of the optimiser.
    pub steps: usize,
    /// What the first weights are drawn from.
    pub seed: u64,
    /// The step length of Adam.
    pub learning_rate: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            steps: 100,
            seed: 0,
            learning_rate: 0.01,
        }
    }
}

/// What is known after a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// How many steps are done.
    pub steps: usize,
    /// The cross-entropy of the two told sides before the last step, in nats; read back from the
    /// device every tenth step and at the end.
    pub loss: Option<f32>,
}

/// Trains a model on `device`, telling `observe` after each step, and returns the side that it gives
/// each member.
///
/// The sums of scatter-add are taken in no fixed order on a GPU, so that two runs with one seed may
/// differ there in the last bits of a score.
///
/// # Errors
/// Where girih's ops refuse the device.
pub fn train(
    club: &Club,
    device: &Device,
    settings: Settings,
    mut observe: impl FnMut(Progress),
) -> Result<Vec<Faction>, Error> {
    let device = device.clone().autodiff();
    let graph = Graph::new(club, &device);
    let told = Told::new(club, &device);
    let mut model = Gcn::new(club.len(), settings.seed, &device);
    let mut adam = AdamConfig::new().init();
    for step in 0..settings.steps {
        let loss = told.loss(model.forward(&graph)?)?;
        let shown = step % 10 == 0 || step + 1 == settings.steps;
        let value = shown.then(|| loss.clone().into_scalar());
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = adam.step(settings.learning_rate, model, gradients);
        observe(Progress {
            steps: step + 1,
            loss: value,
        });
    }
    Ok(sides(model.forward(&graph)?))
}

/// The told members and their sides, on a device.
struct Told {
    members: Tensor<1, Int>,
    sides: Tensor<2>,
}

impl Told {
    fn new(club: &Club, device: &Device) -> Self {
        let sides: Vec<f32> = TOLD
            .iter()
            .flat_map(|&member| Faction::ALL.map(|side| club.factions[member] == side))
            .map(|is_side| f32::from(u8::from(is_side)))
            .collect();
        let shape = [TOLD.len(), Faction::ALL.len()];
        Self {
            members: Tensor::from_ints(TOLD.map(|member| member as i32), device),
            sides: Tensor::from_data(TensorData::new(sides, shape), device),
        }
    }

    /// The mean cross-entropy of the told members.
    fn loss(&self, scores: Tensor<2>) -> Result<Tensor<1>, Error> {
        let told = girih_burn::gather(scores, 0, self.members.clone(), Bounds::Mask)?.into_inner();
        let likelihoods = (log_softmax(told, 1) * self.sides.clone()).sum_dim(1);
        Ok(likelihoods.mean().neg())
    }
}

/// The side with the higher score, for each row of `scores`.
fn sides(scores: Tensor<2>) -> Vec<Faction> {
    let scores: Vec<f32> = scores.into_data().iter::<f32>().collect();
    scores
        .chunks_exact(Faction::ALL.len())
        .map(|row| Faction::ALL[usize::from(row[1] > row[0])])
        .collect()
}
