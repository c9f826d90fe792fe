//! The sort that reads keys once a digit: the counts of all digits first, then for each digit one kernel whose cubes learn
//! from the ones before them where their keys go.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]

use super::carry::{self, Moved};
use super::digits::CELLS;
use super::look_back::{Flags, look_back};
use super::order::Order;
use super::tally;
use super::tile::{self, DIGITS, Digit, Tile};
use super::write::{self, Row};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// Which of the passes that have something to do one is, of how many.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
struct Turn {
    /// How many are before it.
    rank: u32,
    /// How many there are.
    count: u32,
}

#[cube]
impl Turn {
    /// Whether it reads what the caller gave.
    fn is_first(&self) -> bool {
        self.rank == 0u32
    }

    /// Whether it writes what the caller gets.
    fn is_last(&self) -> bool {
        self.rank + 1u32 == self.count
    }

    /// Whether it writes the output, as the last does, or the buffer between.
    fn writes_output(&self) -> bool {
        (self.count - self.rank) & 1u32 == 1u32
    }
}

/// Sorts by one digit. A cube waits for those of lower numbers alone, which CUDA begins before it.
///
/// `counts` are those of the counting kernel; `state[tile, value]` has one word each, of which the highest bits say what the others
/// are. A pass in which all keys of a row have one digit does nothing with it. The others read the input, or what the one before
/// wrote, and write the output and the buffers between in turn, so that the last writes the output; `drops_keys` says that it
/// writes no keys. So one kernel serves all passes.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn sweep_kernel<K: Int, V: Int, W: Int, C: Int>(
    keys_in: &[K],
    keys_between: &mut [K],
    keys_out: &mut [K],
    payload_in: &[V],
    payload_between: &mut [V],
    payload_out: &mut [V],
    counts: &[C],
    state: &[Atomic<C>],
    row_len: usize,
    tiles_of_row: u32,
    passes: u32,
    pass: u32,
    shift: u32,
    mask: u32,
    drops_keys: u32,
    #[comptime] tile: Tile,
    #[comptime] moved: Moved,
    #[comptime] order: Option<Order>,
    #[comptime] count_bits: u32,
    #[define(K, V, W, C)] _types: [ElemType; 4],
) {
    let digit = Digit { shift, mask };
    let items = comptime!(tile.items as usize);
    let has_payload = comptime!(moved != Moved::Nothing);
    let keeps_keys = drops_keys == 0u32;
    // What costs little is undone by each pass, what costs more by the last alone.
    let cheap = comptime!(order.filter(|order| order.is_cheap()));
    let counters = shared::<Atomic<u32>>(comptime!(tile.planes() * DIGITS));
    let mut sorted = shared::<W>(comptime!(tile.len()));
    let mut carried = shared::<V>(comptime!(if has_payload { tile.len() } else { 1 }));
    let mut offsets = shared::<C>(DIGITS);

    let number = CUBE_POS as u32;
    let row = number / tiles_of_row;
    let index = number % tiles_of_row;
    let cells = passes as usize * DIGITS;
    let counts_of_row = row as usize * (cells + CELLS);
    let busy = u32::cast_from(counts[counts_of_row + cells + 1]);
    // A row of equal keys is moved by its first pass.
    let busy = select(busy == 0u32, 1u32, busy);
    if (busy >> pass) & 1u32 == 1u32 {
        let turn = Turn {
            rank: (busy & ((1u32 << pass) - 1u32)).count_ones(),
            count: busy.count_ones(),
        };
        let is_first = turn.is_first();
        let reads_output = !turn.writes_output();
        let part = Row::of(row, index, row_len, tile);
        let seat = tile::seat(tile);
        let mut keys = Array::<W>::new(items);
        if is_first {
            tally::load::<K, W>(
                &mut keys, keys_in, part.start, part.valid, seat, order, tile,
            );
        } else if reads_output {
            tally::load::<K, W>(
                &mut keys, &*keys_out, part.start, part.valid, seat, cheap, tile,
            );
        } else {
            tally::load::<K, W>(
                &mut keys,
                &*keys_between,
                part.start,
                part.valid,
                seat,
                cheap,
                tile,
            );
        }
        tally::count::<W>(&counters, &keys, digit, seat, tile);
        sync_cube();

        let own = comptime!(tile.digits_of_unit());
        let mut totals = Array::<u32>::new(own);
        let mut held = Array::<u32>::new(comptime!(own * tile.planes()));
        tally::add_up(&mut totals, &mut held, &counters, tile);
        let flags = Flags::of(turn.rank & 1u32, count_bits);
        let first = UNIT_POS as usize * own;
        let words = number as usize * DIGITS + first;
        // The cubes after this one can go on by what it has, before it knows what the ones before it have.
        if index > 0u32 {
            #[unroll(comptime!(tile.unroll))]
            for each in 0..own {
                if first + each < DIGITS {
                    let word = flags.word::<C>(flags.alone, C::cast_from(totals[each]));
                    state[words + each].at::<Device>().store::<Relaxed>(word);
                }
            }
        }
        let mut starts = Array::<u32>::new(own);
        tally::begin(&mut starts, &counters, &totals, &held, tile);
        sync_cube();

        let mut places = Array::<u32>::new(comptime!(if has_payload { items } else { 1 }));
        tally::place::<W>(
            &mut places,
            &mut sorted,
            &counters,
            &keys,
            // Anew, as where each digit's counter is would take a register of every key from the count on.
            digit.again(totals[0]),
            seat,
            has_payload,
            tile,
        );
        if has_payload {
            let mut values = Array::<V>::new(items);
            if is_first {
                if comptime!(moved == Moved::Places) {
                    carry::make_places::<V>(&mut values, part, seat, tile);
                } else {
                    carry::load::<V>(&mut values, payload_in, part, seat, tile);
                }
            } else if reads_output {
                carry::load::<V>(&mut values, &*payload_out, part, seat, tile);
            } else {
                carry::load::<V>(&mut values, &*payload_between, part, seat, tile);
            }
            #[unroll(comptime!(tile.unroll))]
            for item in 0..items {
                carried[places[item] as usize] = values[item];
            }
        }

        let mut before = Array::<C>::new(own);
        if index == 0u32 {
            let counts_of_pass = counts_of_row + pass as usize * DIGITS;
            write::begin_row::<C>(&mut before, counts, counts_of_pass, tile);
        } else {
            #[unroll(comptime!(tile.unroll))]
            for each in 0..own {
                if first + each < DIGITS {
                    before[each] = look_back::<C>(state, words + each, index, flags, tile.window);
                }
            }
        }
        #[unroll(comptime!(tile.unroll))]
        for each in 0..own {
            if first + each < DIGITS {
                let through = before[each] + C::cast_from(totals[each]);
                let word = flags.word::<C>(flags.through, through);
                state[words + each].at::<Device>().store::<Relaxed>(word);
                // From the beginning of the buffers. Wraps: the place in the tile is added to it.
                offsets[first + each] =
                    C::cast_from(part.begin) + before[each] - C::cast_from(starts[each]);
            }
        }
        sync_cube();
        if turn.writes_output() {
            if comptime!(cheap == order) {
                let writes_keys = keeps_keys || !turn.is_last();
                carry::scatter::<K, V, W, C>(
                    keys_out,
                    payload_out,
                    &sorted,
                    &carried,
                    &offsets,
                    part,
                    digit,
                    writes_keys,
                    moved,
                    cheap,
                    tile,
                );
            } else if turn.is_last() {
                carry::scatter::<K, V, W, C>(
                    keys_out,
                    payload_out,
                    &sorted,
                    &carried,
                    &offsets,
                    part,
                    digit,
                    keeps_keys,
                    moved,
                    order,
                    tile,
                );
            } else {
                carry::scatter::<K, V, W, C>(
                    keys_out,
                    payload_out,
                    &sorted,
                    &carried,
                    &offsets,
                    part,
                    digit,
                    true,
                    moved,
                    cheap,
                    tile,
                );
            }
        } else {
            carry::scatter::<K, V, W, C>(
                keys_between,
                payload_between,
                &sorted,
                &carried,
                &offsets,
                part,
                digit,
                true,
                moved,
                cheap,
                tile,
            );
        }
    }
}
