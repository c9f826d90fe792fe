//! What is measured of gradients of few rows.

use crate::timing::Schedule;
use cubecl::client::Client;
use cubecl::prelude::*;
use girih::device::{Device, Target};
use girih_kernels::{SparseStep, supports_sparse};

/// The learning rate of every step.
pub(super) const RATE: f64 = 0.125;
/// What keeps a divisor from 0.
pub(super) const EPSILON: f64 = 1e-5;
/// What Adam keeps of its means.
pub(super) const BETAS: [f64; 2] = [0.9, 0.999];

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The rows of a gradient by their indices, each row of the table once.
    Combine,
    /// A step of stochastic gradient descent.
    Sgd,
    /// A step of AdaGrad.
    Adagrad,
    /// A step of Adam, which leaves the means of other rows as they are.
    Adam,
}

impl Op {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Combine, Self::Sgd, Self::Adagrad, Self::Adam];

    /// The name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Combine => "combine_rows",
            Self::Sgd => "sparse_step sgd",
            Self::Adagrad => "sparse_step adagrad",
            Self::Adam => "sparse_step adam",
        }
    }

    /// The step that is the `time`-th; `None` of what is no step.
    pub(super) const fn step(self, time: u32) -> Option<SparseStep> {
        let epsilon = EPSILON;
        match self {
            Self::Combine => None,
            Self::Sgd => Some(SparseStep::Sgd { rate: RATE }),
            Self::Adagrad => Some(SparseStep::Adagrad {
                rate: RATE,
                epsilon,
            }),
            Self::Adam => Some(SparseStep::Adam {
                rate: RATE,
                beta_1: BETAS[0],
                beta_2: BETAS[1],
                epsilon,
                time,
            }),
        }
    }

    /// Tables of state beside the parameter.
    pub(super) const fn states(self) -> usize {
        match self.step(1) {
            None => 0,
            Some(step) => step.states(),
        }
    }
}

/// One thing to measure, of f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Workload {
    /// What is done.
    pub op: Op,
    /// Rows of the table.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// Rows of the gradient: of a step each of another row of the table.
    pub entries: usize,
}

impl Workload {
    /// What it is done to, in words, as in JSON.
    pub fn data(&self) -> String {
        match self.op {
            Op::Combine => format!("{} uniform", self.entries),
            _ => format!("{} distinct", self.entries),
        }
    }

    /// The name in tables.
    pub fn name(&self) -> String {
        let (op, data) = (self.op.name(), self.data());
        format!("{op} f32 {}x{} {data}", self.rows, self.columns)
    }

    /// Bytes read and written: of a step the gradient's rows, and each row of the parameter and of its state twice; of rows that are
    /// combined each twice; and each index.
    pub const fn bytes(&self) -> usize {
        let passes = match self.op {
            Op::Combine => 2,
            step => 3 + 2 * step.states(),
        };
        self.entries * (passes * 4 * self.columns + 4)
    }

    /// Whether the device does this.
    ///
    /// # Errors
    ///
    /// [`girih::Error::Device`], which names what it lacks.
    pub fn supported(&self, client: &Client) -> girih::Result<()> {
        supports_sparse(client, f32::elem_type_native())
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

/// Those that suit a device: a table of half a gigabyte on CUDA, of which a sixteenth of the rows is used, a small one elsewhere.
pub fn plans(client: &Client) -> Vec<Plan> {
    let (shift, launches) = match Device::of(client).target() {
        Target::Cuda => (0, 30),
        _ => (9, 2),
    };
    let schedule = Schedule {
        warmup: 4,
        launches,
        windows: 3,
    };
    let plan = |op| Plan {
        workload: Workload {
            op,
            rows: (1 << 20) >> shift,
            columns: 128,
            entries: (1 << 16) >> shift,
        },
        schedule,
    };
    Op::ALL.into_iter().map(plan).collect()
}
