//! The ops on CubeCL's tensors: girih's launchers.

use burn::backend::cubecl::dtype_to_storage_type;
use burn::tensor::DType;
use burn_cubecl::{CubeBackend, kernel::slice, tensor::CubeTensor};
use cubecl::ir::{ElemType, UIntKind};
use cubecl::std::tensor::TensorHandle;
use girih_kernels::{
    CompactOptions, Compacted, Determinism, ScanOperation, ScanOptions, Segments, nonzero, scan,
    select,
};

use super::{ScanBackend, count_dtype, place_dtype};
use crate::cube::{Place, handle, unchecked_call, with_extent};

impl ScanBackend for CubeBackend {
    fn scan_float(
        tensor: CubeTensor,
        axis: usize,
        operation: ScanOperation,
        determinism: Determinism,
    ) -> CubeTensor {
        let options = ScanOptions::inclusive().determinism(determinism);
        scanned(tensor, axis, operation, options)
    }

    fn scan_int(
        tensor: CubeTensor,
        axis: usize,
        operation: ScanOperation,
        determinism: Determinism,
    ) -> CubeTensor {
        let options = ScanOptions::inclusive().determinism(determinism);
        scanned(tensor, axis, operation, options)
    }

    fn sum_segments_float(tensor: CubeTensor, begins: CubeTensor, axis: usize) -> CubeTensor {
        let begins = handle(begins);
        let options = ScanOptions::inclusive().segments(Segments::Flags(&begins));
        scanned(tensor, axis, ScanOperation::Sum, options)
    }

    fn select_masked_float(tensor: CubeTensor, mask: CubeTensor) -> (CubeTensor, CubeTensor) {
        selected(tensor, mask)
    }

    fn select_masked_int(tensor: CubeTensor, mask: CubeTensor) -> (CubeTensor, CubeTensor) {
        selected(tensor, mask)
    }

    fn nonzero_bool(mask: CubeTensor) -> (CubeTensor, CubeTensor) {
        let out = Place::of(&mask);
        let elements = mask.meta.shape().num_elements();
        let dtype = place_dtype(elements);
        let options = CompactOptions::default().index(dtype_to_storage_type(dtype));
        let found = nonzero(&out.client, &bits(mask), options).unwrap_or_else(unchecked_call);
        with_count(out, found, dtype, elements)
    }

    fn first_float(room: CubeTensor, count: usize) -> CubeTensor {
        first(room, count)
    }

    fn first_int(room: CubeTensor, count: usize) -> CubeTensor {
        first(room, count)
    }
}

/// The first rows, where they are; in memory of their own where the room would keep much more than they need.
fn first(room: CubeTensor, count: usize) -> CubeTensor {
    let shape = with_extent(room.meta.shape(), 0, count);
    if 4 * count < room.meta.shape()[0] {
        let ranges: Vec<_> = shape.iter().map(|&extent| 0..extent).collect();
        return slice(room, &ranges);
    }
    let CubeTensor {
        client,
        handle,
        device,
        dtype,
        ..
    } = room;
    CubeTensor::new_contiguous(client, device, shape, handle, dtype)
}

fn scanned(
    tensor: CubeTensor,
    axis: usize,
    operation: ScanOperation,
    options: ScanOptions<'_>,
) -> CubeTensor {
    let out = Place::of(&tensor);
    let values = scan(&out.client, &handle(tensor), axis, operation, options);
    out.tensor(values.unwrap_or_else(unchecked_call))
}

fn selected(tensor: CubeTensor, mask: CubeTensor) -> (CubeTensor, CubeTensor) {
    let out = Place::of(&tensor);
    let (dtype, elements) = (tensor.dtype, tensor.meta.shape().num_elements());
    let (tensor, mask) = (handle(tensor), bits(mask));
    let kept = select(&out.client, &tensor, &mask, CompactOptions::default());
    with_count(out, kept.unwrap_or_else(unchecked_call), dtype, elements)
}

/// A compaction's room and count as tensors.
pub(crate) fn with_count(
    out: Place,
    compacted: Compacted,
    dtype: DType,
    elements: usize,
) -> (CubeTensor, CubeTensor) {
    let count = compacted.count_on_device().clone();
    let room = compacted.room().clone();
    let count = out.clone().of_type(count_dtype(elements)).tensor(count);
    (out.of_type(dtype).tensor(room), count)
}

/// A tensor of truth values as integers, which is what they are stored as.
fn bits(mask: CubeTensor) -> TensorHandle {
    let mut mask = handle(mask);
    if mask.dtype == ElemType::Bool {
        mask.dtype = ElemType::UInt(UIntKind::U8);
    }
    mask
}
