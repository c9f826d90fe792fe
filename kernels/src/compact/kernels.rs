//! The kernels of compactions.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// One of the two is expanded, with a branch or without.
#![allow(clippy::if_same_then_else)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::Predicate;
use super::runs::{count_run, write_run};
use super::tile::{CompactPlan, rank_tile, write_tile};
use crate::scan::{Sum, TilePlan, prefix_of};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::memory::blocks::Ordered;

/// Compacts in one pass: a cube learns how many the cubes before it keep by look-back.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn compact_look_back_kernel<E: Numeric, M: Int, I: Int, A: Int, N: Size, P: Predicate>(
    vectors: &[Vector<E, N>],
    input: &[E],
    mask_vectors: &[Vector<M, N>],
    mask: &[M],
    values: &mut [E],
    rejected: &mut [E],
    places: &mut [I],
    inverse: &mut [I],
    order: ComptimeOption<Box<[I]>>,
    count: &mut [A],
    states: &[Atomic<u64>],
    extents: Sequence<usize>,
    length: usize,
    launch: u32,
    tiles: usize,
    #[comptime] plan: TilePlan,
    #[comptime] compact: CompactPlan,
    #[comptime] is_exact: bool,
    #[define(E, M, I, A)] _types: [ElemType; 4],
) {
    if is_exact {
        compact_next::<E, M, I, A, N, P>(
            vectors,
            input,
            mask_vectors,
            mask,
            values,
            rejected,
            places,
            inverse,
            &order,
            count,
            states,
            &extents,
            length,
            launch,
            tiles,
            plan,
            compact,
        );
    } else if CUBE_POS < tiles {
        compact_next::<E, M, I, A, N, P>(
            vectors,
            input,
            mask_vectors,
            mask,
            values,
            rejected,
            places,
            inverse,
            &order,
            count,
            states,
            &extents,
            length,
            launch,
            tiles,
            plan,
            compact,
        );
    }
}

/// Compacts this cube's tile after those before it.
#[cube]
fn compact_next<E: Numeric, M: Int, I: Int, A: Int, N: Size, P: Predicate>(
    vectors: &[Vector<E, N>],
    input: &[E],
    mask_vectors: &[Vector<M, N>],
    mask: &[M],
    values: &mut [E],
    rejected: &mut [E],
    places: &mut [I],
    inverse: &mut [I],
    order: &ComptimeOption<Box<[I]>>,
    count: &mut [A],
    states: &[Atomic<u64>],
    extents: &Sequence<usize>,
    length: usize,
    launch: u32,
    tiles: usize,
    #[comptime] plan: TilePlan,
    #[comptime] compact: CompactPlan,
) {
    let tile = CUBE_POS;
    let first = tile * comptime!(plan.tile());
    let ranked = rank_tile::<E, M, N, P>(
        vectors,
        input,
        mask_vectors,
        mask,
        first,
        length,
        plan,
        compact,
    );
    let total = A::cast_from(ranked.total);
    let before = prefix_of::<A, Sum, Ordered>(states, launch, tile, tile, total, false);
    let base = usize::cast_from(before);
    if tile + 1 == tiles {
        if UNIT_POS == 0u32 {
            count[0] = before + total;
        }
    }
    write_tile::<E, I>(
        &ranked, input, values, rejected, places, inverse, order, extents, base, first, length,
        plan, compact,
    );
}

/// How many every tile keeps.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn count_tiles_kernel<E: Numeric, M: Int, A: Int, N: Size, P: Predicate>(
    vectors: &[Vector<E, N>],
    input: &[E],
    mask_vectors: &[Vector<M, N>],
    mask: &[M],
    totals: &mut [A],
    length: usize,
    tiles: usize,
    #[comptime] plan: TilePlan,
    #[comptime] compact: CompactPlan,
    #[define(E, M, A)] _types: [ElemType; 3],
) {
    let tile = CUBE_POS;
    if tile < tiles {
        let first = tile * comptime!(plan.tile());
        let ranked = rank_tile::<E, M, N, P>(
            vectors,
            input,
            mask_vectors,
            mask,
            first,
            length,
            plan,
            compact,
        );
        if UNIT_POS == 0u32 {
            totals[tile] = A::cast_from(ranked.total);
        }
    }
}

/// Compacts every tile, after what `totals`, scanned, counts before it.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn compact_tiles_kernel<E: Numeric, M: Int, I: Int, A: Int, N: Size, P: Predicate>(
    vectors: &[Vector<E, N>],
    input: &[E],
    mask_vectors: &[Vector<M, N>],
    mask: &[M],
    values: &mut [E],
    rejected: &mut [E],
    places: &mut [I],
    inverse: &mut [I],
    order: ComptimeOption<Box<[I]>>,
    count: &mut [A],
    totals: &[A],
    extents: Sequence<usize>,
    length: usize,
    tiles: usize,
    #[comptime] plan: TilePlan,
    #[comptime] compact: CompactPlan,
    #[define(E, M, I, A)] _types: [ElemType; 4],
) {
    let tile = CUBE_POS;
    if tile < tiles {
        let first = tile * comptime!(plan.tile());
        let ranked = rank_tile::<E, M, N, P>(
            vectors,
            input,
            mask_vectors,
            mask,
            first,
            length,
            plan,
            compact,
        );
        let mut base = 0usize;
        if tile > 0 {
            base = usize::cast_from(totals[tile - 1]);
        }
        if tile + 1 == tiles {
            if UNIT_POS == 0u32 {
                count[0] = A::cast_from(base + ranked.total as usize);
            }
        }
        write_tile::<E, I>(
            &ranked, input, values, rejected, places, inverse, &order, &extents, base, first,
            length, plan, compact,
        );
    }
}

/// How many every run keeps.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn count_runs_kernel<E: Numeric, M: Int, A: Int, P: Predicate>(
    input: &[E],
    mask: &[M],
    totals: &mut [A],
    length: usize,
    run: usize,
    #[comptime] compact: CompactPlan,
    #[define(E, M, A)] _types: [ElemType; 3],
) {
    count_run::<E, M, A, P>(input, mask, totals, length, run, compact.keep);
}

/// Compacts every run, after what `totals`, scanned, counts before it.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn compact_runs_kernel<E: Numeric, M: Int, I: Int, A: Int, P: Predicate>(
    input: &[E],
    mask: &[M],
    values: &mut [E],
    rejected: &mut [E],
    places: &mut [I],
    inverse: &mut [I],
    order: ComptimeOption<Box<[I]>>,
    count: &mut [A],
    totals: &[A],
    extents: Sequence<usize>,
    length: usize,
    run: usize,
    #[comptime] compact: CompactPlan,
    #[define(E, M, I, A)] _types: [ElemType; 4],
) {
    write_run::<E, M, I, A, P>(
        input, mask, values, rejected, places, inverse, &order, count, totals, &extents, length,
        run, compact,
    );
}

/// The lengths of runs from their beginnings, of which there are as many as `count` says: a run ends where the next begins.
///
/// How many there are is not known when the cubes are launched: few of them go through all.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn lengths_kernel<I: Int, A: Int>(
    begins: &[I],
    lengths: &mut [I],
    count: &[A],
    length: usize,
    #[define(I, A)] _types: [ElemType; 2],
) {
    let runs = usize::cast_from(count[0]);
    let mut run = ABSOLUTE_POS;
    while run < runs {
        let mut end = I::cast_from(length);
        if run + 1 < runs {
            end = begins[run + 1];
        }
        lengths[run] = end - begins[run];
        run += CUBE_COUNT * CUBE_DIM as usize;
    }
}
