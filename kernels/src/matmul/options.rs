//! What a caller may choose.

use super::Activation;
use cubecl::ir::ElemType;
use cubecl::std::tensor::TensorHandle;

/// How a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatmulPath {
    /// By the units' own arithmetic: every device, every element type.
    Portable,
    /// By the tensor cores that CubeCL's cooperative matrices reach, where the device lists 16 x 16 fragments of the
    /// operands: floats of 16 bits, integers of 8, and floats of 32 as [`Precision::Tf32`] where that is allowed.
    TensorCores,
    /// By NVIDIA's Hopper: asynchronous tensor cores fed by bulk copies.
    Hopper,
}

/// What operands of `f32` may lose before they are multiplied.
///
/// It says nothing of others: floats of 16 bits and integers of 8 are multiplied without loss on every path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Nothing: tensor cores multiply no `f32`.
    #[default]
    Full,
    /// 13 of the 23 bits of the fraction, where tensor cores multiply numbers of such precision (`tf32`): each operand is
    /// rounded to the nearest, ties away from 0; sums are of `f32`. Elsewhere nothing is lost.
    Tf32,
}

/// How a product in shared memory is cut: a cube computes `rows` by `columns` elements of the result, `depth` positions of K at
/// a time; each of its units computes `unit_rows` by `unit_columns` of them.
///
/// Units' rows and columns are multiples of the device's vector ([`MatmulPlan::vector`](super::MatmulPlan)), and divide
/// the cube's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatmulTile {
    /// Rows of a cube's tile.
    pub rows: u32,
    /// Columns of a cube's tile.
    pub columns: u32,
    /// Positions of K that are in shared memory at a time.
    pub depth: u32,
    /// Rows of a unit.
    pub unit_rows: u32,
    /// Columns of a unit.
    pub unit_columns: u32,
}

impl MatmulTile {
    /// A tile.
    pub const fn new(
        [rows, columns, depth]: [u32; 3],
        [unit_rows, unit_columns]: [u32; 2],
    ) -> Self {
        Self {
            rows,
            columns,
            depth,
            unit_rows,
            unit_columns,
        }
    }
}

/// What a product is more than a product, and how it is computed.
///
/// The default has no bias and no activation, gives elements of the operands' type (of integers, of the sums'), and leaves the
/// rest to the launcher.
#[derive(Clone, Debug, Default)]
pub struct MatmulOptions<'a> {
    /// Added to every row of the result before the activation: elements of the result's type, one for each column
    /// (`[N]`), or for each column of each matrix (the batch's extents and `N`, or `[E, N]` of grouped products).
    pub bias: Option<&'a TensorHandle>,
    /// What becomes of each element, in the type of the sums.
    pub activation: Activation,
    /// Where the sums go as they are before the activation, bias included, for its gradient: a contiguous tensor of the result's
    /// shape and type, whose elements the activation is then computed from.
    pub before: Option<&'a TensorHandle>,
    /// In place of the activation, the sums are multiplied with its slope at these: a contiguous tensor of the result's shape and
    /// type, as [`before`](Self::before) of another product. It is the activation's gradient, of sums that are its result's.
    pub slope_at: Option<&'a TensorHandle>,
    /// The type of the result, where the launcher makes it.
    pub output: Option<ElemType>,
    /// What operands of `f32` may lose.
    pub precision: Precision,
    /// How it is computed; a way that the device or the operands do not have is refused.
    pub path: Option<MatmulPath>,
    /// The tiles of the portable path, or of the tensor cores where `path` says so.
    pub tile: Option<MatmulTile>,
    /// Whether the fastest of a few tiles is found by CubeCL's autotuner, where neither a path nor a tile is asked for: the
    /// first call for a class of shapes measures each, and waits for that; what it finds is kept, and named by `explain_matmul` and its
    /// like with this option. On a Hopper, tiles are those of its kernel, and what their clusters share.
    pub tune: bool,
}

impl MatmulOptions<'_> {
    /// Whether nothing stands against measuring.
    pub(crate) const fn tunes(&self) -> bool {
        self.tune && self.path.is_none() && self.tile.is_none()
    }
}

/// Which rows of A and of the result belong together, in products by lists.
#[derive(Clone, Copy, Debug, Default)]
pub struct Route<'a> {
    /// Where each group of rows ends, in ascending order: group `e` has the rows from the end of group `e - 1` on. Without
    /// it there is one matrix B for all.
    pub ends: Option<&'a TensorHandle>,
    /// The row of A that each row takes; without it, its own number.
    pub gather: Option<&'a TensorHandle>,
    /// The row of the result that each row is added to; without it, its own number.
    pub scatter: Option<&'a TensorHandle>,
    /// A factor for each row.
    pub weights: Option<&'a TensorHandle>,
}
