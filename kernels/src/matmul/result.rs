//! Tensors for results.

use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;

/// A new contiguous tensor.
pub(crate) fn empty(client: &Client, shape: Vec<usize>, dtype: ElemType) -> TensorHandle {
    let bytes = shape.iter().product::<usize>() * dtype.size();
    // An empty buffer is none on some devices.
    TensorHandle::new_contiguous(shape, client.empty(bytes.max(1)), dtype)
}

/// As [`empty`] would give it beside a tensor, without memory: for plans alone.
pub(crate) fn described(beside: &TensorHandle, shape: Vec<usize>, dtype: ElemType) -> TensorHandle {
    let bytes = shape.iter().product::<usize>() * dtype.size();
    let Handle {
        service, stream, ..
    } = beside.handle;
    TensorHandle::new_contiguous(
        shape,
        Handle::new(service, stream, bytes.max(1) as u64),
        dtype,
    )
}
