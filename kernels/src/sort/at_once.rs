//! The sort of one row in one launch: cubes count all digits, and sort by digit after digit as a sort by sweeps does. Launches are
//! what a sort of some hundred thousand keys costs otherwise.
//!
//! Work is numbered: the shares of the count first, then the tiles of the first pass, those of the second, and so on. A cube takes the
//! next number from a counter, does what it stands for, and takes another. What is numbered waits for lower numbers alone, and those
//! are done or in the hands of cubes that run: so it goes on, however few cubes run at once.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]

use super::carry::Moved;
use super::digits::{Counting, count_share, digit_of_pass};
use super::order::{Order, encode};
use super::pass::{Step, pass_tile};
use super::tile::{DIGITS, Tile};
use crate::bins;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// In the words of the work: the next number,
const NEXT: usize = 0;
/// and how many cubes have done their part of the count, and of each pass.
const DONE: usize = 1;

/// Words of the work for so many passes.
pub(super) const fn words(passes: u32) -> usize {
    DONE + 1 + passes as usize
}

/// Sorts a row. `work` and `counts` are 0 before; `state` has a word for each digit of each tile, and `counts` one for each digit of
/// each pass. `vectors` are the keys of `keys_in`.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn sort_kernel<K: Int, V: Int, W: Int, C: Int, N: Size>(
    vectors: &[Vector<K, N>],
    keys_in: &[K],
    keys_between: &mut [K],
    keys_out: &mut [K],
    payload_in: &[V],
    payload_between: &mut [V],
    payload_out: &mut [V],
    work: &[Atomic<u32>],
    counts: &[Atomic<C>],
    state: &[Atomic<C>],
    row_len: usize,
    tiles: u32,
    begin: u32,
    last: u32,
    drops_keys: u32,
    #[comptime] counting: Counting,
    #[comptime] tile: Tile,
    #[comptime] moved: Moved,
    #[comptime] order: Option<Order>,
    #[comptime] count_bits: u32,
    #[define(K, V, W, C)] _types: [ElemType; 4],
) {
    let has_payload = comptime!(moved != Moved::Nothing);
    let cells = comptime!(counting.passes as usize * DIGITS);
    let cells_of_cube = shared::<Atomic<u32>>(cells);
    let busy_passes = shared::<Atomic<u32>>(1usize);
    let mut taken = shared::<u32>(1usize);
    let counters = shared::<Atomic<u32>>(comptime!(tile.planes() * DIGITS));
    let mut sorted = shared::<W>(comptime!(tile.len()));
    let mut carried = shared::<V>(comptime!(if has_payload { tile.len() } else { 1 }));
    let mut offsets = shared::<C>(DIGITS);

    // The passes that have something to do; none is known before the count is done.
    let mut known = 0u32;
    let end = tiles * comptime!(counting.passes + 1);
    hand_over(&mut taken, take(work));
    let mut number = taken[0];
    while number < end {
        let (phase, index) = (number / tiles, number % tiles);
        if phase == 0u32 {
            bins::clear::<u32>(&cells_of_cube, cells, counting.units);
            clear_state::<C>(state, index, counting);
            count_share::<K, W, N>(
                &cells_of_cube,
                vectors,
                0usize,
                row_len / N::value(),
                index,
                tiles,
                begin,
                last,
                counting,
                order,
            );
            // On its way while the counts are added.
            let next = take(work);
            bins::add_to::<u32, C>(
                &cells_of_cube,
                counts,
                0usize,
                cells.runtime(),
                counting.units,
            );
            tell(work, 0u32);
            hand_over(&mut taken, next);
        } else {
            let pass = phase - 1u32;
            if known == 0u32 {
                wait_for(work, 0u32, tiles);
                known = busy::<K, W, C>(
                    &busy_passes,
                    keys_in,
                    counts,
                    row_len,
                    begin,
                    last,
                    counting,
                    order,
                );
            }
            let is_busy = (known >> pass) & 1u32 == 1u32;
            // What the pass before has written is read.
            let before = known & ((1u32 << pass) - 1u32);
            if is_busy && before != 0u32 {
                wait_for(work, 32u32 - before.leading_zeros(), tiles);
            }
            // On its way while the tile is sorted; by now all numbers of the pass are taken, or there are too few cubes.
            let next = take(work);
            if is_busy {
                let digit = digit_of_pass(pass, begin, last, counting);
                let step = Step::of(index, tiles, row_len, known, pass, digit, count_bits, tile);
                pass_tile::<K, V, W, C, Atomic<C>>(
                    keys_in,
                    keys_between,
                    keys_out,
                    payload_in,
                    payload_between,
                    payload_out,
                    counts,
                    pass as usize * DIGITS,
                    state,
                    &counters,
                    &mut sorted,
                    &mut carried,
                    &mut offsets,
                    step,
                    drops_keys == 0u32,
                    tile,
                    moved,
                    order,
                );
                tell(work, phase);
            }
            hand_over(&mut taken, next);
        }
        number = taken[0];
    }
}

/// The next number, for the first unit.
#[cube]
fn take(work: &[Atomic<u32>]) -> u32 {
    let mut number = 0u32;
    if UNIT_POS == 0u32 {
        number = work[NEXT].at::<Device>().fetch_add::<Relaxed>(1u32);
    }
    number
}

/// Tells all units the first one's number, once they are done with the one before.
#[cube]
fn hand_over(taken: &mut Shared<[u32]>, number: u32) {
    sync_cube();
    if UNIT_POS == 0u32 {
        taken[0] = number;
    }
    sync_cube();
}

/// Says that the cube has done its part of a phase: what its units wrote is seen by whoever waits for it.
#[cube]
fn tell(work: &[Atomic<u32>], phase: u32) {
    sync_cube();
    if UNIT_POS == 0u32 {
        work[DONE + phase as usize]
            .at::<Device>()
            .fetch_add::<Release>(1u32);
    }
}

/// Waits until all parts of a phase are done.
#[cube]
fn wait_for(work: &[Atomic<u32>], phase: u32, tiles: u32) {
    if UNIT_POS == 0u32 {
        let mut waiting = true;
        while waiting {
            let done = work[DONE + phase as usize].at::<Device>().load::<Acquire>();
            waiting = done < tiles;
        }
    }
    sync_cube();
}

/// Sets the words of a tile to 0, which say nothing then.
#[cube]
fn clear_state<C: Int>(state: &[Atomic<C>], tile: u32, #[comptime] counting: Counting) {
    let mut word = UNIT_POS as usize;
    while word < DIGITS {
        state[tile as usize * DIGITS + word]
            .at::<Device>()
            .store::<Relaxed>(C::new(0i64));
        word += comptime!(counting.units as usize);
    }
}

/// The passes that have something to do, bit by bit: not those in which all keys have the digit of the first one. The first, where
/// all keys are equal.
#[cube]
#[allow(clippy::too_many_arguments)]
fn busy<K: Int, W: Int, C: Int>(
    busy_passes: &Shared<[Atomic<u32>]>,
    keys: &[K],
    counts: &[Atomic<C>],
    row_len: usize,
    begin: u32,
    last: u32,
    #[comptime] counting: Counting,
    #[comptime] order: Option<Order>,
) -> u32 {
    if UNIT_POS == 0u32 {
        busy_passes[0].at::<Cube>().store::<Relaxed>(0u32);
    }
    sync_cube();
    let mut pass = UNIT_POS;
    while pass < comptime!(counting.passes) {
        let first = encode::<W>(W::cast_from(keys[0]), order);
        let digit = digit_of_pass(pass, begin, last, counting).of::<W>(first);
        let count = counts[pass as usize * DIGITS + digit as usize]
            .at::<Device>()
            .load::<Relaxed>();
        if count != C::cast_from(row_len) {
            busy_passes[0]
                .at::<Cube>()
                .fetch_add::<Relaxed>(1u32 << pass);
        }
        pass += comptime!(counting.units);
    }
    sync_cube();
    let busy = busy_passes[0].at::<Cube>().load::<Relaxed>();
    select(busy == 0u32, 1u32, busy)
}
