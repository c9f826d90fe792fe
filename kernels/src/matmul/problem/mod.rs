//! A product as numbers, once its arguments are checked.

mod batched;
mod grouped;
mod shapes;
mod types;

pub(crate) use batched::{batched, product_shape};
pub(crate) use grouped::{grouped_inner, routed};
pub use shapes::MOST_GROUPS;
pub(crate) use shapes::rank;
pub(crate) use types::{Types, output_type, work_type};

use super::form::{Grouping, PER_AXIS};
use super::hopper::Product;
use super::{Activation, MatmulOptions};
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::std::tensor::{TensorHandle, into_contiguous};
use girih::Bounds;

/// A product.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub call: &'static str,
    /// The types of operands, of what tensor cores multiply them as, of sums and result.
    pub element: ElemType,
    pub factor: ElemType,
    pub work: ElemType,
    pub output: ElemType,
    pub a: TensorHandle,
    pub b: TensorHandle,
    pub c: TensorHandle,
    pub rows: usize,
    pub columns: usize,
    pub inner: usize,
    pub groups: usize,
    pub rows_a: usize,
    pub rows_c: usize,
    /// Strides along the rows and K of A, K and the columns of B, the rows and columns of the result.
    pub a_strides: [usize; 2],
    pub b_strides: [usize; 2],
    pub c_strides: [usize; 2],
    /// From group to group.
    pub b_group: usize,
    pub c_group: usize,
    pub bias_column: usize,
    pub bias_group: usize,
    /// The batch's axes: extent, and strides in A, B, the result and the bias.
    pub batch: Vec<[usize; PER_AXIS]>,
    pub grouping: Grouping,
    pub activation: Activation,
    pub bias: Option<TensorHandle>,
    pub ends: Option<TensorHandle>,
    pub gather: Option<TensorHandle>,
    pub scatter: Option<TensorHandle>,
    pub weights: Option<TensorHandle>,
    pub bounds: Bounds,
    /// Whether the result is added to, row by row.
    pub adds: bool,
}

impl Problem {
    /// A product of so many rows, columns and positions of K, in no group and by no list. The strides are those along the
    /// rows and K, K and the columns, and the rows and columns; of the bias, along the columns.
    fn plain(
        call: &'static str,
        types: &Types,
        [a, b, c]: [&TensorHandle; 3],
        options: &MatmulOptions<'_>,
        [rows, columns, inner]: [usize; 3],
        [a_strides, b_strides, c_strides]: [[usize; 2]; 3],
        bias_column: usize,
    ) -> Self {
        Self {
            call,
            element: types.element,
            factor: types.factor,
            work: types.work,
            output: types.output,
            a: a.clone(),
            b: b.clone(),
            c: c.clone(),
            rows,
            columns,
            inner,
            groups: 0,
            rows_a: rows,
            rows_c: rows,
            a_strides,
            b_strides,
            c_strides,
            b_group: 0,
            c_group: 0,
            bias_column,
            bias_group: 0,
            batch: vec![],
            grouping: Grouping::Batches,
            activation: options.activation,
            bias: options.bias.cloned(),
            ends: None,
            gather: None,
            scatter: None,
            weights: None,
            bounds: Bounds::Mask,
            adds: false,
        }
    }

    /// The same with lists whose elements lie one after another, where one's do not.
    pub(crate) fn packed(&self, client: &Client) -> Option<Self> {
        let lists = [&self.ends, &self.gather, &self.scatter, &self.weights];
        let is_packed = |list: &TensorHandle| list.strides()[0] == 1 || list.shape()[0] <= 1;
        if lists.into_iter().flatten().all(is_packed) {
            return None;
        }
        let [ends, gather, scatter, weights] = lists.map(|list| {
            list.clone().map(|list| match is_packed(&list) {
                true => list,
                false => into_contiguous(client, list.clone().binding(), list.dtype),
            })
        });
        Some(Self {
            ends,
            gather,
            scatter,
            weights,
            ..self.clone()
        })
    }

    /// Whether the result has no elements.
    pub(crate) fn is_empty(&self) -> bool {
        let of_batch = self.batch.iter().any(|axis| axis[0] == 0);
        let no_group = self.grouping == Grouping::Inner && self.groups == 0;
        let nowhere = self.adds && self.rows_c == 0;
        self.rows == 0 || self.columns == 0 || of_batch || no_group || nowhere
    }

    /// The same as the kernel for Hopper takes it: rows or positions of K in groups, or a batch along one axis.
    pub(crate) fn of_hopper(&self) -> Option<Product<'_>> {
        let (products, steps) = match (self.grouping, &self.batch[..]) {
            (Grouping::Rows, []) => (self.groups, [0, self.b_group, 0, self.bias_group]),
            (Grouping::Inner, []) => (self.groups, [0, 0, self.c_group, self.bias_group]),
            (Grouping::Batches, []) => (1, [0; 4]),
            (Grouping::Batches, [axis]) => {
                let [extent, steps @ ..] = *axis;
                (extent, steps)
            }
            _ => return None,
        };
        Some(Product {
            a: &self.a,
            b: &self.b,
            c: &self.c,
            rows: self.rows,
            rows_of: [self.rows_a, self.rows_c],
            columns: self.columns,
            inner: self.inner,
            products,
            a_strides: self.a_strides,
            b_strides: self.b_strides,
            c_strides: self.c_strides,
            steps,
            bias: self.bias.as_ref(),
            bias_stride: self.bias_column,
            activation: self.activation,
            ends: self.ends.as_ref(),
            groups_of_inner: self.grouping == Grouping::Inner,
            gather: self.gather.as_ref(),
            scatter: self.scatter.as_ref(),
            weights: self.weights.as_ref(),
            bounds: self.bounds,
            adds: self.adds,
        })
    }

    /// Matrices of the result.
    pub(crate) fn matrices(&self) -> usize {
        match self.grouping {
            Grouping::Inner => self.groups,
            _ => self.batch.iter().map(|axis| axis[0]).product(),
        }
    }

    /// Multiplications and additions.
    pub(crate) fn flops(&self) -> u64 {
        let matrices = match self.grouping {
            Grouping::Batches => self.matrices(),
            _ => 1,
        };
        [matrices, self.rows, self.columns, self.inner]
            .into_iter()
            .fold(2, |all: u64, extent| all.saturating_mul(extent as u64))
    }
}
