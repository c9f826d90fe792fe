//! The sort for devices whose cubes may not wait for each other: for each digit three kernels, which count it tile by tile,
//! add up, and write.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

use super::order::{Order, encode};
use super::tile::{self, DIGITS, Digit, Tile};
use super::write::{self, Orders, Payload, Row};
use crate::bins;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::coop::Sum;
use girih::prelude::*;

/// Counts one digit of each tile: `counts[row, value, tile]`.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn count_kernel<K: Int, W: Int, C: Int>(
    keys: &[K],
    counts: &mut [C],
    row_len: usize,
    tiles_of_row: u32,
    rows: u32,
    shift: u32,
    mask: u32,
    #[comptime] tile: Tile,
    #[comptime] order: Option<Order>,
    #[define(K, W, C)] _types: [ElemType; 3],
) {
    let number = CUBE_POS as u32;
    let digits = shared::<Atomic<u32>>(DIGITS);
    let digit = Digit { shift, mask };
    if number < rows * tiles_of_row {
        let row = number / tiles_of_row;
        let index = number % tiles_of_row;
        let place = Row::of(row, index, row_len, tile);
        bins::clear::<u32>(&digits, DIGITS, tile.units);
        let mut at = UNIT_POS;
        while at < place.valid {
            let key = W::cast_from(keys[place.start + at as usize]);
            let value = digit.of::<W>(encode::<W>(key, order));
            digits[value as usize]
                .at::<Cube>()
                .fetch_add::<Relaxed>(1u32);
            at += comptime!(tile.units);
        }
        sync_cube();
        let mut bin = UNIT_POS as usize;
        while bin < DIGITS {
            let count = digits[bin].at::<Cube>().load::<Relaxed>();
            counts[(row as usize * DIGITS + bin) * tiles_of_row as usize + index as usize] =
                C::cast_from(count);
            bin += comptime!(tile.units as usize);
        }
    }
}

/// Adds up along the tiles: `counts[line, tile]` becomes the sum of those before it, and `totals[line]` that of all.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn add_up_kernel<C: Int>(
    counts: &mut [C],
    totals: &mut [C],
    tiles_of_row: u32,
    lines: u32,
    #[comptime] units: u32,
    #[define(C)] _type: ElemType,
) {
    let line = CUBE_POS as u32;
    let mut carry = shared::<C>(1usize);
    if line < lines {
        let begin = line as usize * tiles_of_row as usize;
        let cube = this_cube();
        let mut sum = C::new(0i64);
        let mut first = 0u32;
        while first < tiles_of_row {
            let at = first + UNIT_POS;
            let mut count = C::new(0i64);
            if at < tiles_of_row {
                count = counts[begin + at as usize];
            }
            let before = cube.exclusive_scan::<C, Sum>(count, C::new(0i64)) + sum;
            if at < tiles_of_row {
                counts[begin + at as usize] = before;
            }
            if UNIT_POS == comptime!(units - 1) {
                carry[0] = before + count;
            }
            sync_cube();
            sum = carry[0];
            sync_cube();
            first += units;
        }
        if UNIT_POS == 0u32 {
            totals[line as usize] = sum;
        }
    }
}

/// Sorts by one digit, where the counts of the tiles before are known.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn scatter_kernel<K: Int, V: Int, W: Int, C: Int>(
    keys_in: &[K],
    keys_out: &mut [K],
    payload_in: &[V],
    payload_out: &mut [V],
    counts: &[C],
    totals: &[C],
    row_len: usize,
    tiles_of_row: u32,
    rows: u32,
    shift: u32,
    mask: u32,
    #[comptime] tile: Tile,
    #[comptime] payload: Payload,
    #[comptime] order: Orders,
    #[define(K, V, W, C)] _types: [ElemType; 4],
) {
    let digit = Digit { shift, mask };
    let items = comptime!(tile.items as usize);
    let mut counters = shared::<u32>(comptime!(tile.planes() * DIGITS));
    let mut exchanged = shared::<W>(comptime!(tile.len()));
    let mut offsets = shared::<C>(DIGITS);
    let number = CUBE_POS as u32;
    if number < rows * tiles_of_row {
        let row = number / tiles_of_row;
        let index = number % tiles_of_row;
        let place = Row::of(row, index, row_len, tile);
        let seat = tile::seat(tile);
        let mut keys = Array::<W>::new(items);
        tile::load::<K, W>(
            &mut keys,
            keys_in,
            place.start,
            place.valid,
            seat,
            comptime!(order.reading),
            tile,
        );
        let mut ranks = Array::<u32>::new(items);
        tile::rank::<W>(&mut ranks, &mut counters, &keys, digit, seat, tile);
        sync_cube();

        let own = comptime!(tile.digits_of_unit());
        let mut totals_of_tile = Array::<u32>::new(own);
        let mut held = Array::<u32>::new(comptime!(own * tile.planes()));
        tile::count(&mut totals_of_tile, &mut held, &counters, tile);
        let mut starts = Array::<u32>::new(own);
        tile::begin(&mut starts, &mut counters, &totals_of_tile, &held, tile);
        sync_cube();
        tile::exchange::<W>(
            &mut exchanged,
            &mut ranks,
            &counters,
            &keys,
            digit,
            seat,
            tile,
        );

        let mut before = Array::<C>::new(own);
        let line = row as usize * DIGITS;
        write::begin_row::<C, C>(&mut before, totals, line, tile);
        let first = UNIT_POS as usize * own;
        #[unroll(comptime!(tile.unroll))]
        for each in 0..own {
            if first + each < DIGITS {
                let at = (line + first + each) * tiles_of_row as usize + index as usize;
                // Wraps: the place in the tile is added to it.
                offsets[first + each] = before[each] + counts[at] - C::cast_from(starts[each]);
            }
        }
        sync_cube();
        write::write::<K, V, W, C>(
            keys_out,
            payload_in,
            payload_out,
            &mut exchanged,
            &offsets,
            &ranks,
            place,
            digit,
            seat,
            payload,
            order,
            tile,
        );
    }
}
