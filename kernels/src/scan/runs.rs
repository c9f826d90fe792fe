//! A run of a row, scanned by one unit, element after element: for rows whose elements do not lie next to each other, and for
//! devices whose planes have one unit. Units next to each other have rows next to each other.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// A kernel has no such method.
#![allow(clippy::manual_is_multiple_of)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]
#![allow(clippy::explicit_auto_deref)]

use super::heads::Heads;
use super::operator::{ScanOperator, excluded};
use super::place::{Cuts, is_below, row_of, search};
use cubecl::prelude::*;

/// Elements that a unit has in flight.
const BATCH: usize = 8;

/// What is known of runs when their kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunPlan {
    /// Whether an element's own value is left out of its result.
    pub exclusive: bool,
    /// What begins a segment.
    pub cuts: Cuts,
}

/// How rows are cut into runs.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Runs {
    /// How many rows there are.
    pub rows: usize,
    /// Elements of a run, but for the last of a row.
    pub run: usize,
    /// Runs of a row.
    pub count: usize,
    /// How far apart segments begin.
    pub period: usize,
}

/// Where segments begin, for one unit that goes from position to position.
#[cube]
fn is_head<F: Int>(
    heads: &Heads<F>,
    flags: usize,
    position: usize,
    next: &mut usize,
    #[comptime] cuts: Cuts,
) -> bool {
    let mut head = false;
    if comptime!(cuts == Cuts::Every) {
        head = position % heads.period == 0;
    } else if comptime!(cuts != Cuts::Rows) {
        #[comptime]
        match &heads.list {
            ComptimeOption::Some(list) => {
                if comptime!(cuts == Cuts::Flags) {
                    head = list[flags] != F::from_int(0);
                } else {
                    if *next < list.len() {
                        if is_below::<F>(list[*next], position) {
                            *next = search::<F>(list, *next, position);
                        }
                    }
                    if *next < list.len() {
                        head = usize::cast_from(list[*next]) == position;
                    }
                }
            }
            ComptimeOption::None => {}
        }
    }
    head
}

/// Combines the run of every unit: `totals[row * count + run]`, and whether a segment begins in it.
#[cube]
pub(crate) fn reduce_run<E: Numeric, A: Numeric, F: Int, O: ScanOperator>(
    input: &[E],
    totals: &mut [A],
    total_cuts: &mut [u32],
    heads: &Heads<F>,
    axes: &Sequence<usize>,
    runs: &Runs,
    #[comptime] plan: RunPlan,
) {
    if ABSOLUTE_POS < runs.rows * runs.count {
        let number = ABSOLUTE_POS % runs.rows;
        let run = ABSOLUTE_POS / runs.rows;
        let row = row_of(number, axes);
        let mut at = run * runs.run;
        let mut end = at + runs.run;
        if end > row.length {
            end = row.length;
        }
        let mut next = 0usize;
        let mut total = O::identity::<A>();
        let mut is_cut = false;
        while at < end {
            let mut held = Array::<A>::new(BATCH);
            #[unroll]
            for item in 0..BATCH {
                if at + item < end {
                    held[item] = A::cast_from(input[row.input + (at + item) * row.input_step]);
                }
            }
            #[unroll]
            for item in 0..BATCH {
                let position = at + item;
                if position < end {
                    let flags = row.flags + position * row.flags_step;
                    let head = is_head::<F>(heads, flags, position, &mut next, plan.cuts);
                    let both = O::combine::<A>(total, held[item]);
                    total = select(head, held[item], both);
                    is_cut = is_cut || head;
                }
            }
            at += BATCH;
        }
        totals[number * runs.count + run] = total;
        if comptime!(plan.cuts.any()) {
            total_cuts[number * runs.count + run] = u32::cast_from(is_cut);
        }
    }
}

/// Scans the run of every unit, after what `totals`, scanned, has before it.
#[cube]
pub(crate) fn scan_run<E: Numeric, A: Numeric, F: Int, O: ScanOperator>(
    input: &[E],
    output: &mut [E],
    totals: &ComptimeOption<Box<[A]>>,
    heads: &Heads<F>,
    axes: &Sequence<usize>,
    runs: &Runs,
    #[comptime] plan: RunPlan,
) {
    if ABSOLUTE_POS < runs.rows * runs.count {
        let number = ABSOLUTE_POS % runs.rows;
        let run = ABSOLUTE_POS / runs.rows;
        let row = row_of(number, axes);
        let mut at = run * runs.run;
        let mut end = at + runs.run;
        if end > row.length {
            end = row.length;
        }
        let mut next = 0usize;
        let mut total = O::identity::<A>();
        #[comptime]
        match totals {
            ComptimeOption::Some(totals) => {
                if run > 0 {
                    total = totals[number * runs.count + run - 1];
                }
            }
            ComptimeOption::None => {}
        }
        let start = excluded::<A, O>(O::identity::<A>());
        while at < end {
            let mut held = Array::<A>::new(BATCH);
            #[unroll]
            for item in 0..BATCH {
                if at + item < end {
                    held[item] = A::cast_from(input[row.input + (at + item) * row.input_step]);
                }
            }
            #[unroll]
            for item in 0..BATCH {
                let position = at + item;
                if position < end {
                    let flags = row.flags + position * row.flags_step;
                    let head = is_head::<F>(heads, flags, position, &mut next, plan.cuts);
                    let both = O::combine::<A>(total, held[item]);
                    let mut result = select(head, held[item], both);
                    let before = excluded::<A, O>(total);
                    total = result;
                    if comptime!(plan.exclusive) {
                        result = select(head, start, before);
                    }
                    output[row.output + position * row.output_step] = E::cast_from(result);
                }
            }
            at += BATCH;
        }
    }
}
