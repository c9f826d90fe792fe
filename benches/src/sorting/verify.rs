//! What sorts give, held against the host.

use super::{BINS, LARGEST, Op, Prepared};
use crate::error::{Error, Result};
use cubecl::prelude::CubeElement;

impl Prepared {
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
                (Op::SortKeys | Op::SortKeysAtOnce, [keys]) => self.sorted(set.seed, keys)?,
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
                (Op::Unique | Op::UniqueAtOnce, [values, count]) => {
                    self.unique(set.seed, values, count, None)?
                }
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
