//! The ops as methods.

use burn::tensor::{AsIndex, Int, Tensor};

use crate::{Checked, Error, GatherOptions, Kind, Scatter, ScatterOptions};

/// [`gather`](crate::gather()), [`scatter`](crate::scatter()) and
/// [`scatter_sum`](crate::scatter_sum) as methods of a tensor, named so that none hides one of Burn's. An axis below 0 counts
/// from the end.
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// use girih_burn::{Bounds, IndexOps};
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let table = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device);
/// let index = Tensor::<1, Int>::from_ints([1, 1, 0], &device);
/// let rows = table.gather_rows(index, Bounds::Report)?.check()?;
/// assert_eq!(rows.to_data().try_to_vec::<f32>().unwrap(), [3.0, 4.0, 3.0, 4.0, 1.0, 2.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub trait IndexOps: Sized {
    /// Slices along axis 0.
    ///
    /// # Errors
    /// See [`gather`](crate::gather()).
    fn gather_rows(
        self,
        index: Tensor<1, Int>,
        options: impl Into<GatherOptions>,
    ) -> Result<Checked<Self>, Error> {
        self.gather_along(0, index, options)
    }

    /// Slices along any axis.
    ///
    /// # Errors
    /// See [`gather`](crate::gather()).
    fn gather_along(
        self,
        axis: impl AsIndex,
        index: Tensor<1, Int>,
        options: impl Into<GatherOptions>,
    ) -> Result<Checked<Self>, Error>;

    /// This tensor with slices written or combined with along an axis.
    ///
    /// # Errors
    /// See [`scatter`](crate::scatter()).
    fn scatter_along(
        self,
        axis: impl AsIndex,
        index: Tensor<1, Int>,
        updates: Self,
        mode: Scatter,
        options: impl Into<ScatterOptions>,
    ) -> Result<Checked<Self>, Error>;

    /// Sums of this tensor's slices along an axis, `extent` of them.
    ///
    /// # Errors
    /// See [`scatter_sum`](crate::scatter_sum).
    fn scatter_sum_along(
        self,
        axis: impl AsIndex,
        index: Tensor<1, Int>,
        extent: usize,
        options: impl Into<ScatterOptions>,
    ) -> Result<Checked<Self>, Error>;
}

impl<const D: usize, K: Kind> IndexOps for Tensor<D, K> {
    fn gather_along(
        self,
        axis: impl AsIndex,
        index: Tensor<1, Int>,
        options: impl Into<GatherOptions>,
    ) -> Result<Checked<Self>, Error> {
        crate::gather(self, axis, index, options)
    }

    fn scatter_along(
        self,
        axis: impl AsIndex,
        index: Tensor<1, Int>,
        updates: Self,
        mode: Scatter,
        options: impl Into<ScatterOptions>,
    ) -> Result<Checked<Self>, Error> {
        crate::scatter(self, axis, index, updates, mode, options)
    }

    fn scatter_sum_along(
        self,
        axis: impl AsIndex,
        index: Tensor<1, Int>,
        extent: usize,
        options: impl Into<ScatterOptions>,
    ) -> Result<Checked<Self>, Error> {
        crate::scatter_sum(self, axis, index, extent, options)
    }
}
