//! How a scan in one pass hides the time that memory takes.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// The expansions use them.
#![allow(clippy::extra_unused_type_parameters)]

use cubecl::prelude::*;

/// What is done against waiting; nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// How many tiles on a cube asks the cache for; 0 for none. CUDA alone has the instruction, from sm_90 on.
    pub ahead: usize,
    /// Nanoseconds between two looks at tiles that have published nothing yet, on CUDA.
    pub pause: u32,
}

/// Bytes of a tile.
#[cube]
#[allow(unused_variables)]
fn bytes_of<E: Numeric>(#[comptime] elements: usize) -> comptime_type!(usize) {
    intrinsic!(|scope| { elements * E::elem_type(scope).size() })
}

/// Asks the cache for `elements` elements from `first` on, which are there and start at a multiple of 16 bytes.
#[cube]
pub(crate) fn ask<E: Numeric>(input: &[E], first: usize, #[comptime] elements: usize) {
    let bytes = bytes_of::<E>(elements);
    let from = input[first..first + 1].as_ptr();
    gpu_asm!(
        "cp.async.bulk.prefetch.L2.global [{}], {bytes};",
        in(_) from,
        bytes = const bytes
    );
}

/// Waits a moment.
#[cube]
pub(crate) fn pause(#[comptime] nanoseconds: u32) {
    gpu_asm!("nanosleep.u32 {nanoseconds};", nanoseconds = const nanoseconds);
}
