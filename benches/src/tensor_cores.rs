//! Products by Hopper's tensor cores, as the kernel alone: one matrix by one, rows in groups, and gathered rows in groups.

use crate::data;
use crate::error::{Error, Result};
use crate::relative_error::RelativeError;
use crate::timing::{Schedule, Time, measure_launches};
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih::device::Device;
use girih_kernels::Activation;
use girih_kernels::raw::matmul::hopper::{Product, form, launch, supports};
use half::bf16;
use serde::Serialize;

const BF16: ElemType = ElemType::Float(FloatKind::BF16);
/// Bits of the random elements before they are rounded to `bf16`.
const BITS: u32 = 24;
/// Elements of a result that are looked at.
const SAMPLES: usize = 2000;

/// What is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// One matrix by one; whether B's columns are contiguous, rather than its rows.
    Matmul {
        /// Whether the second operand is column-major.
        columns: bool,
    },
    /// Rows in groups, each by its group's matrix.
    Grouped,
    /// The same of rows that an index names.
    GatherGrouped,
}

/// A product of `tokens` rows, or `chosen` times as many in groups, of `inner` elements, to `outer` columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    op: Op,
    tokens: usize,
    inner: usize,
    outer: usize,
    experts: usize,
    chosen: usize,
}

/// What is measured on a device that has such tensor cores; nothing elsewhere.
pub fn workloads(client: &Client) -> Vec<Workload> {
    if !Device::of(client).has_warpgroup_mma() {
        return vec![];
    }
    let square = |size, columns| Workload {
        op: Op::Matmul { columns },
        tokens: size,
        inner: size,
        outer: size,
        experts: 1,
        chosen: 1,
    };
    let layers = [
        [8192, 4096, 14336, 8, 2],
        [4096, 2048, 1408, 64, 6],
        [512, 7168, 2048, 64, 8],
    ];
    let layer = |op, [tokens, inner, outer, experts, chosen]: [usize; 5]| Workload {
        op,
        tokens,
        inner,
        outer,
        experts,
        chosen,
    };
    let mut all = vec![];
    for size in [1024, 4096, 8192] {
        all.extend([square(size, false), square(size, true)]);
    }
    for op in [Op::Grouped, Op::GatherGrouped] {
        all.extend(layers.map(|of| layer(op, of)));
    }
    all
}

impl Workload {
    /// The name in tables, which filters are looked for in.
    pub fn name(&self) -> String {
        let kind = match self.op {
            Op::Matmul { columns: false } => "tensor_cores matmul",
            Op::Matmul { columns: true } => "tensor_cores matmul of columns",
            Op::Grouped => "tensor_cores grouped",
            Op::GatherGrouped => "tensor_cores gather_grouped",
        };
        format!("{kind} bf16 {}", self.data())
    }

    fn data(&self) -> String {
        let Self {
            tokens,
            inner,
            outer,
            experts,
            chosen,
            ..
        } = self;
        match self.op {
            Op::Matmul { .. } => format!("{tokens}x{outer}x{inner}"),
            _ => format!("{tokens} tokens, {inner} to {outer}, {chosen} of {experts}"),
        }
    }

    fn rows(&self) -> usize {
        self.tokens * self.chosen
    }
}

/// One product's times; one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Who was measured: `girih`.
    pub peer: &'static str,
    /// The workload in words.
    pub name: String,
    /// What is done.
    pub op: &'static str,
    /// The type of the elements.
    pub dtype: &'static str,
    /// Rows of the result.
    pub rows: usize,
    /// Columns of it.
    pub columns: usize,
    /// The sizes.
    pub data: String,
    /// The least bytes read and written.
    pub bytes: usize,
    /// Times of a launch.
    #[serde(flatten)]
    pub time: Time,
    /// Multiplications and additions by the window, in 10^12 a second.
    pub tflop_per_s: f64,
    /// The error of some elements against `f64`: the root of the squares' sum of all, over that of the right elements.
    pub relative_error: f64,
}

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

impl Measurement {
    /// Times a product, and gives its number only where the elements looked at are right.
    ///
    /// # Errors
    ///
    /// [`Error::Wrong`] for the first element that is wrong, and whatever a launch gives.
    pub fn take(client: &Client, workload: &Workload) -> Result<Self> {
        let Workload {
            op,
            tokens,
            inner,
            outer,
            experts,
            chosen,
        } = *workload;
        let device = Device::of(client);
        let rows = workload.rows();
        let rows_of_a = match op {
            Op::GatherGrouped => tokens,
            _ => rows,
        };
        let tensor = |len: usize, seed| {
            let tensor = TensorHandle::new_contiguous(vec![len], client.empty(2 * len), BF16);
            data::fill(client, &tensor, seed, BITS);
            tensor
        };
        let (a, b) = (
            tensor(rows_of_a * inner, 1),
            tensor(experts * inner * outer, 2),
        );
        let c = tensor(rows * outer, 3);
        // Each token goes to `chosen` groups at random; those of a group lie together.
        let mut routes: Vec<(usize, usize)> = (0..tokens)
            .flat_map(|token| {
                let first = mixed(token, 9) % experts;
                let step = 1 + mixed(token, 10) % (experts / chosen).max(1);
                (0..chosen).map(move |i| ((first + i * step) % experts, token))
            })
            .collect();
        routes.sort_unstable();
        let ends: Vec<usize> = (0..experts)
            .map(|group| routes.partition_point(|route| route.0 <= group))
            .collect();
        let list = |values: &mut dyn Iterator<Item = usize>| {
            let values: Vec<i32> = values.map(|value| value as i32).collect();
            let handle = client.create_from_slice(i32::as_bytes(&values));
            TensorHandle::new_contiguous(vec![values.len()], handle, i32::elem_type_native())
        };
        let ends_list = list(&mut ends.iter().copied());
        let tokens_list = list(&mut routes.iter().map(|route| route.1));
        let is_grouped = !matches!(op, Op::Matmul { .. });
        let columns = matches!(op, Op::Matmul { columns: true });
        let product = Product {
            a: &a,
            b: &b,
            c: &c,
            rows,
            rows_of: [rows_of_a, rows],
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
            ends: is_grouped.then_some(&ends_list),
            groups_of_inner: false,
            gather: (op == Op::GatherGrouped).then_some(&tokens_list),
            scatter: None,
            weights: None,
            bounds: Bounds::Mask,
            adds: false,
        };
        let lacking = |lacking: &str| girih::Error::Device {
            call: "tensor_cores",
            device: device.name(),
            feature: lacking.to_owned(),
        };
        supports(&device, &product).map_err(|reason| Error::Launch(lacking(reason)))?;
        let form = form(&device, &product);
        let schedule = Schedule {
            warmup: 3,
            launches: 10,
            windows: 3,
        };
        let time = measure_launches(
            client,
            |_| {
                launch(&device, &product, form, &[None, None]);
                Ok(())
            },
            schedule,
        )?;
        let bytes = client.read_one(c.handle.clone())?;
        let found = bf16::from_bytes(&bytes);
        let mut error = RelativeError::default();
        for sample in 0..SAMPLES {
            let (row, column) = (mixed(sample, 5) % rows, mixed(sample, 6) % outer);
            let (group, token) = if is_grouped { routes[row] } else { (0, row) };
            let line = if op == Op::GatherGrouped { token } else { row };
            let (mut sum, mut size) = (0.0, 0.0);
            for k in 0..inner {
                let at = if columns {
                    column * inner + k
                } else {
                    k * outer + column
                };
                let term = value(line * inner + k, 1) * value(group * inner * outer + at, 2);
                sum += term;
                size += term.abs();
            }
            let got = found[row * outer + column].to_f64();
            error.add(got, sum);
            // A NaN is not close either.
            let is_close = (got - sum).abs() <= sum.abs() / 200.0 + size * 2e-5;
            if !is_close {
                return Err(Error::Wrong {
                    workload: workload.name(),
                    row,
                    column,
                    found: got as f32,
                    expected: sum as f32,
                });
            }
        }
        client.memory_cleanup()?;
        block_on(client.sync())?;
        let flops = 2.0 * rows as f64 * inner as f64 * outer as f64;
        Ok(Self {
            peer: "girih",
            name: workload.name(),
            op: match op {
                Op::Matmul { .. } => "matmul",
                Op::Grouped => "grouped",
                Op::GatherGrouped => "gather_grouped",
            },
            dtype: "bf16",
            rows,
            columns: outer,
            data: workload.data(),
            bytes: 2 * (rows_of_a * inner + experts * inner * outer + rows * outer),
            tflop_per_s: flops / time.window_us / 1e6,
            relative_error: error.value(),
            time,
        })
    }

    /// A line of a table.
    pub fn row(&self) -> String {
        let (median, window) = (self.time.median_us, self.time.window_us);
        format!(
            "{:<64} {median:>10.1} {window:>10.1} us {:>8.1} TFLOP/s, error {:.1e}",
            self.name, self.tflop_per_s, self.relative_error
        )
    }
}
