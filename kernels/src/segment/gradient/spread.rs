//! The gradient of segments, as a kernel.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// Elements of lists and vectors have no assigning operators in a kernel.
#![allow(clippy::assign_op_pattern)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::super::Kind;
use super::super::entries::Ends;
use super::super::plan::{Columns, Plan, share_of, vector_at};
use super::walk::at;
use cubecl::ir::ElemType;
use cubecl::prelude::*;

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
