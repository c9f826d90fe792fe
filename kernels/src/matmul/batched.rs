//! Products of matrices, in batches.

use super::launch::compute;
use super::plan::explained;
use super::problem::{batched, output_type, product_shape, work_type};
use super::result::described;
use super::{MatmulOptions, MatmulPlan};
use crate::check;
use cubecl::client::Client;
use cubecl::std::tensor::TensorHandle;
use girih::Result;
use girih::device::Device;

/// The product of matrices: `out[.., m, n] = activation(sum over k of a[.., m, k] b[.., k, n] + bias[.., n])`.
///
/// `a` has shape `[.., M, K]`, `b` `[.., K, N]`, of any strides: row-major, column-major, slices. The axes before the last two
/// are a batch; they are equal, or repeat where one tensor has extent 1 or no such axis. The result is contiguous. Sums are of
/// `f32` for 16- and 32-bit floats, of `i32` for smaller integers, else of the element's own type, and wrap; where K is 0 they
/// are 0.
///
/// | backend | how |
/// |---|---|
/// | any | tiles of both operands in shared memory, a block of the result in each unit's registers |
/// | GPU with tensor cores | as [`MatmulPath`] says |
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Activation, MatmulOptions, Result, matmul};
///
/// fn layer(client: &Client) -> Result<()> {
///     let tensor = |values: &[f32], shape: Vec<usize>| {
///         let handle = client.create_from_slice(f32::as_bytes(values));
///         TensorHandle::new_contiguous(shape, handle, f32::elem_type_native())
///     };
///     let a = tensor(&[1.0, 2.0, 3.0, 4.0], vec![2, 2]);
///     let b = tensor(&[1.0, 0.0, -1.0, 0.0, 1.0, -1.0], vec![2, 3]);
///     let bias = tensor(&[0.5, 0.0, 1.0], vec![3]);
///     let options = MatmulOptions {
///         bias: Some(&bias),
///         activation: Activation::Relu,
///         ..Default::default()
///     };
///     let out = matmul(client, &a, &b, &options)?;
///     let bytes = client.read_one(out.handle)?;
///     assert_eq!(f32::from_bytes(&bytes), [1.5, 2.0, 0.0, 3.5, 4.0, 0.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # layer(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Rank`], [`Error::Shape`], [`Error::Element`], [`Error::Strides`]; [`Error::Argument`] of the options;
/// [`Error::Device`] where the device does not store a type, or has not the path asked for.
///
/// [`MatmulPath`]: crate::MatmulPath
/// [`Error::Rank`]: girih::Error::Rank
/// [`Error::Shape`]: girih::Error::Shape
/// [`Error::Element`]: girih::Error::Element
/// [`Error::Strides`]: girih::Error::Strides
/// [`Error::Argument`]: girih::Error::Argument
/// [`Error::Device`]: girih::Error::Device
pub fn matmul(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<TensorHandle> {
    const CALL: &str = "matmul";
    let shape = product_shape(CALL, a, b)?;
    let out = check::output(CALL, client, shape, output_type(CALL, a, options)?)?;
    matmul_into(client, a, b, &out, options)?;
    Ok(out)
}

/// As [`matmul`](matmul()), into a tensor that is there: of any strides that do not overlap. It shares no memory with the others; what
/// it would hold then is not defined.
///
/// # Errors
///
/// As [`matmul`](matmul()); of `out` also [`Error::Overlap`](girih::Error::Overlap).
pub fn matmul_into(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    out: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<()> {
    let device = Device::of(client);
    let problem = batched("matmul", &device, [a, b, out], options)?;
    compute(&device, &problem, options, [None, None])
}

/// Whether a device multiplies matrices of the element.
///
/// # Errors
///
/// [`Error::Element`] of a type that has no products, [`Error::Device`] where the device does not store it, or what it is summed
/// in.
///
/// [`Error::Element`]: girih::Error::Element
/// [`Error::Device`]: girih::Error::Device
pub fn supports_matmul(client: &Client, element: cubecl::ir::ElemType) -> Result<()> {
    let device = Device::of(client);
    check::element("matmul", &device, element)?;
    check::element("matmul", &device, work_type("matmul", "a", element)?)
}

/// What [`matmul`](matmul()) would launch. Nothing is allocated.
///
/// # Errors
///
/// As [`matmul`](matmul()).
pub fn explain_matmul(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<MatmulPlan> {
    const CALL: &str = "matmul";
    let device = Device::of(client);
    let shape = product_shape(CALL, a, b)?;
    let out = described(CALL, a, shape, output_type(CALL, a, options)?)?;
    let problem = batched(CALL, &device, [a, b, &out], options)?;
    explained(&device, &problem, options)
}
