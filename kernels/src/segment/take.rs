//! What a team does with the rows of a range of places.
//!
//! Each unit has a vector of 16 bytes, or some of them, in its registers, and reads that part of one row after another, several of
//! them in flight. Units need nothing of each other, so that there is no shared memory, and no barrier.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// Elements of lists and vectors have no assigning operators in a kernel.
#![allow(clippy::assign_op_pattern)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::entries::{Entries, entry_at, weight_of};
use super::plan::{Columns, Plan, Share, vector_at, vector_of};
use super::total::{Total, result, take_row};
use cubecl::prelude::*;

/// Combines the rows of some places with what there is of them; of each row, with `picked`, those elements alone for which it names
/// the entry.
#[cube]
pub(crate) fn take_rows<E: Numeric, A: Numeric, W: Numeric, I: Int, N: Size>(
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
    while place + comptime!(plan.batch) <= end {
        take_batch::<E, A, W, I, N>(
            total, rows, entries, picked, place, columns, share, plan.batch, plan,
        );
        place += comptime!(plan.batch);
    }
    // What is left of a batch, by halves, so that as few reads as possible wait for others.
    if comptime!(plan.batch > 4) {
        if place + 4 <= end {
            take_batch::<E, A, W, I, N>(
                total, rows, entries, picked, place, columns, share, 4usize, plan,
            );
            place += 4;
        }
    }
    if comptime!(plan.batch > 2) {
        if place + 2 <= end {
            take_batch::<E, A, W, I, N>(
                total, rows, entries, picked, place, columns, share, 2usize, plan,
            );
            place += 2;
        }
    }
    if comptime!(plan.batch > 1) {
        if place < end {
            take_batch::<E, A, W, I, N>(
                total, rows, entries, picked, place, columns, share, 1usize, plan,
            );
        }
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
pub(crate) fn write<E: Numeric, A: Numeric, N: Size>(
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
        let (vector, is_there) = vector_at(columns, share, block, plan);
        if is_there {
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
