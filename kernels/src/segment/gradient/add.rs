//! The gradient of a bag's table added up by atomics, as kernels.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// Elements of lists and vectors have no assigning operators in a kernel.
#![allow(clippy::assign_op_pattern)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::super::entries::{Ends, Entries, entry_at, weight_of};
use super::super::plan::{Columns, Plan, share_of, vector_at};
use super::walk::at;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;
use girih::view::resolve;

/// Adds the gradient of each bag to the rows that its indices name, multiplied by their weights; of a mean divided by the bag's
/// count.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn add_kernel<E: Numeric, A: Numeric, W: Numeric, I: Int, F: Int, N: Size>(
    gradient: &[Vector<E, N>],
    index: ComptimeOption<Box<[I]>>,
    order: ComptimeOption<Box<[u32]>>,
    weights: ComptimeOption<Box<[W]>>,
    counts: ComptimeOption<Box<[u32]>>,
    offsets: ComptimeOption<Box<[F]>>,
    target: &[Atomic<Vector<A, N>>],
    columns: Columns,
    extent: usize,
    padding: usize,
    length: usize,
    segments: usize,
    count: usize,
    window: usize,
    windows: usize,
    turns: usize,
    #[comptime] plan: Plan,
    #[define(E, A, W, I, F)] _types: [ElemType; 5],
) {
    let entries = Entries::<I, W> {
        order,
        index,
        weights,
        record: ComptimeOption::new_None(),
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
            let mut place = share.item * window;
            let mut behind = place + window;
            if behind > count {
                behind = count;
            }
            let mut held = Array::<Vector<A, N>>::new(plan.blocks);
            let mut end = place;
            let mut segment = segments;
            while place < behind {
                if place >= end {
                    let now = at::<F>(&ends, place);
                    end = now.end;
                    segment = now.segment;
                    if segment < segments {
                        let mut scale = A::from_int(1);
                        #[comptime]
                        match &counts {
                            ComptimeOption::Some(counts) => {
                                let rows = counts[segment];
                                scale /= A::cast_from(select(rows == 0u32, 1u32, rows));
                            }
                            ComptimeOption::None => {}
                        }
                        #[unroll]
                        for block in 0..plan.blocks {
                            let (vector, is_there) = vector_at(columns, share, block, plan);
                            let vector = select(is_there, vector, 0usize);
                            let row = gradient[segment * columns.step + vector];
                            held[block] = Vector::<A, N>::cast_from(row) * Vector::new(scale);
                        }
                    }
                }
                let entry = entry_at::<I, W>(&entries, place, false, plan.rules);
                if segment < segments && entry.counts {
                    let weight = weight_of::<I, W, A>(&entries, entry);
                    #[unroll]
                    for block in 0..plan.blocks {
                        let (vector, is_there) = vector_at(columns, share, block, plan);
                        if is_there {
                            let part = held[block] * Vector::new(weight);
                            target[entry.row * columns.vectors + vector]
                                .at::<Device>()
                                .fetch_add::<Relaxed>(part);
                        }
                    }
                }
                place += 1;
            }
        }
    }
}

/// Adds each element of the gradient of extremes to the row that the element came from. A team a bag, or a tile of it.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn pick_kernel<E: Numeric, A: Numeric, W: Numeric, I: Int, N: Size>(
    gradient: &[Vector<E, N>],
    args: &[Vector<i32, N>],
    index: &[I],
    weights: ComptimeOption<Box<[W]>>,
    target: &[Atomic<A>],
    columns: Columns,
    extent: usize,
    segments: usize,
    turns: usize,
    #[comptime] plan: Plan,
    #[define(E, A, W, I)] _types: [ElemType; 4],
) {
    let lanes = N::value();
    for turn in 0..turns {
        let share = share_of(columns, turn, plan);
        if share.item < segments {
            #[unroll]
            for block in 0..plan.blocks {
                let (vector, is_there) = vector_at(columns, share, block, plan);
                if is_there {
                    let from = args[share.item * columns.vectors + vector];
                    let part = gradient[share.item * columns.step + vector];
                    let mut parts = Array::<A>::new(lanes);
                    let mut rows = Array::<usize>::new(lanes);
                    let mut counted = Array::<bool>::new(lanes);
                    // All are looked up before the first is added.
                    #[unroll]
                    for lane in 0..lanes {
                        let arg = from.extract(lane);
                        let number = select(arg < 0i32, 0i32, arg) as usize;
                        let (row, is_row) = resolve::<I>(index[number], extent, plan.rules.bounds);
                        rows[lane] = row;
                        counted[lane] = is_row && arg >= 0i32;
                        parts[lane] = A::cast_from(part.extract(lane));
                        #[comptime]
                        match &weights {
                            ComptimeOption::Some(weights) => {
                                parts[lane] = parts[lane] * A::cast_from(weights[number]);
                            }
                            ComptimeOption::None => {}
                        }
                    }
                    #[unroll]
                    for lane in 0..lanes {
                        if counted[lane] {
                            let to = (rows[lane] * columns.vectors + vector) * lanes + lane;
                            target[to].at::<Device>().fetch_add::<Relaxed>(parts[lane]);
                        }
                    }
                }
            }
        }
    }
}
