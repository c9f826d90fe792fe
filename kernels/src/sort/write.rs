//! Where a tile is, and its way out.
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::order::{Order, decode};
use super::tile::{DIGITS, Digit, Seat, Tile};
use cubecl::prelude::*;
use girih::coop::Sum;
use girih::prelude::*;

/// What goes with the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Payload {
    /// Nothing.
    None,
    /// An element for each key.
    Given,
    /// Each key's place in its row, which nobody has to read.
    Place,
}

/// What the keys are in memory, before and after a pass; `None` where they are encoded, or are so in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Orders {
    /// What the pass reads.
    pub reading: Option<Order>,
    /// What it writes.
    pub writing: Option<Order>,
    /// Whether it writes keys at all.
    pub keeps_keys: bool,
}

/// A tile's part of its row.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Row {
    /// Where the row begins in the buffers.
    pub begin: usize,
    /// Where the tile begins in the buffers.
    pub start: usize,
    /// How many of the tile's places are in the row.
    pub valid: u32,
}

#[cube]
impl Row {
    /// Tile `index` of row `row`.
    pub fn of(row: u32, index: u32, row_len: usize, #[comptime] tile: Tile) -> Self {
        let len = comptime!(tile.len());
        let begin = row as usize * row_len;
        let first = index as usize * len;
        Row {
            begin,
            start: begin + first,
            valid: (row_len - first).min(len.runtime()) as u32,
        }
    }
}

/// What holds how many keys there are of a digit.
#[cube]
pub(crate) trait Count<C: Int>: CubePrimitive {
    /// The count at a place of a list of such.
    fn read(counts: &[Self], place: usize) -> C;
}

#[cube]
impl<C: Int> Count<C> for C {
    fn read(counts: &[C], place: usize) -> C {
        counts[place]
    }
}

/// Other cubes have added to it before.
#[cube]
impl<C: Int> Count<C> for Atomic<C> {
    fn read(counts: &[Atomic<C>], place: usize) -> C {
        counts[place].at::<Device>().load::<Relaxed>()
    }
}

/// Where the keys of each of this unit's digits begin in the sorted row, by how many there are of each.
#[cube]
pub(crate) fn begin_row<C: Int, A: Count<C>>(
    before: &mut Array<C>,
    counts: &[A],
    counts_of_row: usize,
    #[comptime] tile: Tile,
) {
    let own = comptime!(tile.digits_of_unit());
    let first = UNIT_POS as usize * own;
    #[unroll(comptime!(tile.unroll))]
    for each in 0..own {
        before[each] = C::new(0i64);
        if first + each < DIGITS {
            before[each] = A::read(counts, counts_of_row + first + each);
        }
    }
    let mut total = C::new(0i64);
    #[unroll(comptime!(tile.unroll))]
    for each in 0..own {
        let count = before[each];
        before[each] = total;
        total += count;
    }
    let begin = this_cube().exclusive_scan::<C, Sum>(total, C::new(0i64));
    #[unroll(comptime!(tile.unroll))]
    for each in 0..own {
        before[each] += begin;
    }
}

/// Writes the tile, sorted by the digit, in runs; and moves the payload the same way. `offsets` are where the tile's keys of
/// a digit go, less their places in the tile.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(crate) fn write<K: Int, V: Int, W: Int, C: Int>(
    keys_out: &mut [K],
    payload_in: &[V],
    payload_out: &mut [V],
    exchanged: &mut Shared<[W]>,
    offsets: &Shared<[C]>,
    ranks: &Array<u32>,
    row: Row,
    digit: Digit,
    seat: Seat,
    #[comptime] payload: Payload,
    #[comptime] orders: Orders,
    #[comptime] tile: Tile,
) {
    let items = comptime!(tile.items as usize);
    let mut values = Array::<W>::new(items);
    if comptime!(payload != Payload::None) {
        read_payload::<V, W>(&mut values, payload_in, row, seat, payload, tile);
    }
    let mut targets = Array::<C>::new(items);
    #[unroll(comptime!(tile.unroll))]
    for item in 0..items {
        let place = UNIT_POS + item as u32 * comptime!(tile.units);
        let key = exchanged[place as usize];
        let target = offsets[digit.of::<W>(key) as usize] + C::cast_from(place);
        targets[item] = target;
        if comptime!(orders.keeps_keys) {
            if place < row.valid {
                keys_out[row.begin + usize::cast_from(target)] =
                    K::cast_from(decode::<W>(key, comptime!(orders.writing)));
            }
        }
    }
    if comptime!(payload != Payload::None) {
        sync_cube();
        #[unroll(comptime!(tile.unroll))]
        for item in 0..items {
            exchanged[ranks[item] as usize] = values[item];
        }
        sync_cube();
        #[unroll(comptime!(tile.unroll))]
        for item in 0..items {
            let place = UNIT_POS + item as u32 * comptime!(tile.units);
            if place < row.valid {
                payload_out[row.begin + usize::cast_from(targets[item])] =
                    V::cast_from(exchanged[place as usize]);
            }
        }
    }
}

/// What goes with the unit's keys.
#[cube]
fn read_payload<V: Int, W: Int>(
    values: &mut Array<W>,
    payload: &[V],
    row: Row,
    seat: Seat,
    #[comptime] kind: Payload,
    #[comptime] tile: Tile,
) {
    #[unroll(comptime!(tile.unroll))]
    for item in 0..comptime!(tile.items as usize) {
        let place = seat.first + item as u32 * seat.step;
        if comptime!(kind == Payload::Place) {
            values[item] = W::cast_from(row.start - row.begin + place as usize);
        } else {
            let mut value = W::new(0i64);
            if place < row.valid {
                value = W::cast_from(payload[row.start + place as usize]);
            }
            values[item] = value;
        }
    }
}
