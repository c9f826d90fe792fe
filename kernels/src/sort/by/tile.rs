//! Sorted runs in shared memory: how a unit finds its part of two of them merged, and how a cube sorts a tile.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::SortOrder;
use super::moves::{Source, load, move_payload, store};
use crate::sort::write::Payload;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// How a cube holds a tile of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MergeTile {
    /// Units of the cube.
    pub units: u32,
    /// Elements of a unit.
    pub items: u32,
    /// Whether a unit's elements are in registers, which have no index, so that every walk over them is unrolled.
    pub unroll: bool,
    /// Units that search a buffer together: those of a plane, where all planes have as many.
    pub lanes: u32,
}

impl MergeTile {
    /// Elements of the cube.
    pub const fn len(&self) -> usize {
        self.units as usize * self.items as usize
    }

    /// Whether it has no elements.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Two runs that follow each other in memory.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Runs {
    /// Where the first begins.
    pub begin: usize,
    /// Elements of the first.
    pub first: usize,
    /// Elements of the second.
    pub second: usize,
}

/// How many of the first `count` elements of the two runs merged are of the first run.
///
/// Of elements that neither comes before the other, those of the first run come first.
#[cube]
pub(super) fn split_shared<E: Numeric, A: Numeric, O: SortOrder>(
    keys: &Shared<[E]>,
    runs: Runs,
    count: usize,
) -> usize {
    let mut low = count.max(runs.second) - runs.second;
    let mut high = count.min(runs.first);
    while low < high {
        let middle = (low + high) / 2;
        let first = A::cast_from(keys[runs.begin + middle]);
        let second = A::cast_from(keys[runs.begin + runs.first + count - 1 - middle]);
        if O::is_before::<A>(second, first) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Which of those that search together this unit is of, and which lane of them.
#[cube]
pub(super) fn searcher(#[comptime] tile: MergeTile) -> (usize, usize) {
    if comptime!(tile.lanes > 1) {
        (
            this_cube().planes().unit_rank() as usize,
            this_plane().unit_rank() as usize,
        )
    } else {
        (UNIT_POS as usize, 0usize.runtime())
    }
}

/// The same of runs in a buffer, by all lanes of a plane: each looks at a place of its own, so that what is left of the runs is
/// divided by their number at each step, which costs a way to memory and back.
#[cube]
pub(super) fn split<E: Numeric, A: Numeric, O: SortOrder>(
    keys: &[E],
    runs: Runs,
    count: usize,
    lane: usize,
    #[comptime] tile: MergeTile,
) -> usize {
    let lanes = comptime!(tile.lanes as usize);
    let mut low = count.max(runs.second) - runs.second;
    let mut high = count.min(runs.first);
    while low < high {
        let span = high - low;
        let step = (span + lanes) / comptime!(lanes + 1);
        // Those beyond the end look at the last place.
        let place = (step * (lane + 1)).min(span) - 1;
        let middle = low + place;
        let first = A::cast_from(keys[runs.begin + middle]);
        let second = A::cast_from(keys[runs.begin + runs.first + count - 1 - middle]);
        let is_low = !O::is_before::<A>(second, first);
        // Of lanes in order the first ones are low: how many.
        let mut below = usize::cast_from(is_low);
        if comptime!(lanes > 1) {
            below = this_plane().ballot(is_low).word(0u32).count_ones() as usize;
        }
        let last_low = low + (step * below).min(span);
        let first_high = low + (step * (below + 1)).min(span) - 1;
        if below > 0 {
            low = last_low;
        }
        if below < lanes {
            high = first_high;
        }
    }
    low
}

/// The unit's elements of the two runs merged, from number `count` on, and where in shared memory each is. Past the end of both
/// runs there is nothing.
#[cube]
pub(super) fn merge<E: Numeric, A: Numeric, O: SortOrder>(
    out: &mut Array<E>,
    from: &mut Array<u32>,
    keys: &Shared<[E]>,
    runs: Runs,
    count: usize,
    #[comptime] tile: MergeTile,
) {
    let all = runs.first + runs.second;
    let begin = count.min(all);
    let mut first = split_shared::<E, A, O>(keys, runs, begin);
    let mut second = begin - first;
    #[unroll(comptime!(tile.unroll))]
    for item in 0..comptime!(tile.items as usize) {
        let has_first = first < runs.first;
        let has_second = second < runs.second;
        // Where a run has ended, what is read is not used.
        let last = comptime!(tile.len() - 1).runtime();
        let at_first = (runs.begin + first).min(last);
        let at_second = (runs.begin + runs.first + second).min(last);
        let of_first = keys[at_first];
        let of_second = keys[at_second];
        let mut takes_second = has_second;
        if has_first && has_second {
            takes_second = O::is_before::<A>(A::cast_from(of_second), A::cast_from(of_first));
        }
        out[item] = select(takes_second, of_second, of_first);
        from[item] = select(takes_second, at_second, at_first) as u32;
        if takes_second {
            second += 1;
        } else if has_first {
            first += 1;
        }
    }
}

/// Sorts each tile of each row.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn tile_kernel<E: Numeric, A: Numeric, V: Int, O: SortOrder>(
    keys_in: &[E],
    keys_out: &mut [E],
    payload_in: &[V],
    payload_out: &mut [V],
    row_len: usize,
    tiles_of_row: u32,
    rows: u32,
    #[comptime] tile: MergeTile,
    #[comptime] payload: Payload,
    #[define(E, A, V)] _types: [ElemType; 3],
) {
    let items = comptime!(tile.items as usize);
    let has_payload = comptime!(payload != Payload::None);
    let mut sorted = shared::<E>(comptime!(tile.len()));
    let mut places = shared::<u32>(comptime!(if has_payload { tile.len() } else { 1 }));
    let number = CUBE_POS as u32;
    if number < rows * tiles_of_row {
        let row = (number / tiles_of_row) as usize * row_len;
        let begin = (number % tiles_of_row) as usize * comptime!(tile.len());
        let valid = (row_len - begin).min(comptime!(tile.len()).runtime());
        let start = row + begin;
        let own = UNIT_POS as usize * items;
        let mut keys = Array::<E>::new(items);
        let mut from = Array::<u32>::new(items);
        let source = Source {
            first: valid,
            start_first: start,
            start_second: start,
        };
        load::<E>(&mut sorted, keys_in, source, valid, tile);
        sync_cube();
        #[unroll(comptime!(tile.unroll))]
        for item in 0..items {
            keys[item] = sorted[own + item];
            from[item] = (own + item) as u32;
        }
        sort_own::<E, A, O>(&mut keys, &mut from, own, valid, tile);
        put::<E>(
            &mut sorted,
            &mut places,
            &keys,
            &from,
            own,
            valid,
            false,
            has_payload,
            tile,
        );
        // Runs of as many units, and of twice as many at each step.
        let mut run = 1u32;
        while run < comptime!(tile.units) {
            let width = run as usize * items;
            let pair = (UNIT_POS & !(2u32 * run - 1u32)) as usize * items;
            let rest = valid.max(pair) - pair;
            let first = rest.min(width);
            let runs = Runs {
                begin: pair,
                first,
                second: (rest - first).min(width),
            };
            merge::<E, A, O>(&mut keys, &mut from, &sorted, runs, own - pair, tile);
            put::<E>(
                &mut sorted,
                &mut places,
                &keys,
                &from,
                own,
                valid,
                true,
                has_payload,
                tile,
            );
            run *= 2u32;
        }
        store::<E>(&sorted, keys_out, start, valid, tile);
        if comptime!(payload == Payload::Place) {
            let mut at = UNIT_POS as usize;
            while at < valid {
                payload_out[start + at] = V::cast_from(begin + places[at] as usize);
                at += comptime!(tile.units as usize);
            }
        }
        if comptime!(payload == Payload::Given) {
            move_payload::<V>(&places, payload_in, payload_out, source, start, valid, tile);
        }
    }
}

/// Sorts the unit's elements, of which those before `valid` are there, by exchanging neighbours.
#[cube]
fn sort_own<E: Numeric, A: Numeric, O: SortOrder>(
    keys: &mut Array<E>,
    from: &mut Array<u32>,
    own: usize,
    valid: usize,
    #[comptime] tile: MergeTile,
) {
    let items = comptime!(tile.items as usize);
    #[unroll(comptime!(tile.unroll))]
    for round in 0..items {
        // Even rounds exchange the first with the second and so on, odd ones the second with the third.
        #[unroll(comptime!(tile.unroll))]
        for pair in 0..comptime!((tile.items / 2) as usize) {
            let left = 2 * pair + round % 2;
            if left + 1 < items {
                let (first, second) = (keys[left], keys[left + 1]);
                let is_there = own + left + 1 < valid;
                if is_there && O::is_before::<A>(A::cast_from(second), A::cast_from(first)) {
                    keys[left] = second;
                    keys[left + 1] = first;
                    let place = from[left];
                    from[left] = from[left + 1];
                    from[left + 1] = place;
                }
            }
        }
    }
}

/// Puts the unit's elements where they are in shared memory, once every unit has read what was there. `from` says where in it
/// each was; `places` follow, where `is_moved`, or begin.
#[cube]
#[allow(clippy::too_many_arguments)]
fn put<E: Numeric>(
    sorted: &mut Shared<[E]>,
    places: &mut Shared<[u32]>,
    keys: &Array<E>,
    from: &Array<u32>,
    own: usize,
    valid: usize,
    #[comptime] is_moved: bool,
    #[comptime] has_payload: bool,
    #[comptime] tile: MergeTile,
) {
    let items = comptime!(tile.items as usize);
    let mut moved = Array::<u32>::new(items);
    if has_payload {
        #[unroll(comptime!(tile.unroll))]
        for item in 0..items {
            moved[item] = from[item];
            if is_moved {
                moved[item] = places[from[item] as usize];
            }
        }
    }
    sync_cube();
    #[unroll(comptime!(tile.unroll))]
    for item in 0..items {
        if own + item < valid {
            sorted[own + item] = keys[item];
            if has_payload {
                places[own + item] = moved[item];
            }
        }
    }
    sync_cube();
}
