//! Elements along an axis, and rows in pages.

use crate::data;
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
use girih_kernels::{add_along_axis, paged_gather, supports_add_along_axis, take_along_axis_into};
use serde::Serialize;
use std::sync::Mutex;

/// Rows of a page.
const PAGE: usize = 16;
/// Pages of a sequence.
const ENTRIES: usize = 64;
/// Sets of buffers that launches take in turn.
const SETS: usize = 2;
/// Elements that are looked at.
const SAMPLE: usize = 64;
/// Random bits of each element.
const BITS: u32 = data::BITS_TO_SUM;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// `out[n, i] = table[n, index[n, i]]`.
    TakeAlongRows,
    /// `out[n, i] = table[index[n, i], i]`.
    TakeAlongColumns,
    /// `table[n, index[n, i]] += updates[n, i]`.
    AddAlongRows,
    /// The rows of sequences of 1024, in pages of 16 that lie in no order.
    PagedGather,
}

impl Op {
    /// Every one.
    pub const ALL: [Self; 4] = [
        Self::TakeAlongRows,
        Self::TakeAlongColumns,
        Self::AddAlongRows,
        Self::PagedGather,
    ];

    /// The name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TakeAlongRows => "take_along_rows",
            Self::TakeAlongColumns => "take_along_columns",
            Self::AddAlongRows => "add_along_rows",
            Self::PagedGather => "paged_gather",
        }
    }

    const fn axis(self) -> usize {
        match self {
            Self::TakeAlongColumns => 0,
            _ => 1,
        }
    }
}

/// One thing to measure: so many rows of f32, with an index each element, or each page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Workload {
    /// What is done.
    pub op: Op,
    /// Rows of the table, or of all pages, and of the result.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
}

impl Workload {
    /// The name in tables.
    pub fn name(&self) -> String {
        format!("{} f32 {}x{}", self.op.name(), self.rows, self.columns)
    }

    /// Bytes read and written: each element once on either side, a target of an addition twice, each index once.
    pub const fn bytes(&self) -> usize {
        let elements = self.rows * self.columns;
        match self.op {
            Op::TakeAlongRows | Op::TakeAlongColumns => elements * 12,
            Op::AddAlongRows => elements * 16,
            Op::PagedGather => elements * 8 + self.rows / PAGE * 4,
        }
    }

    /// How many indices there are, and what they are below.
    const fn indices(&self) -> (usize, usize) {
        match self.op {
            Op::TakeAlongRows | Op::AddAlongRows => (self.rows * self.columns, self.columns),
            Op::TakeAlongColumns => (self.rows * self.columns, self.rows),
            Op::PagedGather => (self.rows / PAGE, self.rows / PAGE),
        }
    }

    /// Whether the device does this.
    ///
    /// # Errors
    ///
    /// [`girih::Error::Device`], which names what it lacks.
    pub fn supported(&self, client: &Client) -> girih::Result<()> {
        match self.op {
            Op::AddAlongRows => supports_add_along_axis(client, f32::elem_type_native(), INDEX),
            _ => girih_kernels::supports_gather(client, f32::elem_type_native(), INDEX),
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

/// The workloads that suit a device: large ones on CUDA, small ones elsewhere.
pub fn plans(client: &Client) -> Vec<Plan> {
    let (rows, launches) = match Device::of(client).target() {
        Target::Cuda => (1 << 20, 20),
        _ => (1 << 12, 4),
    };
    let schedule = Schedule {
        warmup: 2,
        launches,
        windows: 3,
    };
    let plan = |op| Plan {
        workload: Workload {
            op,
            rows,
            columns: 128,
        },
        schedule,
    };
    Op::ALL.into_iter().map(plan).collect()
}

/// Buffers of one launch.
struct Set {
    table: TensorHandle,
    index: TensorHandle,
    offsets: TensorHandle,
    output: TensorHandle,
    /// What the last paged gather gave.
    gathered: Mutex<Option<TensorHandle>>,
    /// What `index` holds.
    indices: Vec<i32>,
    seed: u32,
    launches: Mutex<usize>,
}

/// A workload's buffers.
struct Prepared {
    client: Client,
    workload: Workload,
    sets: Vec<Set>,
}

impl Prepared {
    fn new(client: &Client, workload: Workload) -> Result<Self> {
        let set = |seed: u32| {
            let Workload { rows, columns, op } = workload;
            let table = || {
                let handle = client.empty(rows * columns * 4);
                TensorHandle::new_contiguous([rows, columns], handle, f32::elem_type_native())
            };
            let (source, output) = (table(), table());
            data::fill(client, &source, seed, BITS);
            data::constant(client, &output, 0.0);
            let (count, below) = workload.indices();
            let mut random = XorShift::new(seed.into());
            let indices: Vec<i32> = (0..count).map(|_| random.below(below) as i32).collect();
            let list = client.create_from_slice(i32::as_bytes(&indices));
            let shape = match op {
                Op::PagedGather => [count / ENTRIES, ENTRIES],
                _ => [rows, columns],
            };
            let sequences = rows / (PAGE * ENTRIES);
            let begins: Vec<i32> = (0..=sequences)
                .map(|sequence| (sequence * PAGE * ENTRIES) as i32)
                .collect();
            let offsets = client.create_from_slice(i32::as_bytes(&begins));
            Set {
                table: source,
                index: TensorHandle::new_contiguous(shape, list, INDEX),
                offsets: TensorHandle::new_contiguous([begins.len()], offsets, INDEX),
                output,
                gathered: Mutex::default(),
                indices,
                seed,
                launches: Mutex::default(),
            }
        };
        let prepared = Self {
            client: client.clone(),
            workload,
            sets: (1..=SETS as u32).map(set).collect(),
        };
        block_on(client.sync())?;
        Ok(prepared)
    }

    fn launch(&self, turn: usize) -> Result<()> {
        let set = &self.sets[turn % SETS];
        let (client, op) = (&self.client, self.workload.op);
        let (axis, bounds) = (op.axis(), Bounds::Mask);
        match op {
            Op::TakeAlongRows | Op::TakeAlongColumns => drop(take_along_axis_into(
                client,
                &set.table,
                &set.index,
                &set.output,
                axis,
                bounds,
            )?),
            // The output is the table that is added to.
            Op::AddAlongRows => drop(add_along_axis(
                client,
                &set.output,
                &set.index,
                &set.table,
                axis,
                bounds,
            )?),
            Op::PagedGather => {
                let Workload { rows, columns, .. } = self.workload;
                let pages = TensorHandle::new_contiguous(
                    [rows / PAGE, PAGE, columns],
                    set.table.handle.clone(),
                    set.table.dtype,
                );
                let rows = paged_gather(client, &pages, &set.index, &set.offsets, rows, bounds)?;
                *set.gathered.lock().unwrap_or_else(|held| held.into_inner()) =
                    Some(rows.into_inner());
            }
        }
        *set.launches.lock().unwrap_or_else(|held| held.into_inner()) += 1;
        Ok(())
    }

    /// What the output should hold at a row and a column.
    fn expected(&self, set: &Set, row: usize, column: usize) -> f32 {
        let columns = self.workload.columns;
        let value = |row: usize, column: usize| {
            data::value((row * columns + column) as u32, set.seed, BITS)
        };
        let at = row * columns + column;
        match self.workload.op {
            Op::TakeAlongRows => value(row, set.indices[at] as usize),
            Op::TakeAlongColumns => value(set.indices[at] as usize, column),
            Op::AddAlongRows => {
                let own = (0..columns)
                    .filter(|&from| set.indices[row * columns + from] as usize == column);
                let sum: f32 = own.map(|from| value(row, from)).sum();
                let launches = *set.launches.lock().unwrap_or_else(|held| held.into_inner());
                sum * launches as f32
            }
            Op::PagedGather => {
                let page = set.indices[row / PAGE] as usize;
                value(page * PAGE + row % PAGE, column)
            }
        }
    }

    fn verify(&self) -> Result<()> {
        let Workload { rows, columns, .. } = self.workload;
        let mut random = XorShift::new(7);
        for set in &self.sets {
            let held = set.gathered.lock().unwrap_or_else(|held| held.into_inner());
            let output = held.as_ref().unwrap_or(&set.output);
            let drawn = (0..SAMPLE).map(|_| random.below(rows));
            let looked_at: Vec<usize> = [0, rows - 1].into_iter().chain(drawn).collect();
            let size = (columns * 4) as u64;
            let handles = looked_at.iter().map(|&row| {
                let handle = output.handle.clone().offset_start(row as u64 * size);
                let rest = handle.size_in_used() - size;
                handle.offset_end(rest)
            });
            let read = self.client.read(handles.collect())?;
            for (&row, bytes) in looked_at.iter().zip(&read) {
                for (column, &found) in f32::from_bytes(bytes).iter().enumerate() {
                    let expected = self.expected(set, row, column);
                    if found != expected {
                        return Err(Error::Wrong {
                            workload: self.workload.name(),
                            row,
                            column,
                            found,
                            expected,
                        });
                    }
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
    pub op: Op,
    /// The type of the elements.
    pub dtype: &'static str,
    /// Rows of the table and of the result.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// The indices: each as likely as any other.
    pub data: &'static str,
    /// Bytes read and written, indices included.
    pub bytes: usize,
    /// Times of a launch.
    #[serde(flatten)]
    pub time: Time,
    /// `bytes` by the window, in 10^9 bytes a second.
    pub window_gb_per_s: f64,
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
            op: workload.op,
            dtype: "f32",
            rows: workload.rows,
            columns: workload.columns,
            data: "uniform",
            bytes: workload.bytes(),
            time,
            window_gb_per_s: workload.bytes() as f64 / time.window_us / 1e3,
            launches: schedule.launches,
            device: Device::of(client).name(),
        })
    }

    /// The head of a table of [`row`](Self::row)s.
    pub fn header() -> String {
        format!(
            "{:<42} {:>11} {:>11} {:>12} {:>10}",
            "lookup", "median us", "window us", "GB/s win", "enqueue us"
        )
    }

    /// A line of the table.
    pub fn row(&self) -> String {
        format!(
            "{:<42} {:>11.2} {:>11.2} {:>12.1} {:>10.2}",
            self.name,
            self.time.median_us,
            self.time.window_us,
            self.window_gb_per_s,
            self.time.enqueue_us
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_testkit::Rt;

    #[test]
    fn every_lookup_is_right_and_what_was_not_launched_is_wrong() {
        for rt in Rt::present() {
            for plan in plans(&rt.client) {
                if plan.workload.supported(&rt.client).is_err() {
                    continue;
                }
                let prepared = Prepared::new(&rt.client, plan.workload).unwrap();
                let is_sum = plan.workload.op == Op::AddAlongRows;
                assert!(is_sum || matches!(prepared.verify(), Err(Error::Wrong { .. })));
                (0..SETS).for_each(|turn| prepared.launch(turn).unwrap());
                prepared.verify().unwrap();
            }
        }
    }
}
