//! Values each once, as ops.

mod backend;
mod cube;

pub use backend::UniqueBackend;

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{
    Autodiff, AutodiffBackend, Dispatch, autodiff::checkpoint::strategy::CheckpointStrategy,
};
use burn::tensor::{Int, Tensor};

use crate::Error;
use crate::scan::{ScanBackend, counted};
use crate::sort::SortKind;
use crate::validate::{Argument, Call};

/// What [`unique_all`] gives.
#[derive(Clone, Debug)]
pub struct Unique<const D: usize, K: SortKind> {
    /// The values, in ascending order.
    pub values: Tensor<1, K>,
    /// How often each of them is there.
    pub counts: Tensor<1, Int>,
    /// For each element the place of its value among the values.
    pub inverse: Tensor<D, Int>,
}

/// The values of a tensor, each once, in ascending order: that of [`sort`](crate::sort()).
///
/// 0 and -0 are one value; a NaN is equal to none, so that each is a value of its own, behind all numbers. The result's size is
/// known to the device alone: the call waits for it. It has no gradient.
///
/// # Errors
/// Every [`Error`]; all but [`Error::Read`] before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// # use girih_burn::unique;
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let numbers = Tensor::<1, Int>::from_ints([7, -1, 7, 3], &device);
/// let values = unique(numbers)?;
/// assert_eq!(values.to_data().iter::<i32>().collect::<Vec<_>>(), [-1, 3, 7]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn unique<const D: usize, K: SortKind>(tensor: Tensor<D, K>) -> Result<Tensor<1, K>, Error> {
    Call::new("unique", Argument::new("tensor", &tensor), 0)?.sorts_all()?;
    let (room, count) = K::unique(tensor.into_dispatch());
    Ok(Tensor::from_dispatch(K::first(room, counted(count)?)))
}

/// As [`unique`], with how often each value is there, and which each element has.
///
/// # Errors
/// As [`unique`].
///
/// ```
/// # use burn::tensor::{Device, Tensor};
/// # use girih_burn::unique_all;
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let numbers = Tensor::<2>::from_floats([[0.5, 0.25], [0.5, 4.0]], &device);
/// let found = unique_all(numbers)?;
/// assert_eq!(found.values.to_data().try_to_vec::<f32>().unwrap(), [0.25, 0.5, 4.0]);
/// assert_eq!(found.counts.to_data().iter::<i32>().collect::<Vec<_>>(), [1, 2, 1]);
/// assert_eq!(found.inverse.to_data().iter::<i32>().collect::<Vec<_>>(), [1, 0, 1, 2]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn unique_all<const D: usize, K: SortKind>(
    tensor: Tensor<D, K>,
) -> Result<Unique<D, K>, Error> {
    Call::new("unique_all", Argument::new("tensor", &tensor), 0)?.sorts_all()?;
    let (values, counts, inverse, count) = K::unique_all(tensor.into_dispatch());
    let count = counted(count)?;
    Ok(Unique {
        values: Tensor::from_dispatch(K::first(values, count)),
        counts: Tensor::from_dispatch(Dispatch::first_int(counts, count)),
        inverse: Tensor::from_dispatch(inverse),
    })
}

impl<B: UniqueBackend, C: CheckpointStrategy> UniqueBackend for Autodiff<B, C> {
    fn unique_float(tensor: FloatTensor<Self>) -> (FloatTensor<Self>, IntTensor<Self>) {
        let (values, count) = B::unique_float(tensor.into_primitive());
        (Self::from_inner(values), count)
    }

    fn unique_int(tensor: IntTensor<Self>) -> (IntTensor<Self>, IntTensor<Self>) {
        B::unique_int(tensor)
    }

    fn unique_all_float(
        tensor: FloatTensor<Self>,
    ) -> (
        FloatTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
    ) {
        let (values, counts, inverse, count) = B::unique_all_float(tensor.into_primitive());
        (Self::from_inner(values), counts, inverse, count)
    }

    fn unique_all_int(
        tensor: IntTensor<Self>,
    ) -> (
        IntTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
        IntTensor<Self>,
    ) {
        B::unique_all_int(tensor)
    }
}
