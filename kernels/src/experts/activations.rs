//! The launches of activations.

use super::activate::{activate_backward_kernel, activate_kernel};
use super::{float_sums, has_exponentials};
use crate::check::{self, list};
use crate::matmul::Activation;
use crate::segment::gradient::each;
use crate::segment::rows::{address, buffer, room};
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Result;
use girih::device::Device;

/// `activation(values)` of each element: contiguous, of the same shape and type.
///
/// # Errors
///
/// [`Error::Element`] of what are no floats, [`Error::Strides`]; [`Error::Device`] where the device does not store a type.
///
/// [`Error::Element`]: girih::Error::Element
/// [`Error::Strides`]: girih::Error::Strides
/// [`Error::Device`]: girih::Error::Device
pub fn activate(
    client: &Client,
    values: &TensorHandle,
    activation: Activation,
) -> Result<TensorHandle> {
    const CALL: &str = "activate";
    let device = Device::of(client);
    let sums = float_sums(CALL, &device, "values", values)?;
    if matches!(activation, Activation::Silu | Activation::Gelu) {
        has_exponentials(CALL, &device, sums)?;
    }
    let (shape, _) = check::dims(values);
    let elements: usize = shape.iter().product();
    let out = room(client, elements, values.dtype.size());
    let values = list(client, values);
    let result = TensorHandle::new_contiguous(shape, out, values.dtype);
    launch_activation(&device, &values, &result, activation, sums);
    Ok(result)
}

/// Launches the activation of contiguous values into a contiguous tensor of as many.
pub(crate) fn launch_activation(
    device: &Device,
    values: &TensorHandle,
    out: &TensorHandle,
    activation: Activation,
    sums: ElemType,
) {
    let Some(pass) = Pass::over(device, [values, out]) else {
        return;
    };
    // SAFETY: vectors are below their number, which both tensors have.
    unsafe {
        activate_kernel::launch_unchecked(
            device.client(),
            pass.count.clone(),
            pass.dim,
            address(&[pass.elements]),
            pass.width,
            buffer(&values.handle, pass.elements),
            buffer(&out.handle, pass.elements),
            pass.elements / pass.width,
            activation,
            [values.dtype, sums],
        );
    }
}

/// Multiplies each element of a contiguous gradient with the slope of an activation at a contiguous tensor's.
pub(crate) fn launch_activation_backward(
    device: &Device,
    values: &TensorHandle,
    gradient: &TensorHandle,
    activation: Activation,
    sums: ElemType,
) {
    let Some(pass) = Pass::over(device, [values, gradient]) else {
        return;
    };
    // SAFETY: vectors are below their number, which both tensors have.
    unsafe {
        activate_backward_kernel::launch_unchecked(
            device.client(),
            pass.count.clone(),
            pass.dim,
            address(&[pass.elements]),
            pass.width,
            buffer(&values.handle, pass.elements),
            buffer(&gradient.handle, pass.elements),
            pass.elements / pass.width,
            activation,
            [values.dtype, sums],
        );
    }
}

/// One pass over two contiguous tensors.
struct Pass {
    elements: usize,
    width: usize,
    count: CubeCount,
    dim: CubeDim,
}

impl Pass {
    /// None where there are no elements.
    fn over(device: &Device, tensors: [&TensorHandle; 2]) -> Option<Self> {
        let elements: usize = tensors[0].shape().iter().product();
        let size = tensors[0].dtype.size();
        let fits = |width: &usize| {
            elements.is_multiple_of(*width)
                && tensors.iter().all(|tensor| {
                    let start = tensor.handle.offset_start.unwrap_or(0);
                    start.is_multiple_of((*width * size) as u64)
                })
        };
        let width = device
            .vector_widths(size)
            .into_iter()
            .find(fits)
            .unwrap_or(1);
        let (count, dim) = each(device, elements / width);
        (elements > 0).then_some(Self {
            elements,
            width,
            count,
            dim,
        })
    }
}
