//! The product of gathered rows with a matrix, in one call.

use crate::data::{BITS_TO_SUM, fill, value};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::random::XorShift;
use crate::timing::{Schedule, Time, timed};
use crate::workload::INDEX;
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih::device::{Device, Target};
use girih_kernels::{MatmulOptions, gather_matmul, supports_gather};
use serde::Serialize;
use std::sync::{Mutex, PoisonError};

/// Sets of buffers that launches take in turn.
const SETS: usize = 2;
/// Elements that are looked at.
const SAMPLE: usize = 200;

/// One thing to measure: `out[n, :] = table[index[n], :] * matrix`, of a square matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Workload {
    /// The elements.
    pub dtype: Dtype,
    /// Rows that are gathered.
    pub rows: usize,
    /// Rows of the table.
    pub extent: usize,
    /// Elements of a row of the table, and of the result.
    pub columns: usize,
}

impl Workload {
    /// The name in tables.
    pub fn name(&self) -> String {
        let (dtype, data) = (self.dtype.name(), self.data());
        format!(
            "gather_matmul {dtype} {}x{} {data}",
            self.rows, self.columns
        )
    }

    /// Where rows come from, as in JSON.
    pub fn data(&self) -> String {
        format!("of {} rows", self.extent)
    }

    /// Multiplications and additions.
    pub const fn flops(&self) -> usize {
        2 * self.rows * self.columns * self.columns
    }

    /// Whether the device does this.
    ///
    /// # Errors
    ///
    /// [`girih::Error::Device`], which names what it lacks.
    pub fn supported(&self, client: &Client) -> girih::Result<()> {
        supports_gather(client, self.dtype.elem(), INDEX)
    }

    /// How far an element may be from the right one, relative to the sum of the products' sizes.
    const fn tolerance(&self) -> f64 {
        match self.dtype {
            Dtype::F32 => 1e-5,
            Dtype::Bf16 => 1e-2,
        }
    }
}

/// A workload, and how often it is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is measured.
    pub workload: Workload,
    /// How often.
    pub schedule: Schedule,
}

/// The one that suits a device: of bf16 on CUDA, a small one elsewhere.
pub fn plans(client: &Client) -> Vec<Plan> {
    let (workload, launches) = match Device::of(client).target() {
        Target::Cuda => (
            Workload {
                dtype: Dtype::Bf16,
                rows: 8192,
                extent: 1 << 16,
                columns: 1024,
            },
            30,
        ),
        _ => (
            Workload {
                dtype: Dtype::F32,
                rows: 64,
                extent: 256,
                columns: 64,
            },
            2,
        ),
    };
    let schedule = Schedule {
        warmup: 4,
        launches,
        windows: 3,
    };
    vec![Plan { workload, schedule }]
}

/// Buffers of one launch, and what the last one gave.
struct Set {
    table: TensorHandle,
    index: TensorHandle,
    indices: Vec<i32>,
    seed: u32,
    out: Mutex<Option<TensorHandle>>,
}

/// A workload's buffers.
struct Prepared {
    client: Client,
    workload: Workload,
    matrix: TensorHandle,
    sets: Vec<Set>,
}

/// The seed of the matrix.
const MATRIX: u32 = 77;

impl Prepared {
    fn new(client: &Client, workload: Workload) -> Result<Self> {
        let Workload {
            dtype,
            rows,
            extent,
            columns,
        } = workload;
        let filled = |rows: usize, seed: u32| {
            let handle = client.empty(rows * columns * dtype.size());
            let tensor = TensorHandle::new_contiguous([rows, columns], handle, dtype.elem());
            fill(client, &tensor, seed, BITS_TO_SUM);
            tensor
        };
        let set = |seed: u32| {
            let mut random = XorShift::new(seed.into());
            let indices: Vec<i32> = (0..rows).map(|_| random.below(extent) as i32).collect();
            let list = client.create_from_slice(i32::as_bytes(&indices));
            Set {
                table: filled(extent, seed),
                index: TensorHandle::new_contiguous([rows], list, INDEX),
                indices,
                seed,
                out: Mutex::default(),
            }
        };
        let prepared = Self {
            client: client.clone(),
            workload,
            matrix: filled(columns, MATRIX),
            sets: (1..=SETS as u32).map(set).collect(),
        };
        block_on(client.sync())?;
        Ok(prepared)
    }

    fn launch(&self, turn: usize) -> Result<()> {
        let set = &self.sets[turn % SETS];
        let (client, matrix) = (&self.client, &self.matrix);
        let options = MatmulOptions::default();
        let out = gather_matmul(
            client,
            &set.table,
            &set.index,
            matrix,
            None,
            Bounds::Mask,
            &options,
        )?;
        *set.out.lock().unwrap_or_else(PoisonError::into_inner) = Some(out.into_inner());
        Ok(())
    }

    fn verify(&self) -> Result<()> {
        let Workload {
            dtype,
            rows,
            columns,
            ..
        } = self.workload;
        let wrong = |row, column, found, expected| Error::Wrong {
            workload: self.workload.name(),
            row,
            column,
            found,
            expected,
        };
        for set in &self.sets {
            let out = set.out.lock().unwrap_or_else(PoisonError::into_inner);
            let out = out.as_ref().ok_or_else(|| wrong(0, 0, f32::NAN, 0.0))?;
            let found = dtype.decode(&self.client.read_one(out.handle.clone())?);
            let mut random = XorShift::new(5);
            for _ in 0..SAMPLE {
                let (row, column) = (random.below(rows), random.below(columns));
                let from = set.indices[row] as usize;
                let of = |at: usize, seed| f64::from(value(at as u32, seed, BITS_TO_SUM));
                let terms = (0..columns)
                    .map(|k| of(from * columns + k, set.seed) * of(k * columns + column, MATRIX));
                let terms: Vec<f64> = terms.collect();
                let right: f64 = terms.iter().sum();
                let size: f64 = terms.iter().map(|term| term.abs()).sum();
                let found = found[row * columns + column];
                // NaN is not near either.
                let near = (f64::from(found) - right).abs() <= self.workload.tolerance() * size;
                if !near {
                    return Err(wrong(row, column, found, right as f32));
                }
            }
        }
        Ok(())
    }
}

/// One workload's times on one device; one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Who was measured: `girih`.
    pub peer: &'static str,
    /// The workload in words.
    pub name: String,
    /// What is done.
    pub op: &'static str,
    /// The elements.
    pub dtype: Dtype,
    /// Rows of the result.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// Where rows come from.
    pub data: String,
    /// Multiplications and additions.
    pub flops: usize,
    /// Times of a launch.
    #[serde(flatten)]
    pub time: Time,
    /// `flops` by the window, in 10^12 a second.
    pub tflop_per_s: f64,
    /// Launches timed one by one, and launches of a window.
    pub launches: usize,
    /// The device's own name.
    pub device: String,
}

impl Measurement {
    /// Times a workload, and gives its number only where its output is right.
    ///
    /// # Errors
    ///
    /// What a launch, the device or the comparison gives.
    pub fn take(client: &Client, workload: &Workload, schedule: Schedule) -> Result<Self> {
        let prepared = Prepared::new(client, *workload)?;
        let (time, ()) = timed(
            client,
            prepared,
            Prepared::launch,
            Prepared::verify,
            schedule,
        )?;
        Ok(Self {
            peer: "girih",
            name: workload.name(),
            op: "gather_matmul",
            dtype: workload.dtype,
            rows: workload.rows,
            columns: workload.columns,
            data: workload.data(),
            flops: workload.flops(),
            time,
            tflop_per_s: workload.flops() as f64 / time.window_us / 1e6,
            launches: schedule.launches,
            device: Device::of(client).name(),
        })
    }

    /// A line of a table.
    pub fn row(&self) -> String {
        format!(
            "{:<56} {:>11.2} {:>11.2} {:>9.3} {:>10.2}",
            self.name,
            self.time.median_us,
            self.time.window_us,
            self.tflop_per_s,
            self.time.enqueue_us
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_testkit::Rt;

    #[test]
    fn the_product_is_right_and_what_was_not_launched_is_wrong() {
        for rt in Rt::present() {
            for plan in plans(&rt.client) {
                let mut prepared = Prepared::new(&rt.client, plan.workload).unwrap();
                assert!(matches!(prepared.verify(), Err(Error::Wrong { .. })));
                (0..SETS).for_each(|turn| prepared.launch(turn).unwrap());
                prepared.verify().unwrap();
                prepared.sets[0].indices.rotate_left(1);
                assert!(matches!(prepared.verify(), Err(Error::Wrong { .. })));
            }
        }
    }
}
