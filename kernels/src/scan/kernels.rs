//! The kernels of scans.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// One of the two is expanded, with a branch or without.
#![allow(clippy::if_same_then_else)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::ahead::{Tuning, begin_copy, end_copy, take_copy};
use super::look_back::prefix_of;
use super::operator::ScanOperator;
use super::place::{Row, row_of};
use super::runs::{RunPlan, Runs, reduce_run, scan_run};
use super::tile::{Heads, TilePlan, load_part, scan_items, scan_tile, store_tile};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::memory::blocks::Orders;
use girih::memory::shared;
use girih::prelude::*;

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
    #[comptime] tuning: Tuning,
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
            tuning,
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
            tuning,
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
    #[comptime] tuning: Tuning,
) {
    let tile = CUBE_POS;
    let (row, index) = tile_of(tile, tiles, axes, plan);
    let first = index * comptime!(plan.tile());
    let mut scanned = scan_tile::<E, A, F, N, O>(vectors, input, heads, row, first, plan);
    let (total, is_cut) = (scanned.total, scanned.is_cut);
    let prefix = prefix_of::<A, O, R>(
        states,
        launch,
        tile,
        index,
        total,
        is_cut,
        plan.planes,
        tuning,
    );
    store_tile::<E, A, N, O>(&mut scanned, prefix, vectors_out, output, row, first, plan);
}

/// The next ticket.
#[cube]
fn ticket(states: &[Atomic<u64>], counter: usize, base: u32) -> u32 {
    let taken = states[counter].at::<Device>().fetch_add::<Relaxed>(1u64);
    u32::cast_from(taken) - base
}

/// Begins to copy a tile, if there is one and the row has all of it.
#[cube]
fn begin<E: Numeric, N: Size>(
    vectors: &[Vector<E, N>],
    stage: &[Vector<E, N>],
    row: Row,
    tile: u32,
    #[comptime] plan: TilePlan,
) {
    let first = tile as usize * comptime!(plan.tile());
    if first + comptime!(plan.tile()) <= row.length {
        begin_copy::<E, N>(vectors, stage, row.input + first, plan);
    }
}

/// Scans one row in one pass by cubes that stay: each takes tiles in turn, and copies the next one while it works.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn stay_kernel<E: Numeric, A: Numeric, F: Int, N: Size, O: ScanOperator, R: Orders>(
    vectors: &[Vector<E, N>],
    input: &[E],
    vectors_out: &mut [Vector<E, N>],
    output: &mut [E],
    states: &[Atomic<u64>],
    list: ComptimeOption<Box<[F]>>,
    axes: Sequence<usize>,
    launch: u32,
    tiles: u32,
    counter: usize,
    base: u32,
    #[comptime] plan: TilePlan,
    #[comptime] tuning: Tuning,
    #[define(E, A, F)] _types: [ElemType; 3],
) {
    let heads = Heads::<F> {
        list,
        period: 1usize,
    };
    let row = row_of(0usize, &axes);
    let stage = shared::<Vector<E, N>>(comptime!(plan.vectors * plan.units()));
    let mut tickets = shared::<u32>(2usize);
    if UNIT_POS == 0u32 {
        tickets[0] = ticket(states, counter, base);
        tickets[1] = ticket(states, counter, base);
    }
    sync_cube();
    let mut tile = tickets[0];
    let mut next = tickets[1];
    begin::<E, N>(vectors, &stage, row, tile, plan);
    while tile < tiles {
        let first = tile as usize * comptime!(plan.tile());
        let mut items = Array::<A>::new(comptime!(plan.items()));
        if first + comptime!(plan.tile()) <= row.length {
            end_copy();
            take_copy::<E, A, N>(&stage, &mut items, plan);
        } else {
            load_part::<E, A, O>(input, &mut items, row, first, plan);
        }
        begin::<E, N>(vectors, &stage, row, next, plan);
        let mut after = 0u32;
        if UNIT_POS == 0u32 {
            after = ticket(states, counter, base);
        }
        let mut scanned = scan_items::<A, F, O>(items, &heads, row, first, plan);
        let (total, is_cut) = (scanned.total, scanned.is_cut);
        if UNIT_POS == 0u32 {
            // All have read the last one, since they have come to the barrier in the scan of the tile.
            tickets[0] = after;
        }
        let at = tile as usize;
        let prefix =
            prefix_of::<A, O, R>(states, launch, at, at, total, is_cut, plan.planes, tuning);
        if comptime!(tuning.whole) {
            // The row's first tile waits for nothing.
            sync_cube();
        }
        tile = next;
        next = tickets[0];
        store_tile::<E, A, N, O>(&mut scanned, prefix, vectors_out, output, row, first, plan);
    }
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
