//! Which tiles a cube does, and in what order.
//!
//! Clusters take tiles in turn: cluster `c` of `n` those of number `c`, `c + n` and so on. All units of a cluster find the
//! same tiles in the same order, each for itself, so that they need not be told.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]
// One `if` is the compiler's, the other the kernel's.
#![allow(clippy::collapsible_if)]
// One of the two branches that set it is expanded.
#![allow(unused_assignments)]

use super::form::{DEPTH, Form, Groups, ROWS, Share};
use cubecl::prelude::*;
use girih::Bounds;
use girih::memory::{AtomicExt, AtomicExtExpand, Device, Relaxed};
use girih::view::resolve;

/// The sizes of a product.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Problem {
    /// Rows of A and of the result, of all groups together.
    pub rows: u32,
    /// Columns of the result.
    pub columns: u32,
    /// Positions of K.
    pub inner: u32,
    /// Products one after another, or groups.
    pub count: u32,
    /// From a product's matrix A to the next one's, and of B: 0 where all have the same.
    pub step_a: u32,
    pub step_b: u32,
    /// Tiles of a cluster along N.
    pub across: u32,
    /// Tiles of a cluster in all.
    pub tiles: u32,
}

/// A tile of one cube.
#[derive(CubeType, Clone, Copy)]
pub struct Tile {
    /// The product, or the group.
    pub number: u32,
    /// Its first row.
    pub row: u32,
    /// The row before which those that count end.
    pub end: u32,
    /// Its first column.
    pub column: u32,
    /// Its first position of K, and how many it has: none for rows that are in no group.
    pub k: u32,
    pub depth: u32,
    /// Buffers that they take.
    pub steps: u32,
    /// Whether the cluster's cubes have the same rows and other columns, although they share B elsewhere.
    pub apart: bool,
}

/// Tiles of a cluster one below the other that a group of so many rows fills. Rows that are left over fit in one cube's tile, and
/// only where cubes that share B [part](Form::parts).
#[cube]
fn whole_tiles(rows: u32, #[comptime] form: Form) -> u32 {
    let at_once = comptime!(form.rows_at_once());
    let left_over = comptime!(if form.parts() { ROWS } else { 0 });
    (rows + comptime!(at_once - 1 - left_over)) / at_once
}

/// Tiles of a cluster that a group of so many rows has.
#[cube]
pub fn tiles_of(rows: u32, across: u32, #[comptime] form: Form) -> u32 {
    let whole = whole_tiles(rows, form);
    let mut tiles = whole * across;
    if comptime!(form.parts()) {
        let is_left = rows > whole * comptime!(form.rows_at_once());
        tiles += select(is_left, across.div_ceil(2u32), 0u32);
    }
    tiles
}

/// Rows that come before the end of a group: ends that descend or are out of range are put within the rows.
#[cube]
fn end_of<I: Int>(ends: &[I], group: u32, rows: u32) -> u32 {
    let end = i64::cast_from(ends[group as usize]);
    let rows = i64::cast_from(rows);
    let end = select(end < 0i64, 0i64, end);
    u32::cast_from(select(end < rows, end, rows))
}

/// The row that a list has in a place, of so many; as many as there are where it is none of them, of which the first place is
/// recorded.
#[cube]
pub fn listed<I: Int>(
    list: &[I],
    place: u32,
    rows: u32,
    record: &ComptimeOption<Box<[Atomic<u32>]>>,
    #[comptime] bounds: Bounds,
) -> u32 {
    if comptime!(matches!(bounds, Bounds::Clamp | Bounds::Wrap)) {
        let (row, is_there) = resolve::<I>(list[place as usize], rows as usize, bounds);
        select(is_there, row as u32, rows)
    } else {
        let row = i64::cast_from(list[place as usize]);
        let is_there = row >= 0i64 && row < i64::cast_from(rows);
        #[comptime]
        if let ComptimeOption::Some(record) = record {
            if !is_there {
                record[0].at::<Device>().fetch_min::<Relaxed>(place);
            }
        }
        select(is_there, u32::cast_from(row), rows)
    }
}

/// Fills the table of groups of positions of K, by the units of one plane: the first of each, and how many it has.
#[cube]
pub fn fill_ranges<I: Int>(
    table: &mut [u32],
    ends: &[I],
    problem: &Problem,
    lane: u32,
    #[comptime] form: Form,
) {
    let first = comptime!(form.table_at() / 4);
    let mut group = lane;
    while group < problem.count {
        let end = end_of::<I>(ends, group, problem.inner);
        let mut begin = 0u32;
        if group > 0u32 {
            begin = end_of::<I>(ends, group - 1u32, problem.inner);
        }
        table[(first + 2u32 * group) as usize] = begin;
        table[(first + 2u32 * group + 1u32) as usize] = select(end > begin, end - begin, 0u32);
        group += 32u32;
    }
}

/// Fills the table of groups of rows, by the units of one plane: for each group, and last for the rows that are in none, the
/// tiles up to and with it, and its end.
#[cube]
pub fn fill_table<I: Int>(
    table: &mut [u32],
    ends: &[I],
    problem: &Problem,
    lane: u32,
    #[comptime] form: Form,
) {
    let first = comptime!(form.table_at() / 4);
    let all = problem.count + 1;
    let mut before = 0u32;
    let mut base = 0u32;
    while base < all {
        let group = base + lane;
        let mut begin = 0u32;
        let mut end = problem.rows;
        if group < problem.count {
            end = end_of::<I>(ends, group, problem.rows);
        }
        if group > 0u32 && group < all {
            begin = end_of::<I>(ends, group - 1u32, problem.rows);
        }
        let rows = select(end > begin, end - begin, 0u32);
        let rows = select(group < all, rows, 0u32);
        let tiles = tiles_of(rows, problem.across, form);
        let sum = before + plane_inclusive_sum(tiles);
        if group < all {
            table[(first + 2u32 * group) as usize] = sum;
            table[(first + 2u32 * group + 1u32) as usize] = end;
        }
        before = plane_shuffle(sum, 31u32);
        base += 32u32;
    }
}

/// How many tiles there are.
#[cube]
pub fn count_tiles(table: &[u32], problem: &Problem, #[comptime] form: Form) -> u32 {
    if comptime!(form.groups == Groups::Rows) {
        table[(comptime!(form.table_at() / 4) + 2u32 * problem.count) as usize]
    } else {
        problem.tiles
    }
}

/// The tile of a number, for the cube of this rank in its cluster.
#[cube]
pub fn find_tile(
    number: u32,
    table: &[u32],
    problem: &Problem,
    rank: u32,
    #[comptime] form: Form,
) -> Tile {
    let mut of = number;
    let mut begin = 0u32;
    let mut end = problem.rows;
    let mut k = 0u32;
    let mut depth = problem.inner;
    let mut local = number;
    let at_once = comptime!(form.rows_at_once());
    if comptime!(form.groups == Groups::Rows) {
        // The first group with more tiles up to it than the number says.
        let first = comptime!(form.table_at() / 4);
        let mut low = 0u32;
        let mut high = problem.count;
        while low < high {
            let middle = (low + high) / 2u32;
            let sum = table[(first + 2u32 * middle) as usize];
            if sum > number {
                high = middle;
            } else {
                low = middle + 1u32;
            }
        }
        of = low;
        end = table[(first + 2u32 * of + 1u32) as usize];
        if of > 0u32 {
            local -= table[(first + 2u32 * of - 2u32) as usize];
            begin = table[(first + 2u32 * of - 1u32) as usize];
        }
        depth = select(of < problem.count, depth, 0u32);
    } else {
        let per = tiles_of(problem.rows, problem.across, form);
        of = number / per;
        local = number % per;
        if comptime!(form.groups == Groups::Inner) {
            let first = comptime!(form.table_at() / 4);
            k = table[(first + 2u32 * of) as usize];
            depth = table[(first + 2u32 * of + 1u32) as usize];
        }
    }
    let down = whole_tiles(end - begin, form);
    let mut apart = false.runtime();
    if comptime!(form.parts()) {
        apart = local >= down * problem.across;
    }
    // Bands of `band` tiles along M: within one, down first.
    let band = comptime!(form.band).runtime();
    let of_band = band * problem.across;
    let first = local / of_band * band;
    let inside = local % of_band;
    let here = select(down - first < band, down - first, band);
    // What is apart comes last, and may be all there is.
    let here = select(apart, 1u32, here);
    let mut row = (first + inside % here) * at_once;
    let mut column = inside / here * comptime!(form.columns_at_once());
    if comptime!(form.share == Share::B) {
        row += rank * ROWS;
    }
    if comptime!(form.share == Share::A) {
        column += rank * comptime!(form.columns);
    }
    if comptime!(form.parts()) {
        let pair = local - down * problem.across;
        row = select(apart, down * at_once, row);
        column = select(
            apart,
            (2u32 * pair + rank) * comptime!(form.columns),
            column,
        );
    }
    Tile {
        number: of,
        row: begin + row,
        end,
        column,
        k,
        depth,
        steps: (depth + comptime!(DEPTH - 1)) / DEPTH,
        apart,
    }
}
