//! How a scan in one pass hides the time that memory takes.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// The expansions use them.
#![allow(clippy::extra_unused_type_parameters)]

use super::tile::{TilePlan, position};
use cubecl::prelude::*;

/// How a scan in one pass waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// How many tiles a lane looks at.
    pub deep: usize,
    /// Whether all planes of a cube look back, not the first alone.
    pub whole: bool,
    /// How many cubes stay, each of which copies its next tile into shared memory while it works on one; 0 for a cube a tile.
    /// CUDA alone has the instruction.
    pub stay: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            deep: 1,
            whole: false,
            stay: 0,
        }
    }
}

/// Begins to copy the unit's vectors of the tile at `start` to its places of the stage.
#[cube]
pub(crate) fn begin_copy<E: Numeric, N: Size>(
    vectors: &[Vector<E, N>],
    stage: &[Vector<E, N>],
    start: usize,
    #[comptime] plan: TilePlan,
) {
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        let at = position(start, vector, plan) / comptime!(plan.width);
        let to = comptime!(vector * plan.units()) + UNIT_POS as usize;
        let source = vectors[at..at + 1].as_ptr();
        let place = stage[to..to + 1].as_ptr();
        gpu_asm!(
            "{{ .reg .u64 wide; .reg .u32 near; cvta.to.shared.u64 wide, {place}; cvt.u32.u64 near, wide; cp.async.cg.shared.global [near], [{source}], 16; }}",
            place = in(_) place,
            source = in(_) source
        );
    }
}

/// Waits for the unit's copies.
#[cube]
pub(crate) fn end_copy() {
    gpu_asm!("cp.async.wait_all;");
}

/// The unit's elements from the stage.
#[cube]
pub(crate) fn take_copy<E: Numeric, A: Numeric, N: Size>(
    stage: &[Vector<E, N>],
    items: &mut Array<A>,
    #[comptime] plan: TilePlan,
) {
    let width = comptime!(plan.width);
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        let packet = stage[comptime!(vector * plan.units()) + UNIT_POS as usize];
        #[unroll]
        for lane in 0..width {
            items[comptime!(vector * width + lane)] = A::cast_from(packet.extract(lane));
        }
    }
}
