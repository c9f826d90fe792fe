//! Results of calls that only say what they would do.

use crate::check;
use cubecl::ir::ElemType;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::Result;

/// As [`check::output`] would give it on a tensor's device, without memory: for plans alone.
pub(crate) fn described(
    call: &'static str,
    beside: &TensorHandle,
    shape: Vec<usize>,
    dtype: ElemType,
) -> Result<TensorHandle> {
    let bytes = check::elements(call, "the result", &shape)? * dtype.size();
    let Handle {
        service, stream, ..
    } = beside.handle;
    let handle = Handle::new(service, stream, bytes.max(dtype.size()) as u64);
    Ok(TensorHandle::new_contiguous(shape, handle, dtype))
}
