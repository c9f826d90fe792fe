//! What is measured.

use crate::data;
use crate::dtype::Dtype;
use cubecl::client::Client;
use cubecl::ir::{ElemType, IntKind, UIntKind};
use girih::Bounds;
use girih::device::Device;
use girih_kernels::raw::scan::{Pipeline, require_pipelined};
use girih_kernels::raw::supports_bulk;
use girih_kernels::{
    Duplicates, ScatterMode, ScatterOptions, ScatterPath, supports_gather, supports_scan,
    supports_scatter,
};
use serde::{Serialize, Serializer};

/// Bytes of an index: they are `i32`.
const INDEX_BYTES: usize = 4;
/// The type of the indices.
pub(crate) const INDEX: ElemType = ElemType::Int(IntKind::I32);

/// The type of masks.
pub(crate) const MASK: ElemType = ElemType::UInt(UIntKind::U8);
/// The type of places, as torch has it.
pub(crate) const PLACE: ElemType = ElemType::Int(IntKind::I64);

/// What is done with the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// `out[n, :] = source[n, :]`: what the memory gives.
    Copy,
    /// `out[n, :] = source[index[n], :]`.
    Gather,
    /// `out[index[n], :] += source[n, :]`, atomically.
    ScatterAdd,
    /// `out[index[n], :] = source[n, :]`.
    ScatterSet,
    /// `out[n, :] = source[0, :] + .. + source[n, :]`.
    Scan,
    /// The places where `source` is above 0, half of them.
    Nonzero,
    /// The elements of `source` that are above 0, half of them.
    MaskedSelect,
}

impl Op {
    /// The name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Gather => "gather",
            Self::ScatterAdd => "scatter_add",
            Self::ScatterSet => "scatter_set",
            Self::Scan => "scan",
            Self::Nonzero => "nonzero",
            Self::MaskedSelect => "masked_select",
        }
    }

    pub(crate) const fn mode(self) -> Option<ScatterMode> {
        match self {
            Self::ScatterAdd => Some(ScatterMode::Add),
            Self::ScatterSet => Some(ScatterMode::Set),
            Self::Copy | Self::Gather | Self::Scan | Self::Nonzero | Self::MaskedSelect => None,
        }
    }
}

/// Where the indices point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Data {
    /// Nowhere else than the rows lie: there are no indices.
    InOrder,
    /// Every row as likely as any other.
    Uniform,
    /// The first so many rows, each as likely as any other.
    Among(usize),
    /// Rows by Zipf's law with exponent 1.05: the first most often, a tenth of all times.
    Zipf,
    /// A tenth of them at row 7, the others uniform.
    TenthInOne,
    /// As uniform, in ascending order.
    Sorted,
}

impl Data {
    /// The name, as in JSON.
    pub fn name(self) -> String {
        match self {
            Self::InOrder => "in order".into(),
            Self::Uniform => "uniform".into(),
            Self::Among(1) => "one row".into(),
            Self::Among(rows) => format!("{rows} rows"),
            Self::Zipf => "zipf 1.05".into(),
            Self::TenthInOne => "10 % in one row".into(),
            Self::Sorted => "sorted".into(),
        }
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

/// How a gather, a scan or a scatter is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Way {
    /// As the launcher does it.
    #[default]
    Launcher,
    /// By bulk copies, so many rows a cube.
    Bulk(usize),
    /// By these kernels of a scatter.
    Path(ScatterPath),
    /// By cubes of a scan that stay.
    Pipelined(Pipeline),
}

impl Way {
    /// The name, as in JSON; the launcher's own way has none.
    pub fn name(self) -> Option<String> {
        match self {
            Self::Launcher => None,
            Self::Bulk(rows) => Some(format!("bulk {rows}")),
            Self::Path(path) => Some(format!("by {path:?}").to_lowercase()),
            Self::Pipelined(pipeline) => {
                let Pipeline {
                    planes,
                    vectors,
                    stages,
                    cubes,
                    reducers,
                } = pipeline;
                Some(format!(
                    "pipelined {planes}x{vectors} s{stages} c{cubes} r{reducers}"
                ))
            }
        }
    }
}

/// One thing to measure: as many indices, and rows of the source and of the output, as `rows` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Workload {
    /// What is done.
    pub op: Op,
    /// To what elements.
    pub dtype: Dtype,
    /// Rows of the source and of the output, and indices.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// Where the indices point.
    pub data: Data,
    /// What an index out of range does; none is.
    pub bounds: Bounds,
    /// What is promised of several rows that are scattered to one place.
    pub duplicates: Duplicates,
    /// How it is done.
    pub way: Way,
}

impl Workload {
    /// A gather of uniform indices.
    pub const fn gather(dtype: Dtype, rows: usize, columns: usize) -> Self {
        Self {
            op: Op::Gather,
            dtype,
            rows,
            columns,
            data: Data::Uniform,
            bounds: Bounds::Mask,
            duplicates: Duplicates::Unordered,
            way: Way::Launcher,
        }
    }

    /// The same gather by bulk copies, so many rows a cube.
    pub const fn bulk(self, rows: usize) -> Self {
        Self {
            way: Way::Bulk(rows),
            ..self
        }
    }

    /// A scatter of f32.
    pub const fn scatter(op: Op, rows: usize, columns: usize, data: Data) -> Self {
        Self {
            op,
            data,
            ..Self::gather(Dtype::F32, rows, columns)
        }
    }

    /// A copy of f32 without indices.
    pub const fn copy(rows: usize, columns: usize) -> Self {
        Self::scatter(Op::Copy, rows, columns, Data::InOrder)
    }

    /// Inclusive sums of a list of f32.
    pub const fn scan(length: usize) -> Self {
        Self::scatter(Op::Scan, length, 1, Data::InOrder)
    }

    /// The same sums by cubes that stay.
    pub const fn pipelined(self, pipeline: Pipeline) -> Self {
        Self {
            way: Way::Pipelined(pipeline),
            ..self
        }
    }

    /// A compaction of a list of f32 of which half are kept.
    pub const fn compaction(op: Op, length: usize) -> Self {
        Self::scatter(op, length, 1, Data::InOrder)
    }

    /// Whether it keeps some of the source's elements, by a mask of bytes.
    pub(crate) const fn is_compaction(&self) -> bool {
        matches!(self.op, Op::Nonzero | Op::MaskedSelect)
    }

    /// The same under another policy of bounds.
    pub const fn under(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// The same by these kernels.
    pub const fn by(self, path: ScatterPath) -> Self {
        Self {
            way: Way::Path(path),
            ..self
        }
    }

    /// The same under another promise of what goes to one place.
    pub const fn promising(self, duplicates: Duplicates) -> Self {
        Self { duplicates, ..self }
    }

    /// The same of elements of another type.
    pub const fn of(self, dtype: Dtype) -> Self {
        Self { dtype, ..self }
    }

    /// How it scatters.
    pub(crate) const fn options(&self) -> ScatterOptions {
        ScatterOptions {
            bounds: self.bounds,
            duplicates: self.duplicates,
            path: match self.way {
                Way::Path(path) => Some(path),
                Way::Launcher | Way::Bulk(_) | Way::Pipelined(_) => None,
            },
        }
    }

    /// The operation, and what it promises if that is not the default.
    pub fn op_name(&self) -> String {
        let promise = match self.duplicates {
            Duplicates::Unordered => "",
            Duplicates::LastWins => " last wins",
            Duplicates::FirstWins => " first wins",
            Duplicates::Deterministic => " deterministic",
        };
        self.op.name().to_owned() + promise
    }

    /// The name in tables: operation, type, size, and what is not the default.
    pub fn name(&self) -> String {
        let mut name = format!(
            "{} {} {}x{}",
            self.op_name(),
            self.dtype.name(),
            self.rows,
            self.columns
        );
        if !matches!(self.data, Data::InOrder | Data::Uniform) {
            name += &format!(" {}", self.data.name());
        }
        if self.bounds != Bounds::Mask {
            name += &format!(" {}", bounds_name(self.bounds));
        }
        if let Some(way) = self.way.name() {
            name += &format!(" {way}");
        }
        name
    }

    /// The bytes that a launch reads and writes: each row of the source once, each index once, and for each index a row
    /// of the output, which an addition reads too. Whatever a cache spares is counted nonetheless.
    pub const fn bytes(&self) -> usize {
        let row = self.columns * self.dtype.size();
        self.rows
            * match self.op {
                Op::Copy | Op::Scan => 2 * row,
                Op::Gather | Op::ScatterSet => 2 * row + INDEX_BYTES,
                Op::ScatterAdd => 3 * row + INDEX_BYTES,
                // A byte of the mask, and half a place of 64 bits.
                Op::Nonzero => 1 + 4,
                // A byte of the mask, an element, and half an element.
                Op::MaskedSelect => 1 + row + row / 2,
            }
    }

    /// Whether the device does this.
    ///
    /// # Errors
    ///
    /// [`girih::Error::Device`], which names what it lacks.
    pub fn supported(&self, client: &Client) -> girih::Result<()> {
        let device = Device::of(client);
        let elem = self.dtype.elem();
        match self.way {
            Way::Bulk(_) => supports_bulk(&device)?,
            Way::Pipelined(_) => require_pipelined(&device, self.op.name())?,
            Way::Launcher | Way::Path(_) => {}
        }
        match (self.op, self.op.mode()) {
            (Op::Scan | Op::Nonzero | Op::MaskedSelect, _) => supports_scan(client, elem)?,
            (_, Some(mode)) => supports_scatter(client, elem, INDEX, mode, self.columns)?,
            (_, None) => supports_gather(client, elem, INDEX)?,
        }
        if self.is_compaction() {
            let has = device.stores(MASK) && device.stores(PLACE);
            device.require(
                has,
                self.op.name(),
                format!("buffers of {MASK} and {PLACE}"),
            )?;
        }
        let reports = self.bounds != Bounds::Report || device.reports();
        device.require(reports, self.op.name(), "atomic minimum of u32, to report")
    }

    /// Random bits of each element. Sums of 2^16 random rows, 100 times over, stay exact in single precision, and so do
    /// those of 2^28 elements, which wander about 0.
    pub(crate) const fn random_bits(&self) -> u32 {
        match (self.op, self.dtype) {
            // Of few bits, so that many to one place are exact too.
            (Op::ScatterAdd, Dtype::Bf16) => 1,
            (Op::ScatterAdd, _) if !matches!(self.data, Data::Uniform | Data::Sorted) => 2,
            (Op::ScatterAdd | Op::Scan, _) => data::BITS_TO_SUM,
            (_, Dtype::F32) => 24,
            (_, Dtype::Bf16) => 8,
        }
    }
}

/// The name of a policy, as in JSON.
pub(crate) const fn bounds_name(bounds: Bounds) -> &'static str {
    match bounds {
        Bounds::Assume => "assume",
        Bounds::Mask => "mask",
        Bounds::Clamp => "clamp",
        Bounds::Wrap => "wrap",
        Bounds::Report => "report",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rows_read_and_written_and_indices() {
        let gather = Workload::gather(Dtype::Bf16, 10, 128);
        assert_eq!(gather.bytes(), 10 * (256 + 256 + 4));
        let add = Workload::scatter(Op::ScatterAdd, 10, 128, Data::Uniform);
        assert_eq!(add.bytes(), 10 * (3 * 512 + 4));
        assert_eq!(Workload::copy(10, 128).bytes(), 10 * 1024);
        assert_eq!(Workload::scan(10).bytes(), 80);
        assert_eq!(Workload::compaction(Op::Nonzero, 10).bytes(), 50);
        assert_eq!(Workload::compaction(Op::MaskedSelect, 10).bytes(), 70);
    }

    #[test]
    fn names_say_what_is_not_the_default() {
        let gather = Workload::gather(Dtype::F32, 8, 16);
        assert_eq!(gather.name(), "gather f32 8x16");
        assert_eq!(
            gather.under(Bounds::Report).name(),
            "gather f32 8x16 report"
        );
        let scan = Workload::scan(8).pipelined(Pipeline::of(227 << 10));
        assert_eq!(scan.name(), "scan f32 8x1 pipelined 16x4 s6 c1 r4");
        let add = Workload::scatter(Op::ScatterAdd, 8, 16, Data::Among(4));
        assert_eq!(add.name(), "scatter_add f32 8x16 4 rows");
    }
}
