//! A product as numbers, once its arguments are checked.

use super::form::{Grouping, PER_AXIS};
use super::hopper::Product;
use super::{Activation, MatmulOptions};
use crate::check;
use cubecl::client::Client;
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Bounds, Error, Result};

/// The most groups that a product may have: a unit looks through them one by one.
pub const MOST_GROUPS: usize = 65_535;

/// A product.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub call: &'static str,
    /// The types of operands, sums and result.
    pub element: ElemType,
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

/// The type that products of elements are summed in.
pub(crate) fn work_type(
    call: &'static str,
    argument: &'static str,
    element: ElemType,
) -> Result<ElemType> {
    match element {
        ElemType::Float(FloatKind::F16 | FloatKind::BF16 | FloatKind::F32) => {
            Ok(ElemType::Float(FloatKind::F32))
        }
        ElemType::Float(FloatKind::F64) => Ok(element),
        ElemType::Int(IntKind::I8 | IntKind::I16 | IntKind::I32) => Ok(ElemType::Int(IntKind::I32)),
        ElemType::UInt(UIntKind::U8 | UIntKind::U16) => Ok(ElemType::Int(IntKind::I32)),
        ElemType::Int(IntKind::I64) | ElemType::UInt(UIntKind::U32 | UIntKind::U64) => Ok(element),
        given => Err(Error::Element {
            call,
            argument,
            given,
            allowed: "f16, bf16, f32, f64 or an integer type".into(),
        }),
    }
}

fn is_float(element: ElemType) -> bool {
    matches!(element, ElemType::Float(_))
}

/// The type of a result that the launcher makes.
pub(crate) fn output_type(
    call: &'static str,
    a: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<ElemType> {
    let work = work_type(call, "a", a.dtype)?;
    if let Some(output) = options.output {
        work_type(call, "the result", output)?;
    }
    Ok(options.output.unwrap_or(match is_float(work) {
        true => a.dtype,
        false => work,
    }))
}

/// What every product asks of its types.
pub(crate) struct Types {
    pub element: ElemType,
    pub work: ElemType,
    pub output: ElemType,
}

impl Types {
    pub(crate) fn new(
        call: &'static str,
        device: &Device,
        [a, b, c]: [&TensorHandle; 3],
        result: &'static str,
        options: &MatmulOptions<'_>,
    ) -> Result<Self> {
        let (element, output) = (a.dtype, c.dtype);
        let work = work_type(call, "a", element)?;
        check::same_type(call, "b", b.dtype, element)?;
        if work_type(call, result, output).map(is_float)? != is_float(work) {
            let kind = if is_float(work) {
                "a float type"
            } else {
                "an integer type"
            };
            return Err(Error::Element {
                call,
                argument: result,
                given: output,
                allowed: format!("{kind}, as of the operands"),
            });
        }
        if !is_float(work) && options.activation != Activation::Identity {
            return Err(Error::Argument {
                call,
                argument: "activation",
                given: format!("{:?}, of integers", options.activation),
                allowed: "Identity".into(),
            });
        }
        for dtype in [element, work, output] {
            check::element(call, device, dtype)?;
        }
        for (argument, tensor) in [("a", a), ("b", b), (result, c)] {
            check::within(call, device.client(), argument, tensor)?;
        }
        check::distinct(call, result, c)?;
        Ok(Self {
            element,
            work,
            output,
        })
    }
}

/// A tensor of at least, or exactly, that rank.
pub(crate) fn rank(
    call: &'static str,
    argument: &'static str,
    tensor: &TensorHandle,
    rank: usize,
    or_more: bool,
) -> Result<()> {
    let given = tensor.shape().len();
    match given == rank || (or_more && given > rank) {
        true => Ok(()),
        false => Err(Error::Rank {
            call,
            argument,
            given,
            allowed: format!("{rank}{}", if or_more { " or more" } else { "" }),
        }),
    }
}

/// The extents that both repeat to, from the last on; `None` where two are neither equal nor 1.
pub(crate) fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at = |shape: &[usize], axis: usize| match (axis + shape.len()).checked_sub(rank) {
        Some(axis) => shape[axis],
        None => 1,
    };
    (0..rank)
        .map(|axis| match (at(a, axis), at(b, axis)) {
            (a, b) if a == b => Some(a),
            (1, b) => Some(b),
            (a, 1) => Some(a),
            _ => None,
        })
        .collect()
}

/// The strides with which a tensor repeats to those extents; `None` where it does not.
pub(crate) fn repeated(shape: &[usize], strides: &[usize], to: &[usize]) -> Option<Vec<usize>> {
    let missing = to.len().checked_sub(shape.len())?;
    let own = shape.iter().zip(strides).zip(&to[missing..]);
    let own = own.map(|((&extent, &stride), &wanted)| match extent {
        _ if extent == wanted => Some(stride),
        1 => Some(0),
        _ => None,
    });
    std::iter::repeat_n(Some(0), missing).chain(own).collect()
}

/// The strides of a bias that has an element for each column, or for each column of each of `matrices`.
pub(crate) fn bias_strides(
    call: &'static str,
    client: &Client,
    bias: Option<&TensorHandle>,
    matrices: &[usize],
    columns: usize,
    output: ElemType,
) -> Result<Vec<usize>> {
    let to: Vec<usize> = matrices.iter().copied().chain([columns]).collect();
    let Some(bias) = bias else {
        return Ok(vec![0; to.len()]);
    };
    check::same_type(call, "bias", bias.dtype, output)?;
    check::within(call, client, "bias", bias)?;
    let (shape, strides) = check::dims(bias);
    repeated(&shape, &strides, &to).ok_or(Error::Shape {
        call,
        argument: "bias",
        given: shape,
        allowed: to,
    })
}

/// A list of so many integers, of the type that the call's other lists have.
pub(crate) fn list(
    call: &'static str,
    argument: &'static str,
    device: &Device,
    list: &TensorHandle,
    len: Option<usize>,
    dtype: Option<ElemType>,
) -> Result<()> {
    rank(call, argument, list, 1, false)?;
    if !matches!(list.dtype, ElemType::Int(_) | ElemType::UInt(_)) {
        return Err(Error::Element {
            call,
            argument,
            given: list.dtype,
            allowed: "an integer type".into(),
        });
    }
    check::element(call, device, list.dtype)?;
    check::within(call, device.client(), argument, list)?;
    if let Some(dtype) = dtype {
        check::same_type(call, argument, list.dtype, dtype)?;
    }
    if let Some(len) = len {
        check::shape(call, argument, list, &[len])?;
    }
    Ok(())
}

/// The ends of as many groups as there are matrices.
pub(crate) fn ends(
    call: &'static str,
    device: &Device,
    ends: &TensorHandle,
    groups: Option<usize>,
) -> Result<()> {
    list(call, "ends", device, ends, groups, None)?;
    let given = ends.shape()[0];
    match given <= MOST_GROUPS {
        true => Ok(()),
        false => Err(Error::Size {
            call,
            argument: "ends",
            given: given as u64,
            allowed: MOST_GROUPS as u64,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_of_one_repeat() {
        assert_eq!(broadcast(&[2, 1], &[5, 1, 3]), Some(vec![5, 2, 3]));
        assert_eq!(broadcast(&[2], &[3]), None);
        assert_eq!(broadcast(&[], &[3]), Some(vec![3]));
        assert_eq!(broadcast(&[0], &[1]), Some(vec![0]));
    }

    #[test]
    fn what_repeats_has_no_stride() {
        assert_eq!(repeated(&[1, 3], &[9, 1], &[4, 2, 3]), Some(vec![0, 0, 1]));
        assert_eq!(repeated(&[2, 3], &[3, 1], &[3]), None);
        assert_eq!(repeated(&[2], &[1], &[3]), None);
    }
}
