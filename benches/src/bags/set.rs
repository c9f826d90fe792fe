//! The buffers of a launch.

use super::workload::{Op, Workload};
use crate::data::{BITS_TO_SUM, fill};
use cubecl::client::Client;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use std::sync::Mutex;

/// What a launch reads, and what the last one gave.
pub(super) struct Set {
    pub table: TensorHandle,
    pub gradient: TensorHandle,
    pub index: TensorHandle,
    pub offsets: TensorHandle,
    pub indices: Vec<i32>,
    pub seed: u32,
    /// The rows of the call, and the gradient of the table.
    pub out: Mutex<[Option<TensorHandle>; 2]>,
}

/// Fills a set.
pub(super) fn set(client: &Client, workload: &Workload, seed: u32) -> Set {
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
