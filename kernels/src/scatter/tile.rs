//! Updates combined within a tile before they meet what memory holds: each cube takes some hundred updates, and finds out as it
//! goes whether many of them have a place in common.
//!
//! Where they have not, each goes to its place by an atomic. Where they have, the cube sorts its updates by place in shared
//! memory, and combines those of one place before a single atomic: of a tile whose updates all go to one place, one is left.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]
// What a kernel decides at compile time stays apart from what it decides as it runs.
#![allow(clippy::collapsible_if, clippy::collapsible_else_if)]

use super::ScatterMode;
use super::combine::combine;
use super::place::{NOWHERE, destination, packet_offset, report, slice_step};
use super::strike::strike;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// Updates that a unit has in flight.
pub(crate) const BATCH: usize = 4;
/// A tile is sorted from one repeated place in so many updates on. Fewer cost less than the sort, wherever they go.
const RARE: u32 = 32;

/// A cube's tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TilePlan {
    /// How updates to one place become one.
    pub mode: ScatterMode,
    /// What an index out of range does.
    pub bounds: Bounds,
    /// Whether slices of both tensors are rows.
    pub is_flat: bool,
    /// Units of the cube.
    pub units: u32,
    /// Updates that a team goes through: a multiple of four.
    pub run: usize,
    /// Room for the tile's updates: a power of two.
    pub room: usize,
}

impl TilePlan {
    /// Places of the table in which updates look for others to their place.
    fn slots(&self) -> usize {
        2 * self.room
    }
}

/// How a cube's units share its tile: `teams` teams of `lanes` units, of which each does one packet of every slice.
#[derive(CubeType, Clone, Copy)]
struct Seat {
    team: usize,
    lane: usize,
    /// Whether the unit has a packet.
    works: bool,
}

/// Combines the target with updates. `column_tiles` cubes share the packets of a slice.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn tile_kernel<E: Numeric, A: Numeric, I: Int, W: Size, N: Size>(
    target: &Tensor<Atomic<Vector<E, W>>>,
    index: &Tensor<I>,
    updates: &Tensor<Vector<E, N>>,
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    extent: usize,
    count: usize,
    packets: usize,
    lanes: usize,
    teams: usize,
    column_tiles: usize,
    #[comptime] plan: TilePlan,
    #[define(E, A, I)] _types: [ElemType; 3],
) {
    let width = N::value();
    let is_flat = comptime!(plan.is_flat);
    let (column, tile) = (CUBE_POS % column_tiles, CUBE_POS / column_tiles);
    let rows = teams * plan.run;
    let first = tile * rows;
    let mut places = shared::<u32>(plan.room);
    let mut order = shared::<u32>(plan.room);
    let slots = shared::<Atomic<u32>>(comptime!(plan.slots()));
    let repeats = shared::<Atomic<u32>>(1usize);
    let mut heads = shared::<Vector<A, N>>(comptime!(plan.units as usize));
    if UNIT_POS == 0 {
        repeats[0].at::<Cube>().store::<Relaxed>(0u32);
    }
    let mut at = UNIT_POS as usize;
    while at < plan.room {
        let mut place = NOWHERE.runtime();
        if at < rows && first + at < count {
            place = destination::<I>(index, first + at, extent, comptime!(plan.bounds));
            report(&record, place, first + at, comptime!(plan.bounds));
        }
        places[at] = place;
        order[at] = at as u32;
        // Any of the updates to a place stays in the table.
        slots[slot(place, plan)]
            .at::<Cube>()
            .store::<Relaxed>(at as u32);
        at += comptime!(plan.units as usize);
    }
    sync_cube();
    let mut repeated = 0u32;
    let mut at = UNIT_POS as usize;
    while at < plan.room {
        let place = places[at];
        let other = slots[slot(place, plan)].at::<Cube>().load::<Relaxed>() as usize;
        if place != NOWHERE && other != at && places[other] == place {
            repeated += 1u32;
        }
        at += comptime!(plan.units as usize);
    }
    if repeated > 0 {
        repeats[0].at::<Cube>().fetch_add::<Relaxed>(repeated);
    }
    sync_cube();
    let is_skewed = repeats[0].at::<Cube>().load::<Relaxed>() * RARE >= rows as u32;
    let (team, lane) = (UNIT_POS as usize / lanes, UNIT_POS as usize % lanes);
    let packet = column * lanes + lane;
    let seat = Seat {
        team,
        lane,
        works: team < teams && packet < packets,
    };
    let into = packet_offset::<Atomic<Vector<E, W>>>(target, packet, width, is_flat);
    let from = packet_offset::<Vector<E, N>>(updates, packet, width, is_flat);
    let into_step = slice_step::<Atomic<Vector<E, W>>>(target, width);
    let from_step = slice_step::<Vector<E, N>>(updates, width);
    let from = from + first * from_step;
    if is_skewed {
        sort(&mut places, &mut order, plan);
        let mut key = NOWHERE.runtime();
        let mut sum = Vector::<A, N>::new(A::from_int(0));
        let mut goes_on = false;
        if seat.works {
            let begin = seat.team * plan.run;
            let end = begin + plan.run;
            let mut is_head = false;
            if begin > 0 {
                is_head = places[begin] != NOWHERE && places[begin - 1] == places[begin];
            }
            for batch in 0..comptime!(plan.run / BATCH) {
                let mut nexts = Array::<u32>::new(BATCH);
                let mut values = Array::<Vector<E, N>>::new(BATCH);
                #[unroll]
                for item in 0..BATCH {
                    let position = begin + batch * BATCH + item;
                    nexts[item] = places[position];
                    values[item] = Vector::<E, N>::new(E::from_int(0));
                    if nexts[item] != NOWHERE {
                        values[item] = updates[from + order[position] as usize * from_step];
                    }
                }
                #[unroll]
                for item in 0..BATCH {
                    let next = nexts[item];
                    if next != NOWHERE {
                        let value = Vector::<A, N>::cast_from(values[item]);
                        if next == key {
                            sum = combine::<A, N>(sum, value, comptime!(plan.mode));
                        } else {
                            if key != NOWHERE {
                                if is_head {
                                    heads[UNIT_POS as usize] = sum;
                                    is_head = false;
                                } else {
                                    let to = into + key as usize * into_step;
                                    let sum = Vector::<E, N>::cast_from(sum);
                                    strike::<E, W, N>(target, to, sum, comptime!(plan.mode));
                                }
                            }
                            key = next;
                            sum = value;
                        }
                    }
                }
            }
            if is_head && key != NOWHERE {
                heads[UNIT_POS as usize] = sum;
                key = NOWHERE.runtime();
            }
            if key != NOWHERE && seat.team + 1 < teams {
                goes_on = places[end] == key;
            }
        }
        sync_cube();
        if key != NOWHERE {
            // What the next teams have of the place, the last of which another place follows.
            let mut team = seat.team;
            while goes_on {
                team += 1;
                let head = heads[team * lanes + seat.lane];
                sum = combine::<A, N>(sum, head, comptime!(plan.mode));
                goes_on = false;
                if team + 1 < teams {
                    goes_on = places[(team + 1) * plan.run] == key;
                }
            }
            let to = into + key as usize * into_step;
            let sum = Vector::<E, N>::cast_from(sum);
            strike::<E, W, N>(target, to, sum, comptime!(plan.mode));
        }
    } else if seat.works {
        // Neighbouring teams have neighbouring updates.
        for batch in 0..comptime!(plan.run / BATCH) {
            let mut nexts = Array::<u32>::new(BATCH);
            let mut values = Array::<Vector<E, N>>::new(BATCH);
            #[unroll]
            for item in 0..BATCH {
                let row = (batch * BATCH + item) * teams + seat.team;
                nexts[item] = places[row];
                values[item] = Vector::<E, N>::new(E::from_int(0));
                if nexts[item] != NOWHERE {
                    values[item] = updates[from + row * from_step];
                }
            }
            #[unroll]
            for item in 0..BATCH {
                if nexts[item] != NOWHERE {
                    let to = into + nexts[item] as usize * into_step;
                    strike::<E, W, N>(target, to, values[item], comptime!(plan.mode));
                }
            }
        }
    }
}

/// Where a place is looked for in the table.
#[cube]
fn slot(place: u32, #[comptime] plan: TilePlan) -> usize {
    let shift = comptime!(32 - plan.slots().ilog2());
    ((place * 0x9e37_79b1u32) >> shift) as usize
}

/// Sorts the tile by place: a bitonic sort, whose last step every unit sees.
#[cube]
fn sort(places: &mut [u32], order: &mut [u32], #[comptime] plan: TilePlan) {
    let mut size = 2usize;
    while size <= plan.room {
        let mut step = size / 2;
        while step > 0 {
            let mut pair = UNIT_POS as usize;
            while pair < comptime!(plan.room / 2) {
                let low = 2 * pair - (pair & (step - 1));
                let high = low + step;
                let (a, b) = (places[low], places[high]);
                let ascends = (low & size) == 0;
                if select(ascends, a > b, a < b) {
                    let (x, y) = (order[low], order[high]);
                    places[low] = b;
                    places[high] = a;
                    order[low] = y;
                    order[high] = x;
                }
                pair += comptime!(plan.units as usize);
            }
            sync_cube();
            step /= 2;
        }
        size *= 2;
    }
}
