//! Whether the device wrote what it should have.

use std::collections::HashMap;
use std::sync::PoisonError;

use crate::buffers::{Buffers, initial};
use crate::data::value;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::prepared::Prepared;
use crate::random::XorShift;
use crate::workload::{Op, Workload};
use cubecl::prelude::CubeElement;
use girih_kernels::Duplicates;
use half::bf16;

/// Rows that are looked at, besides the first and the last.
const SAMPLE: usize = 62;

impl Prepared {
    /// Compares rows of every output, the first, the last and a random sample, with what the host computes.
    ///
    /// # Errors
    ///
    /// [`Error::Wrong`] for the first element that differs, [`Error::Server`] where a launch failed.
    pub fn verify(&self) -> Result<()> {
        for (buffers, launches) in self.sets() {
            if self.workload.is_compaction() {
                self.verify_compacted(buffers)?;
                continue;
            }
            let mut expected = Expected {
                workload: &self.workload,
                buffers,
                launches,
                sums: HashMap::new(),
            };
            let mut rows = sample(&self.workload);
            // In their order, so that sums are taken once.
            rows.sort_unstable();
            rows.dedup();
            expected.sum_up(&rows);
            for (row, found) in rows.iter().zip(self.read_rows(buffers, &rows)?) {
                expected.compare(*row, &found)?;
            }
        }
        Ok(())
    }

    /// Compares the count, and some of what was kept, with what the host keeps.
    fn verify_compacted(&self, buffers: &Buffers) -> Result<()> {
        let guard = buffers
            .compacted
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let wrong = |row: usize, found: f64, expected: f64| Error::Wrong {
            workload: self.workload.name(),
            row,
            column: 0,
            found: found as f32,
            expected: expected as f32,
        };
        let Some(compacted) = &*guard else {
            return Err(wrong(0, f64::NAN, 0.0));
        };
        let bits = self.workload.random_bits();
        let of = |position: usize| value(position as u32, buffers.seed, bits);
        let length = self.workload.rows;
        let count = (0..length).filter(|&position| of(position) > 0.0).count();
        let found = compacted.count(&self.client)?;
        if found != count {
            return Err(wrong(length, found as f64, count as f64));
        }
        let step = (count / SAMPLE).max(1);
        let kept = (0..length).filter(|&position| of(position) > 0.0);
        for (rank, position) in kept.enumerate().step_by(step) {
            let is_place = self.workload.op == Op::Nonzero;
            let size = compacted.room().dtype.size();
            let handle = compacted.room().handle.clone();
            let end = handle.size() - ((rank + 1) * size) as u64;
            let handle = handle.offset_start((rank * size) as u64).offset_end(end);
            let bytes = self.client.read_one(handle)?;
            let found = match is_place {
                true => i64::from_bytes(&bytes)[0] as f64,
                false => f64::from(f32::from_bytes(&bytes)[0]),
            };
            let expected = match is_place {
                true => position as f64,
                false => f64::from(of(position)),
            };
            if found != expected {
                return Err(wrong(rank, found, expected));
            }
        }
        Ok(())
    }

    fn read_rows(&self, buffers: &Buffers, rows: &[usize]) -> Result<Vec<Vec<f32>>> {
        let Workload { dtype, columns, .. } = self.workload;
        let size = (columns * dtype.size()) as u64;
        let last = self.workload.rows as u64 - 1;
        let handles = rows.iter().map(|&row| {
            let handle = buffers.output.handle.clone();
            let row = row as u64;
            handle
                .offset_start(row * size)
                .offset_end((last - row) * size)
        });
        let bytes = self.client.read(handles.collect())?;
        Ok(bytes.iter().map(|row| dtype.decode(row)).collect())
    }
}

/// The rows to look at. Where the indices point at few rows, half of the sample lies there.
fn sample(workload: &Workload) -> Vec<usize> {
    let mut random = XorShift::new(99);
    let pointed_at = match workload.data {
        crate::Data::Among(rows) => rows.min(workload.rows),
        _ => workload.rows,
    };
    let drawn = (0..SAMPLE).map(|at| {
        random.below(if at % 2 == 0 {
            pointed_at
        } else {
            workload.rows
        })
    });
    [0, workload.rows - 1].into_iter().chain(drawn).collect()
}

/// What an output should hold.
struct Expected<'a> {
    workload: &'a Workload,
    buffers: &'a Buffers,
    launches: usize,
    /// Of a scan, what the rows to look at should hold.
    sums: HashMap<usize, f64>,
}

impl Expected<'_> {
    /// Takes the sums up to each of these rows of a scan, which are in ascending order.
    fn sum_up(&mut self, rows: &[usize]) {
        if self.workload.op != Op::Scan {
            return;
        }
        let (mut next, mut sum) = (0, 0.0);
        for &row in rows {
            for position in next..=row {
                sum += self.source(position);
            }
            next = row + 1;
            self.sums.insert(row, sum);
        }
    }

    /// The source's element at a position.
    fn source(&self, position: usize) -> f64 {
        let bits = self.workload.random_bits();
        f64::from(value(position as u32, self.buffers.seed, bits))
    }

    fn compare(&self, row: usize, found: &[f32]) -> Result<()> {
        let sources = self.sources(row);
        if !self.has_an_answer(&sources) {
            return Ok(());
        }
        for column in 0..self.workload.columns {
            // A row too short has no element to compare.
            let found = found.get(column).copied().unwrap_or(f32::NAN);
            let allowed = match self.sums.get(&row) {
                Some(sum) if self.launches > 0 => vec![*sum as f32],
                _ => self.allowed(&sources, column),
            };
            if !allowed.contains(&found) {
                return Err(Error::Wrong {
                    workload: self.workload.name(),
                    row,
                    column,
                    found,
                    expected: allowed[0],
                });
            }
        }
        Ok(())
    }

    /// Whether a row has one right answer. Sums of bf16 that are rounded at each addition hang on the order of the addends,
    /// unless all partial sums fit in 8 bits: multiples of 1/2 of up to 128.
    fn has_an_answer(&self, sources: &[usize]) -> bool {
        let Workload {
            op,
            dtype,
            duplicates,
            ..
        } = *self.workload;
        let rounds = op == Op::ScatterAdd && dtype == Dtype::Bf16;
        let is_ordered = duplicates == Duplicates::Deterministic;
        !rounds || is_ordered || sources.len() * self.launches <= 256
    }

    /// The rows of the source that go to a row of the output.
    fn sources(&self, row: usize) -> Vec<usize> {
        let targets = &self.buffers.targets;
        match self.workload.op {
            Op::Copy | Op::Scan | Op::Nonzero | Op::MaskedSelect => vec![row],
            Op::Gather => vec![targets[row] as usize],
            Op::ScatterAdd | Op::ScatterSet => (0..targets.len())
                .filter(|&at| targets[at] as usize == row)
                .collect(),
        }
    }

    /// What an element may be: where several rows are set at one place, any of them stays.
    fn allowed(&self, sources: &[usize], column: usize) -> Vec<f32> {
        let initial = initial(self.workload.op);
        if sources.is_empty() || self.launches == 0 {
            return vec![initial];
        }
        // Rows of the source are in order.
        let (first, last) = (&sources[..1], &sources[sources.len() - 1..]);
        let sources = match (self.workload.op, self.workload.duplicates) {
            (Op::ScatterSet, Duplicates::FirstWins) => first,
            (Op::ScatterSet, Duplicates::LastWins | Duplicates::Deterministic) => last,
            _ => sources,
        };
        let values = sources.iter().map(|row| {
            let position = row * self.workload.columns + column;
            value(
                position as u32,
                self.buffers.seed,
                self.workload.random_bits(),
            )
        });
        match self.workload.op {
            Op::ScatterAdd if self.workload.dtype == Dtype::Bf16 => {
                // Summed in f32, and rounded once a launch.
                let sum = values.map(f64::from).sum::<f64>() as f32;
                let add = |held: bf16, _| bf16::from_f32(held.to_f32() + sum);
                let held = (0..self.launches).fold(bf16::from_f32(initial), add);
                vec![held.to_f32()]
            }
            Op::ScatterAdd => {
                let sum: f64 = values.map(f64::from).sum();
                vec![(f64::from(initial) + sum * self.launches as f64) as f32]
            }
            _ => values.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::POISON;
    use crate::{Data, Dtype, data};
    use girih_testkit::Rt;

    fn workloads() -> [Workload; 10] {
        let scatter = |op, data| Workload::scatter(op, 256, 32, data);
        [
            Workload::copy(256, 32),
            Workload::gather(Dtype::F32, 256, 32),
            scatter(Op::ScatterAdd, Data::Uniform),
            scatter(Op::ScatterAdd, Data::Among(16)),
            scatter(Op::ScatterSet, Data::Uniform),
            scatter(Op::ScatterAdd, Data::Zipf),
            scatter(Op::ScatterAdd, Data::TenthInOne).promising(Duplicates::Deterministic),
            scatter(Op::ScatterAdd, Data::Sorted),
            scatter(Op::ScatterSet, Data::Among(3)).promising(Duplicates::LastWins),
            Workload::scan(10_000),
        ]
    }

    fn launched(rt: &Rt, workload: Workload) -> Prepared {
        workload.supported(&rt.client).unwrap();
        let prepared = Prepared::new(&rt.client, workload).unwrap();
        (0..5).for_each(|turn| prepared.launch(turn).unwrap());
        prepared
    }

    #[test]
    fn outputs_are_right() {
        for rt in Rt::present() {
            for workload in workloads() {
                launched(rt, workload).verify().unwrap();
            }
        }
    }

    #[test]
    fn compactions_are_right() {
        for rt in Rt::present() {
            for op in [Op::Nonzero, Op::MaskedSelect] {
                let workload = Workload::compaction(op, 10_000);
                launched(rt, workload).verify().unwrap();
                let never = Prepared::new(&rt.client, workload).unwrap();
                assert!(matches!(never.verify(), Err(Error::Wrong { .. })));
            }
        }
    }

    #[test]
    fn an_overwritten_output_is_wrong() {
        for rt in Rt::present() {
            for workload in workloads() {
                let prepared = launched(rt, workload);
                let (buffers, _) = prepared.sets().last().unwrap();
                data::constant(&rt.client, &buffers.output, POISON);
                let error = prepared.verify().unwrap_err();
                assert!(
                    matches!(error, Error::Wrong { .. }),
                    "{workload:?}: {error}"
                );
            }
        }
    }

    #[test]
    fn an_addition_too_few_is_wrong() {
        for rt in Rt::present() {
            let add = Workload::scatter(Op::ScatterAdd, 256, 32, Data::Among(16));
            let prepared = launched(rt, add);
            let (buffers, _) = prepared.sets().next().unwrap();
            data::constant(&rt.client, &buffers.output, 0.0);
            assert!(matches!(
                prepared.verify(),
                Err(Error::Wrong { row: 0, .. })
            ));
        }
    }
}
