//! Sorts, and what is close to them: counts of values, the largest values, and values each once.

mod measurement;
mod prepared;
mod verify;

pub use measurement::Measurement;
pub use prepared::Prepared;

use crate::timing::Schedule;
use cubecl::client::Client;
use girih::device::{Device, Target};
use girih_kernels::raw::sort::{Matching, Tile};
use girih_kernels::{SortOptions, SortPath};
use serde::Serialize;

/// Bins of a count of values.
const BINS: usize = 256;
/// How many of the largest values are wanted.
const LARGEST: usize = 64;

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

/// A number of 32 bits that looks random, as [`Prepared`] fills keys with: no two positions have the same.
fn mixed(position: u32, seed: u32) -> u32 {
    let mut hash = position.wrapping_mul(0x9e37_79b1) ^ seed;
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x85eb_ca77);
    hash ^ hash >> 13
}

#[cfg(test)]
mod tests {
    use super::prepared::SETS;
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
