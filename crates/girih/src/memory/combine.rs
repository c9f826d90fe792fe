//! Read-modify-writes that a device has no operation for, by compare-exchange on the bits.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use super::access::Operation;
use super::cell::{Cell, Strength};
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;

/// Combines the value with what the memory holds, both as the bits of a `T`, and gives the bits that it held.
///
/// The load that begins needs no order: the exchange fails if it was out of date, and gives what to try next.
#[cube]
pub(super) fn by_compare_exchange<T: Numeric, U: Int>(
    cell: Cell<U>,
    value: U,
    #[comptime] operation: Operation,
    #[comptime] with: Strength,
) -> U {
    let mut held = cell.peek(with);
    let mut waiting = true;
    while waiting {
        let combined = combine::<T, U>(held, value, operation);
        let seen = cell.swap(held, combined, with);
        waiting = seen != held;
        held = seen;
    }
    held
}

/// The bits of the combination of two numbers, given as bits.
#[cube]
fn combine<T: Numeric, U: Int>(held: U, value: U, #[comptime] operation: Operation) -> U {
    let (a, b) = (T::reinterpret(held), T::reinterpret(value));
    match comptime!(operation) {
        Operation::Add => U::reinterpret(a + b),
        Operation::Sub => U::reinterpret(a - b),
        Operation::Mul => U::reinterpret(a * b),
        Operation::Min => select(precedes::<T, U>(value, held, true), value, held),
        Operation::Max => select(precedes::<T, U>(value, held, false), value, held),
        Operation::And => held & value,
        Operation::Or => held | value,
        Operation::Xor => held ^ value,
        _ => value,
    }
}

/// Whether `a` is to be kept rather than `b`, of which the smaller (or the larger) is.
#[cube]
fn precedes<T: Numeric, U: Int>(a: U, b: U, #[comptime] smaller: bool) -> bool {
    let element = elem_type_of::<T>();
    let infinity = comptime!(infinity(element));
    if comptime!(infinity == 0) {
        let (a, b) = (T::reinterpret(a), T::reinterpret(b));
        if comptime!(smaller) { a < b } else { b < a }
    } else {
        let sign = U::from_int(1) << U::from_int(comptime!(element.size() as i64 * 8 - 1));
        let infinity = U::from_int(infinity);
        let magnitude = sign - U::from_int(1);
        let (a_is_nan, b_is_nan) = ((a & magnitude) > infinity, (b & magnitude) > infinity);
        let (a, b) = (ordered::<U>(a, sign), ordered::<U>(b, sign));
        let first = if comptime!(smaller) { a < b } else { b < a };
        !a_is_nan && (b_is_nan || first)
    }
}

/// The bits of a float as an unsigned integer of the same order: negative numbers reversed, below the others.
#[cube]
fn ordered<U: Int>(bits: U, sign: U) -> U {
    let flipped = select(bits >= sign, (sign - U::from_int(1)) | sign, sign);
    bits ^ flipped
}

/// The bits of the float's infinity, above which only NaNs are; 0 for an integer.
fn infinity(element: ElemType) -> i64 {
    match element {
        ElemType::Float(FloatKind::F16) => 0x7c00,
        ElemType::Float(FloatKind::BF16) => 0x7f80,
        ElemType::Float(FloatKind::F64) => 0x7ff0_0000_0000_0000,
        ElemType::Float(_) => 0x7f80_0000,
        _ => 0,
    }
}
