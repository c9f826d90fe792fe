//! Whether what launches gave is right.

use super::prepared::Prepared;
use super::set::Set;
use super::workload::{Op, Workload};
use crate::data::{BITS_TO_SUM, value};
use crate::error::{Error, Result};
use crate::random::XorShift;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih_kernels::Reduction;
use std::sync::PoisonError;

/// Rows that are looked at.
const SAMPLE: usize = 24;

impl Prepared {
    /// Checks some rows that the last launches gave.
    ///
    /// # Errors
    ///
    /// [`Error::Wrong`] for the first element that is wrong, [`Error::Server`] where a launch failed.
    pub fn verify(&self) -> Result<()> {
        for set in &self.sets {
            let out = set.out.lock().unwrap_or_else(PoisonError::into_inner);
            let [rows, gradient] = &*out;
            if rows.is_none() && gradient.is_none() {
                return Err(self.wrong(0, 0, f32::NAN, 0.0));
            }
            if let Some(rows) = rows {
                self.compare(rows, self.workload.bags(), |row| self.forward(set, row))?;
            }
            if let Some(gradient) = gradient {
                let rows = self.workload.rows;
                self.compare(gradient, rows, |row| self.backward(set, row))?;
            }
        }
        Ok(())
    }

    fn wrong(&self, row: usize, column: usize, found: f32, expected: f32) -> Error {
        Error::Wrong {
            workload: self.workload.name(),
            row,
            column,
            found,
            expected,
        }
    }

    fn compare(
        &self,
        found: &TensorHandle,
        rows: usize,
        expected: impl Fn(usize) -> Vec<f64>,
    ) -> Result<()> {
        let columns = self.workload.columns;
        let mut random = XorShift::new(17);
        let drawn = (0..SAMPLE).map(|_| random.below(rows));
        for row in [0, rows - 1].into_iter().chain(drawn) {
            let size = 4 * columns as u64;
            let end = found.handle.size() - (row as u64 + 1) * size;
            let handle = found.handle.clone().offset_start(row as u64 * size);
            let bytes = self.client.read_one(handle.offset_end(end))?;
            let found = f32::from_bytes(&bytes);
            for (column, expected) in expected(row).into_iter().enumerate() {
                let expected = expected as f32;
                if found[column] != expected {
                    return Err(self.wrong(row, column, found[column], expected));
                }
            }
        }
        Ok(())
    }

    /// The elements of an entry's row.
    fn element(&self, set: &Set, entry: usize, column: usize) -> f64 {
        let row = match self.workload.op {
            Op::Segment(_) => entry,
            _ => set.indices[entry] as usize,
        };
        let position = row * self.workload.columns + column;
        value(position as u32, set.seed, BITS_TO_SUM).into()
    }

    fn reduction(&self) -> Reduction {
        match self.workload.op {
            Op::Segment(reduction) | Op::Bag(reduction) | Op::BagBackward(reduction, _) => {
                reduction
            }
            Op::Embedding(_) | Op::Select(_) => Reduction::Sum,
        }
    }

    fn forward(&self, set: &Set, bag: usize) -> Vec<f64> {
        let length = self.workload.length;
        let entries = bag * length..(bag + 1) * length;
        (0..self.workload.columns)
            .map(|column| {
                let elements = entries
                    .clone()
                    .map(|entry| self.element(set, entry, column));
                match self.reduction() {
                    Reduction::Max => elements.fold(f64::NEG_INFINITY, f64::max),
                    Reduction::Mean => elements.sum::<f64>() / length as f64,
                    _ => elements.sum(),
                }
            })
            .collect()
    }

    fn backward(&self, set: &Set, row: usize) -> Vec<f64> {
        let Workload {
            columns, length, ..
        } = self.workload;
        let mut sums = vec![0.0; columns];
        let entries = (0..set.indices.len()).filter(|&entry| set.indices[entry] as usize == row);
        for entry in entries {
            let bag = entry / length;
            for (column, sum) in sums.iter_mut().enumerate() {
                let slope = value((bag * columns + column) as u32, set.seed + 50, BITS_TO_SUM);
                let share = match self.reduction() {
                    Reduction::Mean => 1.0 / length as f64,
                    Reduction::Max => {
                        let own = self.element(set, entry, column);
                        let mut others = (bag * length..(bag + 1) * length)
                            .map(|other| (other, self.element(set, other, column)));
                        let is_beaten = others.any(|(other, element)| {
                            element > own || element == own && other < entry
                        });
                        f64::from(!is_beaten)
                    }
                    _ => 1.0,
                };
                *sum += share * f64::from(slope);
            }
        }
        sums
    }
}
