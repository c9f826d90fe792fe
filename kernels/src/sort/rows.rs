//! Tensors as rows.

use crate::check;
use cubecl::ir::ElemType;
use cubecl::server::Handle;
use cubecl::std::tensor::{TensorHandle, into_contiguous, is_contiguous};
use girih::device::Device;

/// A tensor as rows along one of its axes.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// How many.
    pub rows: usize,
    /// Their elements.
    pub len: usize,
    shape: Vec<usize>,
    axis: usize,
}

impl Rows {
    /// The rows along an axis that the tensor has.
    pub(crate) fn new(tensor: &TensorHandle, axis: usize) -> Self {
        let (shape, _) = check::dims(tensor);
        let len = shape[axis];
        let others = shape
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != axis)
            .map(|(_, extent)| extent);
        Self {
            rows: others.product(),
            len,
            shape,
            axis,
        }
    }

    /// The same with rows of another length.
    pub(crate) fn with_len(&self, len: usize) -> Self {
        let mut shape = self.shape.clone();
        shape[self.axis] = len;
        Self {
            len,
            shape,
            ..self.clone()
        }
    }

    /// The tensor's elements, row after row.
    pub(crate) fn gather(&self, device: &Device, tensor: &TensorHandle) -> Handle {
        let (mut shape, mut strides) = check::dims(tensor);
        move_last(&mut shape, self.axis);
        move_last(&mut strides, self.axis);
        let rows = TensorHandle::new(
            tensor.handle.clone(),
            shape.clone(),
            strides.clone(),
            tensor.dtype,
        );
        match is_contiguous(&shape, &strides) || shape.contains(&0) {
            true => rows.handle,
            false => into_contiguous(device.client(), rows.binding(), tensor.dtype).handle,
        }
    }

    /// The contiguous tensor with these elements, row after row.
    pub(crate) fn scatter(&self, device: &Device, rows: Handle, element: ElemType) -> TensorHandle {
        let mut shape = self.shape.clone();
        move_last(&mut shape, self.axis);
        let rows = TensorHandle::new_contiguous(shape, rows, element);
        if self.axis + 1 == self.shape.len() || self.shape.contains(&0) {
            return TensorHandle::new_contiguous(self.shape.clone(), rows.handle, element);
        }
        let (_, mut strides) = check::dims(&rows);
        let of_axis = strides.pop().expect("the axis is there");
        strides.insert(self.axis, of_axis);
        let tensor = TensorHandle::new(rows.handle, self.shape.clone(), strides, element);
        into_contiguous(device.client(), tensor.binding(), element)
    }
}

/// Moves an element behind all others.
fn move_last(values: &mut Vec<usize>, at: usize) {
    let value = values.remove(at);
    values.push(value);
}
