//! What a product's tensors must have: ranks, shapes that repeat, lists.

use crate::check;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};

/// The most groups that a product may have: a unit looks through them one by one.
pub const MOST_GROUPS: usize = 65_535;

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
