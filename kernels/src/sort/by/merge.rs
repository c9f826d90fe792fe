//! Merges sorted parts of rows in pairs.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::SortOrder;
use super::moves::{Source, load, move_payload, store};
use super::tile::{MergeTile, Runs, merge, searcher, split};
use crate::sort::write::Payload;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// Words of 32 bits of a place in a row.
const WORDS: usize = 2;

/// A place that is kept in two words, whatever the size of an address.
#[cube]
fn number_of(words: &Shared<[u32]>, number: usize) -> usize {
    let low = words[number * WORDS] as usize;
    let high = words[number * WORDS + 1] as usize;
    low | (high << 16usize << 16usize)
}

/// Merges runs of `width` elements of each row in pairs; a cube gives a tile of the result, and finds what of the two runs is in
/// it by searching them.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn merge_kernel<E: Numeric, A: Numeric, V: Int, O: SortOrder>(
    keys_in: &[E],
    keys_out: &mut [E],
    payload_in: &[V],
    payload_out: &mut [V],
    row_len: usize,
    tiles_of_row: u32,
    rows: u32,
    width: usize,
    #[comptime] tile: MergeTile,
    #[comptime] payload: Payload,
    #[define(E, A, V)] _types: [ElemType; 3],
) {
    let items = comptime!(tile.items as usize);
    let has_payload = comptime!(payload != Payload::None);
    let mut held = shared::<E>(comptime!(tile.len()));
    let mut places = shared::<u32>(comptime!(if has_payload { tile.len() } else { 1 }));
    let mut splits = shared::<u32>(comptime!(2 * WORDS));
    let number = CUBE_POS as u32;
    if number < rows * tiles_of_row {
        let row = (number / tiles_of_row) as usize * row_len;
        let begin = (number % tiles_of_row) as usize * comptime!(tile.len());
        let valid = (row_len - begin).min(comptime!(tile.len()).runtime());
        // The pair that the tile is of: its runs in the buffers, and where in the two merged the tile begins.
        let pair = begin / (2 * width) * (2 * width);
        let rest = row_len - pair;
        let first = rest.min(width);
        let runs = Runs {
            begin: row + pair,
            first,
            second: (rest - first).min(width),
        };
        let count = begin - pair;
        let (number_of_searcher, lane) = searcher(tile);
        let mut which = number_of_searcher;
        while which < 2 {
            let found = split::<E, A, O>(keys_in, runs, count + which * valid, lane, tile);
            if lane == 0 {
                splits[which * WORDS] = found as u32;
                // Two shifts, since one by all bits of a word is none.
                splits[which * WORDS + 1] = (found >> 16usize >> 16usize) as u32;
            }
            which += comptime!((tile.units / tile.lanes) as usize);
        }
        sync_cube();
        // The parts of both runs, one after the other, in shared memory. By an order that is none the end may come before the
        // beginning, or too far after it.
        let from = number_of(&splits, 0usize);
        let to = number_of(&splits, 1usize).max(from).min(from + valid);
        let part = Runs {
            begin: 0usize,
            first: to - from,
            second: valid - (to - from),
        };
        let source = Source {
            first: part.first,
            start_first: runs.begin + from,
            // The second part's elements are there from `part.first` on.
            start_second: runs.begin + runs.first + (count - from) - part.first,
        };
        load::<E>(&mut held, keys_in, source, valid, tile);
        let own = UNIT_POS as usize * items;
        let mut keys = Array::<E>::new(items);
        let mut came = Array::<u32>::new(items);
        sync_cube();
        merge::<E, A, O>(&mut keys, &mut came, &held, part, own, tile);
        sync_cube();
        #[unroll(comptime!(tile.unroll))]
        for item in 0..items {
            if own + item < valid {
                held[own + item] = keys[item];
                if has_payload {
                    places[own + item] = came[item];
                }
            }
        }
        sync_cube();
        let start = row + begin;
        store::<E>(&held, keys_out, start, valid, tile);
        if has_payload {
            move_payload::<V>(&places, payload_in, payload_out, source, start, valid, tile);
        }
    }
}
