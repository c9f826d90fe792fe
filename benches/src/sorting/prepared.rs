//! Keys on a device, ready to be sorted.

use super::{BINS, LARGEST, Op, Trial, Workload};
use crate::error::Result;
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih_kernels::{
    SortOptions, SortOrder, SortPath, UniqueOptions, argsort, bincount, sort, sort_by, sort_pairs,
    sort_path, top_k, unique,
};
use std::sync::Mutex;

/// Sets of buffers that launches take in turn.
pub(super) const SETS: usize = 2;

/// Large keys first.
struct LargestFirst;

#[cube]
impl SortOrder for LargestFirst {
    fn is_before<A: Numeric>(first: A, second: A) -> bool {
        second < first
    }
}

/// What the host's `mixed` gives for each position, shifted; and the positions.
#[cube(launch_unchecked)]
fn fill_kernel(keys: &mut [u32], places: &mut [u32], seed: u32, shift: u32) {
    let mut position = ABSOLUTE_POS;
    let stride = CUBE_COUNT * CUBE_DIM as usize;
    while position < keys.len() {
        let mut hash = (position as u32 * 0x9e37_79b1u32) ^ seed;
        hash ^= hash >> 15u32;
        hash *= 0x85eb_ca77u32;
        hash ^= hash >> 13u32;
        keys[position] = hash >> shift;
        places[position] = position as u32;
        position += stride;
    }
}

/// Keys, their positions, and what the last launch gave.
pub(super) struct Set {
    keys: TensorHandle,
    places: TensorHandle,
    pub(super) seed: u32,
    pub(super) out: Mutex<Vec<Handle>>,
}

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
    /// [`Error::Server`](crate::Error::Server) where the device has not got the memory.
    pub fn new(client: &Client, workload: Workload) -> Result<Self> {
        let prepared = Self {
            client: client.clone(),
            workload,
            sets: (1..=SETS as u32)
                .map(|seed| set(client, &workload, seed))
                .collect(),
        };
        block_on(client.sync())?;
        Ok(prepared)
    }

    /// Enqueues one launch; launches of successive turns use different keys.
    ///
    /// # Errors
    ///
    /// [`Error::Launch`](crate::Error::Launch) where the launcher refuses.
    pub fn launch(&self, turn: usize) -> Result<()> {
        let set = &self.sets[turn % SETS];
        let (client, keys) = (&self.client, &set.keys);
        let options = SortOptions::default();
        let index = u32::elem_type_native();
        let out = match self.workload.op {
            Op::SortKeys => {
                let options = self.workload.trial.map_or(options, Trial::options);
                vec![sort(client, keys, 0, &options)?]
            }
            Op::SortKeysAtOnce => {
                let options = SortOptions {
                    path: self.at_once(),
                    ..options
                };
                vec![sort(client, keys, 0, &options)?]
            }
            Op::SortPairs => {
                let (keys, places) = sort_pairs(client, keys, &set.places, 0, &options)?;
                vec![keys, places]
            }
            Op::SortBy => vec![sort_by::<LargestFirst>(client, keys, 0)?],
            Op::Argsort => vec![argsort(client, keys, 0, index, &options)?],
            Op::Bincount => vec![bincount(client, keys, None, BINS)?],
            Op::TopK => {
                let (keys, places) = top_k(client, keys, 0, LARGEST, true, index)?;
                vec![keys, places]
            }
            Op::Unique | Op::UniqueAtOnce => {
                let options = UniqueOptions {
                    sort: match self.workload.op {
                        Op::UniqueAtOnce => self.at_once(),
                        _ => None,
                    },
                    ..UniqueOptions::default()
                };
                let found = unique(client, keys, options)?.values;
                vec![found.room().clone(), found.count_on_device().clone()]
            }
            Op::UniqueAll => {
                let options = UniqueOptions {
                    counts: true,
                    inverse: true,
                    ..UniqueOptions::default()
                };
                let found = unique(client, keys, options)?;
                let count = found.values.count_on_device().clone();
                let counts = found.counts.map(|counts| counts.room().clone());
                let of_each = counts.into_iter().chain(found.inverse);
                [found.values.room().clone(), count]
                    .into_iter()
                    .chain(of_each)
                    .collect()
            }
        };
        let out = out.into_iter().map(|tensor| tensor.handle).collect();
        *set.out
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()) = out;
        Ok(())
    }

    /// The path of a sort in one launch, where the device has it.
    fn at_once(&self) -> Option<SortPath> {
        let path = Some(SortPath::AtOnce);
        let options = SortOptions {
            path,
            ..SortOptions::default()
        };
        let shape = [1, self.workload.length];
        sort_path(&self.client, u32::elem_type_native(), None, shape, &options)
            .ok()
            .and(path)
    }
}

fn set(client: &Client, workload: &Workload, seed: u32) -> Set {
    let length = workload.length;
    let tensor = || {
        let handle = client.empty(4 * length);
        TensorHandle::new_contiguous([length], handle, u32::elem_type_native())
    };
    let set = Set {
        keys: tensor(),
        places: tensor(),
        seed,
        out: Mutex::new(vec![]),
    };
    let units = client.properties().hardware.max_units_per_cube.min(256);
    // SAFETY: the kernel stays below the length of the keys, which is that of the places.
    unsafe {
        let argument =
            |tensor: &TensorHandle| BufferArg::from_raw_parts(tensor.handle.clone(), length);
        fill_kernel::launch_unchecked(
            client,
            CubeCount::new_1d(1024),
            CubeDim::new_1d(units),
            argument(&set.keys),
            argument(&set.places),
            seed,
            workload.shift(),
        );
    }
    set
}
