//! A product as the kernel's launcher takes it.

use super::form::Groups;
use crate::matmul::Activation;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih::cuda::wgmma::Major;

/// A product: `c[p, r, n] (+)= weights[r] activation(sum over k of a[p, r, k] b[p, k, n] + bias[p, n])`, where with `ends` the
/// rows are in groups, and `p` is the row's group of B and of the bias alone; or, with `groups_of_inner`, positions of K are in
/// groups, and the sum of result `p` is over group `p`. With `gather` row `r` of A is
/// `a[gather[r], ..]`, with `scatter` row `r` of the result is written to `c[scatter[r], ..]`.
///
/// Every element must lie in its buffer; lists lie one element after another, and have one type.
#[derive(Clone, Debug)]
pub struct Product<'a> {
    /// The operands and the result: their buffers and element types alone.
    pub a: &'a TensorHandle,
    /// The second operand.
    pub b: &'a TensorHandle,
    /// The result.
    pub c: &'a TensorHandle,
    /// Rows of the product.
    pub rows: usize,
    /// Rows of the tensor A, and of the result: others than `rows` where a list names them.
    pub rows_of: [usize; 2],
    /// Columns.
    pub columns: usize,
    /// Positions that are summed over.
    pub inner: usize,
    /// Products, or groups of rows.
    pub products: usize,
    /// Strides of A along its rows and K.
    pub a_strides: [usize; 2],
    /// Strides of B along K and its columns.
    pub b_strides: [usize; 2],
    /// Strides of the result along its rows and columns.
    pub c_strides: [usize; 2],
    /// From a product's A, B, result and bias to the next one's; of groups of rows those of A and the result are 0, of
    /// others those of A and B.
    pub steps: [usize; 4],
    /// Elements of the result's type, added to every row.
    pub bias: Option<&'a TensorHandle>,
    /// The bias's stride along the columns.
    pub bias_stride: usize,
    /// What becomes of each element.
    pub activation: Activation,
    /// Where each group ends.
    pub ends: Option<&'a TensorHandle>,
    /// Whether the groups are of positions of K, rather than of rows.
    pub groups_of_inner: bool,
    /// The rows of A.
    pub gather: Option<&'a TensorHandle>,
    /// The rows of the result.
    pub scatter: Option<&'a TensorHandle>,
    /// A factor for each row.
    pub weights: Option<&'a TensorHandle>,
    /// What an index out of range does.
    pub bounds: Bounds,
    /// Whether the result is added to.
    pub adds: bool,
}

impl Product<'_> {
    pub(super) fn groups(&self) -> Groups {
        match (self.ends, self.groups_of_inner) {
            (None, _) => Groups::Nothing,
            (Some(_), false) => Groups::Rows,
            (Some(_), true) => Groups::Inner,
        }
    }

    /// How A and B lie, where bulk copies reach them.
    pub(super) fn majors(&self) -> [Option<Major>; 2] {
        let inner = self.inner;
        let a = major(self.a_strides, self.rows_of[0], inner);
        let b = major(swapped(self.b_strides), self.columns, inner);
        match self.groups() {
            // Groups of K end at any row of a tile, and what is past the end is cleared.
            Groups::Inner => [
                of_lines(self.a_strides, self.rows_of[0], inner),
                of_lines(swapped(self.b_strides), self.columns, inner),
            ],
            _ => [a, b],
        }
    }
}

/// That lines lie side by side, if bulk copies reach the operand so.
fn of_lines([line, k]: [usize; 2], lines: usize, inner: usize) -> Option<Major> {
    let is_so = (line == 1 || lines == 1) && (inner == 1 || k.is_multiple_of(8));
    is_so.then_some(Major::Mn)
}

/// How an operand lies, of so many lines along M or N and positions of K, given its strides along these; `None` where bulk
/// copies do not reach it.
fn major([line, k]: [usize; 2], lines: usize, inner: usize) -> Option<Major> {
    let steps = |stride: usize, extent: usize| extent == 1 || stride.is_multiple_of(8);
    match (line, k) {
        _ if (k == 1 || inner == 1) && steps(line, lines) => Some(Major::K),
        _ => of_lines([line, k], lines, inner),
    }
}

fn swapped([first, second]: [usize; 2]) -> [usize; 2] {
    [second, first]
}
