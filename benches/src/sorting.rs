//! Sorts, and what is close to them: counts of values, the largest values, and values each once.

use crate::error::{Error, Result};
use crate::timing::{Schedule, Time, measure_launches};
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih_kernels::raw::sort::{Matching, Tile};
use girih_kernels::{
    SortOptions, SortOrder, UniqueOptions, argsort, bincount, sort, sort_by, sort_pairs, top_k,
    unique,
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
    /// Those, how often each is there, and which each key has.
    UniqueAll,
}

impl Op {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::SortKeys,
        Self::SortPairs,
        Self::Argsort,
        Self::SortBy,
        Self::Bincount,
        Self::TopK,
        Self::Unique,
        Self::UniqueAll,
    ];

    /// The name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SortKeys => "sort_keys",
            Self::SortPairs => "sort_pairs",
            Self::Argsort => "argsort",
            Self::SortBy => "sort_by",
            Self::Bincount => "bincount",
            Self::TopK => "top_k",
            Self::Unique => "unique",
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
    /// Units, keys of a unit, and tiles that it looks back at, at once; the launcher's choice otherwise.
    pub tile: Option<[u32; 3]>,
}

impl Workload {
    /// The name in tables.
    pub fn name(&self) -> String {
        let name = format!("{} u32 {}", self.op.name(), self.length);
        match self.tile {
            None => name,
            Some([units, items, window]) => format!("{name} tile {units}x{items} back {window}"),
        }
    }

    /// Bytes that a launch has to read and write at the least: each key once, and what comes out once.
    pub const fn bytes(&self) -> usize {
        self.length
            * match self.op {
                Op::SortKeys | Op::Argsort | Op::SortBy | Op::UniqueAll => 8,
                Op::SortPairs => 16,
                Op::Bincount | Op::TopK | Op::Unique => 4,
            }
    }

    /// How it is sorted.
    fn options(&self) -> SortOptions {
        let tile = self.tile.map(|[units, items, window]| Tile {
            units,
            items,
            plane: 32,
            words: 1,
            unroll: true,
            matching: Matching::Ptx,
            window,
        });
        SortOptions {
            tile,
            ..SortOptions::default()
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
            Op::Unique | Op::UniqueAll => 16,
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
    let of_op = |op| {
        lengths.iter().map(move |&length| Plan {
            workload: Workload {
                op,
                length,
                tile: None,
            },
            schedule,
        })
    };
    let chosen = Op::ALL.into_iter().flat_map(of_op);
    let is_cuda = Device::of(client).target() == Target::Cuda;
    let tiles = TILES.into_iter().filter(|_| is_cuda);
    let others = tiles.flat_map(|(op, tile)| {
        lengths.iter().map(move |&length| Plan {
            workload: Workload {
                op,
                length,
                tile: Some(tile),
            },
            schedule,
        })
    });
    chosen.chain(others).collect()
}

/// Tiles beside the launcher's choice.
const TILES: [(Op, [u32; 3]); 12] = [
    (Op::SortKeys, [384, 23, 1]),
    (Op::SortKeys, [384, 23, 8]),
    (Op::SortKeys, [384, 19, 4]),
    (Op::SortKeys, [512, 16, 4]),
    (Op::SortKeys, [256, 16, 4]),
    (Op::SortPairs, [384, 18, 1]),
    (Op::SortPairs, [384, 18, 8]),
    (Op::SortPairs, [384, 16, 4]),
    (Op::SortPairs, [384, 20, 4]),
    (Op::SortPairs, [384, 23, 4]),
    (Op::SortPairs, [512, 16, 4]),
    (Op::Argsort, [384, 20, 4]),
];

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
    /// [`Error::Server`] where the device has not got the memory.
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
    /// [`Error::Launch`] where the launcher refuses.
    pub fn launch(&self, turn: usize) -> Result<()> {
        let set = &self.sets[turn % SETS];
        let (client, keys) = (&self.client, &set.keys);
        let options = self.workload.options();
        let index = u32::elem_type_native();
        let out = match self.workload.op {
            Op::SortKeys => vec![sort(client, keys, 0, &options)?],
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
            Op::Unique => {
                let found = unique(client, keys, UniqueOptions::default())?.values;
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

    /// Times launches.
    ///
    /// # Errors
    ///
    /// As of [`measure`](crate::measure).
    pub fn measure(&self, schedule: Schedule) -> Result<Time> {
        measure_launches(&self.client, |turn| self.launch(turn), schedule)
    }

    /// Checks all that the last launches gave.
    ///
    /// # Errors
    ///
    /// [`Error::Wrong`] for the first element that is wrong, [`Error::Server`] where a launch failed.
    pub fn verify(&self) -> Result<()> {
        for set in &self.sets {
            let handles = set
                .out
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            let mut out = vec![];
            for handle in handles.iter() {
                let bytes = self.client.read_one(handle.clone())?;
                out.push(u32::from_bytes(&bytes).to_vec());
            }
            match (self.workload.op, out.as_slice()) {
                (Op::SortKeys, [keys]) => self.sorted(set.seed, keys)?,
                (Op::SortBy, [keys]) => {
                    let ascending: Vec<u32> = keys.iter().rev().copied().collect();
                    self.sorted(set.seed, &ascending)?;
                }
                (Op::SortPairs, [keys, places]) => {
                    self.sorted(set.seed, keys)?;
                    self.in_order(set.seed, places, Some(keys))?;
                }
                (Op::Argsort, [places]) => self.in_order(set.seed, places, None)?,
                (Op::Bincount, [counts]) => self.counted(set.seed, counts)?,
                (Op::TopK, [keys, places]) => self.largest(set.seed, keys, places)?,
                (Op::Unique, [values, count]) => self.unique(set.seed, values, count, None)?,
                (Op::UniqueAll, [values, count, counts, inverse]) => {
                    self.unique(set.seed, values, count, Some([counts, inverse]))?;
                }
                _ => return self.wrong(0, 0, 0),
            }
        }
        Ok(())
    }

    fn wrong(&self, at: usize, found: u32, expected: u32) -> Result<()> {
        Err(Error::Wrong {
            workload: self.workload.name(),
            row: at,
            column: 0,
            found: found as f32,
            expected: expected as f32,
        })
    }

    /// Keys are in order, and all there: their sum and that of their squares are those of the input.
    fn sorted(&self, seed: u32, keys: &[u32]) -> Result<()> {
        let length = self.workload.length;
        if let Some(at) = (1..length.min(keys.len())).find(|&at| keys[at - 1] > keys[at]) {
            return self.wrong(at, keys[at], keys[at - 1]);
        }
        let sums = |keys: &mut dyn Iterator<Item = u32>| {
            keys.map(u64::from).fold([0u64; 2], |[sum, squares], key| {
                [
                    sum.wrapping_add(key),
                    squares.wrapping_add(key.wrapping_mul(key) ^ key << 7),
                ]
            })
        };
        let want = sums(&mut (0..length).map(|at| self.workload.key(at, seed)));
        let found = sums(&mut keys.iter().copied().take(length));
        match found == want && keys.len() >= length {
            true => Ok(()),
            false => self.wrong(length, found[0] as u32, want[0] as u32),
        }
    }

    /// Places are those of ascending keys, equal ones in their order; `keys` has the keys that are there.
    fn in_order(&self, seed: u32, places: &[u32], keys: Option<&Vec<u32>>) -> Result<()> {
        let length = self.workload.length;
        let mut last = None;
        for at in 0..length {
            let place = places.get(at).copied().unwrap_or(u32::MAX);
            let key = self.workload.key(place as usize, seed);
            let here = Some((key, place));
            // Ascending pairs of distinct places below the length: all are there.
            if last >= here || place as usize >= length {
                return self.wrong(at, place, length as u32);
            }
            if let Some(found) = keys
                .and_then(|keys| keys.get(at))
                .filter(|found| **found != key)
            {
                return self.wrong(at, *found, key);
            }
            last = here;
        }
        Ok(())
    }

    fn counted(&self, seed: u32, counts: &[u32]) -> Result<()> {
        let mut want = vec![0u32; BINS];
        for at in 0..self.workload.length {
            want[self.workload.key(at, seed) as usize] += 1;
        }
        match (0..BINS).find(|&bin| counts.get(bin) != Some(&want[bin])) {
            None => Ok(()),
            Some(bin) => self.wrong(bin, counts.get(bin).copied().unwrap_or(0), want[bin]),
        }
    }

    /// The values are those that are there, in order; so are their counts, and each key is its value.
    fn unique(
        &self,
        seed: u32,
        values: &[u32],
        count: &[u32],
        others: Option<[&Vec<u32>; 2]>,
    ) -> Result<()> {
        let length = self.workload.length;
        let mut counts = vec![0u32; 1 << 16];
        (0..length).for_each(|at| counts[self.workload.key(at, seed) as usize] += 1);
        let there = (0u32..).zip(&counts).filter(|(_, count)| **count > 0);
        let want: Vec<(u32, u32)> = there.map(|(value, count)| (value, *count)).collect();
        if count.first() != Some(&(want.len() as u32)) {
            return self.wrong(0, count.first().copied().unwrap_or(0), want.len() as u32);
        }
        for (at, &(value, _)) in want.iter().enumerate() {
            if values.get(at) != Some(&value) {
                return self.wrong(at, values.get(at).copied().unwrap_or(0), value);
            }
        }
        let Some([found, inverse]) = others else {
            return Ok(());
        };
        for (at, &(_, count)) in want.iter().enumerate() {
            if found.get(at) != Some(&count) {
                return self.wrong(at, found.get(at).copied().unwrap_or(0), count);
            }
        }
        for at in 0..length {
            let place = inverse.get(at).copied().unwrap_or(u32::MAX);
            let key = self.workload.key(at, seed);
            if want.get(place as usize).map(|(value, _)| *value) != Some(key) {
                return self.wrong(at, place, key);
            }
        }
        Ok(())
    }

    fn largest(&self, seed: u32, keys: &[u32], places: &[u32]) -> Result<()> {
        let mut want: Vec<(u32, u32)> = vec![];
        for at in 0..self.workload.length {
            want.push((self.workload.key(at, seed), u32::MAX - at as u32));
            if want.len() > 4 * LARGEST {
                want.sort_unstable_by(|a, b| b.cmp(a));
                want.truncate(LARGEST);
            }
        }
        want.sort_unstable_by(|a, b| b.cmp(a));
        for (at, &(key, rest)) in want.iter().take(LARGEST).enumerate() {
            if keys.get(at) != Some(&key) {
                return self.wrong(at, keys.get(at).copied().unwrap_or(0), key);
            }
            if places.get(at) != Some(&(u32::MAX - rest)) {
                return self.wrong(at, places.get(at).copied().unwrap_or(0), u32::MAX - rest);
            }
        }
        Ok(())
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

/// One workload's times on one device; one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Who was measured: `girih`.
    pub peer: &'static str,
    /// The workload in words.
    pub name: String,
    /// What is done.
    pub op: Op,
    /// The type of the keys.
    pub dtype: &'static str,
    /// How many keys.
    pub rows: usize,
    /// One key in a row of the table.
    pub columns: usize,
    /// The keys: each any number.
    pub data: &'static str,
    /// The least bytes read and written.
    pub bytes: usize,
    /// Times of a launch.
    #[serde(flatten)]
    pub time: Time,
    /// Keys by the window, in 10^9 a second.
    pub items_per_ns: f64,
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
            op: workload.op,
            dtype: "u32",
            rows: workload.length,
            columns: 1,
            data: "uniform",
            bytes: workload.bytes(),
            time,
            items_per_ns: workload.length as f64 / time.window_us / 1e3,
            launches: schedule.launches,
            device: Device::of(client).name(),
        })
    }

    /// The head of a table of [`row`](Self::row)s.
    pub fn header() -> String {
        format!(
            "{:<42} {:>11} {:>11} {:>12} {:>10} {:>9}",
            "sort", "median us", "window us", "keys per ns", "enqueue us", "first ms"
        )
    }

    /// A line of the table.
    pub fn row(&self) -> String {
        format!(
            "{:<42} {:>11.2} {:>11.2} {:>12.3} {:>10.2} {:>9.1}",
            self.name,
            self.time.median_us,
            self.time.window_us,
            self.items_per_ns,
            self.time.enqueue_us,
            self.time.first_us / 1e3
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
                    tile: None,
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
