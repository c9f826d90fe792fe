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
    let (count, end) = match workload.data {
        Data::InOrder => (1, 1),
        Data::Uniform => (workload.rows, workload.rows),
        Data::Among(rows) => (workload.rows, rows.min(workload.rows)),
    };
    let mut random = XorShift::new(seed.into());
    (0..count).map(|_| random.below(end) as i32).collect()
}
