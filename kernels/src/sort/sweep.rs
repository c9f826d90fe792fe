//! The sort that reads keys once a digit: the counts of all digits first, then for each digit one kernel whose cubes learn
//! from the ones before them where their keys go.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]

use super::carry::Moved;
use super::digits::CELLS;
use super::order::Order;
use super::pass::{Step, pass_tile};
use super::tile::{DIGITS, Digit, Tile};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// Sorts by one digit. A cube waits for those of lower numbers alone, which CUDA begins before it.
///
/// `counts` are those of the counting kernel; `state[tile, value]` has one word each, of which the highest bits say what the others
/// are. A pass in which all keys of a row have one digit does nothing with it; `drops_keys` says that the last writes no keys. So
/// one kernel serves all passes.
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
    let has_payload = comptime!(moved != Moved::Nothing);
    let counters = shared::<Atomic<u32>>(comptime!(tile.planes() * DIGITS));
    let mut sorted = shared::<W>(comptime!(tile.len()));
    let mut carried = shared::<V>(comptime!(if has_payload { tile.len() } else { 1 }));
    let mut offsets = shared::<C>(DIGITS);

    let number = CUBE_POS as u32;
    let row = number / tiles_of_row;
    let cells = passes as usize * DIGITS;
    let counts_of_row = row as usize * (cells + CELLS);
    let busy = u32::cast_from(counts[counts_of_row + cells + 1]);
    // A row of equal keys is moved by its first pass.
    let busy = select(busy == 0u32, 1u32, busy);
    if (busy >> pass) & 1u32 == 1u32 {
        let step = Step::of(
            number,
            tiles_of_row,
            row_len,
            busy,
            pass,
            digit,
            count_bits,
            tile,
        );
        let counts_of_pass = counts_of_row + pass as usize * DIGITS;
        pass_tile::<K, V, W, C, C>(
            keys_in,
            keys_between,
            keys_out,
            payload_in,
            payload_between,
            payload_out,
            counts,
            counts_of_pass,
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
    }
}
