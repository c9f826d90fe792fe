//! Segments and bags as ops.

mod autodiff;
mod backend;
mod cube;

pub use backend::{Bag, BagBackend, Listed};

use burn::backend::{Dispatch, DispatchTensor};
use burn::tensor::{Device, Float, Int, Tensor};
use girih::Bounds;
use girih_kernels::{Determinism, Reduction};

use crate::checked::Report;
use crate::kind::Kind;
use crate::validate::{Argument, Call};
use crate::{Checked, Error};

/// Which rows, or indices, belong to each segment, or bag.
#[derive(Debug, Clone)]
pub enum Grouping {
    /// Segment `s` has those from `offsets[s]` to before `offsets[s + 1]`: one more offset than there are segments, in ascending
    /// order. One out of range is moved to the nearest in range; of offsets in another order results say nothing.
    Offsets(Tensor<1, Int>),
    /// Every segment has so many, one after another.
    Length(usize),
    /// Each belongs to the segment that its id names, in ascending order; to none, where that is not in `0..segments`.
    SortedIds {
        /// An id for each.
        ids: Tensor<1, Int>,
        /// How many segments there are.
        segments: usize,
    },
    /// The same with ids in any order, which are sorted first, in a stable way.
    Ids {
        /// An id for each.
        ids: Tensor<1, Int>,
        /// How many segments there are.
        segments: usize,
    },
}

impl Grouping {
    /// The list, if there is one, and what it says.
    fn parts(self) -> (Option<Tensor<1, Int>>, Listed) {
        match self {
            Self::Offsets(offsets) => (Some(offsets), Listed::Offsets),
            Self::Length(length) => (None, Listed::Length(length)),
            Self::SortedIds { ids, segments } => (Some(ids), Listed::SortedIds(segments)),
            Self::Ids { ids, segments } => (Some(ids), Listed::Ids(segments)),
        }
    }
}

/// An argument that an op does not use.
fn unused(device: &Device) -> Tensor<1, Int> {
    Tensor::empty([1], device)
}

/// A kind of tensor whose rows can be combined: [`Float`] and [`Int`].
pub trait SegmentKind: Kind + sealed::Reduces {}

impl SegmentKind for Float {}
impl SegmentKind for Int {}

/// The op of a kind, out of reach so that the set of kinds stays closed.
mod sealed {
    use super::*;

    pub trait Reduces {
        fn reduce(
            values: DispatchTensor,
            list: DispatchTensor,
            reduction: Reduction,
            listed: Listed,
        ) -> DispatchTensor;
    }
}

impl sealed::Reduces for Float {
    fn reduce(
        values: DispatchTensor,
        list: DispatchTensor,
        reduction: Reduction,
        listed: Listed,
    ) -> DispatchTensor {
        Dispatch::segment_reduce_float(values, list, reduction, listed, false).0
    }
}

impl sealed::Reduces for Int {
    fn reduce(
        values: DispatchTensor,
        list: DispatchTensor,
        reduction: Reduction,
        listed: Listed,
    ) -> DispatchTensor {
        Dispatch::segment_reduce_int(values, list, reduction, listed)
    }
}

/// Combines the rows of each segment: `out[s, ..]` is all `values[r, ..]` of which `grouping` says that they belong to `s`.
///
/// Rows are slices along the first axis. A segment without rows is 0 of a sum or mean, 1 of a product, -inf of a maximum, inf of a
/// minimum. f16 and bf16 are combined in f32. Tensors of integers wrap, have the type's smallest and largest value for the infinities,
/// and no mean.
///
/// | reduction | gradient of a row |
/// |---|---|
/// | `Sum`, `Mean` | that of its segment, of a mean divided by the segment's length |
/// | `Max`, `Min` | that of the elements that are the row's; of equal ones the first has all of it |
/// | `Prod` | that of its segment times the other rows' product |
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// # use girih_burn::{Grouping, Reduction, segment_reduce};
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let rows = Tensor::<2>::from_floats([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]], &device);
/// let ids = Tensor::<1, Int>::from_ints([1, 0, 1], &device);
/// let sums = segment_reduce(rows, Grouping::Ids { ids, segments: 2 }, Reduction::Sum)?;
/// assert_eq!(sums.to_data().try_to_vec::<f32>().unwrap(), [10.0, 20.0, 101.0, 202.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn segment_reduce<const D: usize, K: SegmentKind>(
    values: Tensor<D, K>,
    grouping: Grouping,
    reduction: Reduction,
) -> Result<Tensor<D, K>, Error> {
    let call = Call::new("segment_reduce", Argument::new("values", &values), 0)?;
    call.reduces(reduction)?;
    let (list, listed) = grouping.parts();
    call.segments(list.as_ref(), listed, call.extent())?;
    let list = list.unwrap_or_else(|| unused(&values.device()));
    let (values, list) = (values.into_dispatch(), list.into_dispatch());
    Ok(Tensor::from_dispatch(K::reduce(
        values, list, reduction, listed,
    )))
}

/// How bags are combined.
#[derive(Debug, Clone)]
pub struct BagOptions {
    /// How the rows of a bag are combined: any but a product has a gradient.
    pub reduction: Reduction,
    /// What each index's row is multiplied by first, of the table's type; 1, if there are none.
    pub weights: Option<Tensor<1>>,
    /// The row of the table that does not count, as if no index named it, and has no gradient.
    pub padding: Option<usize>,
    /// What an index out of range does. One without a place does not count.
    pub bounds: Bounds,
    /// Whether the table's gradient may round differently from run to run.
    pub determinism: Determinism,
}

impl BagOptions {
    /// A reduction without weights or padding, with bounds that are masked, and a gradient by atomics.
    pub fn new(reduction: Reduction) -> Self {
        Self {
            reduction,
            weights: None,
            padding: None,
            bounds: Bounds::Mask,
            determinism: Determinism::Any,
        }
    }
}

/// Combines rows of a table: `out[b, ..]` is all `weights[n] * table[index[n], ..]` of the indices `n` of which `grouping` says that
/// they belong to bag `b`. A bag in which nothing counts is 0.
///
/// f16 and bf16 are combined in f32. Neither the call nor its gradient makes a row for each index. The gradient of the table is added
/// up by atomics, or in the order of the indices with [`Determinism::RunToRun`]; that of a weight is the product of its bag's gradient
/// and its row.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// # use girih_burn::{BagOptions, Grouping, Reduction, embedding_bag};
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let table = Tensor::<2>::from_floats([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]], &device);
/// let words = Tensor::<1, Int>::from_ints([1, 2, 2], &device);
/// let offsets = Tensor::<1, Int>::from_ints([0, 2, 3], &device);
/// let options = BagOptions::new(Reduction::Mean);
/// let bags = embedding_bag(table, words, Grouping::Offsets(offsets), options)?.into_inner();
/// assert_eq!(bags.to_data().try_to_vec::<f32>().unwrap(), [2.0, 3.0, 3.0, 4.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn embedding_bag(
    table: Tensor<2>,
    index: Tensor<1, Int>,
    grouping: Grouping,
    options: BagOptions,
) -> Result<Checked<Tensor<2>>, Error> {
    let call = Call::new("embedding_bag", Argument::new("table", &table), 0)?;
    let BagOptions {
        reduction,
        weights,
        padding,
        bounds,
        determinism,
    } = options;
    call.bags(&index, weights.as_ref(), reduction, padding, bounds)?;
    let (list, listed) = grouping.parts();
    call.segments(list.as_ref(), listed, index.dims()[0])?;
    let report = Report::new(&index, 0, call.extent(), bounds);
    let bag = Bag {
        reduction,
        listed,
        padding,
        bounds,
        weighted: weights.is_some(),
        determinism,
        keeps: false,
    };
    let device = table.device();
    let list = list.unwrap_or_else(|| unused(&device));
    let weights = weights.unwrap_or_else(|| Tensor::empty([1], &device));
    let (values, _, _, record) = Dispatch::embedding_bag_float(
        table.into_dispatch(),
        index.into_dispatch(),
        list.into_dispatch(),
        weights.into_dispatch(),
        bag,
    );
    let report = report.map(|report| (report, Tensor::from_dispatch(record)));
    Ok(Checked::new(Tensor::from_dispatch(values), report))
}
