//! Histograms: how many values, or how much weight, there is in each bin.

mod kernel;
mod launch;
mod weights;

/// What tests compile without the launcher.
pub(crate) mod raw {
    pub use super::kernel::{Binning, Counting, histogram_kernel};
}

use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};
use launch::{Bins, places, run, sum_of, supports};
pub use weights::Weights;

/// Bins that a cube counts in its shared memory; more are counted in the output.
const PRIVATE: usize = 2048;
/// Most bins.
const MOST: usize = 1 << 31;

/// Counts how often each of the numbers 0, 1, .. is there: `out[b] = #{n : values[n] = b}`, or with weights the sum of those.
///
/// `values` are integers of any shape and strides; `weights`, of the same shape, are f32 or f64. The result has `bins` elements:
/// u32, or u64 of 2^32 values or more, or the weights' type. Numbers that are negative, or `bins` or more, are in no bin.
///
/// Counts are the same in every run. Sums of weights are taken in no fixed order, so that their last bits may differ, unless
/// [`Weights`] ask for the same.
///
/// | backend | how |
/// |---|---|
/// | all | up to 2048 bins are counted by each cube in shared memory, and added up; more of them straight in the output |
/// | all, of weights whose sums are to be the same in every run | the [bin of each value](bins_of), and a [deterministic](crate::Duplicates::Deterministic) scatter of the weights |
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, bincount};
///
/// fn counts(client: &Client) -> Result<()> {
///     let handle = client.create_from_slice(i32::as_bytes(&[2, 0, 2, -1, 7, 1]));
///     let values = TensorHandle::new_contiguous(vec![6], handle, i32::elem_type_native());
///     let counts = bincount(client, &values, None, 3)?;
///     let bytes = client.read_one(counts.handle)?;
///     assert_eq!(u32::from_bytes(&bytes), [1, 1, 2]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # counts(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Element`], [`Error::Shape`], [`Error::Strides`]; [`Error::Size`] of more than 2^31 bins; [`Error::Device`] where the
/// device does not store a type, or adds it not atomically.
pub fn bincount<'a>(
    client: &Client,
    values: &TensorHandle,
    weights: impl Into<Weights<'a>>,
    bins: usize,
) -> Result<TensorHandle> {
    const CALL: &str = "bincount";
    let bins = Bins::of_numbers(CALL, values.dtype, bins)?;
    run(CALL, client, values, weights.into(), bins)
}

/// Counts the values in each of `bins` equal parts of the range from `low` to `high`, both of which are in it; with weights, the
/// sum of those.
///
/// `values` are integers, f16, bf16, f32 or f64, of any shape and strides. A value's bin is
/// `(value - low) * (bins / (high - low))`, cut off to an integer; `high` is in the last one. It is computed in f64 for types of 64
/// bits, else in f32, to which the range is rounded. Values out of the range, and NaN, are in no bin. All else is as of
/// [`bincount`].
///
/// Bins that differ in size are those of [`search_sorted`](crate::search_sorted) in their edges, counted by [`bincount`].
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, histogram};
///
/// fn counts(client: &Client) -> Result<()> {
///     let handle = client.create_from_slice(f32::as_bytes(&[0.0, 0.4, 0.5, 1.0, 1.1, f32::NAN]));
///     let values = TensorHandle::new_contiguous(vec![6], handle, f32::elem_type_native());
///     let counts = histogram(client, &values, None, 2, [0.0, 1.0])?;
///     let bytes = client.read_one(counts.handle)?;
///     assert_eq!(u32::from_bytes(&bytes), [2, 2]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # counts(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// As [`bincount`]; [`Error::Argument`] of a range that is empty or not finite.
pub fn histogram<'a>(
    client: &Client,
    values: &TensorHandle,
    weights: impl Into<Weights<'a>>,
    bins: usize,
    range: [f64; 2],
) -> Result<TensorHandle> {
    const CALL: &str = "histogram";
    let bins = Bins::of_range(CALL, values.dtype, bins, range)?;
    run(CALL, client, values, weights.into(), bins)
}

/// The bin of every value that [`bincount`] counts it in, or with a range [`histogram`]; -1 where it is in none.
///
/// The result has the shape of `values`, and elements of type i32.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, bins_of};
///
/// fn bins(client: &Client) -> Result<()> {
///     let handle = client.create_from_slice(f32::as_bytes(&[0.0, 0.4, 0.5, 1.0, 1.1]));
///     let values = TensorHandle::new_contiguous(vec![5], handle, f32::elem_type_native());
///     let bins = bins_of(client, &values, 2, Some([0.0, 1.0]))?;
///     let bytes = client.read_one(bins.handle)?;
///     assert_eq!(i32::from_bytes(&bytes)[..5], [0, 0, 1, 1, -1]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # bins(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// As [`histogram`], but for the addition.
pub fn bins_of(
    client: &Client,
    values: &TensorHandle,
    bins: usize,
    range: Option<[f64; 2]>,
) -> Result<TensorHandle> {
    const CALL: &str = "bins_of";
    let bins = bins_by(CALL, values.dtype, bins, range)?;
    places(CALL, client, values, bins)
}

/// Whether a device counts elements of a type in so many bins, of numbers or of a range, or adds up weights of a type: what
/// [`bincount`] and [`histogram`] refuse beside shapes.
///
/// # Errors
///
/// As [`bincount`] and [`histogram`], which `call` names.
pub fn supports_histogram(
    call: &'static str,
    client: &Client,
    values: ElemType,
    weights: Option<ElemType>,
    bins: usize,
    range: Option<[f64; 2]>,
) -> Result<()> {
    let bins = bins_by(call, values, bins, range)?;
    let sum = sum_of(call, weights, 0)?;
    supports(&Device::of(client), call, values, sum, &bins).map(|_| ())
}

fn bins_by(
    call: &'static str,
    values: ElemType,
    bins: usize,
    range: Option<[f64; 2]>,
) -> Result<Bins> {
    match range {
        Some(range) => Bins::of_range(call, values, bins, range),
        None => Bins::of_numbers(call, values, bins),
    }
}

fn element(call: &'static str, given: ElemType, allowed: &str) -> Error {
    Error::Element {
        call,
        argument: "values",
        given,
        allowed: allowed.into(),
    }
}
