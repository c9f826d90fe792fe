//! Rows and lists in memory, as kernels take them.

use crate::check;
use crate::fold::fold;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::{TensorHandle, into_contiguous};
use girih::device::Device;

/// Rows of elements that lie next to each other.
#[derive(Clone)]
pub(crate) struct Rows {
    pub handle: Handle,
    pub element: ElemType,
    /// How many there are.
    pub count: usize,
    pub columns: usize,
    /// Elements from one row to the next.
    pub step: usize,
}

impl Rows {
    /// The rows of a tensor along its first axis, its other axes taken as one; copied where its strides are not those of rows.
    pub(crate) fn new(client: &Client, tensor: &TensorHandle) -> Self {
        let (shape, strides) = check::dims(tensor);
        let columns: usize = shape[1..].iter().product();
        let is_empty = shape.contains(&0);
        let (handle, step) = match Self::are_in(tensor) {
            true => (tensor.handle.clone(), strides[0]),
            // What is empty is never read: any memory of a row will do.
            false if is_empty => (room(client, columns.max(1), tensor.dtype.size()), columns),
            false => {
                let whole = into_contiguous(client, tensor.clone().binding(), tensor.dtype);
                (whole.handle, columns)
            }
        };
        Self {
            handle,
            element: tensor.dtype,
            count: shape[0],
            columns,
            step,
        }
    }

    /// Whether a tensor's slices along its first axis are rows as they lie.
    pub(crate) fn are_in(tensor: &TensorHandle) -> bool {
        let (shape, strides) = check::dims(tensor);
        let columns: usize = shape[1..].iter().product();
        let folded = fold(&shape[1..], [&strides[1..]]);
        let is_row = match folded.as_slice() {
            [] => true,
            [axis] => axis.strides == [1],
            _ => false,
        };
        is_row && strides[0] >= columns && !shape.contains(&0)
    }

    /// The elements that the rows take up.
    pub(crate) fn len(&self) -> usize {
        self.count.max(1).saturating_sub(1) * self.step + self.columns
    }

    /// The widest vectors that begin every row, and the device moves at once.
    pub(crate) fn width(&self, device: &Device) -> usize {
        let size = self.element.size();
        let start = self.handle.offset_start.unwrap_or(0);
        let fits = |width: &usize| {
            self.columns.is_multiple_of(*width)
                && self.step.is_multiple_of(*width)
                && start.is_multiple_of((*width * size) as u64)
        };
        device
            .vector_widths(size)
            .into_iter()
            .find(fits)
            .unwrap_or(1)
    }

    pub(crate) fn arg(&self) -> BufferArg {
        buffer(&self.handle, self.len())
    }
}

/// The widths in which the device adds elements of the type atomically, widest first.
pub(crate) fn adds_of(device: &Device, element: ElemType) -> Vec<usize> {
    let mut widths = vec![8, 4, 2, 1];
    widths.retain(|&width| device.adds_atomically(element, width));
    widths
}

/// The type that elements are combined in.
pub(crate) fn sum_type(element: ElemType) -> ElemType {
    crate::scan::sum_type(element)
}

/// Memory for so many elements; an empty buffer is none on some devices.
pub(crate) fn room(client: &Client, count: usize, size: usize) -> Handle {
    client.empty((count * size).max(size))
}

/// A kernel's slice.
pub(crate) fn buffer(handle: &Handle, len: usize) -> BufferArg {
    // SAFETY: every caller asks for no more elements than were checked to be in the buffer, or were allocated.
    unsafe { BufferArg::from_raw_parts(handle.clone(), len) }
}

/// Wide enough for a place in the longest of some lists.
pub(crate) fn address(lengths: &[usize]) -> AddressType {
    let most = lengths.iter().copied().max().unwrap_or(0);
    // A team of the last cube may have a number past the last.
    AddressType::from_len(most + (1 << 20))
}
