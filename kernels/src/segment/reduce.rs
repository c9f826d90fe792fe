//! The kernel that reduces segments of rows.
//!
//! A team of units has a segment, or a tile of its columns where rows are long. A segment of more entries than `longest` would keep
//! one team busy while the others are done: it is left to windows of `longest` entries, each of which meets at most two such
//! segments, that which has the first entry and that which has the last, and keeps what it has of them in a slot for each. Slots are
//! shared out before segments, by the same launch; [`finish_kernel`](super::finish::finish_kernel) combines them.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::entries::{Ends, Entries, range_of, segment_of};
use super::plan::{Columns, Plan, Share, share_of, vector_at};
use super::take::{take_rows, write};
use super::total::{Total, none};
use cubecl::ir::ElemType;
use cubecl::prelude::*;

/// What a window has of a long segment.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
struct Part {
    begin: usize,
    end: usize,
    /// Whether it has any.
    is_there: bool,
    /// Whether the segment begins here.
    is_head: bool,
}

/// What belongs in a slot. The first of a window is of the segment that has its first entry, the other of one that begins behind
/// that, and has the last.
#[cube]
fn part_of<F: Int>(ends: &Ends<F>, slot: usize, longest: usize) -> Part {
    let first = slot / 2 * longest;
    let mut behind = first + longest;
    if behind > ends.entries {
        behind = ends.entries;
    }
    let is_first = (slot & 1) == 0;
    let segment = segment_of::<F>(ends, select(is_first, first, behind - 1));
    let mut begin = first;
    let mut end = first;
    let mut is_there = false.runtime();
    let mut is_head = false.runtime();
    if segment < ends.segments {
        let (from, to) = range_of::<F>(ends, segment);
        is_there = to - from > longest && (is_first || from > first);
        is_head = is_there && from >= first;
        begin = select(from < first, first, from);
        end = select(to < behind, to, behind);
    }
    Part {
        begin,
        end,
        is_there,
        is_head,
    }
}

/// Keeps a total in a slot.
#[cube]
fn keep<A: Numeric, N: Size>(
    total: &Total<A, N>,
    parts: &mut [Vector<A, N>],
    part_args: &mut [Vector<i32, N>],
    marks: &mut [u32],
    columns: Columns,
    share: Share,
    #[comptime] plan: Plan,
) {
    #[unroll]
    for block in 0..plan.blocks {
        let (vector, is_there) = vector_at(columns, share, block, plan);
        if is_there {
            parts[share.item * columns.vectors + vector] = total.values[block];
            if comptime!(plan.rules.kind.has_args()) {
                part_args[share.item * columns.vectors + vector] = total.args[block];
            }
        }
    }
    if share.speaks {
        marks[share.item] = total.count;
    }
}

/// Reduces each segment of at most `longest` entries, and what windows have of longer ones. `marks` has the number of rows of each
/// slot, and behind those whether a segment begins there.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn reduce_kernel<E: Numeric, A: Numeric, W: Numeric, I: Int, F: Int, N: Size>(
    rows: &[Vector<E, N>],
    order: ComptimeOption<Box<[u32]>>,
    index: ComptimeOption<Box<[I]>>,
    weights: ComptimeOption<Box<[W]>>,
    picked: ComptimeOption<Box<[Vector<i32, N>]>>,
    offsets: ComptimeOption<Box<[F]>>,
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    output: &mut [Vector<E, N>],
    args: &mut [Vector<i32, N>],
    counts: &mut [u32],
    parts: &mut [Vector<A, N>],
    part_args: &mut [Vector<i32, N>],
    marks: &mut [u32],
    columns: Columns,
    extent: usize,
    padding: usize,
    length: usize,
    segments: usize,
    count: usize,
    longest: usize,
    slots: usize,
    turns: usize,
    #[comptime] plan: Plan,
    #[define(E, A, W, I, F)] _types: [ElemType; 5],
) {
    let entries = Entries::<I, W> {
        order,
        index,
        weights,
        record,
        extent,
        padding,
    };
    let ends = Ends::<F> {
        offsets,
        length,
        segments,
        entries: count,
    };
    for turn in 0..turns {
        let mut share = share_of(columns, turn, plan);
        let mut begin = 0usize;
        let mut end = 0usize;
        let mut is_there = false.runtime();
        let mut is_part = false.runtime();
        if comptime!(plan.splits) {
            if share.item < slots {
                is_part = true.runtime();
                let part = part_of::<F>(&ends, share.item, longest);
                begin = part.begin;
                end = part.end;
                is_there = part.is_there;
                if share.speaks {
                    marks[slots + share.item] = u32::cast_from(part.is_head);
                }
            } else {
                share.item -= slots;
            }
        }
        if !is_part && share.item < segments {
            let (from, to) = range_of::<F>(&ends, share.item);
            begin = from;
            end = to;
            is_there = true.runtime();
            if comptime!(plan.splits) {
                is_there = to - from <= longest;
            }
        }
        if is_there {
            let mut total = none::<A, N>(plan.rules.kind, plan.blocks);
            take_rows::<E, A, W, I, N>(
                &mut total, rows, &entries, &picked, begin, end, columns, share, plan,
            );
            if is_part {
                keep::<A, N>(&total, parts, part_args, marks, columns, share, plan);
            } else {
                write::<E, A, N>(&total, output, args, counts, columns, share, plan);
            }
        }
    }
}
