//! The ring of buffers between those who load and those who multiply, and who goes around it.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use super::form::{Form, Routing};
use cubecl::prelude::*;
use girih::cuda::mbarrier;

/// Planes of a cube that multiply.
const PLANES: u32 = 8;

/// Where a cube's ring is in shared memory, and where this unit is in the ring.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Ring {
    /// The first byte of the first buffer.
    pub base: u32,
    /// The first barrier that a buffer is full; those that it is empty follow.
    pub full: u32,
    pub empty: u32,
}

/// Makes the barriers, by one unit.
#[cube]
pub(super) fn make_ring(ring: &Ring, #[comptime] form: Form) {
    let gathering = comptime!(match form.routing {
        Routing::Gather => 128u32,
        Routing::InOrder => 0u32,
    });
    #[unroll]
    for stage in 0..comptime!(form.stages) {
        mbarrier::init(
            ring.full + comptime!(8 * stage),
            comptime!(1u32 + gathering).runtime(),
        );
        mbarrier::init(
            ring.empty + comptime!(8 * stage),
            comptime!(PLANES * form.cubes()).runtime(),
        );
    }
    mbarrier::publish();
}

/// The next buffer of the ring, and the parity of its round.
#[cube]
pub(super) fn next(slot: u32, parity: u32, #[comptime] form: Form) -> (u32, u32) {
    let wraps = slot + 1u32 == comptime!(form.stages);
    (
        select(wraps, 0u32, slot + 1u32),
        select(wraps, parity ^ 1u32, parity),
    )
}

/// The rank of this cube in its cluster, and the clusters that there are.
#[cube]
pub(super) fn cluster(#[comptime] form: Form) -> (u32, u32, u32) {
    let cubes = comptime!(form.cubes());
    let cube = CUBE_POS as u32;
    let count = CUBE_COUNT as u32;
    if comptime!(cubes > 1) {
        (cube % cubes, cube / cubes, count / cubes)
    } else {
        (0u32.runtime(), cube, count)
    }
}
