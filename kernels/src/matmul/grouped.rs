//! Products of rows, or of positions of K, in groups.

use super::launch::compute;
use super::plan::explained;
use super::problem::{Problem, grouped_inner, output_type, rank, routed};
use super::result::described;
use super::{MatmulOptions, MatmulPlan, Route};
use crate::check;
use cubecl::client::Client;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Bounds, Result};

const CALL: &str = "grouped_matmul";

/// The product of rows in groups with a matrix for each group: `out[r, n] = activation(sum over k of a[r, k] b[e, k, n] +
/// bias[e, n])`, where `e` is the group of row `r`.
///
/// `a` has shape `[R, K]`, `b` `[E, K, N]`, of any strides. `ends` has E integers in ascending order: group `e` has the rows
/// from `ends[e - 1]`, or 0, up to `ends[e]`. They are on the device, as [`scan`](fn@crate::scan) makes them of
/// [`bincount`]s, and are not read back. A group may be empty, or have all rows. Ends out of `0..=R` are put within, and an
/// end before the one before it is an empty group. Rows after the last end are in no group: they are 0.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{MatmulOptions, Result, grouped_matmul};
///
/// fn experts(client: &Client) -> Result<()> {
///     let tensor = |values: &[f32], shape: Vec<usize>| {
///         let handle = client.create_from_slice(f32::as_bytes(values));
///         TensorHandle::new_contiguous(shape, handle, f32::elem_type_native())
///     };
///     let rows = tensor(&[1.0, 2.0, 3.0, 4.0], vec![4, 1]);
///     let experts = tensor(&[1.0, 10.0, 100.0], vec![3, 1, 1]);
///     // One row for the first expert, none for the second, two for the third, and one for none.
///     let ends = client.create_from_slice(i32::as_bytes(&[1, 1, 3]));
///     let ends = TensorHandle::new_contiguous(vec![3], ends, i32::elem_type_native());
///     let out = grouped_matmul(client, &rows, &experts, &ends, &MatmulOptions::default())?;
///     let bytes = client.read_one(out.handle)?;
///     assert_eq!(f32::from_bytes(&bytes), [1.0, 200.0, 300.0, 0.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # experts(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// As [`matmul`](crate::matmul()); [`Error::Size`] of more than 65,535 groups.
///
/// [`bincount`]: crate::bincount
/// [`Error::Size`]: girih::Error::Size
pub fn grouped_matmul(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    ends: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<TensorHandle> {
    rank(CALL, "a", a, 2, false)?;
    rank(CALL, "b", b, 3, false)?;
    let shape = vec![a.shape()[0], b.shape()[2]];
    let out = check::output(CALL, client, shape, output_type(CALL, a, options)?)?;
    grouped_matmul_into(client, a, b, ends, &out, options)?;
    Ok(out)
}

/// As [`grouped_matmul`], into a tensor that is there: of any strides that do not overlap.
///
/// # Errors
///
/// As [`grouped_matmul`]; of `out` also [`Error::Overlap`](girih::Error::Overlap).
pub fn grouped_matmul_into(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    ends: &TensorHandle,
    out: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<()> {
    let device = Device::of(client);
    let problem = grouped(&device, [a, b, out], ends, options)?;
    compute(&device, &problem, options, [None, None])
}

/// What [`grouped_matmul`] would launch. Nothing is allocated.
///
/// # Errors
///
/// As [`grouped_matmul`].
pub fn explain_grouped_matmul(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    ends: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<MatmulPlan> {
    let device = Device::of(client);
    rank(CALL, "a", a, 2, false)?;
    rank(CALL, "b", b, 3, false)?;
    let shape = vec![a.shape()[0], b.shape()[2]];
    let out = described(CALL, a, shape, output_type(CALL, a, options)?)?;
    let problem = grouped(&device, [a, b, &out], ends, options)?;
    explained(&device, &problem, options)
}

/// A product for each group of positions of K: `out[e, m, n] = activation(sum over k in group e of a[m, k] b[k, n] +
/// bias[e, n])`. It is the gradient of [`grouped_matmul`]'s matrices, with the rows of `a` transposed.
///
/// `a` has shape `[M, K]`, `b` `[K, N]`, the result `[E, M, N]`; `ends` as for [`grouped_matmul`], of positions of K.
/// An empty group's sums are 0.
///
/// # Errors
///
/// As [`grouped_matmul`].
pub fn grouped_inner_matmul(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    ends: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<TensorHandle> {
    const CALL: &str = "grouped_inner_matmul";
    rank(CALL, "a", a, 2, false)?;
    rank(CALL, "b", b, 2, false)?;
    rank(CALL, "ends", ends, 1, false)?;
    let shape = vec![ends.shape()[0], a.shape()[0], b.shape()[1]];
    let out = check::output(CALL, client, shape, output_type(CALL, a, options)?)?;
    let device = Device::of(client);
    let problem = grouped_inner(CALL, &device, [a, b, &out], ends, options)?;
    compute(&device, &problem, options, [None, None])?;
    Ok(out)
}

/// What [`grouped_inner_matmul`] would launch. Nothing is allocated.
///
/// # Errors
///
/// As [`grouped_inner_matmul`].
pub fn explain_grouped_inner_matmul(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    ends: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<MatmulPlan> {
    const CALL: &str = "grouped_inner_matmul";
    rank(CALL, "a", a, 2, false)?;
    rank(CALL, "b", b, 2, false)?;
    rank(CALL, "ends", ends, 1, false)?;
    let shape = vec![ends.shape()[0], a.shape()[0], b.shape()[1]];
    let out = described(CALL, a, shape, output_type(CALL, a, options)?)?;
    let device = Device::of(client);
    let problem = grouped_inner(CALL, &device, [a, b, &out], ends, options)?;
    explained(&device, &problem, options)
}

/// A product of rows in groups.
fn grouped(
    device: &Device,
    tensors: [&TensorHandle; 3],
    ends: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<Problem> {
    let route = Route {
        ends: Some(ends),
        ..Default::default()
    };
    routed(CALL, device, tensors, &route, Bounds::Mask, false, options)
}
