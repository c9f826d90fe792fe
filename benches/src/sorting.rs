//! Sorts, and what is close to them: counts of values, the largest values, and values each once.

mod measurement;
mod verify;

pub use measurement::Measurement;

use crate::error::Result;
use crate::timing::Schedule;
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih_kernels::raw::sort::{Matching, Tile};
use girih_kernels::{
    SortOptions, SortOrder, SortPath, UniqueOptions, argsort, bincount, sort, sort_by, sort_pairs,
    sort_path, top_k, unique,
};
use serde::Serialize;
use std::sync::Mutex;

/// Bins of a count of values.
const BINS: usize = 256;
/// How many of the largest values are wanted.
const LARGEST: usize = 64;
/// Sets of buffers that launches take in turn.
const SETS: usize = 2;

/// Large keys first.
struct LargestFirst;

#[cube]
impl SortOrder for LargestFirst {
    fn is_before<A: Numeric>(first: A, second: A) -> bool {
        second < first
    }
}

/// What is done with the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Keys alone.
    SortKeys,
    /// The same in one launch, where the device has that path.
    SortKeysAtOnce,
    /// Keys, and 32 bits with each.
    SortPairs,
    /// The places of the sorted keys.
    Argsort,
    /// Keys alone, by an order of the caller's own.
    SortBy,
    /// How often each of 256 values is there.
    Bincount,
    /// The 64 largest, and their places.
    TopK,
    /// The values that are there, of 2^16.
    Unique,
    /// The same with a sort in one launch, where the device has that path.
    UniqueAtOnce,
    /// Those, how often each is there, and which each key has.
    UniqueAll,
}

impl Op {
    /// Every one.
    pub const ALL: [Self; 10] = [
        Self::SortKeys,
        Self::SortKeysAtOnce,
        Self::SortPairs,
        Self::Argsort,
        Self::SortBy,
        Self::Bincount,
        Self::TopK,
        Self::Unique,
        Self::UniqueAtOnce,
        Self::UniqueAll,
    ];

    /// The name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SortKeys => "sort_keys",
            Self::SortKeysAtOnce => "sort_keys_at_once",
            Self::SortPairs => "sort_pairs",
            Self::Argsort => "argsort",
            Self::SortBy => "sort_by",
            Self::Bincount => "bincount",
            Self::TopK => "top_k",
            Self::Unique => "unique",
            Self::UniqueAtOnce => "unique_at_once",
            Self::UniqueAll => "unique_all",
        }
    }
}

/// One thing to measure: so many keys of 32 bits, each any number; of counts one of 256, of unique keys one of 2^16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Workload {
    /// What is done.
    pub op: Op,
    /// How many keys.
    pub length: usize,
    /// How keys are sorted, where that is not the launcher's choice.
    pub trial: Option<Trial>,
}

/// A way to sort on CUDA that is measured only where it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trial {
    /// The path.
    pub path: SortPath,
    /// Keys of a unit.
    pub items: u32,
    /// Tiles that a unit looks back at, at once.
    pub window: u32,
}

impl Trial {
    /// Units of a tile.
    const UNITS: u32 = 384;

    /// Two paths with tiles of two sizes.
    fn all() -> impl Iterator<Item = Self> {
        let paths = [SortPath::OneSweep, SortPath::AtOnce].into_iter();
        let of_path = |path| {
            let tiles = [23, 11]
                .into_iter()
                .flat_map(|items| [4, 8, 16].map(|window| (items, window)));
            tiles.map(move |(items, window)| Self {
                path,
                items,
                window,
            })
        };
        paths.flat_map(of_path)
    }

    fn options(self) -> SortOptions {
        SortOptions {
            path: Some(self.path),
            tile: Some(Tile {
                units: Self::UNITS,
                items: self.items,
                plane: 32,
                words: 1,
                unroll: true,
                matching: Matching::Ptx,
                window: self.window,
            }),
            ..SortOptions::default()
        }
    }

    fn name(self) -> String {
        let Self {
            path,
            items,
            window,
        } = self;
        let units = Self::UNITS;
        format!(" {path:?} tiles of {units}x{items}, {window} at once")
    }
}

impl Workload {
    /// The name in tables.
    pub fn name(&self) -> String {
        let trial = self.trial.map(Trial::name).unwrap_or_default();
        format!("{} u32 {}{trial}", self.op.name(), self.length)
    }

    /// Bytes that a launch has to read and write at the least: each key once, and what comes out once.
    pub const fn bytes(&self) -> usize {
        self.length
            * match self.op {
                Op::SortKeys | Op::SortKeysAtOnce | Op::Argsort | Op::SortBy | Op::UniqueAll => 8,
                Op::SortPairs => 16,
                Op::Bincount | Op::TopK | Op::Unique | Op::UniqueAtOnce => 4,
            }
    }

    /// The key at a position.
    fn key(&self, position: usize, seed: u32) -> u32 {
        mixed(position as u32, seed) >> self.shift()
    }

    /// High bits of a hash that a key has not.
    const fn shift(&self) -> u32 {
        match self.op {
            Op::Bincount => 24,
            Op::Unique | Op::UniqueAtOnce | Op::UniqueAll => 16,
            _ => 0,
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

/// The sorts that suit a device: long ones on CUDA, short ones elsewhere.
pub fn plans(client: &Client) -> Vec<Plan> {
    let (lengths, schedule): (&[usize], _) = match Device::of(client).target() {
        Target::Cuda => (
            &[1 << 20, 1 << 24, 1 << 28],
            Schedule {
                warmup: 6,
                launches: 20,
                windows: 3,
            },
        ),
        _ => (
            &[1 << 12, 1 << 15],
            Schedule {
                warmup: 1,
                launches: 2,
                windows: 1,
            },
        ),
    };
    let plan = |op, length, trial| Plan {
        workload: Workload { op, length, trial },
        schedule,
    };
    let of_op = |op| lengths.iter().map(move |&length| plan(op, length, None));
    let mut plans: Vec<Plan> = Op::ALL.into_iter().flat_map(of_op).collect();
    if Device::of(client).target() == Target::Cuda {
        let of_trial = |trial| TRIED.map(|length| plan(Op::SortKeys, length, Some(trial)));
        plans.extend(Trial::all().flat_map(of_trial));
    }
    plans
}

/// Lengths at which launches cost more than keys, up to those where they do not.
const TRIED: [usize; 5] = [1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22];

/// A number of 32 bits that looks random: no two positions have the same.
fn mixed(position: u32, seed: u32) -> u32 {
    let mut hash = position.wrapping_mul(0x9e37_79b1) ^ seed;
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x85eb_ca77);
    hash ^ hash >> 13
}

/// The same on the device, shifted; and the positions.
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
struct Set {
    keys: TensorHandle,
    places: TensorHandle,
    seed: u32,
    out: Mutex<Vec<Handle>>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use girih_testkit::Rt;

    #[test]
    fn every_sort_is_right_and_what_was_not_launched_is_wrong() {
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
    fn keys_of_another_seed_are_wrong() {
        for rt in Rt::present() {
            for op in Op::ALL {
                let workload = Workload {
                    op,
                    length: 1 << 10,
                    trial: None,
                };
                let mut prepared = Prepared::new(&rt.client, workload).unwrap();
                (0..SETS).for_each(|turn| prepared.launch(turn).unwrap());
                prepared.sets[0].seed += 7;
                let error = prepared.verify().unwrap_err();
                assert!(matches!(error, Error::Wrong { .. }), "{op:?}: {error}");
            }
        }
    }
}
