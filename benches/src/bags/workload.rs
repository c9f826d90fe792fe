//! What is measured of segments, bags and embeddings.

use crate::random::XorShift;
use crate::timing::Schedule;
use cubecl::client::Client;
use cubecl::prelude::*;
use girih::device::{Device, Target};
use girih_kernels::{Determinism, Reduction, supports_embedding_bag_backward};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Rows of each segment combined.
    Segment(Reduction),
    /// Rows of a table combined, bag by bag.
    Bag(Reduction),
    /// The same, and the gradient of the table.
    BagBackward(Reduction, Determinism),
    /// Rows of a table, and the gradient of the table.
    Embedding(Determinism),
    /// The gradient of a table alone, of which rows were taken.
    Select(Determinism),
}

impl Op {
    /// The name, as in JSON.
    pub fn name(self) -> String {
        let of = |reduction| format!("{reduction:?}").to_lowercase();
        match self {
            Self::Segment(reduction) => format!("segment {}", of(reduction)),
            Self::Bag(reduction) => format!("embedding_bag forward {}", of(reduction)),
            Self::BagBackward(reduction, _) => {
                format!("embedding_bag forward+backward {}", of(reduction))
            }
            Self::Embedding(_) => "embedding forward+backward".into(),
            Self::Select(_) => "select backward".into(),
        }
    }

    /// Whether the result is to be the same in every run.
    pub(super) const fn determinism(self) -> Determinism {
        match self {
            Self::Segment(_) | Self::Bag(_) => Determinism::Any,
            Self::BagBackward(_, by) | Self::Embedding(by) | Self::Select(by) => by,
        }
    }
}

/// How indices are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Draw {
    /// Each row as likely as any other.
    Uniform,
    /// By Zipf's law with an exponent of 1.05, the frequent rows spread over the table.
    Zipf,
}

impl Draw {
    const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipf => "zipf 1.05",
        }
    }

    /// So many of so many rows.
    pub(super) fn indices(self, rows: usize, count: usize, seed: u64) -> Vec<i32> {
        let mut random = XorShift::new(seed);
        match self {
            Self::Uniform => (0..count).map(|_| random.below(rows) as i32).collect(),
            Self::Zipf => {
                let mut sum = 0.0;
                let cumulated: Vec<f64> = (1..=rows)
                    .map(|rank| {
                        sum += (rank as f64).powf(-1.05);
                        sum
                    })
                    .collect();
                let parts = (1u32 << 31) as usize;
                let draw = |_| {
                    let drawn = random.below(parts) as f64 / parts as f64 * sum;
                    let rank = cumulated.partition_point(|&up_to| up_to <= drawn);
                    // A bijection, as the prime divides no number of rows here.
                    (rank.min(rows - 1) * 7919 % rows) as i32
                };
                (0..count).map(draw).collect()
            }
        }
    }
}

/// One thing to measure, of f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Workload {
    /// What is done.
    pub op: Op,
    /// Rows of the table, or of all segments.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// Indices, or rows of all segments.
    pub entries: usize,
    /// Entries of a bag or segment.
    pub length: usize,
    /// How indices are drawn.
    pub draw: Draw,
}

impl Workload {
    /// Bags, or segments.
    pub(super) fn bags(&self) -> usize {
        self.entries / self.length
    }

    /// What it is done to, in words, as in JSON.
    pub fn data(&self) -> String {
        match self.op {
            Op::Segment(_) => format!("{} segments", self.bags()),
            Op::Bag(_) | Op::BagBackward(..) => format!("{} bags of {}", self.bags(), self.length),
            Op::Embedding(_) | Op::Select(_) => format!("{} {}", self.entries, self.draw.name()),
        }
    }

    /// The name in tables.
    pub fn name(&self) -> String {
        let how = match self.op.determinism() {
            Determinism::Any => "",
            Determinism::RunToRun => " in order",
        };
        let (op, data) = (self.op.name(), self.data());
        format!("{op} f32 {}x{} {data}{how}", self.rows, self.columns)
    }

    /// Bytes read and written: each row once for each index, each gradient once, of the table's gradient each row that is added to
    /// twice, and all of it once for the zeros.
    pub const fn bytes(&self) -> usize {
        let row = 4 * self.columns;
        let bags = self.entries / self.length;
        let forward = self.entries * (row + 4) + bags * row;
        let backward = bags * row + self.entries * (2 * row + 4) + self.rows * row;
        match self.op {
            Op::Segment(_) | Op::Bag(_) => forward,
            Op::BagBackward(..) | Op::Embedding(_) => forward + backward,
            Op::Select(_) => backward,
        }
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

/// Those that suit a device: tables of half a gigabyte on CUDA, small ones elsewhere.
pub fn plans(client: &Client) -> Vec<Plan> {
    let is_large = Device::of(client).target() == Target::Cuda;
    let schedule = match is_large {
        true => Schedule {
            warmup: 4,
            launches: 10,
            windows: 3,
        },
        false => Schedule {
            warmup: 1,
            launches: 2,
            windows: 1,
        },
    };
    let shift = if is_large { 0 } else { 9 };
    let rows = (1 << 20) >> shift;
    let (any, in_order) = (Determinism::Any, Determinism::RunToRun);
    let workload = |op, rows, columns, entries, length, draw| Workload {
        op,
        rows,
        columns,
        entries,
        length,
        draw,
    };
    let bag = |op, length| workload(op, rows, 128, rows, length, Draw::Uniform);
    let mut workloads = vec![
        bag(Op::Segment(Reduction::Sum), 16),
        bag(Op::Segment(Reduction::Max), 16),
        bag(Op::Segment(Reduction::Sum), rows / 4),
    ];
    for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max] {
        workloads.push(bag(Op::Bag(reduction), 32));
        workloads.push(bag(Op::BagBackward(reduction, any), 32));
    }
    workloads.push(bag(Op::BagBackward(Reduction::Sum, in_order), 32));
    for draw in [Draw::Uniform, Draw::Zipf] {
        for by in [any, in_order] {
            workloads.push(workload(Op::Select(by), rows, 128, rows, 1, draw));
            workloads.push(workload(Op::Embedding(by), rows, 128, rows, 1, draw));
            let words = 50_000 >> shift;
            let looked_up = (1 << 16) >> shift;
            workloads.push(workload(Op::Embedding(by), words, 256, looked_up, 1, draw));
        }
    }
    let plan = |workload| Plan { workload, schedule };
    workloads.into_iter().map(plan).collect()
}

impl Workload {
    /// Whether the device does this.
    ///
    /// # Errors
    ///
    /// [`girih::Error::Device`], which names what it lacks.
    pub fn supported(&self, client: &Client) -> girih::Result<()> {
        let (element, index) = (f32::elem_type_native(), i32::elem_type_native());
        supports_embedding_bag_backward(client, element, index, Reduction::Sum)
    }
}
