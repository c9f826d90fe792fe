//! The ops.

use burn::tensor::{AsIndex, Int, Tensor};
#[cfg(doc)]
use girih::Bounds;
use girih_kernels::{GatherOptions, ScatterMode, ScatterOptions};

use crate::checked::{Report, checked};
use crate::kind::Kind;
use crate::validate::{Argument, Call};
use crate::{Checked, Error};

/// Slices of `table` along `axis`: `out[.., n, ..] = table[.., index[n], ..]`.
///
/// An axis below 0 counts from the end. `options` are [`GatherOptions`](crate::GatherOptions), or [`Bounds`] alone. Indices count
/// from 0; one may occur many times. An index out of range is what the bounds say: it gives zeros under `Mask` and `Report`, the
/// nearest slice under `Clamp`, a slice counted from the end under `Wrap` (zeros beyond that), and undefined behaviour under
/// `Assume`.
///
/// The gradient of `table` is the sum of the gradients of the copies of each slice, but for the padding's, which is 0: scattered by
/// atomics, or with [`Determinism::RunToRun`](crate::Determinism::RunToRun) added up in the order of the indices, so that it is the
/// same in every run.
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
/// assert_eq!(columns.to_data().try_to_vec::<f32>().unwrap(), [2.0, 2.0, 4.0, 4.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn gather<const D: usize, K: Kind>(
    table: Tensor<D, K>,
    axis: impl AsIndex,
    index: Tensor<1, Int>,
    options: impl Into<GatherOptions>,
) -> Result<Checked<Tensor<D, K>>, Error> {
    let options = options.into();
    let call = Call::new("gather", Argument::new("table", &table), axis)?;
    call.gathers(&index, &options)?;
    let axis = call.axis();
    let report = Report::new(&index, axis, call.extent(), options.bounds);
    let outputs = K::gather(table.into_dispatch(), index.into_dispatch(), axis, options);
    Ok(checked(outputs, report))
}

/// `target` with slices of `updates` written to it or combined with it along `axis`:
/// `target[.., index[n], ..] = updates[.., n, ..]`, or `+=`, `*=`, the smaller or the larger.
///
/// The target's memory is written in place where no other tensor uses it, and copied where one does.
/// `updates` has the target's shape, with the index's length along the axis. `options` are
/// [`ScatterOptions`](crate::ScatterOptions), or one of their fields alone: [`Bounds`], of which `Mask` and `Report` drop an
/// update whose index is out of range, and [`Duplicates`](crate::Duplicates).
///
/// Where an index occurs twice, all modes but [`ScatterMode::Set`] combine both updates, in no fixed order, unless
/// [`Duplicates::Deterministic`](crate::Duplicates::Deterministic) asks for the same bits in every run.
/// [`ScatterMode::Set`] writes one of them, which one only `duplicates` says, and then the gradient is that one's. Where it does
/// not say, the gradient is that of every update having been written, which is right where indices are distinct.
///
/// The gradient of a product is that of its factors, zeros among them. The gradient of the smaller or the larger goes to what
/// is equal to it, in equal parts where several are.
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
/// assert_eq!(sums.to_data().try_to_vec::<f32>().unwrap(), [21.0, 1.0, 41.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn scatter<const D: usize, K: Kind>(
    target: Tensor<D, K>,
    axis: impl AsIndex,
    index: Tensor<1, Int>,
    updates: Tensor<D, K>,
    mode: ScatterMode,
    options: impl Into<ScatterOptions>,
) -> Result<Checked<Tensor<D, K>>, Error> {
    let options = options.into();
    let call = Call::new("scatter", Argument::new("target", &target), axis)?;
    let (axis, extent) = (call.axis(), call.extent());
    call.scatters(
        &index,
        Argument::new("updates", &updates),
        extent,
        mode,
        &options,
    )?;
    let report = Report::new(&index, axis, extent, options.bounds);
    let outputs = K::scatter(
        target.into_dispatch(),
        index.into_dispatch(),
        updates.into_dispatch(),
        axis,
        mode,
        options,
    );
    Ok(checked(outputs, report))
}

/// Sums of the slices of `updates` along `axis`, `extent` of them: slice `i` of the result is the sum of
/// the slices `n` with `index[n] == i`, and zero where there is none.
///
/// This is [`scatter`] with [`ScatterMode::Add`] into zeros, a sum over segments in any order, unless `options` ask for a fixed
/// one, and the gradient of [`gather`]. The index has as many entries as `updates` has slices.
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
/// assert_eq!(sums.to_data().try_to_vec::<f32>().unwrap(), [20.0, 0.0, 40.0, 0.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn scatter_sum<const D: usize, K: Kind>(
    updates: Tensor<D, K>,
    axis: impl AsIndex,
    index: Tensor<1, Int>,
    extent: usize,
    options: impl Into<ScatterOptions>,
) -> Result<Checked<Tensor<D, K>>, Error> {
    let options = options.into();
    let argument = || Argument::new("updates", &updates);
    let call = Call::new("scatter_sum", argument(), axis)?;
    call.makes(call.axis(), extent)?;
    call.scatters(&index, argument(), extent, ScatterMode::Add, &options)?;
    let axis = call.axis();
    let report = Report::new(&index, axis, extent, options.bounds);
    let outputs = K::scatter_sum(
        updates.into_dispatch(),
        index.into_dispatch(),
        axis,
        extent,
        options,
    );
    Ok(checked(outputs, report))
}
