//! Products by Hopper's tensor cores, as the kernel alone: one matrix by one, rows in groups, and gathered rows in groups.

mod prepared;

use crate::error::Result;
use crate::timing::{Schedule, Time, timed};
use cubecl::client::Client;
use girih::device::Device;
use prepared::Prepared;
use serde::Serialize;

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

    /// Rows of the first operand, which a gather reads more than once.
    fn rows_of_a(&self) -> usize {
        match self.op {
            Op::GatherGrouped => self.tokens,
            _ => self.rows(),
        }
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

impl Measurement {
    /// Times a product, and gives its number only where the elements looked at are right.
    ///
    /// # Errors
    ///
    /// [`Error::Wrong`](crate::Error::Wrong) for the first element that is wrong, and whatever a launch gives.
    pub fn take(client: &Client, workload: &Workload) -> Result<Self> {
        let prepared = Prepared::new(client, *workload)?;
        let launch = |prepared: &Prepared, _turn| {
            prepared.launch();
            Ok(())
        };
        let schedule = Schedule {
            warmup: 3,
            launches: 10,
            windows: 3,
        };
        let (time, relative_error) = timed(client, prepared, launch, Prepared::verify, schedule)?;
        let Workload {
            op,
            inner,
            outer,
            experts,
            ..
        } = *workload;
        let rows = workload.rows();
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
            bytes: 2 * (workload.rows_of_a() * inner + experts * inner * outer + rows * outer),
            tflop_per_s: flops / time.window_us / 1e6,
            relative_error,
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
