//! Embeddings and their optimisers as a program of Burn has them, with autodiff and whatever fusion does: girih's modules beside
//! Burn's own.
//!
//! Times are the host's, as [`calls`](super::calls) takes them.

use burn::nn::Initializer;
use burn::optim::{AdaGradConfig, AdamConfig, GradientsParams, ModuleOptimizer, SgdConfig};
use burn::tensor::{Device, ExecutionError, Int, Tensor, TensorData};
use girih_burn::{
    Bounds, Error, SparseAdaGrad, SparseAdaGradConfig, SparseAdam, SparseAdamConfig, SparseGrad,
    SparseSgd, SparseSgdConfig, nn,
};
use girih_testkit::{DeviceKind, Rt};
use serde_json::{Value, json};

use super::calls::{Schedule, Times};

/// What every element of a table is at first, and what each element of a gradient's row is.
const START: f32 = 0.5;
const SLOPE: f32 = 0.25;
/// The learning rate.
const RATE: f64 = 0.125;
/// Elements that are looked at.
const SAMPLE: usize = 61;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Vectors of numbers, and the gradient of the table.
    Pass,
    /// A step of an optimiser.
    Step(Optimiser),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Optimiser {
    Sgd,
    AdaGrad,
    Adam,
}

/// Whose modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    Girih,
    Burn,
}

impl Peer {
    const fn name(self) -> &'static str {
        match self {
            Self::Girih => "girih",
            Self::Burn => "burn",
        }
    }
}

/// One thing to measure: a table, and how many of its vectors are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Subject {
    what: What,
    rows: usize,
    columns: usize,
    entries: usize,
}

impl Subject {
    /// The operation, by the name that girih's kernels have for it.
    const fn op(&self) -> &'static str {
        match self.what {
            What::Pass => "embedding forward+backward",
            What::Step(Optimiser::Sgd) => "sparse_step sgd",
            What::Step(Optimiser::AdaGrad) => "sparse_step adagrad",
            What::Step(Optimiser::Adam) => "sparse_step adam",
        }
    }

    fn data(&self) -> String {
        let draw = match self.what {
            What::Pass => "uniform",
            What::Step(_) => "distinct",
        };
        format!("{} {draw}", self.entries)
    }

    fn name(&self, peer: Peer) -> String {
        let Self { rows, columns, .. } = self;
        let (op, data, peer) = (self.op(), self.data(), peer.name());
        format!("module {op} f32 {rows}x{columns} {data} by {peer}")
    }

    /// The vectors that are used: any of them, or each another one.
    fn index(&self) -> Vec<i32> {
        let part = self.rows / self.entries.min(self.rows);
        let mixed = |at: usize| (at as u32).wrapping_mul(0x9e37_79b1) as u64;
        let of = |at: usize| match self.what {
            What::Pass => ((mixed(at) * self.rows as u64) >> 32) as i32,
            What::Step(_) => (at * part) as i32 + ((mixed(at) * part as u64) >> 32) as i32,
        };
        (0..self.entries).map(of).collect()
    }
}

fn subjects(kind: DeviceKind) -> Vec<Subject> {
    let shift = if kind == DeviceKind::Cuda { 0 } else { 9 };
    let subject = |what, rows: usize, columns, entries: usize| Subject {
        what,
        rows: rows >> shift,
        columns,
        entries: entries >> shift,
    };
    let steps = [Optimiser::Sgd, Optimiser::AdaGrad, Optimiser::Adam];
    let passes = [
        subject(What::Pass, 1 << 20, 128, 1 << 20),
        subject(What::Pass, 50_000, 256, 1 << 16),
    ];
    let of_steps = steps.map(|of| subject(What::Step(of), 1 << 20, 128, 1 << 16));
    passes.into_iter().chain(of_steps).collect()
}

/// Times what has one of the filters in its name: lines of JSON, and the names of what failed.
pub(super) fn run(rt: &Rt, filters: &[String]) -> (Vec<Value>, Vec<String>) {
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|part| name.contains(part));
    let (mut measured, mut failed) = (vec![], vec![]);
    for subject in subjects(rt.kind) {
        for peer in [Peer::Girih, Peer::Burn] {
            let name = subject.name(peer);
            if !wanted(&name) {
                continue;
            }
            let taken = take(rt, &subject, peer);
            // The next table is another.
            let cleaned = rt
                .client
                .memory_cleanup()
                .map_err(|error| error.to_string());
            match taken.and_then(|times| cleaned.map(|()| times)) {
                Ok(times) => {
                    println!(
                        "{name:<80} {:>11.2} {:>11.2} {:>11.2}",
                        times.median_us, times.window_us, times.enqueue_us
                    );
                    measured.push(line(rt, &subject, peer, &times));
                }
                Err(reason) => {
                    println!("{name:<80} FAILED: {reason}");
                    failed.push(name);
                }
            }
        }
    }
    (measured, failed)
}

fn line(rt: &Rt, subject: &Subject, peer: Peer, times: &Times) -> Value {
    json!({
        "peer": peer.name(), "name": subject.name(peer), "op": subject.op(), "dtype": "f32",
        "rows": subject.rows, "columns": subject.columns, "data": subject.data(), "way": "module",
        "first_us": times.first_us, "median_us": times.median_us, "window_us": times.window_us,
        "enqueue_us": times.enqueue_us, "clock": "host",
        "device": girih::device::Device::of(&rt.client).name(),
    })
}

fn take(rt: &Rt, subject: &Subject, peer: Peer) -> Result<Times, String> {
    let device = Device::new(rt.device.clone());
    let index = TensorData::new(subject.index(), [subject.entries]);
    let index = Tensor::<1, Int>::from_data(index, &device);
    match subject.what {
        What::Pass => pass(subject, peer, &device.autodiff(), index),
        What::Step(by) => step(subject, peer, by, &device, index),
    }
}

/// How often: Burn's own pass takes up to half a second.
fn schedule(subject: &Subject, peer: Peer) -> Schedule {
    let calls = match (subject.what, peer) {
        (What::Pass, Peer::Burn) => 3,
        _ => 10,
    };
    Schedule {
        warmup: 1,
        singles: calls,
        windows: 3,
        calls,
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn pass(
    subject: &Subject,
    peer: Peer,
    device: &Device,
    index: Tensor<1, Int>,
) -> Result<Times, String> {
    let Subject {
        rows,
        columns,
        entries,
        ..
    } = *subject;
    let value = f64::from(START);
    let initializer = Initializer::Constant { value };
    let index = Tensor::from_inner(index).reshape([1, entries]);
    let ours = nn::EmbeddingConfig::new(rows, columns).with_initializer(initializer.clone());
    let theirs = burn::nn::EmbeddingConfig::new(rows, columns).with_initializer(initializer);
    let (ours, theirs) = match peer {
        Peer::Girih => (Some(ours.init(device)), None),
        Peer::Burn => (None, Some(theirs.init(device))),
    };
    let gradient = || -> Result<Tensor<2>, String> {
        let (vectors, weight) = match (&ours, &theirs) {
            (Some(ours), _) => (ours.try_forward(index.clone()).map_err(text)?, &ours.weight),
            (None, Some(theirs)) => (theirs.forward(index.clone()), &theirs.weight),
            (None, None) => return Err("there is no module".into()),
        };
        let gradients = vectors.backward();
        weight
            .grad(&gradients)
            .ok_or_else(|| "the table has no gradient".into())
    };
    let mut counts = vec![0.0; rows];
    subject
        .index()
        .iter()
        .for_each(|&row| counts[row as usize] += 1.0);
    compare(gradient()?, |row| counts[row])?;
    Times::take(
        schedule(subject, peer),
        || gradient().map(drop),
        || device.sync().map_err(text),
    )
}

/// The optimisers, each of one table.
enum Steps {
    Sgd(SparseSgd),
    AdaGrad(SparseAdaGrad),
    Adam(SparseAdam),
    Dense(ModuleOptimizer),
}

impl Steps {
    fn new(peer: Peer, by: Optimiser) -> Self {
        match (peer, by) {
            (Peer::Girih, Optimiser::Sgd) => Self::Sgd(SparseSgdConfig::new().init()),
            (Peer::Girih, Optimiser::AdaGrad) => Self::AdaGrad(SparseAdaGradConfig::new().init()),
            (Peer::Girih, Optimiser::Adam) => Self::Adam(SparseAdamConfig::new().init()),
            (Peer::Burn, Optimiser::Sgd) => Self::Dense(SgdConfig::new().init()),
            (Peer::Burn, Optimiser::AdaGrad) => Self::Dense(AdaGradConfig::new().init()),
            (Peer::Burn, Optimiser::Adam) => Self::Dense(AdamConfig::new().init()),
        }
    }

    fn step(&mut self, table: nn::Embedding, by: &Gradient) -> Result<nn::Embedding, Error> {
        let sparse = by.sparse.clone();
        match self {
            Self::Sgd(optimiser) => optimiser.step(RATE, table, sparse),
            Self::AdaGrad(optimiser) => optimiser.step(RATE, table, sparse),
            Self::Adam(optimiser) => optimiser.step(RATE, table, sparse),
            Self::Dense(optimiser) => {
                let mut gradients = GradientsParams::new();
                gradients.register(table.weight.id, by.dense.clone());
                Ok(optimiser.step(RATE, table, gradients))
            }
        }
    }
}

/// The same gradient of a table in both forms.
struct Gradient {
    sparse: SparseGrad,
    dense: Tensor<2>,
}

fn step(
    subject: &Subject,
    peer: Peer,
    by: Optimiser,
    device: &Device,
    index: Tensor<1, Int>,
) -> Result<Times, String> {
    let Subject {
        rows,
        columns,
        entries,
        ..
    } = *subject;
    let slopes = Tensor::<2>::full([entries, columns], SLOPE, device);
    let sparse = SparseGrad::new(index, slopes, rows, None, Bounds::Mask).map_err(text)?;
    let dense = sparse.to_dense().map_err(text)?;
    let gradient = Gradient { sparse, dense };
    let value = f64::from(START);
    let table = nn::EmbeddingConfig::new(rows, columns)
        .with_initializer(Initializer::Constant { value })
        .init(&device.clone().autodiff());
    let mut optimiser = Steps::new(peer, by);
    let table = optimiser.step(table, &gradient).map_err(text)?;
    let mut used = vec![false; rows];
    subject
        .index()
        .iter()
        .for_each(|&row| used[row as usize] = true);
    let delta = match by {
        Optimiser::Sgd => SLOPE,
        // The first step of both is the slope by its own size.
        Optimiser::AdaGrad | Optimiser::Adam => SLOPE / (SLOPE + 1e-5),
    };
    compare(table.weight.val(), |row| match used[row] {
        true => START - RATE as f32 * delta,
        false => START,
    })?;
    // A step writes where the table is only if nothing else has it.
    let mut held = Some(table);
    let call = || -> Result<(), String> {
        let table = held.take().ok_or("the table was lost")?;
        held = Some(optimiser.step(table, &gradient).map_err(text)?);
        Ok(())
    };
    let wait = || -> Result<(), ExecutionError> { device.sync() };
    Times::take(schedule(subject, peer), call, || wait().map_err(text))
}

/// Some elements of a table are what their rows should hold.
fn compare(table: Tensor<2>, expected: impl Fn(usize) -> f32) -> Result<(), String> {
    let [_, columns] = table.dims();
    let data = table.try_into_data().map_err(text)?;
    let found: Vec<f32> = data.iter::<f32>().collect();
    let step = (found.len() / SAMPLE).max(1);
    for at in (0..found.len()).step_by(step) {
        let (found, expected) = (found[at], expected(at / columns));
        // NaN is not near either.
        let near = (found - expected).abs() <= 1e-4;
        if !near {
            return Err(format!("element {at} is {found}, not {expected}"));
        }
    }
    Ok(())
}
