//! What one unit has of the rows that it combines: a vector in each of its blocks of columns.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// Elements of lists and vectors have no assigning operators in a kernel.
#![allow(clippy::assign_op_pattern)]

use super::Kind;
use crate::scan::extreme;
use cubecl::prelude::*;

/// Rows combined.
#[derive(CubeType)]
pub(crate) struct Total<A: Numeric, N: Size> {
    /// The result in each block.
    pub values: Array<Vector<A, N>>,
    /// The entry that each element came from; how many zeros there were, of [`Kind::Nonzero`].
    pub args: Array<Vector<i32, N>>,
    /// How many rows there were.
    pub count: u32,
}

/// No rows.
#[cube]
pub(crate) fn none<A: Numeric, N: Size>(
    #[comptime] kind: Kind,
    #[comptime] blocks: usize,
) -> Total<A, N> {
    let mut values = Array::<Vector<A, N>>::new(blocks);
    let mut args = Array::<Vector<i32, N>>::new(blocks);
    let first = identity::<A>(kind);
    #[unroll]
    for block in 0..blocks {
        values[block] = Vector::new(first);
        args[block] = Vector::new(comptime!(kind.arg_of_none()));
    }
    Total::<A, N> {
        values,
        args,
        count: 0u32,
    }
}

/// What leaves every value as it is.
#[cube]
fn identity<A: Numeric>(#[comptime] kind: Kind) -> A {
    match comptime!(kind) {
        Kind::Sum | Kind::Mean => A::from_int(0),
        Kind::Product | Kind::Nonzero => A::from_int(1),
        Kind::Max => extreme::<A>(false),
        Kind::Min => extreme::<A>(true),
    }
}

/// Combines the elements of a row, of entry `arg`, with what a block has; not where the row does not count.
#[cube]
pub(crate) fn take_row<A: Numeric, N: Size>(
    total: &mut Total<A, N>,
    #[comptime] block: usize,
    row: Vector<A, N>,
    arg: i32,
    counts: bool,
    #[comptime] kind: Kind,
) {
    if comptime!(kind == Kind::Nonzero) {
        let one = Vector::<A, N>::new(A::from_int(1));
        let is_zero = row.equal(&Vector::new(A::from_int(0)));
        let zeros = select_many(is_zero, Vector::<i32, N>::new(1i32), Vector::new(0i32));
        take::<A, N>(
            total,
            block,
            select_many(is_zero, one, row),
            zeros,
            counts,
            kind,
        );
    } else {
        take::<A, N>(total, block, row, Vector::new(arg), counts, kind);
    }
}

/// Combines what a block of another total has with what this one has.
#[cube]
pub(crate) fn take<A: Numeric, N: Size>(
    total: &mut Total<A, N>,
    #[comptime] block: usize,
    value: Vector<A, N>,
    arg: Vector<i32, N>,
    counts: bool,
    #[comptime] kind: Kind,
) {
    let held = total.values[block];
    let held_arg = total.args[block];
    match comptime!(kind) {
        Kind::Sum | Kind::Mean => {
            let zero = Vector::<A, N>::new(A::from_int(0));
            total.values[block] = held + select(counts, value, zero);
        }
        Kind::Product => {
            let one = Vector::<A, N>::new(A::from_int(1));
            total.values[block] = held * select(counts, value, one);
        }
        Kind::Nonzero => {
            let one = Vector::<A, N>::new(A::from_int(1));
            let none = Vector::<i32, N>::new(0i32);
            total.values[block] = held * select(counts, value, one);
            total.args[block] = held_arg + select(counts, arg, none);
        }
        Kind::Max | Kind::Min => {
            // Not of a NaN, which is kept; the first of equal elements, and the first NaN, stay.
            let mut stays = value.less_equal(&held);
            if comptime!(kind == Kind::Min) {
                stays = value.greater_equal(&held);
            }
            let is_number = held.equal(&held);
            let better = select_many(is_number, select_many(stays, held, value), held);
            let better_arg = select_many(is_number, select_many(stays, held_arg, arg), held_arg);
            let is_first = total.count == 0u32;
            let better = select(is_first, value, better);
            let better_arg = select(is_first, arg, better_arg);
            total.values[block] = select(counts, better, held);
            total.args[block] = select(counts, better_arg, held_arg);
        }
    }
}

/// The result of a block.
#[cube]
pub(crate) fn result<A: Numeric, N: Size>(
    total: &Total<A, N>,
    #[comptime] block: usize,
    #[comptime] kind: Kind,
    #[comptime] zero_of_none: bool,
) -> Vector<A, N> {
    let mut value = total.values[block];
    if comptime!(kind == Kind::Mean) {
        let count = select(total.count == 0u32, 1u32, total.count);
        value = value / Vector::new(A::cast_from(count));
    }
    if comptime!(zero_of_none && kind != Kind::Sum && kind != Kind::Mean) {
        value = select(total.count == 0u32, Vector::new(A::from_int(0)), value);
    }
    value
}
