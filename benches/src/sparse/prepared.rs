//! A workload and its buffers, ready to be launched, and looked at afterwards.

use super::workload::{BETAS, EPSILON, Op, RATE, Workload};
use crate::data::{BITS_TO_SUM, constant, fill, value};
use crate::error::{Error, Result};
use crate::random::XorShift;
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih_kernels::{SparseRows, combine_rows, sparse_step};
use std::sync::{Mutex, PoisonError};

/// Sets of buffers that launches take in turn.
const SETS: usize = 2;
/// Rows that are looked at.
const SAMPLE: usize = 24;

/// What a launch reads and writes.
struct Set {
    parameter: TensorHandle,
    states: Vec<TensorHandle>,
    gradient: SparseRows,
    /// What the gradient's index holds.
    indices: Vec<i32>,
    seed: u32,
    /// How often it was used, and what the last launch gave.
    used: Mutex<(u32, Option<SparseRows>)>,
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

    /// Enqueues one launch; successive turns use different buffers.
    ///
    /// # Errors
    ///
    /// [`Error::Launch`] where the launcher refuses.
    pub fn launch(&self, turn: usize) -> Result<()> {
        let set = &self.sets[turn % SETS];
        let mut used = set.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.0 += 1;
        let SparseRows { index, rows } = &set.gradient;
        match self.workload.op.step(used.0) {
            None => {
                let extent = self.workload.rows;
                let combined = combine_rows(&self.client, rows, index, extent, None, Bounds::Mask)?;
                used.1 = Some(combined);
            }
            Some(step) => {
                let states: Vec<_> = set.states.iter().collect();
                sparse_step(&self.client, &set.parameter, &states, &set.gradient, step)?;
            }
        }
        Ok(())
    }

    /// Checks some rows that the launches gave.
    ///
    /// # Errors
    ///
    /// [`Error::Wrong`] for the first element that is wrong, [`Error::Server`] where a launch failed.
    pub fn verify(&self) -> Result<()> {
        for set in &self.sets {
            let used = set.used.lock().unwrap_or_else(PoisonError::into_inner);
            match (self.workload.op, &used.1) {
                (Op::Combine, None) => return Err(self.wrong([0, 0], f32::NAN, 0.0)),
                (Op::Combine, Some(combined)) => self.verify_combined(set, combined)?,
                _ => self.verify_stepped(set, used.0)?,
            }
        }
        Ok(())
    }

    /// Rows that have a gradient, and others, after so many steps.
    fn verify_stepped(&self, set: &Set, steps: u32) -> Result<()> {
        let columns = self.workload.columns;
        let mut random = XorShift::new(23);
        let entries = (0..SAMPLE).map(|_| Some(random.below(set.indices.len())));
        let rows = entries.chain([None; SAMPLE / 4]);
        let mut other = XorShift::new(29);
        for entry in rows {
            let row = match entry {
                Some(entry) => set.indices[entry] as usize,
                None => loop {
                    let row = other.below(self.workload.rows);
                    if set.indices.binary_search(&(row as i32)).is_err() {
                        break row;
                    }
                },
            };
            let found = self.read(&set.parameter, row)?;
            for (column, &found) in found.iter().enumerate() {
                let before = value((row * columns + column) as u32, set.seed, BITS_TO_SUM);
                let slope = entry.map(|entry| slope(set, entry * columns + column));
                let expected = stepped(self.workload.op, before.into(), slope, steps);
                // NaN is not near either.
                let near = (f64::from(found) - expected).abs() <= 1e-4 * expected.abs().max(1.0);
                if !near {
                    return Err(self.wrong([row, column], found, expected as f32));
                }
            }
        }
        Ok(())
    }

    /// Which rows there are, and the sums of some.
    fn verify_combined(&self, set: &Set, combined: &SparseRows) -> Result<()> {
        let mut distinct = set.indices.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let bytes = self.client.read_one(combined.index.handle.clone())?;
        let found = &i32::from_bytes(&bytes)[..set.indices.len()];
        for (at, &found) in found.iter().enumerate() {
            let expected = distinct.get(at).copied().unwrap_or(-1);
            if found != expected {
                return Err(self.wrong([at, 0], found as f32, expected as f32));
            }
        }
        let columns = self.workload.columns;
        let mut random = XorShift::new(23);
        for _ in 0..SAMPLE {
            let at = random.below(distinct.len());
            let entries = (0..set.indices.len()).filter(|&of| set.indices[of] == distinct[at]);
            let entries: Vec<usize> = entries.collect();
            let found = self.read(&combined.rows, at)?;
            for (column, &found) in found.iter().enumerate() {
                let slopes = entries.iter().map(|of| slope(set, of * columns + column));
                let expected = slopes.sum::<f64>() as f32;
                if found != expected {
                    return Err(self.wrong([at, column], found, expected));
                }
            }
        }
        Ok(())
    }

    fn read(&self, table: &TensorHandle, row: usize) -> Result<Vec<f32>> {
        let size = 4 * self.workload.columns as u64;
        let handle = table.handle.clone().offset_start(row as u64 * size);
        let rest = handle.size_in_used() - size;
        let bytes = self.client.read_one(handle.offset_end(rest))?;
        Ok(f32::from_bytes(&bytes).to_vec())
    }

    fn wrong(&self, [row, column]: [usize; 2], found: f32, expected: f32) -> Error {
        Error::Wrong {
            workload: self.workload.name(),
            row,
            column,
            found,
            expected,
        }
    }
}

/// An element of a set's gradient.
fn slope(set: &Set, at: usize) -> f64 {
    value(at as u32, set.seed + 50, BITS_TO_SUM).into()
}

/// What a value is after so many steps with the same slope; one without is not touched.
fn stepped(op: Op, value: f64, slope: Option<f64>, steps: u32) -> f64 {
    let Some(slope) = slope else {
        return value;
    };
    let (mut value, mut mean, mut squares) = (value, 0.0, 0.0);
    for time in 1..=steps as i32 {
        value -= RATE
            * match op {
                Op::Combine => 0.0,
                Op::Sgd => slope,
                Op::Adagrad => {
                    squares += slope * slope;
                    slope / (f64::sqrt(squares) + EPSILON)
                }
                Op::Adam => {
                    mean = BETAS[0] * mean + (1.0 - BETAS[0]) * slope;
                    squares = BETAS[1] * squares + (1.0 - BETAS[1]) * slope * slope;
                    let mean = mean / (1.0 - BETAS[0].powi(time));
                    mean / (f64::sqrt(squares / (1.0 - BETAS[1].powi(time))) + EPSILON)
                }
            };
    }
    value
}

/// Fills a set.
fn set(client: &Client, workload: &Workload, seed: u32) -> Set {
    let Workload {
        op,
        rows,
        columns,
        entries,
    } = *workload;
    let tensor = |rows: usize| {
        let handle = client.empty(4 * rows * columns);
        TensorHandle::new_contiguous([rows, columns], handle, f32::elem_type_native())
    };
    let mut random = XorShift::new(seed.into());
    // Distinct ones in order lie in as many parts of the table, one in each.
    let part = rows / entries;
    let indices: Vec<i32> = match op {
        Op::Combine => (0..entries).map(|_| random.below(rows) as i32).collect(),
        _ => (0..entries)
            .map(|entry| (entry * part + random.below(part)) as i32)
            .collect(),
    };
    let list = client.create_from_slice(i32::as_bytes(&indices));
    let set = Set {
        parameter: tensor(rows),
        states: (0..op.states()).map(|_| tensor(rows)).collect(),
        gradient: SparseRows {
            index: TensorHandle::new_contiguous([entries], list, i32::elem_type_native()),
            rows: tensor(entries),
        },
        indices,
        seed,
        used: Mutex::default(),
    };
    fill(client, &set.parameter, seed, BITS_TO_SUM);
    fill(client, &set.gradient.rows, seed + 50, BITS_TO_SUM);
    for state in &set.states {
        constant(client, state, 0.0);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::super::plans;
    use super::*;
    use girih_testkit::Rt;

    #[test]
    fn every_step_is_right_and_other_slopes_are_wrong() {
        for rt in Rt::present() {
            for plan in plans(&rt.client) {
                let mut prepared = Prepared::new(&rt.client, plan.workload).unwrap();
                (0..3 * SETS).for_each(|turn| prepared.launch(turn).unwrap());
                prepared.verify().unwrap();
                prepared.sets[0].seed += 7;
                assert!(matches!(prepared.verify(), Err(Error::Wrong { .. })));
            }
        }
    }

    #[test]
    fn a_step_that_was_not_made_is_wrong() {
        for rt in Rt::present() {
            for plan in plans(&rt.client) {
                let prepared = Prepared::new(&rt.client, plan.workload).unwrap();
                for set in &prepared.sets {
                    set.used.lock().unwrap().0 = 1;
                }
                assert!(matches!(prepared.verify(), Err(Error::Wrong { .. })));
            }
        }
    }
}
