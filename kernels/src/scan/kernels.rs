//! The kernels of scans.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// One of the two is expanded, with a branch or without.
#![allow(clippy::if_same_then_else)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::heads::Heads;
use super::look_back::prefix_of;
use super::operator::ScanOperator;
use super::place::{Row, row_of};
use super::runs::{RunPlan, Runs, reduce_run, scan_run};
use super::store::store_tile;
use super::tile::{TilePlan, scan_tile};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::memory::blocks::Orders;

/// Where the cube's tile is: its row, and its place in it.
#[cube]
fn tile_of(
    number: usize,
    tiles: usize,
    axes: &Sequence<usize>,
    #[comptime] plan: TilePlan,
) -> (Row, usize) {
    if comptime!(plan.single) {
        (row_of(0usize, axes), number)
    } else {
        (row_of(number / tiles, axes), number % tiles)
    }
}

/// Scans rows in one pass: a cube hands the next what they need of each other by look-back.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn look_back_kernel<E: Numeric, A: Numeric, F: Int, N: Size, O: ScanOperator, R: Orders>(
    vectors: &[Vector<E, N>],
    input: &[E],
    vectors_out: &mut [Vector<E, N>],
    output: &mut [E],
    states: &[Atomic<u64>],
    list: ComptimeOption<Box<[F]>>,
    axes: Sequence<usize>,
    launch: u32,
    tiles: usize,
    all: usize,
    period: usize,
    #[comptime] plan: TilePlan,
    #[comptime] is_exact: bool,
    #[define(E, A, F)] _types: [ElemType; 3],
) {
    let heads = Heads::<F> { list, period };
    if is_exact {
        scan_next::<E, A, F, N, O, R>(
            vectors,
            input,
            vectors_out,
            output,
            states,
            &heads,
            &axes,
            launch,
            tiles,
            plan,
        );
    } else if CUBE_POS < all {
        scan_next::<E, A, F, N, O, R>(
            vectors,
            input,
            vectors_out,
            output,
            states,
            &heads,
            &axes,
            launch,
            tiles,
            plan,
        );
    }
}

/// Scans this cube's tile after those before it.
#[cube]
fn scan_next<E: Numeric, A: Numeric, F: Int, N: Size, O: ScanOperator, R: Orders>(
    vectors: &[Vector<E, N>],
    input: &[E],
    vectors_out: &mut [Vector<E, N>],
    output: &mut [E],
    states: &[Atomic<u64>],
    heads: &Heads<F>,
    axes: &Sequence<usize>,
    launch: u32,
    tiles: usize,
    #[comptime] plan: TilePlan,
) {
    let tile = CUBE_POS;
    let (row, index) = tile_of(tile, tiles, axes, plan);
    let first = index * comptime!(plan.tile());
    let mut scanned = scan_tile::<E, A, F, N, O>(vectors, input, heads, row, first, plan);
    let (total, is_cut) = (scanned.total, scanned.is_cut);
    let prefix = prefix_of::<A, O, R>(states, launch, tile, index, total, is_cut);
    store_tile::<E, A, N, O>(&mut scanned, prefix, vectors_out, output, row, first, plan);
}

/// Combines every tile.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn reduce_tiles_kernel<E: Numeric, A: Numeric, F: Int, N: Size, O: ScanOperator>(
    vectors: &[Vector<E, N>],
    input: &[E],
    totals: &mut [A],
    total_cuts: &mut [u32],
    list: ComptimeOption<Box<[F]>>,
    axes: Sequence<usize>,
    tiles: usize,
    all: usize,
    period: usize,
    #[comptime] plan: TilePlan,
    #[define(E, A, F)] _types: [ElemType; 3],
) {
    let heads = Heads::<F> { list, period };
    let tile = CUBE_POS;
    if tile < all {
        let (row, index) = tile_of(tile, tiles, &axes, plan);
        let first = index * comptime!(plan.tile());
        let scanned = scan_tile::<E, A, F, N, O>(vectors, input, &heads, row, first, plan);
        if UNIT_POS == 0u32 {
            totals[tile] = scanned.total;
            if comptime!(plan.cuts.any()) {
                total_cuts[tile] = u32::cast_from(scanned.is_cut);
            }
        }
    }
}

/// Scans every tile, after what `totals`, scanned, has before it.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn scan_tiles_kernel<E: Numeric, A: Numeric, F: Int, N: Size, O: ScanOperator>(
    vectors: &[Vector<E, N>],
    input: &[E],
    vectors_out: &mut [Vector<E, N>],
    output: &mut [E],
    totals: ComptimeOption<Box<[A]>>,
    list: ComptimeOption<Box<[F]>>,
    axes: Sequence<usize>,
    tiles: usize,
    all: usize,
    period: usize,
    #[comptime] plan: TilePlan,
    #[define(E, A, F)] _types: [ElemType; 3],
) {
    let heads = Heads::<F> { list, period };
    let tile = CUBE_POS;
    if tile < all {
        let (row, index) = tile_of(tile, tiles, &axes, plan);
        let first = index * comptime!(plan.tile());
        let mut scanned = scan_tile::<E, A, F, N, O>(vectors, input, &heads, row, first, plan);
        let mut prefix = O::identity::<A>();
        #[comptime]
        match &totals {
            ComptimeOption::Some(totals) => {
                if index > 0 {
                    prefix = totals[tile - 1];
                }
            }
            ComptimeOption::None => {}
        }
        store_tile::<E, A, N, O>(&mut scanned, prefix, vectors_out, output, row, first, plan);
    }
}

/// Combines every run, one a unit.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn reduce_runs_kernel<E: Numeric, A: Numeric, F: Int, O: ScanOperator>(
    input: &[E],
    totals: &mut [A],
    total_cuts: &mut [u32],
    list: ComptimeOption<Box<[F]>>,
    axes: Sequence<usize>,
    runs: Runs,
    #[comptime] plan: RunPlan,
    #[define(E, A, F)] _types: [ElemType; 3],
) {
    let heads = Heads::<F> {
        list,
        period: runs.period,
    };
    reduce_run::<E, A, F, O>(input, totals, total_cuts, &heads, &axes, &runs, plan);
}

/// Scans every run, one a unit.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn scan_runs_kernel<E: Numeric, A: Numeric, F: Int, O: ScanOperator>(
    input: &[E],
    output: &mut [E],
    totals: ComptimeOption<Box<[A]>>,
    list: ComptimeOption<Box<[F]>>,
    axes: Sequence<usize>,
    runs: Runs,
    #[comptime] plan: RunPlan,
    #[define(E, A, F)] _types: [ElemType; 3],
) {
    let heads = Heads::<F> {
        list,
        period: runs.period,
    };
    scan_run::<E, A, F, O>(input, output, &totals, &heads, &axes, &runs, plan);
}

/// Sets words to 0.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn clear_kernel(words: &mut [u64]) {
    if ABSOLUTE_POS < words.len() {
        words[ABSOLUTE_POS] = 0u64;
    }
}
