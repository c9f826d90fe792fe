//! The kernel that combines what windows have of long segments.
//!
//! A cube looks at some slots, and combines each segment that begins in one of them: its teams have as many windows each, one after
//! another, and their totals are combined in shared memory, neighbours first. Who has which windows depends on the segment and the
//! plan alone, so that sums round in the same way in every run.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::entries::{Ends, range_of, segment_of};
use super::plan::{Columns, Plan, Share, share_in, vector_of};
use super::take::write;
use super::total::{Total, none, take};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::memory::shared_aligned;
use girih::prelude::*;

/// Slots that a cube looks at.
pub(crate) const SLOTS: usize = 16;

/// Parts that are read before the first of them is combined.
const PARTS: usize = 8;

/// What windows have of long segments.
#[derive(CubeType)]
struct Parts<A: Numeric, N: Size> {
    values: Box<[Vector<A, N>]>,
    args: Box<[Vector<i32, N>]>,
    marks: Box<[u32]>,
}

/// Combines what some windows, one after another, have of the segment that begins there.
#[cube]
fn take_parts<A: Numeric, N: Size>(
    total: &mut Total<A, N>,
    parts: &Parts<A, N>,
    begin: usize,
    window: usize,
    longest: usize,
    columns: Columns,
    share: Share,
    #[comptime] batch: usize,
    #[comptime] plan: Plan,
) {
    let mut held = Array::<Vector<A, N>>::new(comptime!(batch * plan.blocks));
    let mut args = Array::<Vector<i32, N>>::new(comptime!(batch * plan.blocks));
    let mut counts = Array::<u32>::new(batch);
    #[unroll]
    for item in 0..batch {
        // It is the second of the window in which it begins, unless it begins with the window.
        let own = window + item;
        let slot = 2 * own + usize::cast_from(begin > own * longest);
        counts[item] = parts.marks[slot];
        #[unroll]
        for block in 0..plan.blocks {
            let at = slot * columns.vectors + vector_of(columns, share, block, plan);
            held[item * plan.blocks + block] = parts.values[at];
            if comptime!(plan.rules.kind.has_args()) {
                args[item * plan.blocks + block] = parts.args[at];
            }
        }
    }
    #[unroll]
    for item in 0..batch {
        #[unroll]
        for block in 0..plan.blocks {
            let mut arg = Vector::<i32, N>::new(0i32);
            if comptime!(plan.rules.kind.has_args()) {
                arg = args[item * plan.blocks + block];
            }
            take::<A, N>(
                total,
                block,
                held[item * plan.blocks + block],
                arg,
                counts[item] > 0u32,
                plan.rules.kind,
            );
        }
        total.count += counts[item];
    }
}

/// The totals of a cube's teams.
#[derive(CubeType)]
struct Totals<A: Numeric, N: Size> {
    values: Shared<[Vector<A, N>]>,
    args: Shared<[Vector<i32, N>]>,
    counts: Shared<[u32]>,
}

/// Room for them.
#[cube]
fn totals<A: Numeric, N: Size>(#[comptime] plan: Plan) -> Totals<A, N> {
    let vectors = comptime!(plan.units as usize * plan.blocks);
    Totals::<A, N> {
        values: shared_aligned::<Vector<A, N>>(vectors, 16usize),
        args: shared_aligned::<Vector<i32, N>>(
            comptime!(if plan.rules.kind.has_args() {
                vectors
            } else {
                1
            }),
            16usize,
        ),
        counts: shared::<u32>(comptime!(plan.teams())),
    }
}

/// Shows the other teams what this one has.
#[cube]
fn show<A: Numeric, N: Size>(
    total: &Total<A, N>,
    totals: &mut Totals<A, N>,
    team: usize,
    lane: usize,
    #[comptime] plan: Plan,
) {
    #[unroll]
    for block in 0..plan.blocks {
        let at = (team * plan.blocks + block) * comptime!(plan.team as usize) + lane;
        totals.values[at] = total.values[block];
        if comptime!(plan.rules.kind.has_args()) {
            totals.args[at] = total.args[block];
        }
    }
    if lane == 0 {
        totals.counts[team] = total.count;
    }
}

/// Combines what another team shows with what this one has.
#[cube]
fn take_shown<A: Numeric, N: Size>(
    total: &mut Total<A, N>,
    totals: &Totals<A, N>,
    team: usize,
    lane: usize,
    #[comptime] plan: Plan,
) {
    let count = totals.counts[team];
    #[unroll]
    for block in 0..plan.blocks {
        let at = (team * plan.blocks + block) * comptime!(plan.team as usize) + lane;
        let mut arg = Vector::<i32, N>::new(0i32);
        if comptime!(plan.rules.kind.has_args()) {
            arg = totals.args[at];
        }
        let value = totals.values[at];
        take::<A, N>(total, block, value, arg, count > 0u32, plan.rules.kind);
    }
    total.count += count;
}

/// Combines what windows have of each segment of more than `longest` entries.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn finish_kernel<E: Numeric, A: Numeric, F: Int, N: Size>(
    parts: Box<[Vector<A, N>]>,
    part_args: Box<[Vector<i32, N>]>,
    marks: Box<[u32]>,
    offsets: ComptimeOption<Box<[F]>>,
    output: &mut [Vector<E, N>],
    args: &mut [Vector<i32, N>],
    counts: &mut [u32],
    columns: Columns,
    length: usize,
    segments: usize,
    count: usize,
    longest: usize,
    slots: usize,
    #[comptime] plan: Plan,
    #[define(E, A, F)] _types: [ElemType; 3],
) {
    let ends = Ends::<F> {
        offsets,
        length,
        segments,
        entries: count,
    };
    let parts = Parts::<A, N> {
        values: parts,
        args: part_args,
        marks,
    };
    let group = this_cube().partition(group_by(comptime!(plan.team)));
    let (team, lane) = (group.group_rank() as usize, group.unit_rank());
    let (tile, first) = (
        CUBE_POS % columns.tiles,
        CUBE_POS / columns.tiles * comptime!(SLOTS),
    );
    let mut heads = shared::<u32>(SLOTS);
    let mut at = UNIT_POS as usize;
    while at < comptime!(SLOTS) {
        let mut head = 0u32;
        if first + at < slots {
            head = parts.marks[slots + first + at];
        }
        heads[at] = head;
        at += comptime!(plan.units as usize);
    }
    let mut totals = totals::<A, N>(plan);
    sync_cube();
    for slot in 0..comptime!(SLOTS) {
        if heads[slot] != 0u32 {
            // Where the segment begins it has the window's last entry, since it is longer than the window.
            let window = (first + slot) / 2;
            let mut behind = (window + 1) * longest;
            if behind > count {
                behind = count;
            }
            let segment = segment_of::<F>(&ends, behind - 1);
            let mut begin = 0usize;
            let mut end = 0usize;
            if segment < segments {
                let (from, to) = range_of::<F>(&ends, segment);
                begin = from;
                end = to;
            }
            // Of offsets that are not in order there may be nothing.
            let is_there = end > begin;
            let from = begin / longest;
            let windows = select(is_there, end.div_ceil(longest) - from, 0usize);
            let each = windows.div_ceil(comptime!(plan.teams()));
            let mut next = from + team * each;
            let mut stop = next + each;
            if stop > from + windows {
                stop = from + windows;
            }
            let share = share_in(segment, tile, lane, plan);
            let mut total = none::<A, N>(plan.rules.kind, plan.blocks);
            while next + comptime!(PARTS) <= stop {
                take_parts::<A, N>(
                    &mut total, &parts, begin, next, longest, columns, share, PARTS, plan,
                );
                next += comptime!(PARTS);
            }
            while next < stop {
                take_parts::<A, N>(
                    &mut total, &parts, begin, next, longest, columns, share, 1usize, plan,
                );
                next += 1;
            }
            let mut step = 1usize;
            while step < comptime!(plan.teams()) {
                show::<A, N>(&total, &mut totals, team, lane as usize, plan);
                sync_cube();
                if (team & (2 * step - 1)) == 0 {
                    take_shown::<A, N>(&mut total, &totals, team + step, lane as usize, plan);
                }
                sync_cube();
                step *= 2;
            }
            if team == 0 && is_there {
                write::<E, A, N>(&total, output, args, counts, columns, share, plan);
            }
        }
    }
}
