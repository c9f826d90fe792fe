//! The way of a tile between buffers and shared memory. Of a whole tile all loads are on their way before the first has come.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]

use super::tile::MergeTile;
use cubecl::prelude::*;

/// Where in a buffer the elements of a tile are: the first ones after each other, and the others.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Source {
    /// How many the first ones are.
    pub first: usize,
    /// Where the first of them is.
    pub start_first: usize,
    /// Where the others are, less the place in the tile of each.
    pub start_second: usize,
}

#[cube]
impl Source {
    /// Where the element at a place of the tile is.
    pub fn of(&self, place: usize) -> usize {
        select(place < self.first, self.start_first, self.start_second) + place
    }
}

/// Loads a tile of which the first `valid` places have elements.
#[cube]
pub(super) fn load<E: Numeric>(
    held: &mut Shared<[E]>,
    input: &[E],
    source: Source,
    valid: usize,
    #[comptime] tile: MergeTile,
) {
    let items = comptime!(tile.items as usize);
    let units = comptime!(tile.units as usize);
    if valid == comptime!(tile.len()) {
        let mut values = Array::<E>::new(items);
        #[unroll(comptime!(tile.unroll))]
        for item in 0..items {
            values[item] = input[source.of(UNIT_POS as usize + item * units)];
        }
        #[unroll(comptime!(tile.unroll))]
        for item in 0..items {
            held[UNIT_POS as usize + item * units] = values[item];
        }
    } else {
        let mut at = UNIT_POS as usize;
        while at < valid {
            held[at] = input[source.of(at)];
            at += units;
        }
    }
}

/// Writes a tile to a buffer from `start` on.
#[cube]
pub(super) fn store<E: Numeric>(
    held: &Shared<[E]>,
    out: &mut [E],
    start: usize,
    valid: usize,
    #[comptime] tile: MergeTile,
) {
    let units = comptime!(tile.units as usize);
    if valid == comptime!(tile.len()) {
        #[unroll(comptime!(tile.unroll))]
        for item in 0..comptime!(tile.items as usize) {
            let at = UNIT_POS as usize + item * units;
            out[start + at] = held[at];
        }
    } else {
        let mut at = UNIT_POS as usize;
        while at < valid {
            out[start + at] = held[at];
            at += units;
        }
    }
}

/// Moves what goes with a tile's elements; `places` says where in the tile each was.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn move_payload<V: Int>(
    places: &Shared<[u32]>,
    input: &[V],
    out: &mut [V],
    source: Source,
    start: usize,
    valid: usize,
    #[comptime] tile: MergeTile,
) {
    let items = comptime!(tile.items as usize);
    let units = comptime!(tile.units as usize);
    if valid == comptime!(tile.len()) {
        let mut values = Array::<V>::new(items);
        #[unroll(comptime!(tile.unroll))]
        for item in 0..items {
            let place = places[UNIT_POS as usize + item * units] as usize;
            values[item] = input[source.of(place)];
        }
        #[unroll(comptime!(tile.unroll))]
        for item in 0..items {
            out[start + UNIT_POS as usize + item * units] = values[item];
        }
    } else {
        let mut at = UNIT_POS as usize;
        while at < valid {
            out[start + at] = input[source.of(places[at] as usize)];
            at += units;
        }
    }
}
