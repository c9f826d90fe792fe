//! Segments, bags of embeddings, and embeddings, forwards and backwards.

use crate::data::{BITS_TO_SUM, fill, value};
use crate::error::{Error, Result};
use crate::random::XorShift;
use crate::timing::{Schedule, Time, measure_launches};
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih::device::{Device, Target};
use girih_kernels::{
    BagOptions, Determinism, Grouping, Reduction, embedding_bag, embedding_bag_backward, gather,
    gather_backward, segment_reduce, supports_embedding_bag_backward,
};
use serde::Serialize;
use std::sync::{Mutex, PoisonError};

/// Sets of buffers that launches take in turn.
const SETS: usize = 2;
/// Rows that are looked at.
const SAMPLE: usize = 24;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Rows of each segment combined.
    Segment(Reduction),
    /// Rows of a table combined, bag by bag.
    Bag(Reduction),
    /// The same, and the gradient of the table.
    BagBackward(Reduction, Determinism),
    /// Rows of a table, and the gradient of the table.
    Embedding(Determinism),
    /// The gradient of a table alone, of which rows were taken.
    Select(Determinism),
}

impl Op {
    /// The name, as in JSON.
    pub fn name(self) -> String {
        let of = |reduction| format!("{reduction:?}").to_lowercase();
        match self {
            Self::Segment(reduction) => format!("segment {}", of(reduction)),
            Self::Bag(reduction) => format!("embedding_bag forward {}", of(reduction)),
            Self::BagBackward(reduction, _) => {
                format!("embedding_bag forward+backward {}", of(reduction))
            }
            Self::Embedding(_) => "embedding forward+backward".into(),
            Self::Select(_) => "select backward".into(),
        }
    }

    const fn determinism(self) -> Determinism {
        match self {
            Self::Segment(_) | Self::Bag(_) => Determinism::Any,
            Self::BagBackward(_, by) | Self::Embedding(by) | Self::Select(by) => by,
        }
    }
}

/// How indices are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Draw {
    /// Each row as likely as any other.
    Uniform,
    /// By Zipf's law with an exponent of 1.05, the frequent rows spread over the table.
    Zipf,
}

impl Draw {
    const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipf => "zipf 1.05",
        }
    }

    fn indices(self, rows: usize, count: usize, seed: u64) -> Vec<i32> {
        let mut random = XorShift::new(seed);
        match self {
            Self::Uniform => (0..count).map(|_| random.below(rows) as i32).collect(),
            Self::Zipf => {
                let mut sum = 0.0;
                let cumulated: Vec<f64> = (1..=rows)
                    .map(|rank| {
                        sum += (rank as f64).powf(-1.05);
                        sum
                    })
                    .collect();
                let parts = (1u32 << 31) as usize;
                let draw = |_| {
                    let drawn = random.below(parts) as f64 / parts as f64 * sum;
                    let rank = cumulated.partition_point(|&up_to| up_to <= drawn);
                    // A bijection, as the prime divides no number of rows here.
                    (rank.min(rows - 1) * 7919 % rows) as i32
                };
                (0..count).map(draw).collect()
            }
        }
    }
}

/// One thing to measure, of f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Workload {
    /// What is done.
    pub op: Op,
    /// Rows of the table, or of all segments.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// Indices, or rows of all segments.
    pub entries: usize,
    /// Entries of a bag or segment.
    pub length: usize,
    /// How indices are drawn.
    pub draw: Draw,
}

impl Workload {
    fn bags(&self) -> usize {
        self.entries / self.length
    }

    /// What it is done to, in words, as in JSON.
    pub fn data(&self) -> String {
        match self.op {
            Op::Segment(_) => format!("{} segments", self.bags()),
            Op::Bag(_) | Op::BagBackward(..) => format!("{} bags of {}", self.bags(), self.length),
            Op::Embedding(_) | Op::Select(_) => format!("{} {}", self.entries, self.draw.name()),
        }
    }

    /// The name in tables.
    pub fn name(&self) -> String {
        let how = match self.op.determinism() {
            Determinism::Any => "",
            Determinism::RunToRun => " in order",
        };
        let (op, data) = (self.op.name(), self.data());
        format!("{op} f32 {}x{} {data}{how}", self.rows, self.columns)
    }

    /// Bytes read and written: each row once for each index, each gradient once, of the table's gradient each row that is added to
    /// twice, and all of it once for the zeros.
    pub const fn bytes(&self) -> usize {
        let row = 4 * self.columns;
        let bags = self.entries / self.length;
        let forward = self.entries * (row + 4) + bags * row;
        let backward = bags * row + self.entries * (2 * row + 4) + self.rows * row;
        match self.op {
            Op::Segment(_) | Op::Bag(_) => forward,
            Op::BagBackward(..) | Op::Embedding(_) => forward + backward,
            Op::Select(_) => backward,
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

/// Those that suit a device: tables of half a gigabyte on CUDA, small ones elsewhere.
pub fn plans(client: &Client) -> Vec<Plan> {
    let is_large = Device::of(client).target() == Target::Cuda;
    let schedule = match is_large {
        true => Schedule {
            warmup: 4,
            launches: 10,
            windows: 3,
        },
        false => Schedule {
            warmup: 1,
            launches: 2,
            windows: 1,
        },
    };
    let shift = if is_large { 0 } else { 9 };
    let rows = (1 << 20) >> shift;
    let (any, in_order) = (Determinism::Any, Determinism::RunToRun);
    let workload = |op, rows, columns, entries, length, draw| Workload {
        op,
        rows,
        columns,
        entries,
        length,
        draw,
    };
    let bag = |op, length| workload(op, rows, 128, rows, length, Draw::Uniform);
    let mut workloads = vec![
        bag(Op::Segment(Reduction::Sum), 16),
        bag(Op::Segment(Reduction::Max), 16),
        bag(Op::Segment(Reduction::Sum), rows / 4),
    ];
    for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max] {
        workloads.push(bag(Op::Bag(reduction), 32));
        workloads.push(bag(Op::BagBackward(reduction, any), 32));
    }
    workloads.push(bag(Op::BagBackward(Reduction::Sum, in_order), 32));
    for draw in [Draw::Uniform, Draw::Zipf] {
        for by in [any, in_order] {
            workloads.push(workload(Op::Select(by), rows, 128, rows, 1, draw));
            workloads.push(workload(Op::Embedding(by), rows, 128, rows, 1, draw));
            let words = 50_000 >> shift;
            let looked_up = (1 << 16) >> shift;
            workloads.push(workload(Op::Embedding(by), words, 256, looked_up, 1, draw));
        }
    }
    let plan = |workload| Plan { workload, schedule };
    workloads.into_iter().map(plan).collect()
}

/// What a launch reads, and what the last one gave.
struct Set {
    table: TensorHandle,
    gradient: TensorHandle,
    index: TensorHandle,
    offsets: TensorHandle,
    indices: Vec<i32>,
    seed: u32,
    /// The rows of the call, and the gradient of the table.
    out: Mutex<[Option<TensorHandle>; 2]>,
}

/// A workload on a device, ready to be launched.
pub struct Prepared {
    client: Client,
    workload: Workload,
    sets: Vec<Set>,
}

impl Prepared {
    /// Fills the buffers, and waits until that is done.
    ///
    /// # Errors
    ///
    /// [`Error::Server`] where the device has not got the memory.
    pub fn new(client: &Client, workload: Workload) -> Result<Self> {
        let sets = (1..=SETS as u32).map(|seed| set(client, &workload, seed));
        let prepared = Self {
            client: client.clone(),
            workload,
            sets: sets.collect(),
        };
        block_on(client.sync())?;
        Ok(prepared)
    }

    /// Enqueues one launch, or those of both passes; successive turns use different buffers.
    ///
    /// # Errors
    ///
    /// [`Error::Launch`] where the launcher refuses.
    pub fn launch(&self, turn: usize) -> Result<()> {
        let set = &self.sets[turn % SETS];
        let out = self.run(set)?;
        *set.out.lock().unwrap_or_else(PoisonError::into_inner) = out;
        Ok(())
    }

    fn run(&self, set: &Set) -> Result<[Option<TensorHandle>; 2]> {
        let Set {
            table,
            gradient,
            index,
            offsets,
            ..
        } = set;
        let client = &self.client;
        let by = Grouping::Offsets(offsets);
        let options = |reduction, for_backward| BagOptions {
            for_backward,
            ..BagOptions::new(reduction)
        };
        let back = |determinism| {
            let rows = self.workload.rows;
            gather_backward(client, gradient, index, 0, rows, Bounds::Mask, determinism)
        };
        Ok(match self.workload.op {
            Op::Segment(reduction) => [Some(segment_reduce(client, table, by, reduction)?), None],
            Op::Bag(reduction) => {
                let options = options(reduction, false);
                let bags = embedding_bag(client, table, index, by, options)?.into_inner();
                [Some(bags.values), None]
            }
            Op::BagBackward(reduction, determinism) => {
                let options = options(reduction, true);
                let bags = embedding_bag(client, table, index, by, options)?.into_inner();
                let gradients = embedding_bag_backward(
                    client,
                    gradient,
                    table,
                    index,
                    by,
                    options,
                    &bags,
                    determinism,
                )?;
                [Some(bags.values), Some(gradients.table)]
            }
            Op::Embedding(determinism) => {
                let rows = gather(client, table, index, 0, Bounds::Mask)?.into_inner();
                [Some(rows), Some(back(determinism)?)]
            }
            Op::Select(determinism) => [None, Some(back(determinism)?)],
        })
    }

    /// Times launches.
    ///
    /// # Errors
    ///
    /// As of [`measure`](crate::measure).
    pub fn measure(&self, schedule: Schedule) -> Result<Time> {
        measure_launches(&self.client, |turn| self.launch(turn), schedule)
    }

    /// Checks some rows that the last launches gave.
    ///
    /// # Errors
    ///
    /// [`Error::Wrong`] for the first element that is wrong, [`Error::Server`] where a launch failed.
    pub fn verify(&self) -> Result<()> {
        for set in &self.sets {
            let out = set.out.lock().unwrap_or_else(PoisonError::into_inner);
            let [rows, gradient] = &*out;
            if rows.is_none() && gradient.is_none() {
                return Err(self.wrong(0, 0, f32::NAN, 0.0));
            }
            if let Some(rows) = rows {
                self.compare(rows, self.workload.bags(), |row| self.forward(set, row))?;
            }
            if let Some(gradient) = gradient {
                let rows = self.workload.rows;
                self.compare(gradient, rows, |row| self.backward(set, row))?;
            }
        }
        Ok(())
    }

    fn wrong(&self, row: usize, column: usize, found: f32, expected: f32) -> Error {
        Error::Wrong {
            workload: self.workload.name(),
            row,
            column,
            found,
            expected,
        }
    }

    fn compare(
        &self,
        found: &TensorHandle,
        rows: usize,
        expected: impl Fn(usize) -> Vec<f64>,
    ) -> Result<()> {
        let columns = self.workload.columns;
        let mut random = XorShift::new(17);
        let drawn = (0..SAMPLE).map(|_| random.below(rows));
        for row in [0, rows - 1].into_iter().chain(drawn) {
            let size = 4 * columns as u64;
            let end = found.handle.size() - (row as u64 + 1) * size;
            let handle = found.handle.clone().offset_start(row as u64 * size);
            let bytes = self.client.read_one(handle.offset_end(end))?;
            let found = f32::from_bytes(&bytes);
            for (column, expected) in expected(row).into_iter().enumerate() {
                let expected = expected as f32;
                if found[column] != expected {
                    return Err(self.wrong(row, column, found[column], expected));
                }
            }
        }
        Ok(())
    }

    /// The elements of an entry's row.
    fn element(&self, set: &Set, entry: usize, column: usize) -> f64 {
        let row = match self.workload.op {
            Op::Segment(_) => entry,
            _ => set.indices[entry] as usize,
        };
        let position = row * self.workload.columns + column;
        value(position as u32, set.seed, BITS_TO_SUM).into()
    }

    fn reduction(&self) -> Reduction {
        match self.workload.op {
            Op::Segment(reduction) | Op::Bag(reduction) | Op::BagBackward(reduction, _) => {
                reduction
            }
            Op::Embedding(_) | Op::Select(_) => Reduction::Sum,
        }
    }

    fn forward(&self, set: &Set, bag: usize) -> Vec<f64> {
        let length = self.workload.length;
        let entries = bag * length..(bag + 1) * length;
        (0..self.workload.columns)
            .map(|column| {
                let elements = entries
                    .clone()
                    .map(|entry| self.element(set, entry, column));
                match self.reduction() {
                    Reduction::Max => elements.fold(f64::NEG_INFINITY, f64::max),
                    Reduction::Mean => elements.sum::<f64>() / length as f64,
                    _ => elements.sum(),
                }
            })
            .collect()
    }

    fn backward(&self, set: &Set, row: usize) -> Vec<f64> {
        let Workload {
            columns, length, ..
        } = self.workload;
        let mut sums = vec![0.0; columns];
        let entries = (0..set.indices.len()).filter(|&entry| set.indices[entry] as usize == row);
        for entry in entries {
            let bag = entry / length;
            for (column, sum) in sums.iter_mut().enumerate() {
                let slope = value((bag * columns + column) as u32, set.seed + 50, BITS_TO_SUM);
                let share = match self.reduction() {
                    Reduction::Mean => 1.0 / length as f64,
                    Reduction::Max => {
                        let own = self.element(set, entry, column);
                        let mut others = (bag * length..(bag + 1) * length)
                            .map(|other| (other, self.element(set, other, column)));
                        let is_beaten = others.any(|(other, element)| {
                            element > own || element == own && other < entry
                        });
                        f64::from(!is_beaten)
                    }
                    _ => 1.0,
                };
                *sum += share * f64::from(slope);
            }
        }
        sums
    }
}

fn set(client: &Client, workload: &Workload, seed: u32) -> Set {
    let tensor = |shape: Vec<usize>| {
        let handle = client.empty(4 * shape.iter().product::<usize>());
        TensorHandle::new_contiguous(shape, handle, f32::elem_type_native())
    };
    let list = |values: &[i32]| {
        let handle = client.create_from_slice(i32::as_bytes(values));
        TensorHandle::new_contiguous(vec![values.len()], handle, i32::elem_type_native())
    };
    let indices = match workload.op {
        Op::Segment(_) => vec![0],
        _ => workload
            .draw
            .indices(workload.rows, workload.entries, seed.into()),
    };
    let offsets: Vec<i32> = (0..=workload.bags())
        .map(|bag| (bag * workload.length) as i32)
        .collect();
    let set = Set {
        table: tensor(vec![workload.rows, workload.columns]),
        gradient: tensor(vec![workload.bags(), workload.columns]),
        index: list(&indices),
        offsets: list(&offsets),
        indices,
        seed,
        out: Mutex::default(),
    };
    fill(client, &set.table, seed, BITS_TO_SUM);
    fill(client, &set.gradient, seed + 50, BITS_TO_SUM);
    set
}

/// One workload's times on one device; one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Who was measured: `girih`.
    pub peer: &'static str,
    /// The workload in words.
    pub name: String,
    /// What is done.
    pub op: String,
    /// The type of the elements.
    pub dtype: &'static str,
    /// Rows of the table, or of all segments.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// How many indices, bags or segments, and how they are drawn.
    pub data: String,
    /// Whether the result is the same in every run.
    pub in_order: bool,
    /// Bytes read and written.
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
    /// Whatever [`Prepared::new`], [`Prepared::measure`] and [`Prepared::verify`] give.
    pub fn take(client: &Client, workload: &Workload, schedule: Schedule) -> Result<Self> {
        let time = {
            let prepared = Prepared::new(client, *workload)?;
            let time = prepared.measure(schedule)?;
            prepared.verify()?;
            time
        };
        client.memory_cleanup()?;
        block_on(client.sync())?;
        Ok(Self {
            peer: "girih",
            name: workload.name(),
            op: workload.op.name(),
            dtype: "f32",
            rows: workload.rows,
            columns: workload.columns,
            data: workload.data(),
            in_order: workload.op.determinism() == Determinism::RunToRun,
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
            "{:<72} {:>11} {:>11} {:>9} {:>10} {:>9}",
            "segments and bags", "median us", "window us", "GB/s win", "enqueue us", "first ms"
        )
    }

    /// A line of the table.
    pub fn row(&self) -> String {
        format!(
            "{:<72} {:>11.2} {:>11.2} {:>9.1} {:>10.2} {:>9.1}",
            self.name,
            self.time.median_us,
            self.time.window_us,
            self.window_gb_per_s,
            self.time.enqueue_us,
            self.time.first_us / 1e3
        )
    }
}

impl Workload {
    /// Whether the device does this.
    ///
    /// # Errors
    ///
    /// [`girih::Error::Device`], which names what it lacks.
    pub fn supported(&self, client: &Client) -> girih::Result<()> {
        let (element, index) = (f32::elem_type_native(), i32::elem_type_native());
        supports_embedding_bag_backward(client, element, index, Reduction::Sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_testkit::Rt;
    use std::collections::HashSet;

    #[test]
    fn every_result_is_right_and_what_was_not_launched_is_wrong() {
        for rt in Rt::present() {
            for plan in plans(&rt.client) {
                let prepared = Prepared::new(&rt.client, plan.workload).unwrap();
                assert!(matches!(prepared.verify(), Err(Error::Wrong { .. })));
                (0..SETS).for_each(|turn| prepared.launch(turn).unwrap());
                prepared.verify().unwrap();
            }
        }
    }

    #[test]
    fn rows_of_another_seed_are_wrong() {
        for rt in Rt::present() {
            for plan in plans(&rt.client).into_iter().take(6) {
                let mut prepared = Prepared::new(&rt.client, plan.workload).unwrap();
                (0..SETS).for_each(|turn| prepared.launch(turn).unwrap());
                prepared.sets[0].seed += 7;
                assert!(matches!(prepared.verify(), Err(Error::Wrong { .. })));
            }
        }
    }

    #[test]
    fn every_workload_has_a_name_of_its_own() {
        for rt in Rt::present() {
            let plans = plans(&rt.client);
            let names: HashSet<_> = plans.iter().map(|plan| plan.workload.name()).collect();
            assert_eq!(names.len(), plans.len());
        }
    }

    #[test]
    fn the_frequent_rows_of_zipf_are_few() {
        let indices = Draw::Zipf.indices(1000, 10_000, 3);
        let mut counts = vec![0; 1000];
        indices
            .iter()
            .for_each(|&index| counts[index as usize] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        assert!(
            counts[0] > 1000 && counts[..10].iter().sum::<i32>() > 3500,
            "{counts:?}"
        );
    }
}
