//! Histograms as ops.

mod autodiff;
mod backend;
mod cube;

pub use backend::HistogramBackend;

use burn::backend::Dispatch;
use burn::tensor::{Int, Tensor};

use crate::Error;
use crate::sort::SortKind;
use crate::validate::{Argument, Call};

/// How many values there are in each of `bins` equal parts of the range from `low` to `high`, both of which are in it.
///
/// A value's bin is that of girih's kernel: computed in f32, or of types of 64 bits in f64. Values out of the range, and NaN, are
/// in none. It has no gradient.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Tensor};
/// # use girih_burn::histogram;
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let values = Tensor::<1>::from_floats([0.0, 0.4, 0.5, 1.0, 1.1], &device);
/// let counts = histogram(values, 2, [0.0, 1.0])?;
/// assert_eq!(counts.to_data().iter::<u32>().collect::<Vec<_>>(), [2, 2]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn histogram<const D: usize, K: SortKind>(
    values: Tensor<D, K>,
    bins: usize,
    range: [f64; 2],
) -> Result<Tensor<1, Int>, Error> {
    let call = Call::new("histogram", Argument::new("values", &values), 0)?;
    call.counts(None, bins, Some(range))?;
    let counts = K::histogram(values.into_dispatch(), bins, Some(range));
    Ok(Tensor::from_dispatch(counts))
}

/// The sum of the weights of the values in each bin of [`histogram`].
///
/// `weights` has the shape of `values` and elements of type f32 or f64, where the device adds those atomically. Sums are taken in no
/// fixed order. The gradient of a weight is that of its bin, and 0 where it is in none.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Tensor};
/// # use girih_burn::weighted_histogram;
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let values = Tensor::<1>::from_floats([0.0, 0.4, 0.5, 1.1], &device);
/// let weights = Tensor::<1>::from_floats([0.5, 2.0, -1.0, 9.0], &device);
/// let sums = weighted_histogram(values, weights, 2, [0.0, 1.0])?;
/// assert_eq!(sums.to_data().try_to_vec::<f32>().unwrap(), [2.5, -1.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn weighted_histogram<const D: usize, K: SortKind>(
    values: Tensor<D, K>,
    weights: Tensor<D>,
    bins: usize,
    range: [f64; 2],
) -> Result<Tensor<1>, Error> {
    let call = Call::new("weighted_histogram", Argument::new("values", &values), 0)?;
    call.counts(Some(Argument::new("weights", &weights)), bins, Some(range))?;
    let (values, weights) = (values.into_dispatch(), weights.into_dispatch());
    let sums = K::weigh(values, weights, bins, Some(range));
    Ok(Tensor::from_dispatch(sums))
}

/// The sum of the weights of each of the numbers from 0 to before `bins`, which [`bincount`](crate::bincount) counts; else as
/// [`weighted_histogram`].
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// # use girih_burn::weighted_bincount;
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let numbers = Tensor::<1, Int>::from_ints([2, 0, 2, 9], &device);
/// let weights = Tensor::<1>::from_floats([0.5, 2.0, 1.0, 7.0], &device);
/// let sums = weighted_bincount(numbers, weights, 3)?;
/// assert_eq!(sums.to_data().try_to_vec::<f32>().unwrap(), [2.0, 0.0, 1.5]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn weighted_bincount<const D: usize>(
    values: Tensor<D, Int>,
    weights: Tensor<D>,
    bins: usize,
) -> Result<Tensor<1>, Error> {
    let call = Call::new("weighted_bincount", Argument::new("values", &values), 0)?;
    call.counts(Some(Argument::new("weights", &weights)), bins, None)?;
    let (values, weights) = (values.into_dispatch(), weights.into_dispatch());
    let sums = Dispatch::weigh_int(values, weights, bins, None);
    Ok(Tensor::from_dispatch(sums))
}
