//! What goes with the keys of a sweep, and the way out of both.
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::order::{Order, decode};
use super::route;
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

/// Where the tiles of a pass go: addresses of both buffers, where buffers have addresses.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Target {
    /// That of the keys.
    pub keys: u64,
    /// That of what goes with them.
    pub payload: u64,
}

/// Writes the tile, sorted by the digit, in runs, and what goes with its keys. `offsets` are where in the buffers the tile's
/// keys of a digit go, less their places in the tile.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn scatter<K: Int, V: Int, W: Int, C: Int>(
    keys_out: &mut [K],
    payload_out: &mut [V],
    target: Target,
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
        #[unroll(comptime!(tile.unroll))]
        for item in 0..comptime!(tile.items as usize) {
            let place = UNIT_POS + item as u32 * comptime!(tile.units);
            scatter_key::<K, V, W, C>(
                keys_out,
                payload_out,
                target,
                sorted,
                carried,
                offsets,
                place,
                digit,
                writes_keys,
                moved,
                order,
                tile,
            );
        }
    } else {
        // A mask has no such bit, which no compiler can know: so that none takes several steps at once of what few tiles need.
        let step = comptime!(tile.units).runtime() | (digit.mask >> 31u32);
        let mut place = UNIT_POS;
        while place < row.valid {
            scatter_key::<K, V, W, C>(
                keys_out,
                payload_out,
                target,
                sorted,
                carried,
                offsets,
                place,
                digit,
                writes_keys,
                moved,
                order,
                tile,
            );
            place += step;
        }
    }
}

/// The same for what is at one place of the tile.
#[cube]
#[allow(clippy::too_many_arguments)]
fn scatter_key<K: Int, V: Int, W: Int, C: Int>(
    keys_out: &mut [K],
    payload_out: &mut [V],
    target: Target,
    sorted: &Shared<[W]>,
    carried: &Shared<[V]>,
    offsets: &Shared<[C]>,
    place: u32,
    digit: Digit,
    writes_keys: bool,
    #[comptime] moved: Moved,
    #[comptime] order: Option<Order>,
    #[comptime] tile: Tile,
) {
    let key = sorted[place as usize];
    let offset = offsets[digit.of::<W>(key) as usize] + C::cast_from(place);
    let at = usize::cast_from(offset);
    let out = K::cast_from(decode::<W>(key, order));
    if comptime!(moved == Moved::Places) {
        if writes_keys {
            route::put::<K>(keys_out, target.keys, at, out, tile);
        }
    } else {
        route::put::<K>(keys_out, target.keys, at, out, tile);
    }
    if comptime!(moved != Moved::Nothing) {
        route::put::<V>(
            payload_out,
            target.payload,
            at,
            carried[place as usize],
            tile,
        );
    }
}
