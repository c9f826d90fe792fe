//! The operands of a product on a device, and its result held against the host.

use super::{Op, Workload};
use crate::data;
use crate::error::{Error, Result};
use crate::relative_error::RelativeError;
use cubecl::client::Client;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih::device::Device;
use girih_kernels::Activation;
use girih_kernels::raw::matmul::hopper::{Product, form, launch, supports};
use half::bf16;

const BF16: ElemType = ElemType::Float(FloatKind::BF16);
/// Bits of the random elements before they are rounded to `bf16`.
const BITS: u32 = 24;
/// Elements of a result that are looked at.
const SAMPLES: usize = 2000;
/// The seeds of the operands, and of what the result holds before the first launch.
const SEEDS: [u32; 3] = [1, 2, 3];

/// A number that looks random.
fn mixed(position: usize, seed: u32) -> usize {
    let mut hash = (position as u32).wrapping_mul(0x9e37_79b1) ^ seed;
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x85eb_ca77);
    (hash ^ hash >> 13) as usize
}

/// The element at a position.
fn value(position: usize, seed: u32) -> f64 {
    bf16::from_f32(data::value(position as u32, seed, BITS)).to_f64()
}

/// Which token goes to which group, in the order of groups: each to `chosen` of them at random.
fn routes(workload: &Workload) -> Vec<(usize, usize)> {
    let Workload {
        tokens,
        experts,
        chosen,
        ..
    } = *workload;
    let mut routes: Vec<(usize, usize)> = (0..tokens)
        .flat_map(|token| {
            let first = mixed(token, 9) % experts;
            let step = 1 + mixed(token, 10) % (experts / chosen).max(1);
            (0..chosen).map(move |i| ((first + i * step) % experts, token))
        })
        .collect();
    routes.sort_unstable();
    routes
}

/// A product on a device, ready to be launched. Every launch gives the same result.
pub(super) struct Prepared {
    device: Device,
    workload: Workload,
    a: TensorHandle,
    b: TensorHandle,
    c: TensorHandle,
    /// Groups and tokens of rows.
    routes: Vec<(usize, usize)>,
    /// Where groups end among the rows.
    ends: TensorHandle,
    /// Which token each row is of.
    tokens: TensorHandle,
}

impl Prepared {
    /// Fills the buffers.
    ///
    /// # Errors
    ///
    /// [`Error::Launch`] where the kernel does not compute the product on the device.
    pub(super) fn new(client: &Client, workload: Workload) -> Result<Self> {
        let Workload {
            inner,
            outer,
            experts,
            ..
        } = workload;
        let tensor = |len: usize, seed| {
            let tensor = TensorHandle::new_contiguous(vec![len], client.empty(2 * len), BF16);
            data::fill(client, &tensor, seed, BITS);
            tensor
        };
        let list = |values: Vec<i32>| {
            let handle = client.create_from_slice(i32::as_bytes(&values));
            TensorHandle::new_contiguous(vec![values.len()], handle, i32::elem_type_native())
        };
        let routes = routes(&workload);
        let end = |group| routes.partition_point(|route| route.0 <= group) as i32;
        let [of_a, of_b, of_c] = SEEDS;
        let prepared = Self {
            device: Device::of(client),
            workload,
            a: tensor(workload.rows_of_a() * inner, of_a),
            b: tensor(experts * inner * outer, of_b),
            c: tensor(workload.rows() * outer, of_c),
            ends: list((0..experts).map(end).collect()),
            tokens: list(routes.iter().map(|route| route.1 as i32).collect()),
            routes,
        };
        let lacking = |lacking: &str| girih::Error::Device {
            call: "tensor_cores",
            device: prepared.device.name(),
            feature: lacking.to_owned(),
        };
        supports(&prepared.device, &prepared.product())
            .map_err(|reason| Error::Launch(lacking(reason)))?;
        Ok(prepared)
    }

    fn product(&self) -> Product<'_> {
        let Workload {
            op,
            inner,
            outer,
            experts,
            ..
        } = self.workload;
        let rows = self.workload.rows();
        let is_grouped = !matches!(op, Op::Matmul { .. });
        let columns = matches!(op, Op::Matmul { columns: true });
        Product {
            a: &self.a,
            b: &self.b,
            c: &self.c,
            rows,
            rows_of: [self.workload.rows_of_a(), rows],
            columns: outer,
            inner,
            products: experts,
            a_strides: [inner, 1],
            b_strides: if columns { [1, inner] } else { [outer, 1] },
            c_strides: [outer, 1],
            steps: [0, if is_grouped { inner * outer } else { 0 }, 0, 0],
            bias: None,
            bias_stride: 1,
            activation: Activation::Identity,
            ends: is_grouped.then_some(&self.ends),
            groups_of_inner: false,
            gather: (op == Op::GatherGrouped).then_some(&self.tokens),
            scatter: None,
            weights: None,
            bounds: Bounds::Mask,
            adds: false,
        }
    }

    /// Enqueues one launch, in the form that suits.
    pub(super) fn launch(&self) {
        let product = self.product();
        let form = form(&self.device, &product);
        launch(&self.device, &product, form, &[None, None]);
    }

    /// Checks some elements of the result, and gives their error: the root of the squares' sum of all, over that of the right
    /// elements.
    ///
    /// # Errors
    ///
    /// [`Error::Wrong`] for the first element that is wrong, [`Error::Server`] where a launch failed.
    pub(super) fn verify(&self) -> Result<f64> {
        let (rows, outer) = (self.workload.rows(), self.workload.outer);
        let bytes = self.device.client().read_one(self.c.handle.clone())?;
        let found = bf16::from_bytes(&bytes);
        let mut error = RelativeError::default();
        for sample in 0..SAMPLES {
            let (row, column) = (mixed(sample, 5) % rows, mixed(sample, 6) % outer);
            let (sum, size) = self.expected(row, column);
            let got = found[row * outer + column].to_f64();
            error.add(got, sum);
            // A NaN is not close either.
            let is_close = (got - sum).abs() <= sum.abs() / 200.0 + size * 2e-5;
            if !is_close {
                return Err(Error::Wrong {
                    workload: self.workload.name(),
                    row,
                    column,
                    found: got as f32,
                    expected: sum as f32,
                });
            }
        }
        Ok(error.value())
    }

    /// An element of the result, and the sum of its terms' sizes.
    fn expected(&self, row: usize, column: usize) -> (f64, f64) {
        let Workload {
            op, inner, outer, ..
        } = self.workload;
        let (group, line) = match op {
            Op::Matmul { .. } => (0, row),
            Op::Grouped => (self.routes[row].0, row),
            Op::GatherGrouped => self.routes[row],
        };
        let [of_a, of_b, _] = SEEDS;
        let term = |k: usize| {
            let at = match op {
                Op::Matmul { columns: true } => column * inner + k,
                _ => k * outer + column,
            };
            value(line * inner + k, of_a) * value(group * inner * outer + at, of_b)
        };
        (0..inner).map(term).fold((0.0, 0.0), |(sum, size), term| {
            (sum + term, size + term.abs())
        })
    }
}
