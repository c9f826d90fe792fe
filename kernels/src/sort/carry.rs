//! What goes with the keys of a sweep, and the way out of both.
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::order::{Order, decode};
use super::tile::{Digit, Seat, Tile};
use super::write::Row;
use cubecl::prelude::*;

/// What goes with the keys of a sort by sweeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moved {
    /// Nothing.
    Nothing,
    /// An element for each key.
    Payload,
    /// Each key's place in its row, which the first pass makes.
    Places,
}

/// What goes with the unit's keys.
#[cube]
pub(crate) fn load<V: Int>(
    values: &mut Array<V>,
    payload: &[V],
    row: Row,
    seat: Seat,
    #[comptime] tile: Tile,
) {
    let items = comptime!(tile.items as usize);
    let plane = comptime!(tile.plane as usize);
    if row.valid == comptime!(tile.len() as u32) {
        let first = row.start + seat.first as usize;
        let own = &payload[first..first + comptime!(items * plane)];
        #[unroll(comptime!(tile.unroll))]
        for item in 0..items {
            values[item] = own[item * plane];
        }
    } else {
        #[unroll(comptime!(tile.unroll))]
        for item in 0..items {
            let place = seat.first as usize + item * plane;
            let mut value = V::new(0i64);
            if place < row.valid as usize {
                value = payload[row.start + place];
            }
            values[item] = value;
        }
    }
}

/// The places of the unit's keys in their row.
#[cube]
pub(crate) fn make_places<V: Int>(
    values: &mut Array<V>,
    row: Row,
    seat: Seat,
    #[comptime] tile: Tile,
) {
    let first = row.start - row.begin + seat.first as usize;
    #[unroll(comptime!(tile.unroll))]
    for item in 0..comptime!(tile.items as usize) {
        values[item] = V::cast_from(first + item * comptime!(tile.plane as usize));
    }
}

/// Writes the tile, sorted by the digit, in runs, and what goes with its keys. `offsets` are where in the buffers the tile's
/// keys of a digit go, less their places in the tile.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(crate) fn scatter<K: Int, V: Int, W: Int, C: Int>(
    keys_out: &mut [K],
    payload_out: &mut [V],
    sorted: &Shared<[W]>,
    carried: &Shared<[V]>,
    offsets: &Shared<[C]>,
    row: Row,
    digit: Digit,
    writes_keys: bool,
    #[comptime] moved: Moved,
    #[comptime] order: Option<Order>,
    #[comptime] tile: Tile,
) {
    if row.valid == comptime!(tile.len() as u32) {
        scatter_part::<K, V, W, C>(
            keys_out,
            payload_out,
            sorted,
            carried,
            offsets,
            row,
            digit,
            writes_keys,
            moved,
            order,
            true,
            tile,
        );
    } else {
        scatter_part::<K, V, W, C>(
            keys_out,
            payload_out,
            sorted,
            carried,
            offsets,
            row,
            digit,
            writes_keys,
            moved,
            order,
            false,
            tile,
        );
    }
}

/// The same of a tile that `is_full` or not.
#[cube]
#[allow(clippy::too_many_arguments)]
fn scatter_part<K: Int, V: Int, W: Int, C: Int>(
    keys_out: &mut [K],
    payload_out: &mut [V],
    sorted: &Shared<[W]>,
    carried: &Shared<[V]>,
    offsets: &Shared<[C]>,
    row: Row,
    digit: Digit,
    writes_keys: bool,
    #[comptime] moved: Moved,
    #[comptime] order: Option<Order>,
    #[comptime] is_full: bool,
    #[comptime] tile: Tile,
) {
    #[unroll(comptime!(tile.unroll))]
    for item in 0..comptime!(tile.items as usize) {
        let place = UNIT_POS + item as u32 * comptime!(tile.units);
        let key = sorted[place as usize];
        let target = offsets[digit.of::<W>(key) as usize] + C::cast_from(place);
        let at = usize::cast_from(target);
        if is_full || place < row.valid {
            if comptime!(moved == Moved::Places) {
                if writes_keys {
                    keys_out[at] = K::cast_from(decode::<W>(key, order));
                }
            } else {
                keys_out[at] = K::cast_from(decode::<W>(key, order));
            }
            if comptime!(moved != Moved::Nothing) {
                payload_out[at] = carried[place as usize];
            }
        }
    }
}
