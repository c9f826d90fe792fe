//! A tile of a list, of which some elements are kept: which, at what rank, and where they go.
//!
//! Elements lie in units as in a scan's tile. What is kept is put together in shared memory first, so that neighbours write
//! next to each other.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// A kernel has no such method.
#![allow(clippy::manual_is_multiple_of)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]
// On every target a NaN is not equal to itself; whether it is unequal is not certain.
#![allow(clippy::nonminimal_bool)]

use super::Predicate;
use crate::scan::{Row, Sum, TilePlan, load, position};
use cubecl::prelude::*;
use girih::coop;
use girih::prelude::*;

/// What keeps an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keep {
    /// A mask that is not 0 there.
    Mask,
    /// A predicate of it.
    Predicate,
    /// That the element before it is another, or that there is none.
    Change,
}

/// What is known of a compaction when its kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompactPlan {
    /// What keeps an element.
    pub keep: Keep,
    /// Whether kept elements are written.
    pub values: bool,
    /// Whether elements that are not kept are written.
    pub rejected: bool,
    /// Axes of the coordinates of kept elements that are written; none where it is 0.
    pub places: usize,
    /// Whether the rank of the last element kept so far is written for every element.
    pub inverse: bool,
}

/// A tile's elements in a unit's registers, and what is kept of them.
#[derive(CubeType)]
pub(crate) struct Ranked<E: Numeric> {
    items: Array<E>,
    /// Bit `i`: element `i` is kept.
    kept: u32,
    /// How many the plane keeps before each of the unit's vectors.
    before: Array<u32>,
    /// How many the planes before this one keep.
    lead: u32,
    /// How many the tile keeps.
    pub total: u32,
}

/// One list, from its first element on.
#[cube]
pub(crate) fn list_of(length: usize) -> Row {
    Row {
        length,
        input: 0usize,
        output: 0usize,
        flags: 0usize,
        input_step: 1usize,
        output_step: 1usize,
        flags_step: 1usize,
    }
}

/// Reads the tile that begins at `first`, and ranks what is kept of it, with one barrier of the cube.
#[cube]
pub(crate) fn rank_tile<E: Numeric, M: Int, N: Size, P: Predicate>(
    vectors: &[Vector<E, N>],
    input: &[E],
    mask_vectors: &[Vector<M, N>],
    mask: &[M],
    first: usize,
    length: usize,
    #[comptime] plan: TilePlan,
    #[comptime] compact: CompactPlan,
) -> Ranked<E> {
    let row = list_of(length);
    let needs_items = comptime!(
        compact.keep != Keep::Mask || compact.rejected || (compact.values && compact.places == 0)
    );
    let items = if needs_items {
        load::<E, E, N, Sum>(vectors, input, row, first, plan)
    } else {
        Array::<E>::new(1usize)
    };
    let mut kept = 0u32;
    if comptime!(compact.keep == Keep::Mask) {
        let marks = load::<M, M, N, Sum>(mask_vectors, mask, row, first, plan);
        #[unroll]
        for item in 0..comptime!(plan.items()) {
            let is_kept = marks[item] != M::from_int(0);
            kept |= u32::cast_from(is_kept) << comptime!(item as u32);
        }
    } else {
        kept = kept_of_items::<E, P>(&items, input, first, length, plan, compact);
    }
    let (before, run) = rank_vectors(kept, plan);
    let (lead, total) = rank_planes(run, plan);
    Ranked::<E> {
        items,
        kept,
        before,
        lead,
        total,
    }
}

#[cube]
fn kept_of_items<E: Numeric, P: Predicate>(
    items: &Array<E>,
    input: &[E],
    first: usize,
    length: usize,
    #[comptime] plan: TilePlan,
    #[comptime] compact: CompactPlan,
) -> u32 {
    let width = comptime!(plan.width);
    let mut kept = 0u32;
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        let at = position(first, vector, plan);
        #[unroll]
        for lane in 0..width {
            let item = comptime!(vector * width + lane);
            let is_kept = if comptime!(compact.keep == Keep::Predicate) {
                P::holds::<E>(items[item])
            } else if comptime!(lane > 0) {
                !(items[item] == items[comptime!(item - 1)])
            } else {
                differs_from_before::<E>(items[item], input, at, length)
            };
            let is_kept = is_kept && at + lane < length;
            kept |= u32::cast_from(is_kept) << comptime!(item as u32);
        }
    }
    kept
}

/// Whether a value at a position is another than the one before, or the first.
#[cube]
fn differs_from_before<E: Numeric>(value: E, input: &[E], at: usize, length: usize) -> bool {
    let mut differs = at == 0;
    if at > 0 && at < length {
        differs = !(value == input[at - 1]);
    }
    differs
}

/// How many the plane keeps before each of the unit's vectors, and in all.
#[cube]
fn rank_vectors(kept: u32, #[comptime] plan: TilePlan) -> (Array<u32>, u32) {
    let plane = this_plane();
    let width = comptime!(plan.width);
    let mut before = Array::<u32>::new(comptime!(plan.vectors));
    let mut run = 0u32;
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        let mask = comptime!((u32::MAX >> (32 - width)) << (vector * width));
        let count = (kept & mask).count_ones();
        let scanned = plane.inclusive_scan::<u32, coop::Sum>(count);
        before[vector] = run + scanned - count;
        run += plane.broadcast::<u32>(scanned, comptime!(plan.lanes as u32 - 1));
    }
    (before, run)
}

/// How many the planes before this one keep, and all of the cube.
#[cube]
fn rank_planes(run: u32, #[comptime] plan: TilePlan) -> (u32, u32) {
    let planes = comptime!(plan.planes);
    let lanes = comptime!(plan.lanes as u32);
    let mut runs = shared::<u32>(planes);
    let own = UNIT_POS / lanes;
    if UNIT_POS % lanes == 0u32 {
        runs[own as usize] = run;
    }
    sync_cube();
    let mut lead = 0u32;
    let mut total = 0u32;
    #[unroll(comptime!(planes <= 8))]
    for index in 0..planes {
        lead = select(index as u32 == own, total, lead);
        total += runs[index];
    }
    (lead, total)
}

/// The rank in the tile of the next element that is kept, from the unit's element `item` of its vector `vector` on.
#[cube]
fn rank_of<E: Numeric>(
    ranked: &Ranked<E>,
    #[comptime] vector: usize,
    #[comptime] lane: usize,
    #[comptime] plan: TilePlan,
) -> u32 {
    let width = comptime!(plan.width);
    let mask = comptime!(((1u32 << lane) - 1) << (vector * width));
    ranked.lead + ranked.before[vector] + (ranked.kept & mask).count_ones()
}

/// Writes what is kept of the tile that begins at `first`, before which `base` elements are kept.
#[cube]
pub(crate) fn write_tile<E: Numeric, I: Int>(
    ranked: &Ranked<E>,
    input: &[E],
    values: &mut [E],
    rejected: &mut [E],
    places: &mut [I],
    inverse: &mut [I],
    order: &ComptimeOption<Box<[I]>>,
    extents: &Sequence<usize>,
    base: usize,
    first: usize,
    length: usize,
    #[comptime] plan: TilePlan,
    #[comptime] compact: CompactPlan,
) {
    if comptime!(compact.inverse) {
        write_inverse::<E, I>(ranked, inverse, order, base, first, length, plan);
    }
    let total = ranked.total as usize;
    let units = comptime!(plan.units());
    if comptime!(compact.places > 0) {
        let mut staged = shared::<u32>(comptime!(plan.tile()));
        stage_places::<E>(ranked, &mut staged, plan);
        sync_cube();
        let mut at = UNIT_POS as usize;
        while at < total {
            let place = first + staged[at] as usize;
            if comptime!(compact.values) {
                values[base + at] = input[place];
            }
            write_place::<I>(places, extents, base + at, place, compact.places);
            at += units;
        }
    } else if comptime!(compact.values) {
        let mut staged = shared::<E>(comptime!(plan.tile()));
        stage_values::<E>(ranked, &mut staged, first, length, plan, compact);
        sync_cube();
        let mut at = UNIT_POS as usize;
        while at < total {
            values[base + at] = staged[at];
            at += units;
        }
        if comptime!(compact.rejected) {
            let mut end = comptime!(plan.tile()).runtime();
            if first + end > length {
                end = length - first;
            }
            while at < end {
                // As many are rejected before the tile as are not kept there.
                rejected[first - base + (at - total)] = staged[at];
                at += units;
            }
        }
    }
}

/// Each kept element's place in the tile, by its rank.
#[cube]
fn stage_places<E: Numeric>(ranked: &Ranked<E>, staged: &mut [u32], #[comptime] plan: TilePlan) {
    let width = comptime!(plan.width);
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        let at = position(0usize, vector, plan) as u32;
        #[unroll]
        for lane in 0..width {
            let bit = comptime!(1u32 << (vector * width + lane));
            if ranked.kept & bit != 0u32 {
                let rank = rank_of::<E>(ranked, vector, lane, plan);
                staged[rank as usize] = at + comptime!(lane as u32);
            }
        }
    }
}

/// Each kept element by its rank, and after them those that are not kept.
#[cube]
fn stage_values<E: Numeric>(
    ranked: &Ranked<E>,
    staged: &mut [E],
    first: usize,
    length: usize,
    #[comptime] plan: TilePlan,
    #[comptime] compact: CompactPlan,
) {
    let width = comptime!(plan.width);
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        let at = position(0usize, vector, plan) as u32;
        #[unroll]
        for lane in 0..width {
            let item = comptime!(vector * width + lane);
            let rank = rank_of::<E>(ranked, vector, lane, plan);
            if ranked.kept & comptime!(1u32 << item) != 0u32 {
                staged[rank as usize] = ranked.items[item];
            } else if comptime!(compact.rejected) {
                let place = at + comptime!(lane as u32);
                if first + (place as usize) < length {
                    staged[(ranked.total + place - rank) as usize] = ranked.items[item];
                }
            }
        }
    }
}

/// For every element the rank of the last one kept so far.
#[cube]
fn write_inverse<E: Numeric, I: Int>(
    ranked: &Ranked<E>,
    inverse: &mut [I],
    order: &ComptimeOption<Box<[I]>>,
    base: usize,
    first: usize,
    length: usize,
    #[comptime] plan: TilePlan,
) {
    let width = comptime!(plan.width);
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        let at = position(first, vector, plan);
        #[unroll]
        for lane in 0..width {
            if at + lane < length {
                let rank = rank_of::<E>(ranked, vector, comptime!(lane + 1), plan);
                let place = place_of::<I>(order, at + lane);
                inverse[place] = I::cast_from(base + rank as usize - 1);
            }
        }
    }
}

/// Where the element at a position of the list was before it was put in order, if it was.
#[cube]
pub(crate) fn place_of<I: Int>(order: &ComptimeOption<Box<[I]>>, position: usize) -> usize {
    let mut place = position;
    #[comptime]
    match order {
        ComptimeOption::Some(order) => {
            place = usize::cast_from(order[position]);
        }
        ComptimeOption::None => {}
    }
    place
}

/// The coordinates of a place, one after another, the last axis' last.
#[cube]
pub(crate) fn write_place<I: Int>(
    places: &mut [I],
    extents: &Sequence<usize>,
    rank: usize,
    place: usize,
    #[comptime] axes: usize,
) {
    let mut rest = place;
    #[unroll]
    for step in 0..axes {
        let axis = comptime!(axes - 1 - step);
        let mut index = rest;
        if comptime!(axis > 0) {
            index = rest % extents[axis];
            rest /= extents[axis];
        }
        places[rank * axes + axis] = I::cast_from(index);
    }
}
