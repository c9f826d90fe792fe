//! The way into shared memory: one unit takes tiles and asks for them.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use super::form::{Form, VECTOR};
use super::ring::{List, Ring, next};
use cubecl::prelude::*;
use girih::cuda::{bulk, fence_async, mbarrier};
use girih::prelude::*;

/// Takes tiles and asks for them, each as soon as the ring has room, until there are none; by one unit.
///
/// A tile is taken only when there is room for it, so that whoever waits for its total waits for nothing but memory.
#[cube]
pub(super) fn fetch<E: Numeric, N: Size>(
    vectors: &[Vector<E, N>],
    input: &[E],
    states: &[Atomic<u64>],
    stage: &mut [Vector<E, N>],
    numbers: &mut [u32],
    ring: &Ring,
    list: &List,
    #[comptime] form: Form,
) {
    let mut slot = 0u32;
    let mut parity = 0u32;
    let mut going = true;
    while going {
        mbarrier::wait(ring.empty + slot * 8u32, parity ^ 1u32);
        // The place was read by plain loads, and a bulk copy writes it next: by the async proxy, which no barrier orders after them.
        fence_async();
        let tile = take(states, list);
        numbers[slot as usize] = tile;
        going = tile < list.tiles;
        if going {
            ask_for::<E, N>(vectors, input, stage, tile, slot, ring, list, form);
        } else {
            mbarrier::arrive(ring.full + slot * 8u32);
        }
        let (slot_after, parity_after) = next(slot, parity, form);
        slot = slot_after;
        parity = parity_after;
    }
}

/// The next tile that nobody has; one past the end where there are none.
///
/// Each cube takes one past the end and then no more. Who takes the last of those sets the count back for the next launch.
#[cube]
fn take(states: &[Atomic<u64>], list: &List) -> u32 {
    let count = states[list.tickets].at::<Device>();
    let tile = u32::cast_from(count.fetch_add::<Relaxed>(1u64));
    if tile + 1u32 == list.tiles + CUBE_COUNT as u32 {
        count.store::<Relaxed>(0u64);
    }
    tile
}

/// Asks for a tile. What is left of the list after whole vectors is copied at once, and the vector filled up with anything.
#[cube]
fn ask_for<E: Numeric, N: Size>(
    vectors: &[Vector<E, N>],
    input: &[E],
    stage: &mut [Vector<E, N>],
    tile: u32,
    slot: u32,
    ring: &Ring,
    list: &List,
    #[comptime] form: Form,
) {
    let width = comptime!(form.tile.width);
    let full = ring.full + slot * 8u32;
    let first = tile as usize * comptime!(form.tile.tile());
    let here = min(list.length - first, comptime!(form.tile.tile()).runtime());
    let whole = here / width;
    if here > whole * width {
        let mut packet = Vector::<E, N>::empty();
        #[unroll]
        for lane in 0..width {
            let at = first + whole * width + lane;
            let mut item = E::from_int(0);
            if at < list.length {
                item = input[at];
            }
            packet.insert(lane, item);
        }
        stage[slot as usize * comptime!(form.packets()) + whole] = packet;
    }
    if whole > 0 {
        let bytes = whole as u32 * comptime!(VECTOR as u32);
        let from = first / width;
        mbarrier::expect(full, bytes);
        bulk::load::<Vector<E, N>>(
            ring.base + slot * comptime!(form.tile_bytes()),
            vectors[from..from + whole].as_ptr(),
            bytes,
            full,
        );
    } else {
        mbarrier::arrive(full);
    }
}
