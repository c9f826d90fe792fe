//! Collectives of every element type and operation, on random values, in groups of every kind and selected sizes.

use cubecl::prelude::*;
use girih::coop::{And, Max, Min, Or, Product, Sum, Xor};
use girih_testkit::{DeviceKind, Error, Rt, case::Need, cases, check::same, needs};
use half::f16;
use proptest::prelude::any;

use super::collectives::{RESULTS, check_split, compute, expected, kernels};
use super::splits::{Split, group_of, groups, splits};
use crate::random::for_all;

cases! {
    signed_words,
    unsigned_words,
    bits_of_words,
    single_floats,
    long_integers needs [needs::U64, needs::I64],
    double_floats needs [needs::F64, LANES_OF_F64],
    half_floats needs [needs::F16],
}

const LANES_OF_F64: Need = Need {
    what: "f64 between lanes",
    met: |rt| rt.kind != DeviceKind::Wgsl,
};

kernels! {
    i32_sum: i32 by Sum;
    i32_product: i32 by Product;
    i32_min: i32 by Min;
    i32_max: i32 by Max;
    u32_product: u32 by Product;
    u32_min: u32 by Min;
    u32_max: u32 by Max;
    u32_and: u32 by And;
    u32_or: u32 by Or;
    i32_xor: i32 by Xor;
    f32_sum: f32 by Sum;
    f32_product: f32 by Product;
    f32_min: f32 by Min;
    f32_max: f32 by Max;
    i64_sum: i64 by Sum;
    i64_min: i64 by Min;
    i64_max: i64 by Max;
    u64_product: u64 by Product;
    u64_xor: u64 by Xor;
    f64_sum: f64 by Sum;
    f64_product: f64 by Product;
    f64_min: f64 by Min;
    f64_max: f64 by Max;
    f16_sum: f16 by Sum;
    f16_min: f16 by Min;
    f16_max: f16 by Max;
}

/// Random bits of a unit in a data set.
fn bits(seed: u64, unit: u32) -> u64 {
    let mut bits = seed ^ u64::from(unit).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// Integers so small that sums of a cube are exact.
fn small(bits: u64) -> i8 {
    (bits % 9) as i8 - 4
}

/// Powers of two of either sign, whose products are exact.
fn power(bits: u64) -> f32 {
    [1.0, -1.0, 2.0, -0.5, 0.5, -2.0, 1.0, -1.0][(bits % 8) as usize]
}

/// Finite numbers of all sizes, and infinities; none is a zero below 0.
fn of_any_size(bits: u64) -> f32 {
    match bits % 16 {
        0 => f32::INFINITY,
        1 => f32::NEG_INFINITY,
        2 => 0.0,
        // The exponent is of a normal number.
        _ => f32::from_bits((bits >> 16) as u32 & 0xbfff_ffff | 0x0080_0000),
    }
}

fn less<T: PartialOrd>(a: T, b: T) -> T {
    if b < a { b } else { a }
}
fn more<T: PartialOrd>(a: T, b: T) -> T {
    if a < b { b } else { a }
}

/// Compares the selected splits of a kernel on random data with the host.
macro_rules! compare {
    ($rt:ident: $($kernel:ident of $element:ty, $value:expr, $combine:expr;)*) => {{
        let (units, plane, mut splits) = splits($rt);
        splits.retain(|split| split.is_selected(plane));
        $(for split in &splits {
            for_all(any::<u64>(), |seed| {
                let of: fn(u64) -> $element = $value;
                let value = |unit| of(bits(seed, unit));
                check_split!($rt, $kernel of $element, split, units, plane, value, $combine)
                    .map_err(|error| format!("{}: {error}", stringify!($kernel)))
            })?;
        })*
        Ok(())
    }};
}

fn signed_words(rt: &Rt) -> Result<(), String> {
    compare! {
        rt:
        i32_sum of i32, |bits| bits as i32, i32::wrapping_add;
        i32_product of i32, |bits| bits as i32, i32::wrapping_mul;
        i32_min of i32, |bits| bits as i32, less;
        i32_max of i32, |bits| bits as i32, more;
    }
}

fn unsigned_words(rt: &Rt) -> Result<(), String> {
    compare! {
        rt:
        u32_product of u32, |bits| bits as u32 | 1, u32::wrapping_mul;
        u32_min of u32, |bits| bits as u32, less;
        u32_max of u32, |bits| bits as u32, more;
    }
}

fn bits_of_words(rt: &Rt) -> Result<(), String> {
    compare! {
        rt:
        // Few bits are 0, or 1, so that many are left.
        u32_and of u32, |bits| (bits | bits >> 24 | bits >> 29) as u32 | 0x8000_0001, |a, b| a & b;
        u32_or of u32, |bits| (bits & bits >> 24 & bits >> 29 & bits >> 17) as u32, |a, b| a | b;
        i32_xor of i32, |bits| bits as i32, |a, b| a ^ b;
    }
}

fn single_floats(rt: &Rt) -> Result<(), String> {
    compare! {
        rt:
        f32_sum of f32, |bits| f32::from(small(bits)) * 1024.0 + 1.0, |a, b| a + b;
        f32_product of f32, power, |a, b| a * b;
        f32_min of f32, of_any_size, less;
        f32_max of f32, of_any_size, more;
    }
}

fn long_integers(rt: &Rt) -> Result<(), String> {
    compare! {
        rt:
        i64_sum of i64, |bits| bits as i64, i64::wrapping_add;
        i64_min of i64, |bits| bits as i64, less;
        i64_max of i64, |bits| bits as i64, more;
        u64_product of u64, |bits| bits | 1, u64::wrapping_mul;
        u64_xor of u64, |bits| bits, |a, b| a ^ b;
    }
}

fn double_floats(rt: &Rt) -> Result<(), String> {
    compare! {
        rt:
        f64_sum of f64, |bits| (bits >> 24) as f64 - 5e11, |a, b| a + b;
        f64_product of f64, |bits| power(bits).into(), |a, b| a * b;
        f64_min of f64, |bits| of_any_size(bits).into(), less;
        f64_max of f64, |bits| of_any_size(bits).into(), more;
    }
}

fn half_floats(rt: &Rt) -> Result<(), String> {
    compare! {
        rt:
        f16_sum of f16, |bits| small(bits).into(), |a, b| a + b;
        f16_min of f16, |bits| f16::from_f32(f32::from(bits as i16)), less;
        f16_max of f16, |bits| f16::from_f32(f32::from(bits as i16)), more;
    }
}
