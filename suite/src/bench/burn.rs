//! girih's ops on Burn's tensors, and Burn's own: what a call costs, the host's work included.
//!
//! Times are the host's, as [`calls`](super::calls) takes them.

use super::calls::{Schedule, Times};
use burn::tensor::{Bool, Device, ExecutionError, Int, Tensor, TensorData};
use girih_burn::Error;
use girih_testkit::{DeviceKind, Rt};
use serde_json::{Value, json};

/// What the calls are given.
struct Inputs {
    device: Device,
    length: usize,
    floats: Tensor<1>,
    numbers: Tensor<1, Int>,
    /// The numbers' high bytes.
    bytes: Tensor<1, Int>,
    mask: Tensor<1, Bool>,
}

type Call = fn(&Inputs) -> Result<(), Error>;
/// Compares what a call gives with what the host expects.
type Check = fn(&Inputs) -> Result<bool, Error>;

/// Something to measure.
struct Subject {
    op: &'static str,
    peer: &'static str,
    call: Call,
    check: Option<Check>,
    /// The longest that is measured, where longer ones take seconds.
    most: usize,
}

/// A call's times, in microseconds.
pub(super) struct Measurement {
    op: &'static str,
    peer: &'static str,
    length: usize,
    median_us: f64,
    window_us: f64,
    enqueue_us: f64,
    device: String,
}

impl Measurement {
    /// The fields that other measurements have too.
    pub(super) fn json(&self) -> Value {
        json!({
            "peer": self.peer,
            "name": name(self.op, self.peer, self.length),
            "op": format!("burn_{}", self.op),
            "dtype": "f32",
            "rows": self.length,
            "columns": 1,
            "data": "uniform",
            "median_us": self.median_us,
            "window_us": self.window_us,
            "enqueue_us": self.enqueue_us,
            "clock": "host",
            "device": self.device,
        })
    }
}

fn name(op: &str, peer: &str, length: usize) -> String {
    match peer {
        "girih" => format!("burn {op} {length}"),
        _ => format!("burn's own {op} {length}"),
    }
}

/// The element at a position: a whole number below 2^16, most of them different from their neighbours.
fn element(at: usize) -> u32 {
    (at as u32).wrapping_mul(0x9e37_79b1) >> 16
}

impl Inputs {
    fn new(device: &Device, length: usize) -> Self {
        let floats: Vec<f32> = (0..length).map(|at| element(at) as f32).collect();
        let numbers: Vec<i32> = (0..length).map(|at| element(at) as i32).collect();
        let bytes: Vec<i32> = numbers.iter().map(|number| number >> 8).collect();
        let mask: Vec<bool> = (0..length).map(kept).collect();
        Self {
            device: device.clone(),
            length,
            floats: Tensor::from_data(TensorData::new(floats, [length]), device),
            numbers: Tensor::from_data(TensorData::new(numbers, [length]), device),
            bytes: Tensor::from_data(TensorData::new(bytes, [length]), device),
            mask: Tensor::from_data(TensorData::new(mask, [length]), device),
        }
    }

    fn elements(&self) -> impl Iterator<Item = u32> {
        (0..self.length).map(element)
    }

    fn sorted(&self) -> Vec<u32> {
        let mut sorted: Vec<u32> = self.elements().collect();
        sorted.sort_unstable();
        sorted
    }
}

fn kept(at: usize) -> bool {
    element(at).is_multiple_of(3)
}

fn ints<const D: usize>(tensor: Tensor<D, Int>) -> Result<Vec<i64>, Error> {
    Ok(tensor.try_into_data()?.iter::<i64>().collect())
}

fn floats(tensor: Tensor<1>) -> Result<Vec<f32>, Error> {
    Ok(tensor.try_into_data()?.iter::<f32>().collect())
}

macro_rules! call {
    (|$in:ident| $call:expr) => {
        |$in: &Inputs| {
            drop($call);
            Ok(())
        }
    };
}

/// girih's ops.
fn ours() -> Vec<Subject> {
    let subject = |op, call, check| Subject {
        op,
        peer: "girih",
        call,
        check: Some(check),
        most: usize::MAX,
    };
    vec![
        subject(
            "cumsum",
            call!(|of| girih_burn::cumsum(of.numbers.clone(), 0)?),
            |of| {
                let mut sum = 0i32;
                let want = of.elements().map(|value| {
                    sum = sum.wrapping_add(value as i32);
                    i64::from(sum)
                });
                let want: Vec<i64> = want.collect();
                Ok(ints(girih_burn::cumsum(of.numbers.clone(), 0)?)? == want)
            },
        ),
        subject(
            "sort",
            call!(|of| girih_burn::sort(of.floats.clone(), 0, false)?),
            |of| {
                let sorted = floats(girih_burn::sort(of.floats.clone(), 0, false)?)?;
                Ok(sorted
                    .into_iter()
                    .eq(of.sorted().into_iter().map(|value| value as f32)))
            },
        ),
        subject(
            "argsort",
            call!(|of| girih_burn::argsort(of.floats.clone(), 0, false)?),
            |of| {
                let places = ints(girih_burn::argsort(of.floats.clone(), 0, false)?)?;
                let found = places.iter().map(|&place| (element(place as usize), place));
                Ok(places.len() == of.length && found.is_sorted_by(|a, b| a < b))
            },
        ),
        subject(
            "nonzero",
            call!(|of| girih_burn::nonzero(of.mask.clone())?),
            |of| {
                let places = ints(girih_burn::nonzero(of.mask.clone())?)?;
                let want = (0..of.length).filter(|&at| kept(at));
                Ok(places.into_iter().eq(want.map(|at| at as i64)))
            },
        ),
        subject(
            "mask_select",
            call!(|of| girih_burn::mask_select(of.floats.clone(), of.mask.clone())?),
            |of| {
                let found = girih_burn::mask_select(of.floats.clone(), of.mask.clone())?;
                let want = (0..of.length).filter(|&at| kept(at));
                let want = want.map(|at| element(at) as f32);
                Ok(floats(found)?.into_iter().eq(want))
            },
        ),
        subject(
            "unique",
            call!(|of| girih_burn::unique(of.numbers.clone())?),
            |of| {
                let mut want = of.sorted();
                want.dedup();
                let found = ints(girih_burn::unique(of.numbers.clone())?)?;
                Ok(found.into_iter().eq(want.into_iter().map(i64::from)))
            },
        ),
        subject(
            "bincount",
            call!(|of| girih_burn::bincount(of.bytes.clone(), 256)?),
            |of| {
                let mut want = vec![0i64; 256];
                of.elements()
                    .for_each(|value| want[value as usize >> 8] += 1);
                Ok(ints(girih_burn::bincount(of.bytes.clone(), 256)?)? == want)
            },
        ),
        subject(
            "top_k",
            call!(|of| girih_burn::top_k(of.floats.clone(), 0, 64, true)?),
            |of| {
                let (values, _) = girih_burn::top_k(of.floats.clone(), 0, 64, true)?;
                let want = of.sorted().into_iter().rev().take(64);
                Ok(floats(values)?
                    .into_iter()
                    .eq(want.map(|value| value as f32)))
            },
        ),
    ]
}

/// Burn's own, as peers; those that go to the host and back, or through every element for each, are not called on long tensors.
fn others() -> Vec<Subject> {
    let subject = |op, call, most| Subject {
        op,
        peer: "burn",
        call,
        check: None,
        most,
    };
    vec![
        // What a call costs that does next to nothing.
        subject("add", call!(|of| of.floats.clone() + 1.0), usize::MAX),
        subject("cumsum", call!(|of| of.numbers.clone().cumsum(0)), 1 << 20),
        subject("sort", call!(|of| of.floats.clone().sort(0)), 1 << 20),
        subject("argsort", call!(|of| of.floats.clone().argsort(0)), 1 << 20),
        subject("nonzero", call!(|of| of.mask.clone().argwhere()), 1 << 20),
        subject(
            "mask_select",
            call!(|of| of.floats.clone().mask_select(of.mask.clone())),
            1 << 20,
        ),
    ]
}

/// Times the calls whose name contains one of the filters, all where there are none, and prints a table of them; the names of
/// those that failed are the second.
pub(super) fn run(rt: &Rt, filters: &[String]) -> (Vec<Measurement>, Vec<String>) {
    let is_gpu = rt.kind == DeviceKind::Cuda;
    let lengths: &[usize] = if is_gpu {
        &[1 << 20, 1 << 24]
    } else {
        &[1 << 12]
    };
    let schedule =
        |subject: &Subject| match is_gpu && (subject.peer == "girih" || subject.op == "add") {
            true => Schedule {
                warmup: 10,
                singles: 50,
                windows: 5,
                calls: 50,
            },
            // Milliseconds each.
            false => Schedule {
                warmup: 2,
                singles: 3,
                windows: 1,
                calls: 3,
            },
        };
    let (mut measured, mut failed) = (vec![], vec![]);
    let subjects: Vec<Subject> = ours().into_iter().chain(others()).collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|part| name.contains(part));
    for &length in lengths {
        let of_length = subjects.iter().filter(|subject| {
            length <= subject.most && wanted(&name(subject.op, subject.peer, length))
        });
        let mut inputs = None;
        for subject in of_length {
            let device = Device::new(rt.device.clone());
            let inputs = inputs.get_or_insert_with(|| {
                println!(
                    "{:<42} {:>11} {:>11} {:>11}",
                    "call", "median us", "window us", "enqueue us"
                );
                Inputs::new(&device, length)
            });
            match measure(inputs, subject, schedule(subject)) {
                Ok(measurement) => {
                    println!("{}", row(&measurement));
                    measured.push(Measurement {
                        device: girih::device::Device::of(&rt.client).name(),
                        ..measurement
                    });
                }
                Err(reason) => {
                    let name = name(subject.op, subject.peer, length);
                    println!("{name:<42} FAILED: {reason}");
                    failed.push(name);
                }
            }
        }
    }
    (measured, failed)
}

fn row(of: &Measurement) -> String {
    format!(
        "{:<42} {:>11.2} {:>11.2} {:>11.2}",
        name(of.op, of.peer, of.length),
        of.median_us,
        of.window_us,
        of.enqueue_us
    )
}

fn measure(inputs: &Inputs, subject: &Subject, schedule: Schedule) -> Result<Measurement, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    if let Some(check) = subject.check
        && !check(inputs).map_err(|error| text(&error))?
    {
        return Err("the result is wrong".into());
    }
    let wait = || -> Result<(), ExecutionError> { inputs.device.sync() };
    let call = || (subject.call)(inputs).map_err(|error| text(&error));
    let wait = || wait().map_err(|error| text(&error));
    let times = Times::take(schedule, call, wait)?;
    Ok(Measurement {
        op: subject.op,
        peer: subject.peer,
        length: inputs.length,
        median_us: times.median_us,
        window_us: times.window_us,
        enqueue_us: times.enqueue_us,
        device: String::new(),
    })
}
