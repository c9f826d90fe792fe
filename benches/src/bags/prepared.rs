//! A workload and its buffers, ready to be launched.

use super::set::{Set, set};
use super::workload::{Op, Workload};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih_kernels::{
    BagOptions, GatherOptions, Grouping, embedding_bag, embedding_bag_backward, gather,
    gather_backward, segment_reduce,
};
use std::sync::PoisonError;

/// Sets of buffers that launches take in turn.
pub(super) const SETS: usize = 2;

/// A workload on a device, ready to be launched.
pub struct Prepared {
    pub(super) client: Client,
    pub(super) workload: Workload,
    pub(super) sets: Vec<Set>,
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
            let options = GatherOptions {
                determinism,
                ..Bounds::Mask.into()
            };
            gather_backward(client, gradient, index, 0, rows, options)
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
                [Some(bags.values), gradients.table]
            }
            Op::Embedding(determinism) => {
                let rows = gather(client, table, index, 0, Bounds::Mask)?.into_inner();
                [Some(rows), Some(back(determinism)?)]
            }
            Op::Select(determinism) => [None, Some(back(determinism)?)],
        })
    }
}
