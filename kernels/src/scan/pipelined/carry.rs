//! What is before a cube's tiles, carried from one to the next.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use super::super::look_back::{peek_word, says_total, total_of};
use super::super::operator::{By, ScanOperator};
use super::form::{Form, LANES};
use super::ring::{List, Ring, next};
use cubecl::prelude::*;
use girih::cuda::mbarrier;
use girih::prelude::*;

/// Finds what the list has before each tile of the cube, by one plane.
///
/// Tiles are in groups of 32. The plane keeps what all groups before one have, combined group after group, each as the plane's
/// collective combines it; for a tile it adds the groups up to the tile's own, and of that one the tiles before the tile. So
/// it asks for the totals of all tiles since the cube's last one, which are about as many as cubes, and waits for nobody's
/// prefix. What it finds depends on the totals alone, not on who took which tile.
#[cube]
pub(super) fn carry<A: Numeric, O: ScanOperator>(
    states: &[Atomic<u64>],
    numbers: &[u32],
    prefixes: &mut [A],
    ring: &Ring,
    list: &List,
    lane: u32,
    #[comptime] form: Form,
) {
    let plane = this_plane();
    let lanes = comptime!(LANES as u32);
    let mut slot = 0u32;
    let mut parity = 0u32;
    // All groups before this one have `carried` together.
    let mut group = 0u32;
    let mut carried = O::identity::<A>();
    let mut going = true;
    while going {
        mbarrier::wait(ring.full + slot * 8u32, parity);
        let tile = numbers[slot as usize];
        going = tile < list.tiles;
        if going {
            let last = tile / lanes;
            let mut prefix = carried;
            while group <= last {
                let words = await_totals(states, list.launch, group, tile, lane, form);
                #[unroll]
                for index in 0..comptime!(form.groups) {
                    let number = group + comptime!(index as u32);
                    let is_before = number * lanes + lane < tile;
                    let total = total_of::<A>(words[index]);
                    let total = select(is_before, total, O::identity::<A>());
                    let part = plane.reduce::<A, By<O>>(total);
                    let both = O::combine::<A>(prefix, part);
                    carried = select(number < last, both, carried);
                    prefix = select(number <= last, both, prefix);
                }
                group += comptime!(form.groups as u32);
            }
            group = last;
            if lane == 0u32 {
                prefixes[slot as usize] = prefix;
            }
            // All lanes have read the tile's number before one says so.
            sync_plane();
            mbarrier::arrive_once(ring.ready + slot * 8u32, lane);
        }
        let (slot_after, parity_after) = next(slot, parity, form);
        slot = slot_after;
        parity = parity_after;
    }
}

/// The words that say the totals of the tiles before `tile`, from the group on: the lane's of each group. All are asked for
/// before one is looked at.
#[cube]
fn await_totals(
    states: &[Atomic<u64>],
    launch: u32,
    group: u32,
    tile: u32,
    lane: u32,
    #[comptime] form: Form,
) -> Array<u64> {
    let plane = this_plane();
    let groups = comptime!(form.groups);
    let first = group * comptime!(LANES as u32) + lane;
    let mut words = Array::<u64>::new(groups);
    #[unroll]
    for index in 0..groups {
        words[index] = 0u64;
    }
    let mut waiting = true;
    while waiting {
        #[unroll]
        for index in 0..groups {
            let at = first + comptime!((index * LANES) as u32);
            if at < tile && !says_total(words[index], launch) {
                words[index] = peek_word(states, at as usize);
            }
        }
        let mut is_missing = false;
        #[unroll]
        for index in 0..groups {
            let at = first + comptime!((index * LANES) as u32);
            is_missing = is_missing || (at < tile && !says_total(words[index], launch));
        }
        waiting = plane.ballot(is_missing).word(0u32) != 0u32;
    }
    words
}
