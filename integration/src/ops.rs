//! The ops.

use burn::backend::DispatchTensor;
use burn::tensor::{Int, Tensor};
use girih::Bounds;
use girih_kernels::ScatterMode;

use crate::checked::Report;
use crate::kind::Kind;
use crate::validate::{Argument, Call};
use crate::{Checked, Error};

/// Slices of `table` along `axis`: `out[.., n, ..] = table[.., index[n], ..]`.
///
/// Indices count from 0; one may occur many times. An index out of range is what `bounds` says: it gives
/// zeros under `Mask` and `Report`, the nearest slice under `Clamp`, a slice counted from the end
/// under `Wrap` (zeros beyond that), and undefined behaviour under `Assume`. The gradient of
/// `table` is the sum of the gradients of the copies of each slice.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// # use girih_burn::{Bounds, gather};
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let table = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device);
/// let index = Tensor::<1, Int>::from_ints([1, 9], &device);
/// let columns = gather(table, 1, index, Bounds::Clamp)?.into_inner();
/// assert_eq!(columns.to_data().to_vec::<f32>().unwrap(), [2.0, 2.0, 4.0, 4.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn gather<const D: usize, K: Kind>(
    table: Tensor<D, K>,
    axis: usize,
    index: Tensor<1, Int>,
    bounds: Bounds,
) -> Result<Checked<Tensor<D, K>>, Error> {
    let call = Call::new("gather", Argument::new("table", &table), axis)?;
    call.gathers(&index, bounds)?;
    let report = Report::new(&index, axis, call.extent(), bounds);
    let outputs = K::gather(table.into_dispatch(), index.into_dispatch(), axis, bounds);
    Ok(checked(outputs, report))
}

/// `target` with slices of `updates` written to it or added to it along `axis`:
/// `target[.., index[n], ..] = updates[.., n, ..]`, or `+=`.
///
/// The target's memory is written in place where no other tensor uses it, and copied where one does.
/// `updates` has the target's shape, with the index's length along the axis. An index out of range
/// drops its update under `Mask` and `Report`; the other policies are those of [`gather`].
///
/// Where an index occurs twice, [`ScatterMode::Add`] adds both updates, in no fixed order.
/// [`ScatterMode::Set`] writes one of them, which one is not stated, and its gradient is that of every
/// update having been written; it is right where indices are distinct.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// # use girih_burn::{Bounds, Scatter, scatter};
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let target = Tensor::<1>::from_floats([1.0, 1.0, 1.0], &device);
/// let updates = Tensor::<1>::from_floats([10.0, 20.0, 30.0], &device);
/// let index = Tensor::<1, Int>::from_ints([2, 0, 2], &device);
/// let sums = scatter(target, 0, index, updates, Scatter::Add, Bounds::Mask)?.into_inner();
/// assert_eq!(sums.to_data().to_vec::<f32>().unwrap(), [21.0, 1.0, 41.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn scatter<const D: usize, K: Kind>(
    target: Tensor<D, K>,
    axis: usize,
    index: Tensor<1, Int>,
    updates: Tensor<D, K>,
    mode: ScatterMode,
    bounds: Bounds,
) -> Result<Checked<Tensor<D, K>>, Error> {
    let call = Call::new("scatter", Argument::new("target", &target), axis)?;
    call.scatters(&index, Argument::new("updates", &updates), mode, bounds)?;
    let report = Report::new(&index, axis, call.extent(), bounds);
    let outputs = K::scatter(
        target.into_dispatch(),
        index.into_dispatch(),
        updates.into_dispatch(),
        axis,
        mode,
        bounds,
    );
    Ok(checked(outputs, report))
}

/// Sums of the slices of `updates` along `axis`, `extent` of them: slice `i` of the result is the sum of
/// the slices `n` with `index[n] == i`, and zero where there is none.
///
/// This is [`scatter`] with [`ScatterMode::Add`] into zeros, a sum over segments in any order, and the
/// gradient of [`gather`]. The index has as many entries as `updates` has slices.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// # use girih_burn::{Bounds, scatter_sum};
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let updates = Tensor::<1>::from_floats([10.0, 20.0, 30.0], &device);
/// let index = Tensor::<1, Int>::from_ints([2, 0, 2], &device);
/// let sums = scatter_sum(updates, 0, index, 4, Bounds::Mask)?.into_inner();
/// assert_eq!(sums.to_data().to_vec::<f32>().unwrap(), [20.0, 0.0, 40.0, 0.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn scatter_sum<const D: usize, K: Kind>(
    updates: Tensor<D, K>,
    axis: usize,
    index: Tensor<1, Int>,
    extent: usize,
    bounds: Bounds,
) -> Result<Checked<Tensor<D, K>>, Error> {
    let argument = || Argument::new("updates", &updates);
    let call = Call::new("scatter_sum", argument(), axis)?;
    call.scatters(&index, argument(), ScatterMode::Add, bounds)?;
    let report = Report::new(&index, axis, extent, bounds);
    let outputs = K::scatter_sum(
        updates.into_dispatch(),
        index.into_dispatch(),
        axis,
        extent,
        bounds,
    );
    Ok(checked(outputs, report))
}

/// An op's outputs as tensors; the record means something only where there is a report.
fn checked<const D: usize, K: Kind>(
    (values, record): (DispatchTensor, Option<DispatchTensor>),
    report: Option<Report>,
) -> Checked<Tensor<D, K>> {
    let report = report.zip(record.map(Tensor::from_dispatch));
    Checked::new(Tensor::from_dispatch(values), report)
}
