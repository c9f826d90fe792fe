//! What every launcher asks of its arguments.

use cubecl::ir::ElemType;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};

/// The rank of a list of indices is 1, and its elements are integers that the device stores.
pub(crate) fn index(call: &'static str, device: &Device, index: &TensorHandle) -> Result<()> {
    let rank = index.shape().len();
    if rank != 1 {
        return Err(Error::Rank {
            call,
            argument: "index",
            given: rank,
            allowed: "1".into(),
        });
    }
    index_type(call, device, index.dtype)?;
    within(call, "index", index)
}

/// Indices are integers that the device stores.
pub(crate) fn index_type(call: &'static str, device: &Device, dtype: ElemType) -> Result<()> {
    if !matches!(
        dtype,
        ElemType::Int(_) | ElemType::UInt(_) | ElemType::Index
    ) {
        let allowed = "an integer type".into();
        return Err(Error::Element {
            call,
            argument: "index",
            given: dtype,
            allowed,
        });
    }
    element(call, device, dtype)
}

/// The device stores elements of the type.
pub(crate) fn element(call: &'static str, device: &Device, dtype: ElemType) -> Result<()> {
    match device.stores(dtype) {
        true => Ok(()),
        false => device.require(false, call, format!("buffers of {dtype}")),
    }
}

/// The axis is one of the tensor's.
pub(crate) fn axis(
    call: &'static str,
    argument: &'static str,
    tensor: &TensorHandle,
    axis: usize,
) -> Result<()> {
    let rank = tensor.shape().len();
    match axis < rank {
        true => Ok(()),
        false => Err(Error::Axis {
            call,
            argument,
            axis,
            rank,
        }),
    }
}

/// The tensor has the elements of another argument.
pub(crate) fn same_type(
    call: &'static str,
    argument: &'static str,
    given: ElemType,
    allowed: ElemType,
) -> Result<()> {
    match given == allowed {
        true => Ok(()),
        false => Err(Error::Element {
            call,
            argument,
            given,
            allowed: allowed.to_string(),
        }),
    }
}

/// The tensor has the shape that the other arguments ask for.
pub(crate) fn shape(
    call: &'static str,
    argument: &'static str,
    tensor: &TensorHandle,
    allowed: &[usize],
) -> Result<()> {
    let given = tensor.shape();
    match given.iter().eq(allowed) {
        true => Ok(()),
        false => Err(Error::Shape {
            call,
            argument,
            given: given.iter().copied().collect(),
            allowed: allowed.to_vec(),
        }),
    }
}

/// Every element of the tensor lies in its buffer.
pub(crate) fn within(
    call: &'static str,
    argument: &'static str,
    tensor: &TensorHandle,
) -> Result<()> {
    let given = tensor.handle.size_in_used() as usize / tensor.dtype.size();
    let axes = || tensor.shape().iter().zip(tensor.strides().iter());
    let needed = match axes().any(|(extent, _)| *extent == 0) {
        true => 0,
        false => {
            1 + axes()
                .map(|(extent, stride)| (extent - 1) * stride)
                .sum::<usize>()
        }
    };
    if needed <= given {
        return Ok(());
    }
    let (shape, strides) = dims(tensor);
    Err(Error::Strides {
        call,
        argument,
        shape,
        strides,
        needed,
        given,
    })
}

/// No two elements of the tensor share a place.
///
/// By the usual sufficient rule: sorted by stride, each axis steps past all that the ones below it cover.
pub(crate) fn distinct(
    call: &'static str,
    argument: &'static str,
    tensor: &TensorHandle,
) -> Result<()> {
    if is_row_major(tensor) {
        return Ok(());
    }
    let (shape, strides) = dims(tensor);
    if shape.contains(&0) {
        return Ok(());
    }
    let mut axes: Vec<_> = shape
        .iter()
        .zip(&strides)
        .filter(|(extent, _)| **extent > 1)
        .collect();
    axes.sort_unstable_by_key(|(_, stride)| **stride);
    let mut covered = 0;
    for (&extent, &stride) in axes {
        if stride <= covered {
            return Err(Error::Overlap {
                call,
                argument,
                shape,
                strides,
            });
        }
        covered += (extent - 1) * stride;
    }
    Ok(())
}

/// The elements of the tensor lie side by side in row-major order.
pub(crate) fn row_major(
    call: &'static str,
    argument: &'static str,
    tensor: &TensorHandle,
) -> Result<()> {
    if is_row_major(tensor) {
        return Ok(());
    }
    let (shape, strides) = dims(tensor);
    let (needed, given) = (shape.iter().product(), strides[0] * shape[0]);
    Err(Error::Strides {
        call,
        argument,
        shape,
        strides,
        needed,
        given,
    })
}

/// Whether the elements lie side by side in row-major order.
pub(crate) fn is_row_major(tensor: &TensorHandle) -> bool {
    let mut covered = 1;
    let axes = tensor.shape().iter().zip(tensor.strides().iter()).rev();
    axes.into_iter().all(|(&extent, &stride)| {
        let steps_past = extent == 1 || stride == covered;
        covered *= extent;
        steps_past
    })
}

/// Shape and strides, in elements.
pub(crate) fn dims(tensor: &TensorHandle) -> (Vec<usize>, Vec<usize>) {
    (
        tensor.shape().iter().copied().collect(),
        tensor.strides().iter().copied().collect(),
    )
}
