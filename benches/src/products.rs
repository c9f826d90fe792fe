//! Products of matrices: one, of rows in groups, and of gathered rows in groups.

use crate::error::{Error, Result};
use crate::random::XorShift;
use crate::timing::{Schedule, Time, measure_launches};
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih_kernels::{
    Bounds, MatmulOptions, MatmulPath, gather_matmul, grouped_inner_matmul, grouped_matmul, matmul,
};
use half::{bf16, f16};
use serde::Serialize;
use std::sync::Mutex;

/// What is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Two matrices.
    Matmul,
    /// Rows in groups, each with its group's matrix.
    Grouped,
    /// The same of rows that an index names.
    GatherGrouped,
    /// For each group of rows, the product of both operands' rows: a gradient.
    GroupedInner,
}

impl Op {
    /// The name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Matmul => "matmul",
            Self::Grouped => "grouped",
            Self::GatherGrouped => "gather_grouped",
            Self::GroupedInner => "grouped_inner",
        }
    }
}

/// The operands' elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Element {
    /// `f32`.
    F32,
    /// `f16`.
    F16,
    /// `bf16`.
    Bf16,
}

impl Element {
    const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }

    fn dtype(self) -> ElemType {
        match self {
            Self::F32 => f32::elem_type_native(),
            Self::F16 => f16::elem_type_native(),
            Self::Bf16 => bf16::elem_type_native(),
        }
    }

    fn values(self, bytes: &[u8]) -> Vec<f64> {
        match self {
            Self::F32 => f32::from_bytes(bytes)
                .iter()
                .map(|&x| f64::from(x))
                .collect(),
            Self::F16 => f16::from_bytes(bytes).iter().map(|x| x.to_f64()).collect(),
            Self::Bf16 => bf16::from_bytes(bytes).iter().map(|x| x.to_f64()).collect(),
        }
    }

    /// How far a sum of this type may be from the right one, relative to the sum of the products' sizes.
    const fn tolerance(self) -> f64 {
        match self {
            Self::F32 => 1e-5,
            Self::F16 => 1e-3,
            Self::Bf16 => 1e-2,
        }
    }
}

/// One product: `tokens` rows of `inner` elements, or `chosen` times as many in groups, to `outer` columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Workload {
    /// What is multiplied.
    pub op: Op,
    /// Of what elements.
    pub element: Element,
    /// Rows, before they are chosen.
    pub tokens: usize,
    /// Positions of K.
    pub inner: usize,
    /// Columns of the result.
    pub outer: usize,
    /// Groups; 1 of one product.
    pub experts: usize,
    /// Groups of each token.
    pub chosen: usize,
    /// The path; the launcher's choice where it is `None`.
    pub path: Option<MatmulPath>,
}

impl Workload {
    /// The name in tables.
    pub fn name(&self) -> String {
        let op = self.op.name();
        let path = self
            .path
            .map_or(String::new(), |path| format!(" by {path:?}"));
        format!("{op} {} {}{path}", self.element.name(), self.data())
    }

    /// The extents, as in JSON.
    pub fn data(&self) -> String {
        let Self {
            tokens,
            inner,
            outer,
            experts,
            chosen,
            ..
        } = self;
        match self.op {
            Op::Matmul => format!("{tokens}x{outer}x{inner}"),
            _ => format!("{tokens} tokens, {inner} to {outer}, {chosen} of {experts}"),
        }
    }

    /// Rows that are multiplied.
    pub const fn rows(&self) -> usize {
        self.tokens * self.chosen
    }

    /// Multiplications and additions.
    pub const fn flops(&self) -> usize {
        2 * self.rows() * self.inner * self.outer
    }

    /// Bytes that have to be read and written at the least.
    pub fn bytes(&self) -> usize {
        let rows = match self.op {
            Op::GatherGrouped => self.tokens,
            _ => self.rows(),
        };
        let matrices = self.experts * self.inner * self.outer;
        let elements = rows * self.inner + matrices + self.rows() * self.outer;
        elements * self.element.dtype().size()
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

/// Tokens, columns in, columns out, experts, experts of a token: three layers of models that there are.
pub const LAYERS: [[usize; 5]; 3] = [
    [8192, 4096, 14336, 8, 2],
    [4096, 2048, 1408, 64, 6],
    [512, 7168, 2048, 64, 8],
];

/// The products that suit a device.
pub fn plans(client: &Client) -> Vec<Plan> {
    let cuda = Device::of(client).target() == Target::Cuda;
    let schedule = match cuda {
        true => Schedule {
            warmup: 3,
            launches: 10,
            windows: 3,
        },
        false => Schedule {
            warmup: 1,
            launches: 2,
            windows: 1,
        },
    };
    let square = |element, size, path| Workload {
        op: Op::Matmul,
        element,
        tokens: size,
        inner: size,
        outer: size,
        experts: 1,
        chosen: 1,
        path,
    };
    let layer = |op, element, [tokens, inner, outer, experts, chosen]: [usize; 5]| Workload {
        op,
        element,
        tokens,
        inner,
        outer,
        experts,
        chosen,
        path: None,
    };
    let mut workloads = vec![];
    if cuda {
        workloads.push(square(Element::Bf16, 8192, None));
        let cores = Some(MatmulPath::TensorCores);
        workloads.push(square(Element::Bf16, 8192, cores));
        workloads.push(square(Element::F16, 8192, None));
        workloads.push(square(Element::F32, 4096, None));
        for op in [Op::Grouped, Op::GatherGrouped, Op::GroupedInner] {
            workloads.extend(LAYERS.map(|of| layer(op, Element::Bf16, of)));
        }
    } else {
        workloads.extend([64, 256].map(|size| square(Element::F32, size, None)));
        for op in [Op::Grouped, Op::GatherGrouped, Op::GroupedInner] {
            workloads.push(layer(op, Element::F32, [128, 64, 96, 8, 2]));
        }
    }
    workloads
        .into_iter()
        .map(|workload| Plan { workload, schedule })
        .collect()
}

/// A number of -1 to 1 that every element type has, by its position.
fn value(position: usize, seed: u32) -> f64 {
    f64::from((mixed(position as u32, seed) >> 24) as i32 - 128) / 128.0
}

fn mixed(position: u32, seed: u32) -> u32 {
    let mut hash = position.wrapping_mul(0x9e37_79b1) ^ seed;
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x85eb_ca77);
    hash ^ hash >> 13
}

/// The same on the device.
#[cube(launch_unchecked)]
fn fill_kernel<E: Numeric>(out: &mut [E], len: usize, seed: u32, #[define(E)] _type: ElemType) {
    let mut position = ABSOLUTE_POS;
    let stride = CUBE_COUNT * CUBE_DIM as usize;
    while position < len {
        let mut hash = (position as u32 * 0x9e37_79b1u32) ^ seed;
        hash ^= hash >> 15u32;
        hash *= 0x85eb_ca77u32;
        hash ^= hash >> 13u32;
        let number = f32::cast_from(hash >> 24u32) - 128.0f32;
        out[position] = E::cast_from(number / 128.0f32);
        position += stride;
    }
}

/// A tensor of numbers that its seed says.
pub(crate) fn filled(client: &Client, shape: &[usize], dtype: ElemType, seed: u32) -> TensorHandle {
    let len: usize = shape.iter().product();
    let handle = client.empty(len * dtype.size());
    let units = client.properties().hardware.max_units_per_cube.min(256);
    // SAFETY: the kernel stays below the length.
    unsafe {
        fill_kernel::launch_unchecked(
            client,
            CubeCount::new_1d(2048),
            CubeDim::new_1d(units),
            BufferArg::from_raw_parts(handle.clone(), len),
            len,
            seed,
            dtype,
        );
    }
    TensorHandle::new_contiguous(shape.to_vec(), handle, dtype)
}

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

    /// Checks some elements of what the last launch gave.
    ///
    /// # Errors
    ///
    /// [`Error::Wrong`] for the first that is wrong, [`Error::Server`] where the launch failed.
    pub fn verify(&self) -> Result<()> {
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
        let mut random = XorShift::new(5);
        let rows = found.len() / outer;
        for _ in 0..SAMPLES {
            let (row, column) = (random.below(rows), random.below(outer));
            let terms: Vec<f64> = match op {
                Op::GroupedInner => {
                    let group = row / inner;
                    let begin = if group == 0 { 0 } else { self.ends[group - 1] };
                    let of =
                        |k: usize| value(k * inner + row % inner, 1) * value(k * outer + column, 2);
                    (begin..self.ends[group]).map(of).collect()
                }
                _ => {
                    let group = self.ends.iter().position(|&end| row < end).unwrap_or(0);
                    let from = match op {
                        Op::GatherGrouped => self.token[row],
                        _ => row,
                    };
                    let of = |k: usize| {
                        value(from * inner + k, 1) * value((group * inner + k) * outer + column, 2)
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
        }
        Ok(())
    }
}

/// Elements of a result that are checked.
const SAMPLES: usize = 200;

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

/// One workload's times on one device; one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Who was measured: `girih`.
    pub peer: &'static str,
    /// The workload in words.
    pub name: String,
    /// What is done.
    pub op: Op,
    /// The type of the operands.
    pub dtype: &'static str,
    /// Rows that are multiplied.
    pub rows: usize,
    /// Columns of the result.
    pub columns: usize,
    /// The extents.
    pub data: String,
    /// The least bytes read and written.
    pub bytes: usize,
    /// Times of a launch.
    #[serde(flatten)]
    pub time: Time,
    /// Multiplications and additions.
    pub flops: usize,
    /// 10^12 of them a second, by the window.
    pub tflop_per_s: f64,
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
    /// Whatever [`Prepared::new`], [`Prepared::launch`] and [`Prepared::verify`] give.
    pub fn take(client: &Client, workload: &Workload, schedule: Schedule) -> Result<Self> {
        let time = {
            let prepared = Prepared::new(client, *workload)?;
            let time = measure_launches(client, |turn| prepared.launch(turn), schedule)?;
            prepared.verify()?;
            time
        };
        client.memory_cleanup()?;
        block_on(client.sync())?;
        Ok(Self {
            peer: "girih",
            name: workload.name(),
            op: workload.op,
            dtype: workload.element.name(),
            rows: workload.rows(),
            columns: workload.outer,
            data: workload.data(),
            bytes: workload.bytes(),
            time,
            flops: workload.flops(),
            tflop_per_s: workload.flops() as f64 / time.window_us / 1e6,
            launches: schedule.launches,
            device: Device::of(client).name(),
        })
    }

    /// The head of a table of [`row`](Self::row)s.
    pub fn header() -> String {
        format!(
            "{:<56} {:>11} {:>11} {:>10} {:>10} {:>9}",
            "product", "median us", "window us", "TFLOP/s", "enqueue us", "first ms"
        )
    }

    /// A line of the table.
    pub fn row(&self) -> String {
        format!(
            "{:<56} {:>11.2} {:>11.2} {:>10.3} {:>10.2} {:>9.1}",
            self.name,
            self.time.median_us,
            self.time.window_us,
            self.tflop_per_s,
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
