//! The gradient of a gather.

use super::gradient::{sums_of_rows, zeros};
use crate::check;
use crate::scatter::{Duplicates, ScatterMode, ScatterOptions, scatter_into};
use crate::{Bounds, Determinism};
use cubecl::client::Client;
use cubecl::std::tensor::TensorHandle;
#[cfg(doc)]
use girih::Error;
use girih::Result;
use girih::device::Device;

/// The gradient of [`gather`](crate::gather()), or of an index select, for its input: `out[.., i, ..]` is the sum of all
/// `gradient[.., n, ..]` of which `index[n]` is `i`, and 0 where there are none.
///
/// `gradient` is that of the gathered slices, with one along `axis` for each index; `extent` is the input's extent there. An index
/// out of range passes its gradient to where `bounds` found it a place, and drops it where there was none.
///
/// With [`Determinism::RunToRun`] indices are sorted, and what goes to each slice is added up in their order; else it is scattered
/// into zeros, as [`scatter_into`](crate::scatter_into()) does.
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
/// [`Error::Axis`], [`Error::Rank`], [`Error::Shape`], [`Error::Element`], [`Error::Strides`], [`Error::Device`].
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
    check::within(CALL, client, "gradient", gradient)?;
    let (mut shape, _) = check::dims(gradient);
    let slices = std::mem::replace(&mut shape[axis], index.shape()[0]);
    check::shape(CALL, "gradient", gradient, &shape)?;
    debug_assert_eq!(slices, shape[axis]);
    shape[axis] = extent;
    check::elements(CALL, "the result", &shape)?;
    let bounds = match bounds {
        // The gather reported it.
        Bounds::Report => Bounds::Mask,
        bounds => bounds,
    };
    if determinism == Determinism::Any || axis > 0 {
        let elements = shape.iter().product();
        let sums = zeros(&device, gradient.dtype, elements);
        let sums = TensorHandle::new_contiguous(shape, sums, gradient.dtype);
        let options = ScatterOptions {
            duplicates: match determinism {
                Determinism::Any => Duplicates::Unordered,
                Determinism::RunToRun => Duplicates::Deterministic,
            },
            ..bounds.into()
        };
        let mode = ScatterMode::Add;
        scatter_into(client, &sums, index, gradient, axis, mode, options)?.into_inner();
        return Ok(sums);
    }
    sums_of_rows(CALL, &device, gradient, index, bounds, &shape)
}
