//! What every launcher asks of its arguments.

use crate::fold::fold;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::std::tensor::{TensorHandle, into_contiguous};
use girih::device::{Device, Target};
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
    index_type(call, device, "index", index.dtype)?;
    within(call, device.client(), "index", index)
}

/// Indices are integers that the device stores.
pub(crate) fn index_type(
    call: &'static str,
    device: &Device,
    argument: &'static str,
    dtype: ElemType,
) -> Result<()> {
    if !matches!(dtype, ElemType::Int(_) | ElemType::UInt(_)) {
        let allowed = "an integer type".into();
        return Err(Error::Element {
            call,
            argument,
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

/// Every element of the tensor lies in its buffer, which is one of the client's device.
///
/// A tensor is what its maker says: ranks that differ, offsets past the end of the buffer and products past the largest integer
/// are refused here, so that nothing after this has to think of them.
pub(crate) fn within(
    call: &'static str,
    client: &Client,
    argument: &'static str,
    tensor: &TensorHandle,
) -> Result<()> {
    let refused = |given: String, allowed: &str| Error::Argument {
        call,
        argument,
        given,
        allowed: allowed.into(),
    };
    let handle = &tensor.handle;
    if handle.service != client.service_id() {
        let allowed = format!("that of {}", Device::of(client).name());
        return Err(refused("in memory of another device".into(), &allowed));
    }
    if tensor.dtype == ElemType::Index {
        return Err(Error::Element {
            call,
            argument,
            given: tensor.dtype,
            allowed: "a type that has one size on every device".into(),
        });
    }
    let (shape, strides) = (&tensor.shape()[..], &tensor.strides()[..]);
    if shape.len() != strides.len() {
        let given = format!("of shape {shape:?} and strides {strides:?}");
        return Err(refused(given, "a stride for each axis"));
    }
    elements(call, argument, shape)?;
    let [start, end] = [handle.offset_start, handle.offset_end].map(Option::unwrap_or_default);
    let Some(used) = start
        .checked_add(end)
        .and_then(|skipped| handle.size().checked_sub(skipped))
    else {
        let size = handle.size();
        let given = format!("at bytes {start}.. but the last {end} of a buffer of {size}");
        return Err(refused(given, "bytes of the buffer"));
    };
    if start > 0 && !start.is_multiple_of(start_step(client, tensor.dtype)) {
        let step = start_step(client, tensor.dtype);
        let given = format!("at byte {start} of its buffer");
        return Err(refused(given, &format!("a multiple of {step}")));
    }
    let given = used as usize / tensor.dtype.size();
    let needed = reach(shape, strides);
    if needed.is_some_and(|needed| needed <= given) {
        return Ok(());
    }
    Err(Error::Strides {
        call,
        argument,
        shape: shape.to_vec(),
        strides: strides.to_vec(),
        needed: needed.unwrap_or(usize::MAX),
        given,
    })
}

/// Bytes from one place in a buffer that a tensor may start at to the next: elements, or what the device binds buffers at.
fn start_step(client: &Client, dtype: ElemType) -> u64 {
    let size = dtype.size() as u64;
    match Device::of(client).target() {
        Target::Cpu | Target::Cuda | Target::Hip => size,
        _ => client.properties().memory.alignment.max(size),
    }
}

/// The elements of a buffer up to the last that the strides reach; `None` of more than can be counted, also where an extent of 0
/// leaves none.
fn reach(shape: &[usize], strides: &[usize]) -> Option<usize> {
    let last = shape
        .iter()
        .zip(strides)
        .try_fold(0usize, |last, (extent, stride)| {
            last.checked_add(extent.saturating_sub(1).checked_mul(*stride)?)
        })?;
    match shape.contains(&0) {
        true => Some(0),
        false => last.checked_add(1),
    }
}

/// How many elements a shape has, if their bytes can be counted whatever their type: an expanded tensor of little memory may
/// have any number of them. Extents of 0 do not make the others small.
pub(crate) fn elements(
    call: &'static str,
    argument: &'static str,
    shape: &[usize],
) -> Result<usize> {
    /// Bytes are counted by signed integers, and an element has up to 16.
    const MOST: usize = isize::MAX as usize / 16;
    let mut all = shape.iter().filter(|extent| **extent > 0);
    let count = all.try_fold(1usize, |count, extent| count.checked_mul(*extent));
    match count {
        Some(count) if count <= MOST => Ok(if shape.contains(&0) { 0 } else { count }),
        _ => Err(Error::Size {
            call,
            argument,
            given: count.map_or(u64::MAX, |count| count as u64),
            allowed: MOST as u64,
        }),
    }
}

/// Whether a result of that shape has elements that can be counted: what launchers refuse that make one from a number of the
/// caller's.
///
/// ```
/// use girih_kernels::supports_shape;
///
/// assert!(supports_shape("gather", &[1 << 20, 128]).is_ok());
/// let refused = supports_shape("gather", &[1 << 40, 1 << 20]).unwrap_err();
/// assert!(refused.to_string().starts_with("the result counts 1152921504606846976; gather takes up to"));
/// ```
///
/// # Errors
///
/// [`Error::Size`] of more elements than memory of any size has.
pub fn supports_shape(call: &'static str, shape: &[usize]) -> Result<()> {
    elements(call, "the result", shape).map(|_| ())
}

/// A new tensor for what the call gives: contiguous, of any content.
pub(crate) fn output(
    call: &'static str,
    client: &Client,
    shape: Vec<usize>,
    dtype: ElemType,
) -> Result<TensorHandle> {
    let bytes = elements(call, "the result", &shape)? * dtype.size();
    // An empty buffer is none on some devices.
    let handle = client.empty(bytes.max(dtype.size()));
    Ok(TensorHandle::new_contiguous(shape, handle, dtype))
}

/// The elements of a tensor in row-major order, one after another, in a buffer of no more: a kernel takes what its buffer has for
/// the length of a list.
pub(crate) fn list(client: &Client, tensor: &TensorHandle) -> TensorHandle {
    let (shape, strides) = dims(tensor);
    let count: usize = shape.iter().product();
    let folded = fold(&shape, [&strides]);
    let is_list = match folded.as_slice() {
        [] => true,
        [axis] => axis.strides == [1],
        _ => false,
    };
    let handle = match is_list || count == 0 {
        true => tensor.handle.clone(),
        false => into_contiguous(client, tensor.clone().binding(), tensor.dtype).handle,
    };
    let behind = match count {
        // An empty buffer is none on some devices.
        0 => 0,
        _ => handle.size_in_used() - (count * tensor.dtype.size()) as u64,
    };
    TensorHandle::new_contiguous(vec![count], handle.offset_end(behind), tensor.dtype)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_reach_the_last_element() {
        assert_eq!(reach(&[], &[]), Some(1));
        assert_eq!(reach(&[3, 4], &[5, 1]), Some(14));
        assert_eq!(reach(&[3, 0], &[5, 1]), Some(0));
        assert_eq!(reach(&[usize::MAX, 1], &[1, usize::MAX]), Some(usize::MAX));
        assert_eq!(reach(&[usize::MAX, 2], &[1, 2]), None);
        assert_eq!(reach(&[1 << 40, 2], &[1 << 40, 1]), None);
        assert_eq!(reach(&[1 << 40, 0], &[1 << 40, 1]), None);
    }

    #[test]
    fn elements_that_no_memory_counts_are_refused() {
        let count = |shape: &[usize]| elements("call", "input", shape);
        assert_eq!(count(&[]).ok(), Some(1));
        assert_eq!(count(&[3, 0, 4]).ok(), Some(0));
        assert_eq!(count(&[1 << 29, 1 << 29]).ok(), Some(1 << 58));
        for shape in [[1 << 30, 1 << 30], [1 << 40, 1 << 40]] {
            let refused = count(&[shape[0], shape[1], 0]).unwrap_err().to_string();
            assert!(refused.starts_with("input counts "), "{refused}");
        }
    }
}
