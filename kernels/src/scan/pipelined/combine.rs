//! Totals of tiles, known as soon as a tile has come.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
// A kernel's variable has a value before a branch gives it one.
#![allow(unused_assignments)]

use super::super::look_back::publish_own;
use super::super::operator::{By, ScanOperator};
use super::form::{Form, LANES};
use super::ring::{List, Ring, next};
use cubecl::prelude::*;
use girih::cuda::mbarrier;
use girih::prelude::*;

/// Combines every so many-th tile, publishes its total, and hands those who scan what the tile has before each one's part; by
/// the `reducer`-th plane of those that do.
#[cube]
pub(super) fn combine<E: Numeric, A: Numeric, N: Size, O: ScanOperator>(
    states: &[Atomic<u64>],
    stage: &[Vector<E, N>],
    numbers: &[u32],
    leads: &mut [A],
    ring: &Ring,
    list: &List,
    reducer: u32,
    lane: u32,
    #[comptime] form: Form,
) {
    let mut slot = 0u32;
    let mut parity = 0u32;
    let mut turn = 0u32;
    let mut going = true;
    while going {
        mbarrier::wait(ring.full + slot * 8u32, parity);
        let tile = numbers[slot as usize];
        going = tile < list.tiles;
        if going {
            if turn == reducer {
                combine_tile::<E, A, N, O>(states, stage, leads, tile, slot, list, lane, form);
            }
            // All lanes have read, and handed on what they know, before one says so.
            sync_plane();
            if turn == reducer {
                mbarrier::arrive_once(ring.ready + slot * 8u32, lane);
            }
            // Those whose turn it is not arrive as well: nobody is ever more than a round behind.
            mbarrier::arrive_once(ring.empty + slot * 8u32, lane);
        }
        let (slot_after, parity_after) = next(slot, parity, form);
        slot = slot_after;
        parity = parity_after;
        turn = select(
            turn + 1u32 == comptime!(form.reducers as u32),
            0u32,
            turn + 1u32,
        );
    }
}

#[cube]
fn combine_tile<E: Numeric, A: Numeric, N: Size, O: ScanOperator>(
    states: &[Atomic<u64>],
    stage: &[Vector<E, N>],
    leads: &mut [A],
    tile: u32,
    slot: u32,
    list: &List,
    lane: u32,
    #[comptime] form: Form,
) {
    let plane = this_plane();
    let planes = comptime!(form.tile.planes);
    let mut own = O::identity::<A>();
    if tile + 1u32 < list.tiles {
        own = parts::<E, A, N, O>(stage, slot, 0usize, lane, true, form);
    } else {
        let here = list.length - tile as usize * comptime!(form.tile.tile());
        own = parts::<E, A, N, O>(stage, slot, here, lane, false, form);
    }
    let scanned = plane.inclusive_scan::<A, By<O>>(own);
    let (lower, is_there) = plane.shuffle_up::<A>(scanned, 1u32);
    // Nobody comes after the last tile.
    if lane == comptime!(planes as u32 - 1) {
        if tile + 1u32 < list.tiles {
            publish_own::<A>(states, list.launch, tile as usize, scanned);
        }
    }
    if lane < comptime!(planes as u32) {
        let lead = select(is_there, lower, O::identity::<A>());
        leads[slot as usize * planes + lane as usize] = lead;
    }
}

/// What each plane's part of a tile has, on the lane of the plane's number; of a tile that is not whole of its first `here`
/// elements.
#[cube]
fn parts<E: Numeric, A: Numeric, N: Size, O: ScanOperator>(
    stage: &[Vector<E, N>],
    slot: u32,
    here: usize,
    lane: u32,
    #[comptime] is_whole: bool,
    #[comptime] form: Form,
) -> A {
    let plane = this_plane();
    let planes = comptime!(form.tile.planes);
    let at_once = comptime!(if is_whole && O::KNOWN.is_some() {
        form.at_once
    } else {
        1
    });
    let mut own = O::identity::<A>();
    for step in 0..comptime!(planes / at_once) {
        let mut held = Array::<A>::new(at_once);
        #[unroll]
        for index in 0..at_once {
            let part = step * at_once + index;
            held[index] = part_of::<E, A, N, O>(stage, slot, part, here, lane, is_whole, form);
        }
        #[unroll]
        for index in 0..at_once {
            let part = step * at_once + index;
            let mut all = held[index];
            if comptime!(O::KNOWN.is_some()) {
                all = plane.reduce::<A, By<O>>(held[index]);
            }
            own = select(lane == part as u32, all, own);
        }
    }
    own
}

/// What the lane's vectors of a plane's part have together, if elements may be combined in any order; else what all lanes'
/// have.
#[cube]
fn part_of<E: Numeric, A: Numeric, N: Size, O: ScanOperator>(
    stage: &[Vector<E, N>],
    slot: u32,
    part: usize,
    here: usize,
    lane: u32,
    #[comptime] is_whole: bool,
    #[comptime] form: Form,
) -> A {
    let plane = this_plane();
    let width = comptime!(form.tile.width);
    let mut together = O::identity::<A>();
    #[unroll]
    for vector in 0..comptime!(form.tile.vectors) {
        let in_tile =
            part * comptime!(form.tile.vectors * LANES) + comptime!(vector * LANES) + lane as usize;
        let packet = stage[slot as usize * comptime!(form.packets()) + in_tile];
        let mut value = O::identity::<A>();
        #[unroll]
        for item in 0..width {
            let element = A::cast_from(packet.extract(item));
            if is_whole {
                if comptime!(item == 0) {
                    value = element;
                } else {
                    value = O::combine::<A>(value, element);
                }
            } else {
                let both = O::combine::<A>(value, element);
                value = select(in_tile * width + item < here, both, value);
            }
        }
        if comptime!(O::KNOWN.is_none()) {
            value = plane.reduce::<A, By<O>>(value);
        }
        if comptime!(vector == 0) {
            together = value;
        } else {
            together = O::combine::<A>(together, value);
        }
    }
    together
}
