//! A tile of a row: elements next to each other in memory, scanned by one cube.
//!
//! A plane has a run of the tile, and in it every lane one vector of `width` elements after another: neighbours read next
//! to each other. A unit scans within each of its vectors, planes scan the vectors' totals by passing them from lane to
//! lane, and one barrier later every unit knows what the planes before its own have.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// A kernel has no such method.
#![allow(clippy::manual_is_multiple_of)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::heads::{Heads, heads};
use super::operator::{By, ScanOperator};
use super::place::{Cuts, Row};
use cubecl::prelude::*;
use girih::prelude::*;

/// What is known of a tile when its kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TilePlan {
    /// Elements of a vector.
    pub width: usize,
    /// Vectors of a unit, with at most 32 elements.
    pub vectors: usize,
    /// Units of a plane.
    pub lanes: usize,
    /// Planes of the cube.
    pub planes: usize,
    /// Whether memory is accessed in whole vectors, but for the end of a row.
    pub aligned: bool,
    /// Whether there is one row alone.
    pub single: bool,
    /// Whether an element's own value is left out of its result.
    pub exclusive: bool,
    /// What begins a segment.
    pub cuts: Cuts,
}

impl TilePlan {
    /// Elements of a unit.
    pub(crate) const fn items(&self) -> usize {
        self.width * self.vectors
    }

    /// The same for rows of that length: where none has a whole tile, no vector is accessed, and memory may be shorter than
    /// one, which WGSL does not bind as vectors.
    pub(crate) const fn of_rows(self, length: usize) -> Self {
        let has_whole_tiles = length >= self.tile();
        Self {
            aligned: self.aligned && has_whole_tiles,
            ..self
        }
    }

    /// Elements of a tile.
    pub(crate) const fn tile(&self) -> usize {
        self.items() * self.lanes * self.planes
    }

    /// Units of a cube.
    pub(crate) const fn units(&self) -> usize {
        self.lanes * self.planes
    }
}

/// One tile in a unit's registers: what the unit's vectors hold, each scanned by itself, and what is before them.
#[derive(CubeType)]
pub(crate) struct Scanned<A: Numeric> {
    /// The unit's elements, each combined with those before it in its vector.
    pub(super) items: Array<A>,
    /// Bit `i`: element `i` begins a segment.
    pub(super) heads: u32,
    /// What the plane has before each of the unit's vectors.
    pub(super) before: Array<A>,
    /// Bit `v`: a segment begins in the plane's run before the unit's vector `v`.
    pub(super) cuts: u32,
    /// What the planes before this one have, and whether a segment begins there.
    pub(super) lead: A,
    pub(super) lead_cut: bool,
    /// What the tile has since the last beginning of a segment.
    pub total: A,
    /// Whether a segment begins in the tile.
    pub is_cut: bool,
}

/// The position in its row of the first element of this unit's vector.
#[cube]
pub(crate) fn position(
    first: usize,
    #[comptime] vector: usize,
    #[comptime] plan: TilePlan,
) -> usize {
    let lanes = comptime!(plan.lanes as u32);
    let run = comptime!((plan.lanes * plan.vectors) as u32);
    let ahead = comptime!((plan.lanes * vector) as u32);
    let width = comptime!(plan.width as u32);
    let vectors = (UNIT_POS / lanes) * run + ahead + UNIT_POS % lanes;
    first + (vectors * width) as usize
}

/// `first` combined with `second`, which a segment that begins there keeps to itself.
#[cube]
pub(super) fn joined<A: Numeric, O: ScanOperator>(
    first: A,
    second: A,
    is_cut: bool,
    #[comptime] plan: TilePlan,
) -> A {
    let both = O::combine::<A>(first, second);
    if comptime!(plan.cuts.any()) {
        select(is_cut, second, both)
    } else {
        both
    }
}

/// The unit's elements of the tile that begins at `first`; past the end of the row the identity.
#[cube]
pub(crate) fn load<E: Numeric, A: Numeric, N: Size, O: ScanOperator>(
    vectors: &[Vector<E, N>],
    input: &[E],
    row: Row,
    first: usize,
    #[comptime] plan: TilePlan,
) -> Array<A> {
    let mut items = Array::<A>::new(comptime!(plan.items()));
    if comptime!(plan.aligned) {
        if first + comptime!(plan.tile()) <= row.length {
            load_whole::<E, A, N>(vectors, &mut items, row.input + first, plan);
        } else {
            load_part::<E, A, O>(input, &mut items, row, first, plan);
        }
    } else {
        load_part::<E, A, O>(input, &mut items, row, first, plan);
    }
    items
}

#[cube]
fn load_whole<E: Numeric, A: Numeric, N: Size>(
    vectors: &[Vector<E, N>],
    items: &mut Array<A>,
    start: usize,
    #[comptime] plan: TilePlan,
) {
    let width = comptime!(plan.width);
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        let packet = vectors[position(start, vector, plan) / width];
        #[unroll]
        for lane in 0..width {
            items[comptime!(vector * width + lane)] = A::cast_from(packet.extract(lane));
        }
    }
}

#[cube]
fn load_part<E: Numeric, A: Numeric, O: ScanOperator>(
    input: &[E],
    items: &mut Array<A>,
    row: Row,
    first: usize,
    #[comptime] plan: TilePlan,
) {
    let width = comptime!(plan.width);
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        let at = position(first, vector, plan);
        #[unroll]
        for lane in 0..width {
            let mut item = O::identity::<A>();
            if at + lane < row.length {
                item = A::cast_from(input[row.input + (at + lane) * row.input_step]);
            }
            items[comptime!(vector * width + lane)] = item;
        }
    }
}

/// Each element combined with those before it in its vector and segment.
#[cube]
fn scan_vectors<A: Numeric, O: ScanOperator>(
    items: &mut Array<A>,
    heads: u32,
    #[comptime] plan: TilePlan,
) {
    let width = comptime!(plan.width);
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        #[unroll]
        for lane in 1..width {
            let item = comptime!(vector * width + lane);
            let is_head = has_bits(heads, comptime!(1u32 << item));
            items[item] = joined::<A, O>(items[comptime!(item - 1)], items[item], is_head, plan);
        }
    }
}

/// Whether one of the bits of the mask is set.
#[cube]
pub(super) fn has_bits(bits: u32, #[comptime] mask: u32) -> bool {
    bits & mask != 0u32
}

/// What the lanes up to this one have together, and whether a segment begins there.
#[cube]
fn scan_lanes<A: Numeric, O: ScanOperator>(
    value: A,
    is_cut: bool,
    #[comptime] plan: TilePlan,
) -> (A, bool) {
    let plane = this_plane();
    let mut scanned = value;
    let mut cut = is_cut;
    if comptime!(plan.cuts.any()) {
        #[unroll]
        for power in 0..7u32 {
            let distance = comptime!(1u32 << power);
            if comptime!((distance as usize) < plan.lanes) {
                let (other, is_there) = plane.shuffle_up::<A>(scanned, distance);
                let (other_cut, _) = plane.shuffle_up::<u32>(u32::cast_from(cut), distance);
                let both = O::combine::<A>(other, scanned);
                scanned = select(is_there && !cut, both, scanned);
                cut = cut || (is_there && other_cut == 1u32);
            }
        }
    } else {
        scanned = plane.inclusive_scan::<A, By<O>>(value);
    }
    (scanned, cut)
}

/// What a plane has of a tile: its vectors one after another.
#[derive(CubeType)]
pub(super) struct PlaneRun<A: Numeric> {
    /// What the plane has before each of the unit's vectors.
    pub(super) before: Array<A>,
    /// Bit `v`: a segment begins in the plane's run before the unit's vector `v`.
    pub(super) cuts: u32,
    /// What the run has since the last beginning of a segment.
    pub(super) total: A,
    /// Whether a segment begins in the run.
    pub(super) is_cut: bool,
}

/// Scans the unit's vectors, each by itself, and tells what the plane has before them.
#[cube]
pub(super) fn scan_run<A: Numeric, O: ScanOperator>(
    items: &mut Array<A>,
    heads: u32,
    #[comptime] plan: TilePlan,
) -> PlaneRun<A> {
    let plane = this_plane();
    let width = comptime!(plan.width);
    let any = comptime!(plan.cuts.any());
    scan_vectors::<A, O>(items, heads, plan);
    let mut before = Array::<A>::new(comptime!(plan.vectors));
    let mut cuts = 0u32;
    let mut run = O::identity::<A>();
    let mut run_cut = false;
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        let last = comptime!(vector * width + width - 1);
        let mask = comptime!((u32::MAX >> (32 - width)) << (vector * width));
        let (scanned, cut) = scan_lanes::<A, O>(items[last], has_bits(heads, mask), plan);
        let (lower, is_there) = plane.shuffle_up::<A>(scanned, 1u32);
        let lower = select(is_there, lower, O::identity::<A>());
        let end = comptime!(plan.lanes as u32 - 1);
        let whole = plane.broadcast::<A>(scanned, end);
        if any {
            let (lower_cut, _) = plane.shuffle_up::<u32>(u32::cast_from(cut), 1u32);
            let lower_cut = is_there && lower_cut == 1u32;
            before[vector] = joined::<A, O>(run, lower, lower_cut, plan);
            cuts |= u32::cast_from(run_cut || lower_cut) << comptime!(vector as u32);
            let whole_cut = plane.broadcast::<u32>(u32::cast_from(cut), end) == 1u32;
            run = joined::<A, O>(run, whole, whole_cut, plan);
            run_cut = run_cut || whole_cut;
        } else {
            before[vector] = O::combine::<A>(run, lower);
            run = O::combine::<A>(run, whole);
        }
    }
    PlaneRun::<A> {
        before,
        cuts,
        total: run,
        is_cut: run_cut,
    }
}

/// Reads the tile that begins at `first` of its row and scans it, with one barrier of the cube.
#[cube]
pub(crate) fn scan_tile<E: Numeric, A: Numeric, F: Int, N: Size, O: ScanOperator>(
    vectors: &[Vector<E, N>],
    input: &[E],
    starts: &Heads<F>,
    row: Row,
    first: usize,
    #[comptime] plan: TilePlan,
) -> Scanned<A> {
    let any = comptime!(plan.cuts.any());
    let mut items = load::<E, A, N, O>(vectors, input, row, first, plan);
    let heads = heads::<F>(starts, row, first, plan);
    let plane_run = scan_run::<A, O>(&mut items, heads, plan);

    let planes = comptime!(plan.planes);
    let mut runs = shared::<A>(planes);
    let mut run_cuts = shared::<u32>(planes);
    let own = UNIT_POS / comptime!(plan.lanes as u32);
    if UNIT_POS % comptime!(plan.lanes as u32) == 0u32 {
        runs[own as usize] = plane_run.total;
        if any {
            run_cuts[own as usize] = u32::cast_from(plane_run.is_cut);
        }
    }
    sync_cube();
    let mut lead = O::identity::<A>();
    let mut lead_cut = false;
    let mut total = O::identity::<A>();
    let mut is_cut = false;
    #[unroll(comptime!(planes <= 8))]
    for index in 0..planes {
        let is_own = index as u32 == own;
        lead = select(is_own, total, lead);
        let value = runs[index];
        if any {
            let cut = run_cuts[index] == 1u32;
            lead_cut = (is_own && is_cut) || lead_cut;
            total = joined::<A, O>(total, value, cut, plan);
            is_cut = is_cut || cut;
        } else {
            total = O::combine::<A>(total, value);
        }
    }
    Scanned::<A> {
        items,
        heads,
        before: plane_run.before,
        cuts: plane_run.cuts,
        lead,
        lead_cut,
        total,
        is_cut,
    }
}
