//! The gradients of segments and bags.

mod add;
mod atomics;
mod bags;
mod fill;
mod ordered;
mod segments;
mod spread;
mod walk;
mod weights;

/// What tests compile without the launcher.
pub(crate) mod raw {
    pub use super::add::{add_kernel, pick_kernel};
    pub use super::spread::spread_kernel;
    pub use super::weights::weights_kernel;
}

pub use bags::{
    BagBackwardOptions, BagGradients, embedding_bag_backward, supports_embedding_bag_backward,
};
pub(crate) use fill::{each, zeros};
pub use segments::segment_reduce_backward;

use super::Kind;
use super::bag::Bags;
use super::grouping::Grouped;
use super::rows::buffer;
use crate::check;
use cubecl::client::Client;
use cubecl::ir::{ElemType, IntKind, UIntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::{Error, Result};

const I32: ElemType = ElemType::Int(IntKind::I32);
const U32: ElemType = ElemType::UInt(UIntKind::U32);

/// Where each place has its entry, if entries are not in order.
pub(crate) fn order_arg(grouped: &Grouped) -> Option<BufferArg> {
    let order = grouped
        .order
        .as_ref()
        .filter(|_| grouped.ends.entries > 0)?;
    Some(buffer(&order.handle, grouped.ends.entries))
}

/// The shape with another number of rows.
pub(crate) fn with_rows(shape: &[usize], rows: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape[0] = rows;
    shape
}

/// Gradients are of floats.
pub(crate) fn check_float(
    call: &'static str,
    argument: &'static str,
    given: ElemType,
) -> Result<()> {
    match given {
        ElemType::Float(_) => Ok(()),
        given => Err(Error::Element {
            call,
            argument,
            given,
            allowed: "f16, bf16, f32 or f64".into(),
        }),
    }
}

/// The gradient has a row for each segment.
pub(crate) fn check_gradient(
    call: &'static str,
    client: &Client,
    gradient: &TensorHandle,
    element: ElemType,
    shape: &[usize],
) -> Result<()> {
    check::same_type(call, "gradient", gradient.dtype, element)?;
    check::shape(call, "gradient", gradient, shape)?;
    check::within(call, client, "gradient", gradient)
}

/// The entries that extremes came from, as the call gave them.
pub(crate) fn check_args<'a>(
    call: &'static str,
    client: &Client,
    kind: Kind,
    args: Option<&'a TensorHandle>,
    shape: &[usize],
) -> Result<Option<&'a TensorHandle>> {
    if !matches!(kind, Kind::Max | Kind::Min) {
        return Ok(None);
    }
    let args = args.ok_or_else(|| missing(call, "args"))?;
    check::same_type(call, "args", args.dtype, I32)?;
    check::shape(call, "args", args, shape)?;
    check::within(call, client, "args", args)?;
    check_contiguous(call, "args", args)?;
    Ok(Some(args))
}

/// How many indices of each bag count, as the call gave it.
pub(crate) fn check_counts<'a>(
    call: &'static str,
    client: &Client,
    bags: &'a Bags,
    segments: usize,
) -> Result<&'a TensorHandle> {
    let counts = bags.counts.as_ref();
    let counts = counts.ok_or_else(|| missing(call, "counts"))?;
    check::same_type(call, "counts", counts.dtype, U32)?;
    check::shape(call, "counts", counts, &[segments])?;
    check::within(call, client, "counts", counts)?;
    check_contiguous(call, "counts", counts)?;
    Ok(counts)
}

/// What a call kept lies as the call left it.
fn check_contiguous(call: &'static str, argument: &'static str, kept: &TensorHandle) -> Result<()> {
    let (shape, strides) = check::dims(kept);
    match check::is_row_major(kept) || shape.contains(&0) {
        true => Ok(()),
        false => Err(Error::Argument {
            call,
            argument,
            given: format!("a tensor of strides {strides:?}"),
            allowed: "the contiguous one that the call gave".into(),
        }),
    }
}

/// What the call was to keep is not there.
fn missing(call: &'static str, what: &'static str) -> Error {
    Error::Argument {
        call,
        argument: what,
        given: "none".into(),
        allowed: "what the call keeps for its gradient".into(),
    }
}
