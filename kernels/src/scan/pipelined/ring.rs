//! The ring of tiles in shared memory, and its barriers.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use super::form::Form;
use cubecl::prelude::*;
use girih::cuda::mbarrier;

/// Where a cube's ring is in shared memory.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Ring {
    /// The first byte of the first tile.
    pub base: u32,
    /// The first of the barriers that a tile has come; those that what is before it is known, and that it is done with,
    /// follow.
    pub full: u32,
    pub ready: u32,
    pub empty: u32,
}

/// What is scanned.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct List {
    /// Elements.
    pub length: usize,
    /// Tiles, the last of which may be a part of one.
    pub tiles: u32,
    /// The number of the launch, which its states have.
    pub launch: u32,
    /// Which word of the states counts tickets.
    pub tickets: usize,
}

/// Makes the barriers, by one unit.
#[cube]
pub(super) fn make_ring(ring: &Ring, #[comptime] form: Form) {
    #[unroll]
    for stage in 0..comptime!(form.stages as u32) {
        let at = comptime!(8 * stage);
        // Who fetches, together with the bytes of the tile.
        mbarrier::init(ring.full + at, 1u32);
        // Who carries, and who combined the tile.
        mbarrier::init(ring.ready + at, 2u32);
        // Who scans, and who combines.
        mbarrier::init(
            ring.empty + at,
            comptime!((form.tile.planes + form.reducers) as u32).runtime(),
        );
    }
    mbarrier::publish();
}

/// The next place of the ring, and the parity of its round.
#[cube]
pub(super) fn next(slot: u32, parity: u32, #[comptime] form: Form) -> (u32, u32) {
    let wraps = slot + 1u32 == comptime!(form.stages as u32);
    (
        select(wraps, 0u32, slot + 1u32),
        select(wraps, parity ^ 1u32, parity),
    )
}
