//! A tile of keys whose digits are counted before its keys are ranked: what the tile has of each is known early, and each rank
//! is at once the key's place in the sorted tile. It takes planes of a known size, and additions in shared memory.
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::order::{Order, cheap, decode, encode};
use super::tile::{self, DIGITS, Digit, Seat, Tile};
use cubecl::prelude::*;
use girih::coop::Sum;
use girih::prelude::*;

/// The unit's keys as a pass ranks them, of which `raw` are what it read: encoded in `order`, which all but the first pass of a costly
/// one find done. Keys past the first `valid` places of the tile come last.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(crate) fn encode_all<K: Int, W: Int>(
    keys: &mut Array<W>,
    raw: &Array<K>,
    is_first: bool,
    valid: u32,
    seat: Seat,
    #[comptime] order: Option<Order>,
    #[comptime] tile: Tile,
) {
    let cheap = comptime!(cheap(order));
    #[unroll(comptime!(tile.unroll))]
    for item in 0..comptime!(tile.items as usize) {
        keys[item] = encode::<W>(W::cast_from(raw[item]), cheap);
    }
    if comptime!(cheap != order) {
        if is_first {
            #[unroll(comptime!(tile.unroll))]
            for item in 0..comptime!(tile.items as usize) {
                let place = seat.first + item as u32 * comptime!(tile.plane);
                let key = encode::<W>(keys[item], order);
                let last = !W::new(0i64);
                keys[item] = select(place < valid, key, last);
            }
        }
    }
}

/// What a key past the end of the row is read as, so that it comes last.
#[cube]
pub(crate) fn last_key<K: Int, W: Int>(#[comptime] order: Option<Order>) -> K {
    K::cast_from(decode::<W>(!W::new(0i64), comptime!(cheap(order))))
}

/// Counts the digits of each plane's keys.
#[cube]
pub(crate) fn count<W: Int>(
    counters: &Shared<[Atomic<u32>]>,
    keys: &Array<W>,
    digit: Digit,
    seat: Seat,
    #[comptime] tile: Tile,
) {
    let plane = this_plane();
    let first = seat.counters + plane.unit_rank();
    #[unroll(comptime!(tile.unroll))]
    for step in 0..comptime!(DIGITS as u32 / tile.plane) {
        counters[(first + step * comptime!(tile.plane)) as usize]
            .at::<Cube>()
            .store::<Relaxed>(0u32);
    }
    plane.sync();
    #[unroll(comptime!(tile.unroll))]
    for item in 0..comptime!(tile.items as usize) {
        let at = seat.counters + digit.of::<W>(keys[item]);
        counters[at as usize]
            .at::<Cube>()
            .fetch_add::<Relaxed>(1u32);
    }
}

/// How many keys of the tile have each of the digits that this unit counts, of which `counts` has a place for each; every
/// plane's share goes to `held`.
#[cube]
pub(crate) fn add_up(
    counts: &mut Array<u32>,
    held: &mut Array<u32>,
    counters: &Shared<[Atomic<u32>]>,
    #[comptime] tile: Tile,
) {
    let planes = comptime!(tile.planes());
    let first = UNIT_POS as usize * comptime!(tile.digits_of_unit());
    #[unroll(comptime!(tile.unroll))]
    for own in 0..comptime!(tile.digits_of_unit()) {
        let mut total = 0u32;
        if first + own < DIGITS {
            #[unroll(comptime!(tile.unroll))]
            for plane in 0..planes {
                let count = counters[plane * DIGITS + first + own]
                    .at::<Cube>()
                    .load::<Relaxed>();
                held[own * planes + plane] = count;
                total += count;
            }
        }
        counts[own] = total;
    }
}

/// Where the keys of each of this unit's digits begin in the sorted tile goes to `starts`, and to the counters where those
/// of each plane do.
#[cube]
pub(crate) fn begin(
    starts: &mut Array<u32>,
    counters: &Shared<[Atomic<u32>]>,
    counts: &Array<u32>,
    held: &Array<u32>,
    #[comptime] tile: Tile,
) {
    let planes = comptime!(tile.planes());
    let first = UNIT_POS as usize * comptime!(tile.digits_of_unit());
    let mut total = 0u32;
    #[unroll(comptime!(tile.unroll))]
    for own in 0..comptime!(tile.digits_of_unit()) {
        starts[own] = total;
        total += counts[own];
    }
    let before = this_cube().exclusive_scan::<u32, Sum>(total, 0u32);
    #[unroll(comptime!(tile.unroll))]
    for own in 0..comptime!(tile.digits_of_unit()) {
        let mut next = before + starts[own];
        starts[own] = next;
        if first + own < DIGITS {
            #[unroll(comptime!(tile.unroll))]
            for plane in 0..planes {
                counters[plane * DIGITS + first + own]
                    .at::<Cube>()
                    .store::<Relaxed>(next);
                next += held[own * planes + plane];
            }
        }
    }
}

/// Puts each key at its place in the sorted tile; `places` keeps it, where `keeps_places`.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(crate) fn place<W: Int>(
    places: &mut Array<u32>,
    sorted: &mut Shared<[W]>,
    counters: &Shared<[Atomic<u32>]>,
    keys: &Array<W>,
    digit: Digit,
    seat: Seat,
    #[comptime] keeps_places: bool,
    #[comptime] tile: Tile,
) {
    let plane = this_plane();
    #[unroll(comptime!(tile.unroll))]
    for item in 0..comptime!(tile.items as usize) {
        let value = digit.of::<W>(keys[item]);
        let (before, count) = tile::peers(&plane, value, tile);
        let counter = &counters[(seat.counters + value) as usize];
        let next = counter.at::<Cube>().load::<Relaxed>();
        plane.sync();
        if before == 0u32 {
            counter.at::<Cube>().store::<Relaxed>(next + count);
        }
        plane.sync();
        let place = next + before;
        sorted[place as usize] = keys[item];
        if comptime!(keeps_places) {
            places[item] = place;
        }
    }
}
