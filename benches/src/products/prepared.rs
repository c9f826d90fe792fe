//! Products ready to be launched, and looked at afterwards.

use super::data::{filled, value};
use super::workload::{Op, Workload};
use crate::error::{Error, Result};
use crate::random::XorShift;
use crate::relative_error::RelativeError;
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih_kernels::{
    Bounds, MatmulOptions, gather_matmul, grouped_inner_matmul, grouped_matmul, matmul,
};
use std::sync::Mutex;

/// A workload on a device, ready to be launched.
pub struct Prepared {
    client: Client,
    workload: Workload,
    a: TensorHandle,
    b: TensorHandle,
    /// The token of each row, and where groups end.
    token: Vec<usize>,
    ends: Vec<usize>,
    lists: [TensorHandle; 2],
    out: Mutex<Option<TensorHandle>>,
}

impl Prepared {
    /// Fills the buffers, and waits until that is done.
    ///
    /// # Errors
    ///
    /// [`Error::Server`] where the device has not got the memory.
    pub fn new(client: &Client, workload: Workload) -> Result<Self> {
        let Workload {
            op,
            element,
            tokens,
            inner,
            outer,
            experts,
            ..
        } = workload;
        let (token, ends) = routes(&workload);
        let rows = match op {
            Op::GatherGrouped => tokens,
            _ => workload.rows(),
        };
        let (a, b) = match op {
            Op::Matmul => (vec![rows, inner], vec![inner, outer]),
            Op::GroupedInner => (vec![rows, inner], vec![rows, outer]),
            _ => (vec![rows, inner], vec![experts, inner, outer]),
        };
        let list = |values: &[usize]| {
            let values: Vec<i32> = values.iter().map(|&value| value as i32).collect();
            let handle = client.create_from_slice(i32::as_bytes(&values));
            TensorHandle::new_contiguous(vec![values.len()], handle, i32::elem_type_native())
        };
        let prepared = Self {
            client: client.clone(),
            workload,
            a: filled(client, &a, element.dtype(), 1),
            b: filled(client, &b, element.dtype(), 2),
            lists: [list(&token), list(&ends)],
            token,
            ends,
            out: Mutex::new(None),
        };
        block_on(client.sync())?;
        Ok(prepared)
    }

    /// Enqueues one launch.
    ///
    /// # Errors
    ///
    /// [`Error::Launch`] where the launcher refuses.
    pub fn launch(&self, _turn: usize) -> Result<()> {
        let (client, a, b) = (&self.client, &self.a, &self.b);
        let [token, ends] = &self.lists;
        let options = MatmulOptions {
            path: self.workload.path,
            precision: self.workload.element.precision(),
            ..Default::default()
        };
        let out = match self.workload.op {
            Op::Matmul => matmul(client, a, b, &options)?,
            Op::Grouped => grouped_matmul(client, a, b, ends, &options)?,
            Op::GatherGrouped => {
                gather_matmul(client, a, token, b, Some(ends), Bounds::Mask, &options)?.into_inner()
            }
            Op::GroupedInner => {
                let [rows, inner] = [a.shape()[0], a.shape()[1]];
                let turned = TensorHandle::new(
                    a.handle.clone(),
                    vec![inner, rows],
                    vec![1usize, inner],
                    a.dtype,
                );
                grouped_inner_matmul(client, &turned, b, ends, &options)?
            }
        };
        *self.lock() = Some(out);
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<TensorHandle>> {
        self.out
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Checks some elements of what the last launch gave, and gives their error relative to what is right in `f64`: the root of the
    /// squares' sum of all, over that of the right elements.
    ///
    /// # Errors
    ///
    /// [`Error::Wrong`] for the first that is wrong, [`Error::Server`] where the launch failed.
    pub fn verify(&self) -> Result<f64> {
        let Workload {
            op,
            element,
            inner,
            outer,
            ..
        } = self.workload;
        let wrong = |row, column, found, expected| {
            Err(Error::Wrong {
                workload: self.workload.name(),
                row,
                column,
                found,
                expected,
            })
        };
        let Some(out) = self.lock().clone() else {
            return wrong(0, 0, f32::NAN, 0.0);
        };
        let bytes = self.client.read_one(out.handle.clone())?;
        let found = element.values(&bytes);
        let dtype = element.dtype();
        let mut random = XorShift::new(5);
        let mut error = RelativeError::default();
        let rows = found.len() / outer;
        for _ in 0..SAMPLES {
            let (row, column) = (random.below(rows), random.below(outer));
            let terms: Vec<f64> = match op {
                Op::GroupedInner => {
                    let group = row / inner;
                    let begin = if group == 0 { 0 } else { self.ends[group - 1] };
                    let of = |k: usize| {
                        value(k * inner + row % inner, 1, dtype)
                            * value(k * outer + column, 2, dtype)
                    };
                    (begin..self.ends[group]).map(of).collect()
                }
                _ => {
                    let group = self.ends.iter().position(|&end| row < end).unwrap_or(0);
                    let from = match op {
                        Op::GatherGrouped => self.token[row],
                        _ => row,
                    };
                    let of = |k: usize| {
                        value(from * inner + k, 1, dtype)
                            * value((group * inner + k) * outer + column, 2, dtype)
                    };
                    (0..inner).map(of).collect()
                }
            };
            let right: f64 = terms.iter().sum();
            let size: f64 = terms.iter().map(|term| term.abs()).sum();
            let found = found[row * outer + column];
            // NaN is not near either.
            let near = (found - right).abs() <= element.tolerance() * size;
            if !near {
                return wrong(row, column, found as f32, right as f32);
            }
            error.add(found, right);
        }
        Ok(error.value())
    }
}

/// Elements of a result that are checked.
const SAMPLES: usize = 2000;

/// The token of each row, and where each group's rows end.
fn routes(workload: &Workload) -> (Vec<usize>, Vec<usize>) {
    let Workload {
        op,
        tokens,
        experts,
        chosen,
        ..
    } = *workload;
    if op == Op::Matmul {
        return ((0..tokens).collect(), vec![tokens]);
    }
    let mut random = XorShift::new(11);
    let mut of_expert = vec![vec![]; experts];
    for token in 0..tokens {
        let first = random.below(experts);
        // Distinct experts, a step apart.
        let step = 1 + random.below((experts - 1) / chosen.max(1));
        (0..chosen).for_each(|at| of_expert[(first + at * step) % experts].push(token));
    }
    let ends = of_expert.iter().scan(0, |end, rows| {
        *end += rows.len();
        Some(*end)
    });
    let ends = ends.collect();
    (of_expert.concat(), ends)
}

#[cfg(test)]
mod tests {
    use super::super::workload::{Element, plans};
    use super::*;
    use girih_testkit::Rt;

    #[test]
    fn every_product_is_right_and_what_was_not_launched_is_wrong() {
        for rt in Rt::present() {
            for plan in plans(&rt.client) {
                let prepared = Prepared::new(&rt.client, plan.workload).unwrap();
                assert!(matches!(prepared.verify(), Err(Error::Wrong { .. })));
                prepared.launch(0).unwrap();
                prepared.verify().unwrap();
            }
        }
    }

    #[test]
    fn a_product_of_other_rows_is_wrong() {
        for rt in Rt::present() {
            for plan in plans(&rt.client) {
                let mut prepared = Prepared::new(&rt.client, plan.workload).unwrap();
                let shape: Vec<usize> = prepared.a.shape().iter().copied().collect();
                prepared.a = filled(&rt.client, &shape, prepared.a.dtype, 7);
                prepared.launch(0).unwrap();
                assert!(matches!(prepared.verify(), Err(Error::Wrong { .. })));
            }
        }
    }

    #[test]
    fn routes_go_to_distinct_experts() {
        let workload = Workload {
            op: Op::Grouped,
            element: Element::F32,
            tokens: 100,
            inner: 8,
            outer: 8,
            experts: 8,
            chosen: 2,
            path: None,
        };
        let (token, ends) = routes(&workload);
        assert_eq!((token.len(), ends.last()), (200, Some(&200)));
        let mut begin = 0;
        for end in ends {
            let mut of_one = token[begin..end].to_vec();
            of_one.dedup();
            assert_eq!(of_one.len(), end - begin);
            begin = end;
        }
    }
}
