//! Elements along an axis, and rows in pages, as ops.

mod autodiff;
mod backend;
mod cube;

pub use backend::LookupBackend;
pub(crate) use cube::adds;

use burn::backend::{Dispatch, DispatchTensor};
use burn::tensor::{AsIndex, Float, Int, Tensor};
use girih::Bounds;

use crate::checked::{Report, checked};
use crate::kind::Kind;
use crate::validate::{Argument, Call};
use crate::{Checked, Error};

/// A kind of tensor whose elements can be looked up: [`Float`] and [`Int`].
pub trait LookupKind: Kind + sealed::Lookups {}

impl LookupKind for Float {}
impl LookupKind for Int {}

/// The ops of a kind, out of reach so that the set of kinds stays closed.
mod sealed {
    use super::{Bounds, DispatchTensor};

    /// A result, and the record of an index out of range where there may be one.
    pub type Recorded = (DispatchTensor, Option<DispatchTensor>);

    pub trait Lookups {
        fn take(
            table: DispatchTensor,
            index: DispatchTensor,
            axis: usize,
            bounds: Bounds,
        ) -> Recorded;

        fn sum(
            updates: DispatchTensor,
            index: DispatchTensor,
            axis: usize,
            extent: usize,
            bounds: Bounds,
        ) -> Recorded;

        fn paged(
            pages: DispatchTensor,
            table: DispatchTensor,
            offsets: DispatchTensor,
            rows: usize,
            bounds: Bounds,
        ) -> Recorded;
    }
}

/// Calls the op that keeps a record where there is one to keep, else the one without.
macro_rules! recorded {
    ($bounds:ident, $op:ident, $alone:ident($($argument:ident),*)) => {
        match $bounds {
            Bounds::Report => {
                let (values, record) = Dispatch::$op($($argument),*);
                (values, Some(record))
            }
            _ => (Dispatch::$alone($($argument),*), None),
        }
    };
}

macro_rules! lookups {
    ($kind:ident: $take:ident, $take_alone:ident, $sum:ident, $sum_alone:ident, $paged:ident, $paged_alone:ident) => {
        impl sealed::Lookups for $kind {
            fn take(
                table: DispatchTensor,
                index: DispatchTensor,
                axis: usize,
                bounds: Bounds,
            ) -> sealed::Recorded {
                recorded!(bounds, $take, $take_alone(table, index, axis, bounds))
            }

            fn sum(
                updates: DispatchTensor,
                index: DispatchTensor,
                axis: usize,
                extent: usize,
                bounds: Bounds,
            ) -> sealed::Recorded {
                recorded!(
                    bounds,
                    $sum,
                    $sum_alone(updates, index, axis, extent, bounds)
                )
            }

            fn paged(
                pages: DispatchTensor,
                table: DispatchTensor,
                offsets: DispatchTensor,
                rows: usize,
                bounds: Bounds,
            ) -> sealed::Recorded {
                recorded!(
                    bounds,
                    $paged,
                    $paged_alone(pages, table, offsets, rows, bounds)
                )
            }
        }
    };
}
lookups!(Float: take_along_float, take_along_float_alone, sum_along_float, sum_along_float_alone, paged_gather_float,
    paged_gather_float_alone);
lookups!(Int: take_along_int, take_along_int_alone, sum_along_int, sum_along_int_alone, paged_gather_int,
    paged_gather_int_alone);

/// Elements of `table` along `axis`: `out[.., j, ..] = table[.., index[.., j, ..], ..]`, where the `..` are the same
/// coordinates on every side.
///
/// `index` has the table's shape but along the axis, and the result has the shape of `index`. It is Burn's own `gather`
/// with a say in what an index out of range does: `bounds`, as for [`gather`](crate::gather()). Under
/// [`Bounds::Report`] the position of an index is its row-major one. The gradient of `table` is the sum of the gradients of
/// the copies of each element.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// # use girih_burn::{Bounds, take_along_axis};
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let table = Tensor::<2>::from_floats([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &device);
/// let index = Tensor::<2, Int>::from_ints([[2, 0], [1, -1]], &device);
/// let taken = take_along_axis(table, 1, index, Bounds::Wrap)?.into_inner();
/// assert_eq!(taken.to_data().try_to_vec::<f32>().unwrap(), [3.0, 1.0, 5.0, 6.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn take_along_axis<const D: usize, K: LookupKind>(
    table: Tensor<D, K>,
    axis: impl AsIndex,
    index: Tensor<D, Int>,
    bounds: Bounds,
) -> Result<Checked<Tensor<D, K>>, Error> {
    let call = Call::new("take_along_axis", Argument::new("table", &table), axis)?;
    call.takes(&index, bounds)?;
    let axis = call.axis();
    let report = reported(&index, axis, call.extent(), bounds);
    let outputs = K::take(table.into_dispatch(), index.into_dispatch(), axis, bounds);
    Ok(checked(outputs, report))
}

/// Sums of the elements of `updates` along `axis`, `extent` of them: `out[.., index[.., j, ..], ..] += updates[.., j, ..]`, into
/// zeros, where the `..` are the same coordinates on every side.
///
/// `index` has the shape of `updates`. Updates are added atomically in no fixed order; those whose index `bounds` finds no
/// place for are dropped. It is the gradient of [`take_along_axis`], which is its own.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// # use girih_burn::{Bounds, sum_along_axis};
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let updates = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device);
/// let index = Tensor::<2, Int>::from_ints([[2, 2], [0, 1]], &device);
/// let sums = sum_along_axis(updates, 1, index, 3, Bounds::Mask)?.into_inner();
/// assert_eq!(sums.to_data().try_to_vec::<f32>().unwrap(), [0.0, 0.0, 3.0, 3.0, 4.0, 0.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn sum_along_axis<const D: usize, K: LookupKind>(
    updates: Tensor<D, K>,
    axis: impl AsIndex,
    index: Tensor<D, Int>,
    extent: usize,
    bounds: Bounds,
) -> Result<Checked<Tensor<D, K>>, Error> {
    let call = Call::new("sum_along_axis", Argument::new("updates", &updates), axis)?;
    call.makes(call.axis(), extent)?;
    call.adds_along(&index, bounds)?;
    let axis = call.axis();
    let report = reported(&index, axis, extent, bounds);
    let (updates, index) = (updates.into_dispatch(), index.into_dispatch());
    let outputs = K::sum(updates, index, axis, extent, bounds);
    Ok(checked(outputs, report))
}

/// The rows of sequences that lie in pages, as those of a paged cache of keys and values do: position `p` of sequence `s` is
/// row `p % page` of the page `table[s, p / page]`.
///
/// `pages` is `[pages, page, ..]`; `table` `[sequences, entries]` has each sequence's pages in their order; `offsets`, of
/// `sequences + 1` ascending numbers from 0, says where in the result each sequence begins and the last one ends. The
/// result is `[rows, ..]`: rows past the last offset are 0, so that `rows` may be a bound of the rows that there are.
///
/// A page number out of range is what `bounds` says, as for [`gather`](crate::gather()); a position past all of its
/// sequence's entries is a row of 0. The gradient of `pages` is the sum of the gradients of the copies of each row. Pages
/// may lie in memory in any way, as one half of a cache whose pages hold keys and values do: nothing is copied first.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs; a result that has not one axis less than `pages` is
/// [`girih::Error::Rank`].
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// # use girih_burn::{Bounds, paged_gather};
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// // Pages of 2 rows; sequences of 3 rows and of 1.
/// let pages = Tensor::<3>::from_floats([[[0.0], [1.0]], [[2.0], [3.0]], [[4.0], [5.0]]], &device);
/// let table = Tensor::<2, Int>::from_ints([[2, 0], [1, 0]], &device);
/// let offsets = Tensor::<1, Int>::from_ints([0, 3, 4], &device);
/// let rows: Tensor<2> = paged_gather(pages, table, offsets, 4, Bounds::Mask)?.into_inner();
/// assert_eq!(rows.to_data().try_to_vec::<f32>().unwrap(), [4.0, 5.0, 0.0, 2.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn paged_gather<const D: usize, const R: usize, K: LookupKind>(
    pages: Tensor<D, K>,
    table: Tensor<2, Int>,
    offsets: Tensor<1, Int>,
    rows: usize,
    bounds: Bounds,
) -> Result<Checked<Tensor<R, K>>, Error> {
    let call = Call::new("paged_gather", Argument::new("pages", &pages), 0)?;
    call.gathers_pages(&table, &offsets, R, bounds)?;
    call.makes(1, rows)?;
    let report = reported(&table, 0, call.extent(), bounds);
    let outputs = K::paged(
        pages.into_dispatch(),
        table.into_dispatch(),
        offsets.into_dispatch(),
        rows,
        bounds,
    );
    Ok(checked(outputs, report))
}

/// What a report needs of an index of any rank, whose offenders are known by their row-major positions.
fn reported<const D: usize>(
    index: &Tensor<D, Int>,
    axis: usize,
    extent: usize,
    bounds: Bounds,
) -> Option<Report> {
    match bounds {
        Bounds::Report => {
            // A reshape takes 0 for an extent that stays.
            let list = match index.shape().num_elements() {
                0 => Tensor::zeros([0], (&index.device(), index.dtype())),
                count => index.clone().reshape([count]),
            };
            Report::new(&list, axis, extent, bounds)
        }
        _ => None,
    }
}
