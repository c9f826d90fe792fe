//! The kernels that reduce segments of rows.
//!
//! A team of units has a segment, or a tile of its columns where rows are long: each unit has a vector of 16 bytes, or some of
//! them, in its registers, and reads that part of one row after another, several of them in flight. Units need nothing of each
//! other, so that there is no shared memory, and no barrier.
//!
//! A segment of more entries than `longest` would keep one team busy while the others are done: it is left to windows of
//! `longest` entries, each of which meets at most two such segments and keeps what it has of them; a last kernel combines that.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// Elements of lists and vectors have no assigning operators in a kernel.
#![allow(clippy::assign_op_pattern)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::Rules;
use super::entries::{Ends, Entries, entry_at, range_of, segment_of, weight_of};
use super::total::{Total, none, result, take, take_row};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// What is known of a reduction when its kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// How rows are combined, and which count.
    pub rules: Rules,
    /// Units of a team.
    pub team: u32,
    /// Units of a cube.
    pub units: u32,
    /// Vectors of a unit.
    pub blocks: usize,
    /// Rows in flight.
    pub batch: usize,
    /// Whether a row is more than one tile.
    pub cut: bool,
}

/// Where a team's share of the columns is, in vectors.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct Columns {
    /// Vectors of a row that is read.
    pub vectors: usize,
    /// From one row that is read to the next.
    pub step: usize,
    /// How many tiles a row has.
    pub tiles: usize,
}

/// What a team does: a segment or window, and a tile of the columns.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Share {
    pub item: usize,
    /// The vector of this unit in its first block.
    pub first: usize,
    /// Whether this unit speaks for the team, and the team for all that share the item.
    pub speaks: bool,
}

/// This team's share of a turn.
#[cube]
pub(crate) fn share_of(columns: Columns, turn: usize, #[comptime] plan: Plan) -> Share {
    let team = this_cube().partition(group_by(comptime!(plan.team)));
    let cube = turn * CUBE_COUNT + CUBE_POS;
    let number = cube * comptime!((plan.units / plan.team) as usize) + team.group_rank() as usize;
    let lane = team.unit_rank();
    let mut item = number;
    let mut first = lane as usize;
    let mut speaks = lane == 0u32;
    if comptime!(plan.cut) {
        let tile = number % columns.tiles;
        item = number / columns.tiles;
        first += tile * comptime!(plan.team as usize * plan.blocks);
        speaks = speaks && tile == 0;
    }
    Share {
        item,
        first,
        speaks,
    }
}

/// The vector of a row in one of this unit's blocks, the row's last where it has no such vector.
#[cube]
fn vector_of(
    columns: Columns,
    share: Share,
    #[comptime] block: usize,
    #[comptime] plan: Plan,
) -> usize {
    let vector = share.first + comptime!(block * plan.team as usize);
    select(vector < columns.vectors, vector, columns.vectors - 1)
}

/// Combines the rows of some places with what there is of them; of each row, with `picked`, those elements alone for which it names
/// the entry.
#[cube]
fn take_rows<E: Numeric, A: Numeric, W: Numeric, I: Int, N: Size>(
    total: &mut Total<A, N>,
    rows: &[Vector<E, N>],
    entries: &Entries<I, W>,
    picked: &ComptimeOption<Box<[Vector<i32, N>]>>,
    begin: usize,
    end: usize,
    columns: Columns,
    share: Share,
    #[comptime] plan: Plan,
) {
    let mut place = begin;
    if comptime!(plan.batch > 1) {
        while place + comptime!(plan.batch) <= end {
            take_batch::<E, A, W, I, N>(
                total, rows, entries, picked, place, columns, share, plan.batch, plan,
            );
            place += comptime!(plan.batch);
        }
    }
    // What is left of a batch of eight: one of four, and at most three rows one by one.
    if comptime!(plan.batch > 4) {
        if place + 4 <= end {
            take_batch::<E, A, W, I, N>(
                total, rows, entries, picked, place, columns, share, 4usize, plan,
            );
            place += 4;
        }
    }
    while place < end {
        take_batch::<E, A, W, I, N>(
            total, rows, entries, picked, place, columns, share, 1usize, plan,
        );
        place += 1;
    }
}

/// Some rows, all of which are read before the first is combined.
#[cube]
fn take_batch<E: Numeric, A: Numeric, W: Numeric, I: Int, N: Size>(
    total: &mut Total<A, N>,
    rows: &[Vector<E, N>],
    entries: &Entries<I, W>,
    picked: &ComptimeOption<Box<[Vector<i32, N>]>>,
    place: usize,
    columns: Columns,
    share: Share,
    #[comptime] batch: usize,
    #[comptime] plan: Plan,
) {
    let mut held = Array::<Vector<E, N>>::new(comptime!(batch * plan.blocks));
    let mut counted = Array::<bool>::new(batch);
    let mut numbers = Array::<i32>::new(batch);
    let mut weights = Array::<A>::new(batch);
    let mut places = Array::<Vector<i32, N>>::new(comptime!(batch * plan.blocks));
    #[unroll]
    for item in 0..batch {
        let entry = entry_at::<I, W>(entries, place + item, share.speaks, plan.rules);
        counted[item] = entry.counts;
        numbers[item] = entry.number as i32;
        if comptime!(entries.weights.is_some()) {
            weights[item] = weight_of::<I, W, A>(entries, entry);
        }
        #[unroll]
        for block in 0..plan.blocks {
            let vector = vector_of(columns, share, block, plan);
            held[item * plan.blocks + block] = rows[entry.row * columns.step + vector];
            #[comptime]
            match picked {
                ComptimeOption::Some(picked) => {
                    places[item * plan.blocks + block] =
                        picked[entry.row * columns.vectors + vector];
                }
                ComptimeOption::None => {}
            }
        }
    }
    #[unroll]
    for item in 0..batch {
        #[unroll]
        for block in 0..plan.blocks {
            let mut row = Vector::<A, N>::cast_from(held[item * plan.blocks + block]);
            if comptime!(entries.weights.is_some()) {
                row = row * Vector::new(weights[item]);
            }
            if comptime!(picked.is_some()) {
                let is_picked =
                    places[item * plan.blocks + block].equal(&Vector::new(numbers[item]));
                row = select_many(is_picked, row, Vector::new(A::from_int(0)));
            }
            take_row::<A, N>(
                total,
                block,
                row,
                numbers[item],
                counted[item],
                plan.rules.kind,
            );
        }
        total.count += u32::cast_from(counted[item]);
    }
}

/// Writes the result of a segment.
#[cube]
fn write<E: Numeric, A: Numeric, N: Size>(
    total: &Total<A, N>,
    output: &mut [Vector<E, N>],
    args: &mut [Vector<i32, N>],
    counts: &mut [u32],
    columns: Columns,
    share: Share,
    #[comptime] plan: Plan,
) {
    let first = share.item * columns.vectors;
    #[unroll]
    for block in 0..plan.blocks {
        let vector = share.first + comptime!(block * plan.team as usize);
        if vector < columns.vectors {
            let value = result::<A, N>(total, block, plan.rules.kind, plan.rules.zero_of_none);
            output[first + vector] = Vector::cast_from(value);
            if comptime!(plan.rules.keeps_args) {
                args[first + vector] = total.args[block];
            }
        }
    }
    if comptime!(plan.rules.keeps_counts) {
        if share.speaks {
            counts[share.item] = total.count;
        }
    }
}

/// Reduces each segment of at most `longest` entries.
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
    columns: Columns,
    extent: usize,
    padding: usize,
    length: usize,
    segments: usize,
    count: usize,
    longest: usize,
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
        let share = share_of(columns, turn, plan);
        if share.item < segments {
            let (begin, end) = range_of::<F>(&ends, share.item);
            if end - begin <= longest {
                let mut total = none::<A, N>(plan.rules.kind, plan.blocks);
                take_rows::<E, A, W, I, N>(
                    &mut total, rows, &entries, &picked, begin, end, columns, share, plan,
                );
                write::<E, A, N>(&total, output, args, counts, columns, share, plan);
            }
        }
    }
}

/// Keeps a total as part `slot`.
#[cube]
fn keep<A: Numeric, N: Size>(
    total: &Total<A, N>,
    parts: &mut [Vector<A, N>],
    part_args: &mut [Vector<i32, N>],
    part_counts: &mut [u32],
    slot: usize,
    columns: Columns,
    share: Share,
    #[comptime] plan: Plan,
) {
    #[unroll]
    for block in 0..plan.blocks {
        let vector = share.first + comptime!(block * plan.team as usize);
        if vector < columns.vectors {
            parts[slot * columns.vectors + vector] = total.values[block];
            if comptime!(plan.rules.kind.has_args()) {
                part_args[slot * columns.vectors + vector] = total.args[block];
            }
        }
    }
    if share.speaks {
        part_counts[slot] = total.count;
    }
}

/// Reduces, of each window of `longest` entries, what belongs to longer segments: that which has the first entry, and another
/// that has the last.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn windows_kernel<E: Numeric, A: Numeric, W: Numeric, I: Int, F: Int, N: Size>(
    rows: &[Vector<E, N>],
    order: ComptimeOption<Box<[u32]>>,
    index: ComptimeOption<Box<[I]>>,
    weights: ComptimeOption<Box<[W]>>,
    picked: ComptimeOption<Box<[Vector<i32, N>]>>,
    offsets: ComptimeOption<Box<[F]>>,
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    parts: &mut [Vector<A, N>],
    part_args: &mut [Vector<i32, N>],
    part_counts: &mut [u32],
    columns: Columns,
    extent: usize,
    padding: usize,
    length: usize,
    segments: usize,
    count: usize,
    longest: usize,
    windows: usize,
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
        let share = share_of(columns, turn, plan);
        if share.item < windows {
            let first = share.item * longest;
            let mut behind = first + longest;
            if behind > count {
                behind = count;
            }
            let mut other = segments;
            for slot in 0..2usize {
                let segment = segment_of::<F>(&ends, select(slot == 0, first, behind - 1));
                if segment < segments && segment != other {
                    let (begin, end) = range_of::<F>(&ends, segment);
                    if end - begin > longest {
                        let mut total = none::<A, N>(plan.rules.kind, plan.blocks);
                        let begin = select(begin < first, first, begin);
                        let end = select(end < behind, end, behind);
                        take_rows::<E, A, W, I, N>(
                            &mut total, rows, &entries, &picked, begin, end, columns, share, plan,
                        );
                        keep::<A, N>(
                            &total,
                            parts,
                            part_args,
                            part_counts,
                            2 * share.item + slot,
                            columns,
                            share,
                            plan,
                        );
                    }
                }
                other = segment;
            }
        }
    }
}

/// Parts that are read before the first of them is combined.
const PARTS: usize = 8;

/// Combines what some windows, one after another, have of the segment that begins there.
#[cube]
fn take_parts<A: Numeric, N: Size>(
    total: &mut Total<A, N>,
    parts: &[Vector<A, N>],
    part_args: &[Vector<i32, N>],
    part_counts: &[u32],
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
        counts[item] = part_counts[slot];
        #[unroll]
        for block in 0..plan.blocks {
            let at = slot * columns.vectors + vector_of(columns, share, block, plan);
            held[item * plan.blocks + block] = parts[at];
            if comptime!(plan.rules.kind.has_args()) {
                args[item * plan.blocks + block] = part_args[at];
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

/// Combines what windows have of each segment of more than `longest` entries.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn finish_kernel<E: Numeric, A: Numeric, F: Int, N: Size>(
    parts: &[Vector<A, N>],
    part_args: &[Vector<i32, N>],
    part_counts: &[u32],
    offsets: ComptimeOption<Box<[F]>>,
    output: &mut [Vector<E, N>],
    args: &mut [Vector<i32, N>],
    counts: &mut [u32],
    columns: Columns,
    length: usize,
    segments: usize,
    count: usize,
    longest: usize,
    turns: usize,
    #[comptime] plan: Plan,
    #[define(E, A, F)] _types: [ElemType; 3],
) {
    let ends = Ends::<F> {
        offsets,
        length,
        segments,
        entries: count,
    };
    for turn in 0..turns {
        let share = share_of(columns, turn, plan);
        if share.item < segments {
            let (begin, end) = range_of::<F>(&ends, share.item);
            if end - begin > longest {
                let mut total = none::<A, N>(plan.rules.kind, plan.blocks);
                let last = (end - 1) / longest;
                let mut window = begin / longest;
                while window + comptime!(PARTS) <= last + 1 {
                    take_parts::<A, N>(
                        &mut total,
                        parts,
                        part_args,
                        part_counts,
                        begin,
                        window,
                        longest,
                        columns,
                        share,
                        PARTS,
                        plan,
                    );
                    window += comptime!(PARTS);
                }
                while window <= last {
                    take_parts::<A, N>(
                        &mut total,
                        parts,
                        part_args,
                        part_counts,
                        begin,
                        window,
                        longest,
                        columns,
                        share,
                        1usize,
                        plan,
                    );
                    window += 1;
                }
                write::<E, A, N>(&total, output, args, counts, columns, share, plan);
            }
        }
    }
}
