//! The rows that indices name.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::gradient::each;
use super::rows::{address, buffer, room};
use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih::device::Device;
use girih::view::resolve;

/// For each index the row that it names, `extent` where it names none or the padding.
#[cube(launch_unchecked, address_type = "dynamic")]
fn named_kernel<I: Int>(
    index: &[I],
    rows: &mut [u32],
    entries: usize,
    extent: usize,
    padding: usize,
    #[comptime] bounds: Bounds,
    #[comptime] has_padding: bool,
    #[define(I)] _type: ElemType,
) {
    let mut entry = ABSOLUTE_POS;
    let step = CUBE_COUNT * CUBE_DIM as usize;
    while entry < entries {
        let (row, is_row) = resolve::<I>(index[entry], extent, bounds);
        let mut counts = is_row;
        if comptime!(has_padding) {
            counts = counts && row != padding;
        }
        rows[entry] = select(counts, row as u32, extent as u32);
        entry += step;
    }
}

/// For each index of a contiguous list that is not empty the row that it names, a `u32`: `extent`, which is below 2^32 - 1, where it
/// names none, or the padding.
pub(crate) fn named(
    device: &Device,
    index: &TensorHandle,
    extent: usize,
    padding: Option<usize>,
    bounds: Bounds,
) -> TensorHandle {
    let entries = index.shape()[0];
    let rows = room(device.client(), entries, 4);
    let (cubes, cube) = each(device, entries);
    // SAFETY: entries are below their number.
    unsafe {
        named_kernel::launch_unchecked(
            device.client(),
            cubes,
            cube,
            address(&[entries, extent]),
            buffer(&index.handle, entries),
            buffer(&rows, entries),
            entries,
            extent,
            padding.unwrap_or(0),
            bounds,
            padding.is_some(),
            index.dtype,
        );
    }
    TensorHandle::new_contiguous(vec![entries], rows, ElemType::UInt(UIntKind::U32))
}
