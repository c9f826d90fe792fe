//! The gradient of a gather.

use super::gradient::{sums_of_rows, zeros};
use super::grouping::Grouping;
use super::{BagOptions, Reduction};
use crate::check;
use crate::scatter::{ScatterMode, atomic_widths, scatter_into};
use crate::{Bounds, Determinism};
use cubecl::client::Client;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};

/// The gradient of [`gather`](crate::gather()), or of an index select, for its input: `out[.., i, ..]` is the sum of all
/// `gradient[.., n, ..]` of which `index[n]` is `i`, and 0 where there are none.
///
/// `gradient` is that of the gathered slices, with one along `axis` for each index; `extent` is the input's extent there. An index
/// out of range passes its gradient to where `bounds` found it a place, and drops it where there was none. Along the first axis
/// f16 and bf16 are added up in f32, and [`Determinism::RunToRun`] sorts the indices and adds in their order; a device without
/// atomics for the type does so too.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Bounds, Determinism, Result, gather_backward};
///
/// fn sums(client: &Client) -> Result<()> {
///     let gradient = client.create_from_slice(f32::as_bytes(&[1.0, 2.0, 10.0, 20.0, 5.0, 5.0]));
///     let gradient = TensorHandle::new_contiguous(vec![3, 2], gradient, f32::elem_type_native());
///     let index = client.create_from_slice(i32::as_bytes(&[1, 1, 9]));
///     let index = TensorHandle::new_contiguous(vec![3], index, i32::elem_type_native());
///     let table =
///         gather_backward(client, &gradient, &index, 0, 2, Bounds::Mask, Determinism::RunToRun)?;
///     assert_eq!(f32::from_bytes(&client.read_one(table.handle)?), [0.0, 0.0, 11.0, 22.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # sums(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Axis`], [`Error::Rank`], [`Error::Shape`], [`Error::Element`], [`Error::Strides`]; [`Error::Argument`] of
/// [`Determinism::RunToRun`] along another axis than the first; [`Error::Device`] where the device does not store a type, or has no
/// atomic addition along such an axis.
pub fn gather_backward(
    client: &Client,
    gradient: &TensorHandle,
    index: &TensorHandle,
    axis: usize,
    extent: usize,
    bounds: Bounds,
    determinism: Determinism,
) -> Result<TensorHandle> {
    const CALL: &str = "gather_backward";
    let device = Device::of(client);
    check::axis(CALL, "gradient", gradient, axis)?;
    check::index(CALL, &device, index)?;
    check::element(CALL, &device, gradient.dtype)?;
    check::within(CALL, "gradient", gradient)?;
    let (mut shape, _) = check::dims(gradient);
    let slices = std::mem::replace(&mut shape[axis], index.shape()[0]);
    check::shape(CALL, "gradient", gradient, &shape)?;
    debug_assert_eq!(slices, shape[axis]);
    shape[axis] = extent;
    let bounds = match bounds {
        // The gather reported it.
        Bounds::Report => Bounds::Mask,
        bounds => bounds,
    };
    let adds = atomic_widths(&device, gradient.dtype);
    let by_scatter =
        determinism == Determinism::Any && gradient.dtype.size() >= 4 && adds.last() == Some(&1);
    if by_scatter || axis > 0 {
        if determinism == Determinism::RunToRun {
            return Err(Error::Argument {
                call: CALL,
                argument: "the determinism",
                given: format!("RunToRun along axis {axis}"),
                allowed: "Any, or the first axis".into(),
            });
        }
        let elements = shape.iter().product();
        let sums = zeros(&device, gradient.dtype, elements);
        let sums = TensorHandle::new_contiguous(shape, sums, gradient.dtype);
        let mode = ScatterMode::Add;
        scatter_into(client, &sums, index, gradient, axis, mode, bounds)?.into_inner();
        return Ok(sums);
    }
    let options = BagOptions {
        bounds,
        ..BagOptions::new(Reduction::Sum)
    };
    let by = Grouping::Length(1);
    sums_of_rows(
        CALL,
        &device,
        gradient,
        index,
        by,
        options,
        &shape,
        determinism,
    )
}
