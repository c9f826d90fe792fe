//! The kernels of gradients.
//!
//! Each goes by windows of entries, a team of units to a window, so that long segments take no longer than short ones. A team looks
//! for the segment of its first entry, and again where that segment ends.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// Elements of lists and vectors have no assigning operators in a kernel.
#![allow(clippy::assign_op_pattern)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::Kind;
use super::entries::{Ends, Entries, entry_at, range_of, segment_of, weight_of};
use super::kernels::{Columns, Plan, Share, share_of};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::coop::Sum;
use girih::prelude::*;

/// The segment that a walk is in.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
struct At {
    /// Its number; none, where that is the number of segments.
    segment: usize,
    begin: usize,
    /// Where the next one has to be looked for.
    end: usize,
}

/// The segment of a place.
#[cube]
fn at<F: Int>(ends: &Ends<F>, place: usize) -> At {
    let mut segment = segment_of::<F>(ends, place);
    let mut begin = place;
    let mut end = place + 1;
    if segment < ends.segments {
        let (first, behind) = range_of::<F>(ends, segment);
        begin = first;
        end = behind;
        // Offsets that are not in order may name one that has not the place.
        if first > place || behind <= place {
            segment = ends.segments;
            end = place + 1;
        }
    } else {
        segment = ends.segments;
    }
    At {
        segment,
        begin,
        end,
    }
}

/// A vector of one of this unit's blocks, and whether the row has it.
#[cube]
fn vector_at(
    columns: Columns,
    share: Share,
    #[comptime] block: usize,
    #[comptime] plan: Plan,
) -> (usize, bool) {
    let vector = share.first + comptime!(block * plan.team as usize);
    (vector, vector < columns.vectors)
}

/// A vector of a list, which is there.
#[cube]
fn element_of<T: Numeric, N: Size>(
    list: &ComptimeOption<Box<[Vector<T, N>]>>,
    at: usize,
) -> Vector<T, N> {
    let mut element = Vector::<T, N>::new(T::from_int(0));
    #[comptime]
    match list {
        ComptimeOption::Some(list) => element = list[at],
        ComptimeOption::None => {}
    }
    element
}

/// The gradient of rows that were reduced: of each segment's row, what each of its rows had a part in.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn spread_kernel<E: Numeric, A: Numeric, F: Int, N: Size>(
    gradient: &[Vector<E, N>],
    values: ComptimeOption<Box<[Vector<E, N>]>>,
    products: ComptimeOption<Box<[Vector<A, N>]>>,
    args: ComptimeOption<Box<[Vector<i32, N>]>>,
    order: ComptimeOption<Box<[u32]>>,
    offsets: ComptimeOption<Box<[F]>>,
    output: &mut [Vector<E, N>],
    columns: Columns,
    values_step: usize,
    length: usize,
    segments: usize,
    count: usize,
    window: usize,
    windows: usize,
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
        if share.item < windows {
            let mut place = share.item * window;
            let mut behind = place + window;
            if behind > count {
                behind = count;
            }
            let mut segment = segments;
            let mut begin = place;
            let mut end = place;
            while place < behind {
                if place >= end {
                    let now = at::<F>(&ends, place);
                    segment = now.segment;
                    begin = now.begin;
                    end = now.end;
                }
                let mut number = place;
                #[comptime]
                match &order {
                    ComptimeOption::Some(order) => number = order[place] as usize,
                    ComptimeOption::None => {}
                }
                #[unroll]
                for block in 0..plan.blocks {
                    let (vector, is_there) = vector_at(columns, share, block, plan);
                    if is_there {
                        let mut part = Vector::<A, N>::new(A::from_int(0));
                        if segment < segments {
                            let from = segment * columns.step + vector;
                            part = Vector::cast_from(gradient[from]);
                            let kept = segment * columns.vectors + vector;
                            if comptime!(plan.rules.kind == Kind::Mean) {
                                let rows = A::cast_from(end - begin);
                                part = part / Vector::new(rows);
                            }
                            if comptime!(matches!(plan.rules.kind, Kind::Max | Kind::Min)) {
                                let none = Vector::new(A::from_int(0));
                                let arg = element_of::<i32, N>(&args, kept);
                                let is_it = arg.equal(&Vector::new(number as i32));
                                part = select_many(is_it, part, none);
                            }
                            if comptime!(plan.rules.kind == Kind::Product) {
                                let value =
                                    element_of::<E, N>(&values, number * values_step + vector);
                                let product = element_of::<A, N>(&products, kept);
                                let zeros = element_of::<i32, N>(&args, kept);
                                let others = product_of_others::<A, N>(
                                    Vector::cast_from(value),
                                    product,
                                    zeros,
                                );
                                part = part * others;
                            }
                        }
                        output[number * columns.vectors + vector] = Vector::cast_from(part);
                    }
                }
                place += 1;
            }
        }
    }
}

/// The product of a segment's elements but one: of all that are not 0, and the number of those that are.
#[cube]
fn product_of_others<A: Numeric, N: Size>(
    value: Vector<A, N>,
    product: Vector<A, N>,
    zeros: Vector<i32, N>,
) -> Vector<A, N> {
    let none = Vector::<A, N>::new(A::from_int(0));
    let one = Vector::<A, N>::new(A::from_int(1));
    let is_zero = value.equal(&none);
    let own = select_many(is_zero, Vector::<i32, N>::new(1i32), Vector::new(0i32));
    let rest = product / select_many(is_zero, one, value);
    select_many(zeros.equal(&own), rest, none)
}

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

/// Adds each element of the gradient of extremes to the row that the element came from. One unit an element.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn pick_kernel<E: Numeric, A: Numeric, W: Numeric, I: Int>(
    gradient: &[E],
    args: &[i32],
    index: &[I],
    weights: ComptimeOption<Box<[W]>>,
    target: &[Atomic<A>],
    gradient_step: usize,
    row: usize,
    elements: usize,
    extent: usize,
    #[comptime] bounds: Bounds,
    #[define(E, A, W, I)] _types: [ElemType; 4],
) {
    let mut element = ABSOLUTE_POS;
    let step = CUBE_COUNT * CUBE_DIM as usize;
    while element < elements {
        let arg = args[element];
        if arg >= 0i32 {
            let number = arg as usize;
            let (place, is_there) = girih::view::resolve::<I>(index[number], extent, bounds);
            if is_there {
                let column = element % row;
                let mut part = A::cast_from(gradient[element / row * gradient_step + column]);
                #[comptime]
                match &weights {
                    ComptimeOption::Some(weights) => part *= A::cast_from(weights[number]),
                    ComptimeOption::None => {}
                }
                target[place * row + column]
                    .at::<Device>()
                    .fetch_add::<Relaxed>(part);
            }
        }
        element += step;
    }
}

/// For each entry the row that it adds to, `extent` where it adds to none; the segment that has it; and what its part is multiplied
/// by.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn places_kernel<A: Numeric, W: Numeric, I: Int, F: Int>(
    index: ComptimeOption<Box<[I]>>,
    order: ComptimeOption<Box<[u32]>>,
    weights: ComptimeOption<Box<[W]>>,
    counts: ComptimeOption<Box<[u32]>>,
    offsets: ComptimeOption<Box<[F]>>,
    rows: &mut [u32],
    segments_of: &mut [u32],
    scales: &mut [A],
    extent: usize,
    padding: usize,
    length: usize,
    segments: usize,
    count: usize,
    #[comptime] plan: Plan,
    #[define(A, W, I, F)] _types: [ElemType; 4],
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
    let mut place = ABSOLUTE_POS;
    let step = CUBE_COUNT * CUBE_DIM as usize;
    while place < count {
        let now = at::<F>(&ends, place);
        let entry = entry_at::<I, W>(&entries, place, false, plan.rules);
        let takes_part = entry.counts && now.segment < segments;
        rows[entry.number] = select(takes_part, entry.row as u32, extent as u32);
        segments_of[entry.number] = select(takes_part, now.segment as u32, 0u32);
        let mut scale = weight_of::<I, W, A>(&entries, entry);
        #[comptime]
        match &counts {
            ComptimeOption::Some(counts) => {
                if takes_part {
                    scale /= A::cast_from(counts[now.segment]);
                }
            }
            ComptimeOption::None => {}
        }
        scales[entry.number] = scale;
        place += step;
    }
}

/// The gradient of weights: for each entry the product of its bag's gradient and its row, added up over the columns. A team, all
/// units of which are in one plane, to a window.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn weights_kernel<E: Numeric, A: Numeric, I: Int, F: Int, N: Size>(
    gradient: &[Vector<E, N>],
    rows: &[Vector<E, N>],
    index: ComptimeOption<Box<[I]>>,
    order: ComptimeOption<Box<[u32]>>,
    counts: ComptimeOption<Box<[u32]>>,
    args: ComptimeOption<Box<[Vector<i32, N>]>>,
    offsets: ComptimeOption<Box<[F]>>,
    output: &mut [E],
    columns: Columns,
    rows_step: usize,
    extent: usize,
    padding: usize,
    length: usize,
    segments: usize,
    count: usize,
    window: usize,
    windows: usize,
    turns: usize,
    #[comptime] plan: Plan,
    #[define(E, A, I, F)] _types: [ElemType; 4],
) {
    let entries = Entries::<I, E> {
        order,
        index,
        weights: ComptimeOption::new_None(),
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
    let team = this_cube().partition(group_by(comptime!(plan.team)));
    let lanes = N::value();
    for turn in 0..turns {
        let cube = turn * CUBE_COUNT + CUBE_POS;
        let number =
            cube * comptime!((plan.units / plan.team) as usize) + team.group_rank() as usize;
        let mut found = segments;
        let mut end = 0usize;
        // The units of a plane go through the same steps, whether there is anything for them or not.
        for step in 0..window {
            let place = number * window + step;
            let is_place = number < windows && place < count;
            let place = select(is_place, place, count - 1);
            if place >= end {
                let now = at::<F>(&ends, place);
                found = now.segment;
                end = now.end;
            }
            let entry = entry_at::<I, E>(&entries, place, false, plan.rules);
            let takes_part = entry.counts && found < segments;
            let segment = select(takes_part, found, 0usize);
            let row = select(takes_part, entry.row, 0usize);
            let mut sum = A::from_int(0);
            let mut vector = team.unit_rank() as usize;
            while vector < columns.vectors {
                let held = Vector::<A, N>::cast_from(gradient[segment * columns.step + vector]);
                let value = Vector::<A, N>::cast_from(rows[row * rows_step + vector]);
                let mut product = held * value;
                #[comptime]
                match &args {
                    ComptimeOption::Some(args) => {
                        let arg = args[segment * columns.vectors + vector];
                        let is_it = arg.equal(&Vector::new(entry.number as i32));
                        product = select_many(is_it, product, Vector::new(A::from_int(0)));
                    }
                    ComptimeOption::None => {}
                }
                #[unroll]
                for lane in 0..lanes {
                    sum += product.extract(lane);
                }
                vector += comptime!(plan.team as usize);
            }
            let mut sum = team.reduce::<A, Sum>(sum);
            #[comptime]
            match &counts {
                ComptimeOption::Some(counts) => {
                    let rows = counts[segment];
                    sum /= A::cast_from(select(rows == 0u32, 1u32, rows));
                }
                ComptimeOption::None => {}
            }
            if is_place && team.unit_rank() == 0u32 {
                output[entry.number] = E::cast_from(select(takes_part, sum, A::from_int(0)));
            }
        }
    }
}

/// Zeros.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn zeros_kernel<A: Numeric, N: Size>(
    out: &mut [Vector<A, N>],
    vectors: usize,
    #[define(A)] _type: ElemType,
) {
    let mut at = ABSOLUTE_POS;
    let step = CUBE_COUNT * CUBE_DIM as usize;
    while at < vectors {
        out[at] = Vector::new(A::from_int(0));
        at += step;
    }
}

/// The same numbers in another type.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn convert_kernel<A: Numeric, E: Numeric>(
    from: &[A],
    to: &mut [E],
    count: usize,
    #[define(A, E)] _types: [ElemType; 2],
) {
    let mut at = ABSOLUTE_POS;
    let step = CUBE_COUNT * CUBE_DIM as usize;
    while at < count {
        to[at] = E::cast_from(from[at]);
        at += step;
    }
}
