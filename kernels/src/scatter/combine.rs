//! How two updates to one place become one.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]

use super::ScatterMode;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;

/// The type that updates are combined in: f32 for narrower floats, so that a sum is rounded once.
pub(crate) fn wide(element: ElemType) -> ElemType {
    match element {
        ElemType::Float(FloatKind::F64) => element,
        ElemType::Float(_) => ElemType::Float(FloatKind::F32),
        _ => element,
    }
}

/// Both combined, lane by lane; `first` is of the earlier update.
#[cube]
pub(crate) fn combine<A: Numeric, N: Size>(
    first: Vector<A, N>,
    second: Vector<A, N>,
    #[comptime] mode: ScatterMode,
) -> Vector<A, N> {
    match comptime!(mode) {
        ScatterMode::Set => second,
        ScatterMode::Add => first + second,
        ScatterMode::Mul => first * second,
        ScatterMode::Min => extreme::<A, N>(first, second, true),
        ScatterMode::Max => extreme::<A, N>(first, second, false),
    }
}

#[cube]
fn extreme<A: Numeric, N: Size>(
    first: Vector<A, N>,
    second: Vector<A, N>,
    #[comptime] smallest: bool,
) -> Vector<A, N> {
    let mut kept = Vector::<A, N>::empty();
    #[unroll]
    for lane in 0..N::value() {
        let (held, other) = (first.extract(lane), second.extract(lane));
        let replaces = precedes::<A>(other, held, smallest);
        kept.insert(lane, select(replaces, other, held));
    }
    kept
}

/// Whether `a` is to be kept rather than `b`: the smaller of two numbers (or the larger), -0 below +0, and any number rather
/// than a NaN, as an atomic minimum has it.
#[cube]
#[allow(unused_variables)]
fn precedes<A: Numeric>(a: A, b: A, #[comptime] smaller: bool) -> bool {
    intrinsic!(|scope| {
        match A::elem_type(scope) {
            ElemType::Float(FloatKind::F64) => floats::expand::<A, u64>(scope, a, b, smaller),
            ElemType::Float(_) => floats::expand::<A, u32>(scope, a, b, smaller),
            _ => integers::expand::<A>(scope, a, b, smaller),
        }
    })
}

#[cube]
fn integers<A: Numeric>(a: A, b: A, #[comptime] smaller: bool) -> bool {
    if comptime!(smaller) { a < b } else { b < a }
}

/// By the bits, since a compiler may take -0 for +0, and not every target tells a NaN.
#[cube]
fn floats<A: Numeric, U: Int>(a: A, b: A, #[comptime] smaller: bool) -> bool {
    let element = elem_type_of::<A>();
    let bits = comptime!(element.size() as i64 * 8);
    let sign = U::from_int(1) << U::from_int(comptime!(bits - 1));
    let infinity = U::from_int(comptime!(if bits == 64 {
        0x7ff0_0000_0000_0000
    } else {
        0x7f80_0000
    }));
    let magnitude = sign - U::from_int(1);
    let (a, b) = (U::reinterpret(a), U::reinterpret(b));
    let (a_is_nan, b_is_nan) = ((a & magnitude) > infinity, (b & magnitude) > infinity);
    let (a, b) = (ordered::<U>(a, sign), ordered::<U>(b, sign));
    let first = if comptime!(smaller) { a < b } else { b < a };
    !a_is_nan && (b_is_nan || first)
}

/// The bits of a float as an unsigned integer of the same order: negative numbers reversed, below the others.
#[cube]
fn ordered<U: Int>(bits: U, sign: U) -> U {
    bits ^ select(bits >= sign, (sign - U::from_int(1)) | sign, sign)
}

/// What leaves every value as it is: -0 of a sum of floats, and NaN of their minimum, since a NaN yields to numbers.
#[cube]
#[allow(unused_variables)]
pub(crate) fn identity<A: Numeric>(#[comptime] mode: ScatterMode) -> A {
    intrinsic!(|scope| {
        let is_float = matches!(A::elem_type(scope), ElemType::Float(_));
        match mode {
            ScatterMode::Add if is_float => of_bits::<A>(scope, 0x8000_0000),
            ScatterMode::Min | ScatterMode::Max if is_float => of_bits::<A>(scope, 0x7fc0_0000),
            ScatterMode::Min => A::__expand_max_value(scope),
            ScatterMode::Max => A::__expand_min_value(scope),
            ScatterMode::Mul => A::__expand_from_int(scope, 1i64.into()),
            ScatterMode::Set | ScatterMode::Add => A::__expand_from_int(scope, 0i64.into()),
        }
    })
}

/// Through the bits, since WGSL has no literal for a value that is not finite, and an optimiser may take -0 for 0.
fn of_bits<A: Numeric>(scope: &Scope, bits: u32) -> NativeExpand<A> {
    let single = f32::__expand_reinterpret::<u32>(scope, bits.into());
    A::__expand_cast_from(scope, single)
}
