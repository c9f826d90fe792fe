//! Sorts, selections, counts and searches as ops.

mod autodiff;
mod backend;
mod cube;

pub use backend::SortBackend;

use burn::backend::{Dispatch, DispatchTensor};
use burn::tensor::{AsIndex, DType, Float, Int, Tensor};
use girih_kernels::Side;

use crate::Error;
use crate::histogram::HistogramBackend;
use crate::kind::Kind;
use crate::unique::UniqueBackend;
use crate::validate::{Argument, Call};

/// The type of a count.
pub(crate) const COUNT: DType = DType::U32;

/// The type of places along an axis of so many elements.
pub(crate) fn index_of(extent: usize) -> DType {
    match i32::try_from(extent) {
        Ok(_) => DType::I32,
        Err(_) => DType::I64,
    }
}

/// A kind of tensor whose elements have an order: [`Float`] and [`Int`].
pub trait SortKind: Kind + sealed::Sorts {}

impl SortKind for Float {}
impl SortKind for Int {}

/// The ops of a kind, out of reach so that the set of kinds stays closed.
mod sealed {
    use super::{DispatchTensor, Side};

    pub trait Sorts {
        fn alone(tensor: DispatchTensor, axis: usize, descending: bool) -> DispatchTensor;

        fn sort(
            tensor: DispatchTensor,
            axis: usize,
            descending: bool,
        ) -> (DispatchTensor, DispatchTensor);

        fn places(tensor: DispatchTensor, axis: usize, descending: bool) -> DispatchTensor;

        fn top_k(
            tensor: DispatchTensor,
            axis: usize,
            k: usize,
            largest: bool,
        ) -> (DispatchTensor, DispatchTensor);

        fn search(sorted: DispatchTensor, values: DispatchTensor, side: Side) -> DispatchTensor;

        /// The values, with room for all, and their count.
        fn unique(tensor: DispatchTensor) -> (DispatchTensor, DispatchTensor);

        /// As `unique`; between the two, counts and the place of each element's value.
        fn unique_all(
            tensor: DispatchTensor,
        ) -> (
            DispatchTensor,
            DispatchTensor,
            DispatchTensor,
            DispatchTensor,
        );

        fn histogram(
            values: DispatchTensor,
            bins: usize,
            range: Option<[f64; 2]>,
        ) -> DispatchTensor;

        fn weigh(
            values: DispatchTensor,
            weights: DispatchTensor,
            bins: usize,
            range: Option<[f64; 2]>,
        ) -> DispatchTensor;
    }
}

macro_rules! sorts {
    ($kind:ident: $alone:ident, $sort:ident, $places:ident, $top_k:ident, $search:ident, $unique:ident, $unique_all:ident,
     $histogram:ident, $weigh:ident) => {
        impl sealed::Sorts for $kind {
            fn alone(tensor: DispatchTensor, axis: usize, descending: bool) -> DispatchTensor {
                Dispatch::$alone(tensor, axis, descending)
            }

            fn sort(
                tensor: DispatchTensor,
                axis: usize,
                descending: bool,
            ) -> (DispatchTensor, DispatchTensor) {
                Dispatch::$sort(tensor, axis, descending)
            }

            fn places(tensor: DispatchTensor, axis: usize, descending: bool) -> DispatchTensor {
                Dispatch::$places(tensor, axis, descending)
            }

            fn top_k(
                tensor: DispatchTensor,
                axis: usize,
                k: usize,
                largest: bool,
            ) -> (DispatchTensor, DispatchTensor) {
                Dispatch::$top_k(tensor, axis, k, largest)
            }

            fn search(
                sorted: DispatchTensor,
                values: DispatchTensor,
                side: Side,
            ) -> DispatchTensor {
                Dispatch::$search(sorted, values, side)
            }

            fn unique(tensor: DispatchTensor) -> (DispatchTensor, DispatchTensor) {
                Dispatch::$unique(tensor)
            }

            fn unique_all(
                tensor: DispatchTensor,
            ) -> (
                DispatchTensor,
                DispatchTensor,
                DispatchTensor,
                DispatchTensor,
            ) {
                Dispatch::$unique_all(tensor)
            }

            fn histogram(
                values: DispatchTensor,
                bins: usize,
                range: Option<[f64; 2]>,
            ) -> DispatchTensor {
                Dispatch::$histogram(values, bins, range)
            }

            fn weigh(
                values: DispatchTensor,
                weights: DispatchTensor,
                bins: usize,
                range: Option<[f64; 2]>,
            ) -> DispatchTensor {
                Dispatch::$weigh(values, weights, bins, range)
            }
        }
    };
}
sorts!(Float: sort_alone_float, sort_with_places_float, places_of_sorted_float, top_k_float, search_sorted_float, unique_float,
    unique_all_float, histogram_float, weigh_float);
sorts!(Int: sort_alone_int, sort_with_places_int, places_of_sorted_int, top_k_int, search_sorted_int, unique_int, unique_all_int,
    histogram_int, weigh_int);

/// The elements along `axis` in ascending order, or in descending order.
///
/// An axis below 0 counts from the end. The order is that of girih's kernels: -0 is before +0, and NaN above all numbers. Elements that are equal stay in their
/// order. The gradient of an element is that of its new place.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Tensor};
/// # use girih_burn::sort;
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let rows = Tensor::<2>::from_floats([[3.0, 1.0, 2.0], [0.0, 5.0, -1.0]], &device);
/// let sorted = sort(rows, 1, true)?;
/// assert_eq!(sorted.to_data().try_to_vec::<f32>().unwrap(), [3.0, 2.0, 1.0, 5.0, 0.0, -1.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn sort<const D: usize, K: SortKind>(
    tensor: Tensor<D, K>,
    axis: impl AsIndex,
    descending: bool,
) -> Result<Tensor<D, K>, Error> {
    let call = Call::new("sort", Argument::new("tensor", &tensor), axis)?;
    call.sorts()?;
    let sorted = K::alone(tensor.into_dispatch(), call.axis(), descending);
    Ok(Tensor::from_dispatch(sorted))
}

/// As [`sort`](sort()), and where along the axis each element was.
///
/// # Errors
/// As [`sort`](sort()).
pub fn sort_with_indices<const D: usize, K: SortKind>(
    tensor: Tensor<D, K>,
    axis: impl AsIndex,
    descending: bool,
) -> Result<(Tensor<D, K>, Tensor<D, Int>), Error> {
    let call = Call::new("sort", Argument::new("tensor", &tensor), axis)?;
    call.sorts()?;
    let (values, places) = K::sort(tensor.into_dispatch(), call.axis(), descending);
    Ok((Tensor::from_dispatch(values), Tensor::from_dispatch(places)))
}

/// Where along the axis the elements were that [`sort`](sort()) puts there. It has no gradient.
///
/// # Errors
/// As [`sort`](sort()).
pub fn argsort<const D: usize, K: SortKind>(
    tensor: Tensor<D, K>,
    axis: impl AsIndex,
    descending: bool,
) -> Result<Tensor<D, Int>, Error> {
    let call = Call::new("argsort", Argument::new("tensor", &tensor), axis)?;
    call.sorts()?;
    let places = K::places(tensor.into_dispatch(), call.axis(), descending);
    Ok(Tensor::from_dispatch(places))
}

/// The `k` largest elements along `axis` in descending order, or the `k` smallest in ascending order, and their places.
///
/// It is what [`sort_with_indices`] begins with. The gradient of an element that was taken is that of its new place, that of
/// the others 0.
///
/// # Errors
/// As [`sort`](sort()), and where the axis has not `k` elements.
///
/// ```
/// # use burn::tensor::{Device, Tensor};
/// # use girih_burn::top_k;
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let values = Tensor::<1>::from_floats([3.0, 1.0, 7.0, 2.0], &device);
/// let (largest, places) = top_k(values, 0, 2, true)?;
/// assert_eq!(largest.to_data().try_to_vec::<f32>().unwrap(), [7.0, 3.0]);
/// assert_eq!(places.to_data().iter::<i32>().collect::<Vec<_>>(), [2, 0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn top_k<const D: usize, K: SortKind>(
    tensor: Tensor<D, K>,
    axis: impl AsIndex,
    k: usize,
    largest: bool,
) -> Result<(Tensor<D, K>, Tensor<D, Int>), Error> {
    let call = Call::new("top_k", Argument::new("tensor", &tensor), axis)?;
    call.sorts()?;
    if k > call.extent() {
        return Err(Error::Kernel(girih::Error::Size {
            call: "top_k",
            argument: "k",
            given: k as u64,
            allowed: call.extent() as u64,
        }));
    }
    let (values, places) = K::top_k(tensor.into_dispatch(), call.axis(), k, largest);
    Ok((Tensor::from_dispatch(values), Tensor::from_dispatch(places)))
}

/// How often each of the numbers from 0 to before `bins` is there. Others are not counted.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// # use girih_burn::bincount;
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let numbers = Tensor::<1, Int>::from_ints([2, 0, 2, 9], &device);
/// let counts = bincount(numbers, 3)?;
/// assert_eq!(counts.to_data().iter::<u32>().collect::<Vec<_>>(), [1, 0, 2]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn bincount<const D: usize>(
    values: Tensor<D, Int>,
    bins: usize,
) -> Result<Tensor<1, Int>, Error> {
    Call::new("bincount", Argument::new("values", &values), 0)?.counts(None, bins, None)?;
    Ok(Tensor::from_dispatch(Dispatch::bincount_int(
        values.into_dispatch(),
        bins,
    )))
}

/// Where `values` would go in the rows of `sorted`, whose last axis is in the order of [`sort`](sort()): the number of elements of
/// the row that are before the value, and with [`Side::Right`] of those that are equal.
///
/// Both have the same type, and the same extents but for the last axis. It has no gradient.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Tensor};
/// # use girih_burn::{Side, search_sorted};
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let sorted = Tensor::<1>::from_floats([1.0, 2.0, 2.0, 4.0], &device);
/// let values = Tensor::<1>::from_floats([2.0, 5.0], &device);
/// let places = search_sorted(sorted, values, Side::Right)?;
/// assert_eq!(places.to_data().iter::<i32>().collect::<Vec<_>>(), [3, 4]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn search_sorted<const D: usize, K: SortKind>(
    sorted: Tensor<D, K>,
    values: Tensor<D, K>,
    side: Side,
) -> Result<Tensor<D, Int>, Error> {
    let call = Call::new("search_sorted", Argument::new("sorted", &sorted), D - 1)?;
    call.searches(Argument::new("values", &values))?;
    let places = K::search(sorted.into_dispatch(), values.into_dispatch(), side);
    Ok(Tensor::from_dispatch(places))
}
