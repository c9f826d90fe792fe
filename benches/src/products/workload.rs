//! What is multiplied, of what, and how often.

use crate::timing::Schedule;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::device::{Device, Target};
use girih_kernels::{MatmulPath, Precision};
use half::{bf16, f16};
use serde::Serialize;

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
    /// `f32`, multiplied as `tf32` where the device does so.
    Tf32,
    /// `i8`, to `i32`.
    I8,
}

impl Element {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Tf32 => "tf32",
            Self::I8 => "i8",
        }
    }

    pub(super) fn dtype(self) -> ElemType {
        match self {
            Self::F32 | Self::Tf32 => f32::elem_type_native(),
            Self::F16 => f16::elem_type_native(),
            Self::Bf16 => bf16::elem_type_native(),
            Self::I8 => i8::elem_type_native(),
        }
    }

    pub(super) fn values(self, bytes: &[u8]) -> Vec<f64> {
        match self {
            Self::F32 | Self::Tf32 => f32::from_bytes(bytes)
                .iter()
                .map(|&x| f64::from(x))
                .collect(),
            Self::F16 => f16::from_bytes(bytes).iter().map(|x| x.to_f64()).collect(),
            Self::Bf16 => bf16::from_bytes(bytes).iter().map(|x| x.to_f64()).collect(),
            Self::I8 => i32::from_bytes(bytes)
                .iter()
                .map(|&x| f64::from(x))
                .collect(),
        }
    }

    /// How far a sum of this type may be from the right one, relative to the sum of the products' sizes.
    pub(super) const fn tolerance(self) -> f64 {
        match self {
            Self::F32 | Self::Tf32 => 1e-5,
            Self::F16 => 1e-3,
            Self::Bf16 => 1e-2,
            Self::I8 => 0.0,
        }
    }

    /// What operands of `f32` may lose.
    pub(super) const fn precision(self) -> Precision {
        match self {
            Self::Tf32 => Precision::Tf32,
            _ => Precision::Full,
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
        let results = self.rows() * self.outer;
        let (size, of_result) = match self.element {
            Element::I8 => (1, 4),
            element => (element.dtype().size(), element.dtype().size()),
        };
        (rows * self.inner + matrices) * size + results * of_result
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
        workloads.push(square(Element::Tf32, 8192, None));
        workloads.push(square(Element::I8, 8192, None));
        for op in [Op::Grouped, Op::GatherGrouped, Op::GroupedInner] {
            workloads.extend(LAYERS.map(|of| layer(op, Element::Bf16, of)));
        }
    } else {
        workloads.extend([64, 256].map(|size| square(Element::F32, size, None)));
        workloads.extend([Element::Tf32, Element::I8].map(|of| square(of, 64, None)));
        for op in [Op::Grouped, Op::GatherGrouped, Op::GroupedInner] {
            workloads.push(layer(op, Element::F32, [128, 64, 96, 8, 2]));
        }
    }
    workloads
        .into_iter()
        .map(|workload| Plan { workload, schedule })
        .collect()
}
