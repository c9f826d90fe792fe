//! Reductions of segments of rows, of bags of rows that indices name among them, and their gradients.

mod bag;
mod entries;
mod explain;
mod finish;
mod gather;
pub(crate) mod gradient;
pub(crate) mod grouping;
pub(crate) mod job;
pub(crate) mod named;
pub(crate) mod plan;
mod reduce;
pub(crate) mod rows;
mod rules;
mod take;
mod total;

/// What tests compile without the launcher.
pub(crate) mod raw {
    pub use super::finish::finish_kernel;
    pub use super::gradient::raw::*;
    pub use super::plan::{Columns, ColumnsCompilationArg, Plan};
    pub use super::reduce::reduce_kernel;
    pub use super::{Kind, Rules};
}

pub use bag::{BagOptions, Bags, embedding_bag, supports_embedding_bag};
pub use explain::{SegmentPlan, explain_segment_reduce};
pub use gather::{GatherOptions, gather_backward, supports_gather_backward};
pub use gradient::{
    BagBackwardOptions, BagGradients, embedding_bag_backward, segment_reduce_backward,
    supports_embedding_bag_backward,
};
pub use grouping::Grouping;
pub use rules::{Kind, Rules};

use crate::check;
use cubecl::client::Client;
use cubecl::ir::{ElemType, FloatKind, IntKind};
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};
use grouping::Grouped;
use job::{Job, Reduced};
use rows::{Rows, sum_type};

/// How the rows of a segment are combined, element by element.
///
/// f16 and bf16 are combined in f32; integers wrap. The order in which a sum or a product of floats is computed is the same in
/// every run on one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Added up; 0 of none.
    Sum,
    /// Added up, and divided by their number, of floats; 0 of none.
    Mean,
    /// The largest; the first NaN where there is one; the type's smallest value of none, -inf of floats.
    Max,
    /// The smallest; the first NaN where there is one; the type's largest value of none, inf of floats.
    Min,
    /// Multiplied; 1 of none.
    Prod,
}

/// Rows reduced, and where each element came from.
#[derive(Clone, Debug)]
pub struct SegmentReduced {
    /// One row for each segment.
    pub values: TensorHandle,
    /// For each element of those the row that it came from, an `i32`: the first of equal ones; -1 where the segment is empty.
    /// There of [`Reduction::Max`] and [`Reduction::Min`] alone.
    pub args: Option<TensorHandle>,
}

/// Combines the rows of each segment: `out[s, ..]` is all `values[r, ..]` of which `grouping` says that they belong to `s`.
///
/// `values` has any rank from 1 on, and any strides; its rows are its slices along the first axis. The result is contiguous and
/// has the shape of `values` with as many rows as there are segments. A segment without rows has what [`Reduction`] says.
///
/// | backend | how |
/// |---|---|
/// | GPU | a plane or part of one for each segment, 16 bytes a unit and access, eight rows in flight (four of extremes, of wide rows and of segments shorter than eight on average); long segments by many planes |
/// | CPU | one unit a segment, vectors as wide as the processor's |
///
/// One kernel reduces all segments, and what windows have of those that are longer than 1/2048 of the rows (and than 64); a second one
/// combines that. Where all segments have a [`Length`](Grouping::Length) that is no longer, there is no second one. Who combines what
/// depends on the offsets and the device alone. [`explain_segment_reduce`] says what is launched.
///
/// | temporary memory | bytes |
/// |---|---|
/// | rows whose elements do not lie next to each other | a copy of `values` |
/// | segments that may be long | two rows for each window, in the type that rows are combined in, with an `i32` beside each element of an extreme, and 16 bytes: up to 1/16 of `values` of f32, 1/8 of f16 |
/// | ids | four for each segment |
/// | ids in any order | those of the [sort](crate::sort_with_indices): ids and places, twice, and its counts |
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Grouping, Reduction, Result, segment_reduce};
///
/// fn totals(client: &Client) -> Result<()> {
///     let rows = client.create_from_slice(f32::as_bytes(&[1.0, 2.0, 10.0, 20.0, 100.0, 200.0]));
///     let rows = TensorHandle::new_contiguous(vec![3, 2], rows, f32::elem_type_native());
///     let offsets = client.create_from_slice(i32::as_bytes(&[0, 2, 2, 3]));
///     let offsets = TensorHandle::new_contiguous(vec![4], offsets, i32::elem_type_native());
///     let sums = segment_reduce(client, &rows, Grouping::Offsets(&offsets), Reduction::Sum)?;
///     let bytes = client.read_one(sums.handle)?;
///     assert_eq!(f32::from_bytes(&bytes), [11.0, 22.0, 0.0, 0.0, 100.0, 200.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # totals(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Rank`], [`Error::Shape`], [`Error::Element`] (a mean of integers too), [`Error::Strides`]; [`Error::Argument`] of a
/// length that does not divide the rows; [`Error::Size`] of more than 2^31 - 1 rows; [`Error::Device`] where the device does
/// not store a type.
pub fn segment_reduce(
    client: &Client,
    values: &TensorHandle,
    grouping: Grouping<'_>,
    reduction: Reduction,
) -> Result<TensorHandle> {
    Ok(reduced(client, values, grouping, reduction, false)?.values)
}

/// As [`segment_reduce`], and the row that each element came from, which the gradient of a maximum or minimum needs.
///
/// # Errors
///
/// As [`segment_reduce`].
pub fn segment_reduce_with_args(
    client: &Client,
    values: &TensorHandle,
    grouping: Grouping<'_>,
    reduction: Reduction,
) -> Result<SegmentReduced> {
    reduced(client, values, grouping, reduction, true)
}

fn reduced(
    client: &Client,
    values: &TensorHandle,
    grouping: Grouping<'_>,
    reduction: Reduction,
    keeps_args: bool,
) -> Result<SegmentReduced> {
    const CALL: &str = "segment_reduce";
    let device = Device::of(client);
    supports(CALL, &device, "values", values.dtype, reduction)?;
    let mut shape = rows_of(CALL, client, "values", values)?;
    let grouped = grouping.group(CALL, &device, shape[0])?;
    shape[0] = grouped.ends.segments;
    check::elements(CALL, "the result", &shape)?;
    let kind = Kind::from(reduction);
    let rules = Rules {
        keeps_args: keeps_args && kind.has_args(),
        ..Rules::of_segments(kind)
    };
    let reduced = run(&device, &Rows::new(client, values), &grouped, rules);
    let args = ElemType::Int(IntKind::I32);
    Ok(SegmentReduced {
        values: TensorHandle::new_contiguous(shape.clone(), reduced.values, values.dtype),
        args: reduced
            .args
            .map(|handle| TensorHandle::new_contiguous(shape, handle, args)),
    })
}

/// Reduces rows that are their own entries.
fn run(device: &Device, rows: &Rows, grouped: &Grouped, rules: Rules) -> Reduced {
    let job = Job {
        rows,
        order: grouped.order.as_ref(),
        index: None,
        weights: None,
        picked: None,
        ends: &grouped.ends,
        padding: None,
        report: None,
        rules,
    };
    job.launch(device)
}

/// Whether a device reduces segments of rows of a type.
///
/// # Errors
///
/// [`Error::Element`] of a mean of integers, or of what is no number; [`Error::Device`] where the device does not store the type.
pub fn supports_segment_reduce(
    client: &Client,
    element: ElemType,
    reduction: Reduction,
) -> Result<()> {
    supports(
        "segment_reduce",
        &Device::of(client),
        "values",
        element,
        reduction,
    )
}

fn supports(
    call: &'static str,
    device: &Device,
    argument: &'static str,
    element: ElemType,
    reduction: Reduction,
) -> Result<()> {
    use FloatKind::{BF16, F16, F32, F64};
    let refused = |allowed: &str| Error::Element {
        call,
        argument,
        given: element,
        allowed: allowed.into(),
    };
    match element {
        ElemType::Int(_) | ElemType::UInt(_) if reduction == Reduction::Mean => {
            return Err(refused("f16, bf16, f32 or f64 for a mean"));
        }
        ElemType::Int(_) | ElemType::UInt(_) | ElemType::Float(F16 | BF16 | F32 | F64) => {}
        _ => return Err(refused("an integer type, f16, bf16, f32 or f64")),
    }
    check::element(call, device, element)?;
    check::element(call, device, sum_type(element))
}

/// The shape of a tensor that has rows, all in its buffer.
fn rows_of(
    call: &'static str,
    client: &Client,
    argument: &'static str,
    tensor: &TensorHandle,
) -> Result<Vec<usize>> {
    check::within(call, client, argument, tensor)?;
    let (shape, _) = check::dims(tensor);
    match shape.is_empty() {
        false => Ok(shape),
        true => Err(Error::Rank {
            call,
            argument,
            given: 0,
            allowed: "1 or more".into(),
        }),
    }
}
