//! Scans and compactions as ops.

mod autodiff;
mod backend;
mod cube;

pub use backend::ScanBackend;
pub(crate) use cube::with_count;

use burn::backend::{Dispatch, DispatchTensor};
use burn::tensor::{AsIndex, Bool, DType, Int, Tensor};
use girih_kernels::{Determinism, ScanOperation};

use crate::Error;
use crate::kind::Kind;
use crate::validate::{Argument, Call};

/// Every element with those before it along `axis`: `out[.., n, ..]` is all of `tensor[.., 0..=n, ..]` combined.
///
/// An axis below 0 counts from the end. f16 and bf16 are combined in f32. What [`ScanOperation`] and [`Determinism`] say of girih's kernels holds here.
///
/// | operation | gradient |
/// |---|---|
/// | `Sum` | the sums of the result's gradient from each element on |
/// | `Product` | from each element on, the sum of the result's gradient times the products without the element; right also where elements are 0 |
/// | `Min`, `Max` | to the first element that has the value: ties pass nothing to the later ones |
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Tensor};
/// # use girih_burn::{Determinism, ScanOperation, scan};
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let values = Tensor::<2>::from_floats([[3.0, 1.0], [1.0, 2.0], [2.0, 5.0]], &device);
/// let largest = scan(values, 0, ScanOperation::Max, Determinism::Any)?;
/// assert_eq!(largest.to_data().try_to_vec::<f32>().unwrap(), [3.0, 1.0, 3.0, 2.0, 3.0, 5.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn scan<const D: usize, K: Kind>(
    tensor: Tensor<D, K>,
    axis: impl AsIndex,
    operation: ScanOperation,
    determinism: Determinism,
) -> Result<Tensor<D, K>, Error> {
    let call = Call::new("scan", Argument::new("tensor", &tensor), axis)?;
    call.scans()?;
    let axis = call.axis();
    let scanned = K::scan(tensor.into_dispatch(), axis, operation, determinism);
    Ok(Tensor::from_dispatch(scanned))
}

macro_rules! scans {
    ($($(#[$doc:meta])* $name:ident: $operation:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// It is [`scan`] with that operation, and no promise of the same bits from run to run.
        ///
        /// # Errors
        /// As [`scan`].
        pub fn $name<const D: usize, K: Kind>(
            tensor: Tensor<D, K>,
            axis: impl AsIndex,
        ) -> Result<Tensor<D, K>, Error> {
            scan(tensor, axis, ScanOperation::$operation, Determinism::Any)
        }
    )*};
}
scans! {
    /// Sums along an axis.
    cumsum: Sum;
    /// Products along an axis.
    cumprod: Product;
    /// The smallest so far along an axis.
    cummin: Min;
    /// The largest so far along an axis.
    cummax: Max;
}

/// The elements where `mask` is true, in row-major order.
///
/// The result's size is known to the device alone: the call waits for it. It stays in memory with room for every element, unless
/// it is less than a quarter of them. The gradient of a kept element is its result's, and that of the others 0.
///
/// # Errors
/// Every [`Error`]; all but [`Error::Read`] before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Tensor};
/// # use girih_burn::mask_select;
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let values = Tensor::<1>::from_floats([1.5, -2.0, 3.0], &device);
/// let positive = mask_select(values.clone(), values.greater_elem(0.0))?;
/// assert_eq!(positive.to_data().try_to_vec::<f32>().unwrap(), [1.5, 3.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn mask_select<const D: usize, K: Kind>(
    tensor: Tensor<D, K>,
    mask: Tensor<D, Bool>,
) -> Result<Tensor<1, K>, Error> {
    let call = Call::new("mask_select", Argument::new("tensor", &tensor), 0)?;
    call.selects(Argument::new("mask", &mask))?;
    let (room, count) = K::select(tensor.into_dispatch(), mask.into_dispatch());
    Ok(Tensor::from_dispatch(K::first(room, counted(count)?)))
}

/// The coordinates of the elements of `mask` that are true, in row-major order: a matrix with a row for each.
///
/// The result's size is known to the device alone: the call waits for it.
///
/// # Errors
/// Every [`Error`]; all but [`Error::Read`] before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Tensor};
/// # use girih_burn::nonzero;
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let values = Tensor::<2>::from_floats([[0.0, 2.0], [3.0, 0.0]], &device);
/// let places = nonzero(values.not_equal_elem(0.0))?;
/// assert_eq!(places.to_data().iter::<i32>().collect::<Vec<_>>(), [0, 1, 1, 0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn nonzero<const D: usize>(mask: Tensor<D, Bool>) -> Result<Tensor<2, Int>, Error> {
    found("nonzero", mask)
}

/// [`nonzero`] by the name that Burn has for it.
///
/// # Errors
/// As [`nonzero`].
pub fn argwhere<const D: usize>(mask: Tensor<D, Bool>) -> Result<Tensor<2, Int>, Error> {
    found("argwhere", mask)
}

fn found<const D: usize>(
    name: &'static str,
    mask: Tensor<D, Bool>,
) -> Result<Tensor<2, Int>, Error> {
    Call::new(name, Argument::new("mask", &mask), 0)?.finds()?;
    let (room, count) = Dispatch::nonzero_bool(mask.into_dispatch());
    let places = Dispatch::first_int(room, counted(count)?);
    Ok(Tensor::from_dispatch(places))
}

/// What the device has counted.
pub(crate) fn counted(count: DispatchTensor) -> Result<usize, Error> {
    let data = Tensor::<1, Int>::from_dispatch(count).try_into_data()?;
    let count = data.iter::<u64>().next();
    Ok(count.unwrap_or_default() as usize)
}

/// The type of a count of so many elements.
pub(crate) fn count_dtype(elements: usize) -> DType {
    match u32::try_from(elements) {
        Ok(_) => DType::U32,
        Err(_) => DType::U64,
    }
}

/// The type of places among so many elements.
pub(crate) fn place_dtype(elements: usize) -> DType {
    match i32::try_from(elements) {
        Ok(_) => DType::I32,
        Err(_) => DType::I64,
    }
}
