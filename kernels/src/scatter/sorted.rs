//! Updates in the order of their places: those of one place, which then are neighbours, become one, in a fixed order and
//! without atomics.
//!
//! A run is [`RUN`] neighbours, done by one unit (for one packet of every slice) from the first to the last. A place whose updates are
//! all in one run is written there. What a run knows of a place that it shares with others is carried: two entries a run, one
//! for the place that it begins with and one for the place that it ends with. The entries are updates in the order of their
//! places again, sixteenth as many, and so on until one run is left.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// What a kernel decides at compile time stays apart from what it decides as it runs.
#![allow(clippy::collapsible_if, clippy::collapsible_else_if)]

use super::ScatterMode;
use super::combine::combine;
use super::place::{
    NOWHERE, destination, packet_offset, report, slice_step, unit_of_grid, units_of_grid,
};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// Updates that one unit combines one after another. Results depend on it, so that it is the same everywhere.
pub(crate) const RUN: usize = 32;
/// Updates that a unit has in flight.
const BATCH: usize = 8;

/// `keys[n]` is the slice that update `n` goes to, or `extent` if none.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn keys_kernel<I: Int>(
    index: &Tensor<I>,
    keys: &mut [u32],
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    count: usize,
    extent: usize,
    #[comptime] bounds: Bounds,
    #[define(I)] _type: ElemType,
) {
    let mut at = unit_of_grid();
    // The keys' buffer may be longer than the list.
    while at < count {
        let place = destination::<I>(index, at, extent, bounds);
        report(&record, place, at, bounds);
        keys[at] = place.min(extent as u32);
        at += units_of_grid();
    }
}

/// What a level of the reduction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level {
    /// How updates to one place become one.
    pub mode: ScatterMode,
    /// Whether it reads updates, each from where `order` says; else entries that runs of the level before have carried.
    pub is_first: bool,
    /// Whether slices of both tensors are rows.
    pub is_flat: bool,
}

/// Whether the updates at this position go on with a place of those before it.
#[cube]
fn goes_on(keys: &[u32], at: usize, extent: u32, #[comptime] is_first: bool) -> bool {
    // Above the first level an entry of the first kind is there only if its place began before.
    let mut goes_on = keys[at] < extent;
    if comptime!(is_first) {
        if at == 0 {
            goes_on = false;
        } else {
            goes_on = goes_on && keys[at - 1] == keys[at];
        }
    }
    goes_on
}

/// Combines the updates of each run. `keys` are the places in ascending order, of which those from `extent` on are none.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn reduce_kernel<E: Numeric, S: Numeric, A: Numeric, N: Size>(
    target: &mut Tensor<Vector<E, N>>,
    source: &Tensor<Vector<S, N>>,
    keys: &[u32],
    order: &[u32],
    carry: &mut [Vector<A, N>],
    carried: &mut [u32],
    count: usize,
    extent: u32,
    packets: usize,
    #[comptime] level: Level,
    #[define(E, S, A)] _types: [ElemType; 3],
) {
    let width = N::value();
    let runs = (count + comptime!(RUN - 1)) / RUN;
    let mut at = unit_of_grid();
    while at < runs * packets {
        let (run, packet) = (at / packets, at % packets);
        let into = packet_offset::<Vector<E, N>>(&*target, packet, width, comptime!(level.is_flat));
        let from = packet_offset::<Vector<S, N>>(source, packet, width, comptime!(level.is_flat));
        let into_step = slice_step::<Vector<E, N>>(&*target, width);
        let from_step = slice_step::<Vector<S, N>>(source, width);
        let begin = run * RUN;
        let end = (begin + RUN).min(count);
        let is_continued = goes_on(keys, begin, extent, comptime!(level.is_first));
        let mut continues = false;
        if end < count {
            continues = goes_on(keys, end, extent, comptime!(level.is_first));
        }
        let mut is_head = is_continued;
        let mut key = NOWHERE.runtime();
        let mut sum = Vector::<A, N>::new(A::from_int(0));
        for batch in 0..comptime!(RUN / BATCH) {
            let mut places = Array::<u32>::new(BATCH);
            let mut rows = Array::<usize>::new(BATCH);
            #[unroll]
            for item in 0..BATCH {
                let position = begin + batch * BATCH + item;
                let inside = position < end;
                let position = select(inside, position, begin);
                places[item] = select(inside, keys[position], NOWHERE);
                rows[item] = position;
                if comptime!(level.is_first) {
                    rows[item] = order[position] as usize;
                }
            }
            let mut values = Array::<Vector<S, N>>::new(BATCH);
            #[unroll]
            for item in 0..BATCH {
                values[item] = Vector::<S, N>::new(S::from_int(0));
                if places[item] < extent {
                    values[item] = source[from + rows[item] * from_step];
                }
            }
            #[unroll]
            for item in 0..BATCH {
                let next = places[item];
                if next < extent {
                    let value = Vector::<A, N>::cast_from(values[item]);
                    if next == key {
                        sum = combine::<A, N>(sum, value, comptime!(level.mode));
                    } else {
                        if key < extent {
                            if is_head {
                                carry[2 * run * packets + packet] = sum;
                                is_head = false;
                            } else {
                                let place = into + key as usize * into_step;
                                meet::<E, A, N>(target, place, sum, comptime!(level.mode));
                            }
                        }
                        key = next;
                        sum = value;
                    }
                }
            }
        }
        if key < extent {
            if is_head {
                carry[2 * run * packets + packet] = sum;
            } else if continues {
                carry[(2 * run + 1) * packets + packet] = sum;
            } else {
                let place = into + key as usize * into_step;
                meet::<E, A, N>(target, place, sum, comptime!(level.mode));
            }
        }
        if packet == 0 {
            carried[2 * run] = select(is_continued, keys[begin], NOWHERE);
            carried[2 * run + 1] = select(continues && !is_head, key, NOWHERE);
        }
        at += units_of_grid();
    }
}

/// Combines what memory holds with all updates that go there.
#[cube]
fn meet<E: Numeric, A: Numeric, N: Size>(
    target: &mut Tensor<Vector<E, N>>,
    at: usize,
    sum: Vector<A, N>,
    #[comptime] mode: ScatterMode,
) {
    let held = Vector::<A, N>::cast_from(target[at]);
    target[at] = Vector::<E, N>::cast_from(combine::<A, N>(held, sum, mode));
}

/// Writes the first update to each place, or the last. One unit a packet.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn pick_kernel<E: Numeric, N: Size>(
    target: &mut Tensor<Vector<E, N>>,
    updates: &Tensor<Vector<E, N>>,
    keys: &[u32],
    order: &[u32],
    count: usize,
    extent: u32,
    packets: usize,
    #[comptime] last: bool,
    #[comptime] is_flat: bool,
    #[define(E)] _element: ElemType,
) {
    let width = N::value();
    let mut at = unit_of_grid();
    while at < count * packets {
        let (position, packet) = (at / packets, at % packets);
        let key = keys[position];
        // Another update to the same place would be the neighbour.
        let mut wins = key < extent;
        if comptime!(last) {
            if position + 1 < count {
                wins = wins && keys[position + 1] != key;
            }
        } else {
            if position > 0 {
                wins = wins && keys[position - 1] != key;
            }
        }
        if wins {
            let into = packet_offset::<Vector<E, N>>(&*target, packet, width, is_flat);
            let from = packet_offset::<Vector<E, N>>(updates, packet, width, is_flat);
            let into = into + key as usize * slice_step::<Vector<E, N>>(&*target, width);
            let row = order[position] as usize;
            target[into] = updates[from + row * slice_step::<Vector<E, N>>(updates, width)];
        }
        at += units_of_grid();
    }
}
