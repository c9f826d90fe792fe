//! Collectives of whole clusters: each cube combines its own, and reads what the others have from their shared memory.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
// The expansions use them.
#![allow(clippy::extra_unused_type_parameters)]

use super::super::levels::cluster_cubes;
use super::super::lower;
use super::super::machine::Kernel;
use super::super::operators::Associative;
use super::super::words;
use crate::memory::shared;
use cubecl::prelude::*;

#[cube]
#[allow(unused_variables)]
fn words_of<E: CubePrimitive>(#[comptime] call: &'static str) -> comptime_type!(usize) {
    intrinsic!(|scope| { words::count::<E>(scope, call) })
}

#[cube]
fn cubes() -> comptime_type!(u32) {
    intrinsic!(|scope| { cluster_cubes(scope) })
}

#[cube]
#[allow(unused_variables)]
fn word_of<E: CubePrimitive>(
    value: E,
    #[comptime] index: usize,
    #[comptime] call: &'static str,
) -> u32 {
    intrinsic!(|scope| { words::split::<E>(scope, call, value)[index] })
}

#[cube]
fn wait() {
    intrinsic!(|scope| {
        // Whoever comes here has found that there are clusters.
        lower::sync_cluster(&Kernel::of(scope));
    })
}

/// The address of shared memory in this cube, which is that of the same memory in every cube.
#[cube]
#[allow(unused_variables)]
fn address_of(place: &u32) -> u32 {
    intrinsic!(|scope| {
        let address = lower::shared_address(&Kernel::of(scope), place.value(scope));
        address.unwrap_or_else(|| 0u32.into())
    })
}

/// What a cube has at the address.
#[cube]
#[allow(unused_variables)]
fn load<E: CubePrimitive>(address: u32, cube: u32, #[comptime] call: &'static str) -> E {
    intrinsic!(|scope| {
        let kernel = Kernel::of(scope);
        let words = (0..words::count::<E>(scope, call)).map(|index| {
            let address = address.__expand_add_method(scope, (4 * index as u32).into());
            lower::load_of_cube(&kernel, address, cube).unwrap_or(address)
        });
        words::join::<E>(scope, call, &words.collect::<Vec<_>>())
    })
}

/// Puts down the speaker's value, one of each cube, and gives the address where every cube has its own.
#[cube]
fn publish<E: CubePrimitive>(value: E, is_speaker: bool, #[comptime] call: &'static str) -> u32 {
    let words = words_of::<E>(call);
    let mut slots = shared::<u32>(words);
    if is_speaker {
        #[unroll]
        for index in 0..words {
            slots[index] = word_of::<E>(value, index, call);
        }
    }
    wait();
    address_of(&slots[0])
}

/// The cubes' values combined, which all units of a cube have.
#[cube]
pub(super) fn reduce<E: CubePrimitive, O: Associative<E>>(
    value: E,
    #[comptime] call: &'static str,
) -> E {
    let address = publish::<E>(value, UNIT_POS == 0u32, call);
    let cubes = cubes();
    let mut total = load::<E>(address, 0u32, call);
    for cube in 1u32..cubes {
        total = O::combine(total, load::<E>(address, cube, call));
    }
    wait();
    total
}

/// `first` and the values of the cubes before this one combined.
#[cube]
pub(super) fn before<E: CubePrimitive, O: Associative<E>>(
    value: E,
    first: E,
    #[comptime] call: &'static str,
) -> E {
    let address = publish::<E>(value, UNIT_POS == 0u32, call);
    let mut total = first;
    for cube in 0u32..CUBE_POS_CLUSTER {
        total = O::combine(total, load::<E>(address, cube, call));
    }
    wait();
    total
}

/// The values of the cubes up to this one combined.
#[cube]
pub(super) fn until<E: CubePrimitive, O: Associative<E>>(
    value: E,
    #[comptime] call: &'static str,
) -> E {
    let address = publish::<E>(value, UNIT_POS == 0u32, call);
    let mut total = load::<E>(address, 0u32, call);
    for cube in 1u32..CUBE_POS_CLUSTER + 1u32 {
        total = O::combine(total, load::<E>(address, cube, call));
    }
    wait();
    total
}

/// `within`, what a unit has of a scan of its cube, whose last unit has all of it, after the cubes before this one.
#[cube]
pub(super) fn after_cubes_before<E: CubePrimitive, O: Associative<E>>(
    within: E,
    #[comptime] call: &'static str,
) -> E {
    let address = publish::<E>(within, UNIT_POS + 1u32 == CUBE_DIM, call);
    let mut result = within;
    if CUBE_POS_CLUSTER > 0u32 {
        let mut total = load::<E>(address, 0u32, call);
        for cube in 1u32..CUBE_POS_CLUSTER {
            total = O::combine(total, load::<E>(address, cube, call));
        }
        result = O::combine(total, within);
    }
    wait();
    result
}

/// What the unit of a rank has, of as many units in each cube as `units`; this unit's own value where there is none.
#[cube]
pub(super) fn shuffle<E: CubePrimitive>(
    value: E,
    rank: u32,
    #[comptime] units: u32,
    #[comptime] call: &'static str,
) -> E {
    let words = words_of::<E>(call);
    let mut slots = shared::<u32>(comptime!(words * units as usize));
    if UNIT_POS < units {
        #[unroll]
        for index in 0..words {
            slots[UNIT_POS as usize * words + index] = word_of::<E>(value, index, call);
        }
    }
    wait();
    let address = address_of(&slots[0]);
    let cubes = cubes();
    let mut result = value;
    if rank < comptime!(cubes * units) {
        let seat = address + rank % units * comptime!(4 * words as u32);
        result = load::<E>(seat, rank / units, call);
    }
    wait();
    result
}
