//! The memory of one launch.

use crate::data;
use crate::random::XorShift;
use crate::workload::{Data, INDEX, MASK, Op, Workload};
use cubecl::client::Client;
use cubecl::prelude::CubeElement;
use cubecl::std::tensor::TensorHandle;
use girih_kernels::Compacted;
use std::sync::Mutex;

/// What an output holds before anything is written there: no value of a source, and exact in every type.
pub(crate) const POISON: f32 = 2.0;

/// Source, indices and output of a workload.
#[derive(Debug)]
pub(crate) struct Buffers {
    pub source: TensorHandle,
    pub index: TensorHandle,
    pub output: TensorHandle,
    /// Where the source is above 0; a single element where nothing is compacted.
    pub mask: TensorHandle,
    /// What the last compaction gave.
    pub compacted: Mutex<Option<Compacted>>,
    /// What `index` holds.
    pub targets: Vec<i32>,
    /// The seed of the source.
    pub seed: u32,
}

impl Buffers {
    /// Random source and indices; the output is poisoned, or 0 where it is added to.
    pub(crate) fn new(client: &Client, workload: &Workload, seed: u32) -> Self {
        let Workload { rows, columns, .. } = *workload;
        let table = || {
            let bytes = rows * columns * workload.dtype.size();
            let handle = client.empty(bytes);
            TensorHandle::new_contiguous([rows, columns], handle, workload.dtype.elem())
        };
        let targets = targets(workload, seed);
        let list = client.create_from_slice(i32::as_bytes(&targets));
        let buffers = Self {
            source: table(),
            index: TensorHandle::new_contiguous([targets.len()], list, INDEX),
            output: table(),
            mask: {
                let count = if workload.is_compaction() {
                    rows * columns
                } else {
                    1
                };
                TensorHandle::new_contiguous([count], client.empty(count.max(8)), MASK)
            },
            compacted: Mutex::default(),
            targets,
            seed,
        };
        data::fill(client, &buffers.source, seed, workload.random_bits());
        if workload.is_compaction() {
            data::positive(client, &buffers.source, &buffers.mask);
        }
        data::constant(client, &buffers.output, initial(workload.op));
        buffers
    }
}

/// What an output holds at first.
pub(crate) const fn initial(op: Op) -> f32 {
    match op {
        Op::ScatterAdd => 0.0,
        _ => POISON,
    }
}

/// The indices, one that is not used where there are none: an empty buffer is none on some devices.
fn targets(workload: &Workload, seed: u32) -> Vec<i32> {
    let rows = workload.rows;
    let mut random = XorShift::new(seed.into());
    let mut uniform =
        |count, end| -> Vec<i32> { (0..count).map(|_| random.below(end) as i32).collect() };
    match workload.data {
        Data::InOrder => vec![0],
        Data::Uniform => uniform(rows, rows),
        Data::Among(few) => uniform(rows, few.min(rows)),
        Data::Sorted => {
            let mut targets = uniform(rows, rows);
            targets.sort_unstable();
            targets
        }
        Data::TenthInOne => {
            let mut targets = uniform(rows, rows);
            for (target, chance) in targets.iter_mut().zip(uniform(rows, 10)) {
                if chance == 0 {
                    *target = 7.min(rows as i32 - 1);
                }
            }
            targets
        }
        Data::Zipf => zipf(rows, &mut random),
    }
}

/// As many indices as rows, by Zipf's law.
fn zipf(rows: usize, random: &mut XorShift) -> Vec<i32> {
    let mut total = 0.0;
    let mut up_to = Vec::with_capacity(rows);
    for rank in 1..=rows {
        total += (rank as f64).powf(-1.05);
        up_to.push(total);
    }
    const STEPS: usize = 1 << 31;
    (0..rows)
        .map(|_| {
            let drawn = random.below(STEPS) as f64 / STEPS as f64 * total;
            up_to.partition_point(|&sum| sum <= drawn).min(rows - 1) as i32
        })
        .collect()
}
