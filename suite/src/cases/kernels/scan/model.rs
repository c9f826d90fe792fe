//! What a scan computes, element by element on the host.

use cubecl::prelude::*;
use girih_kernels::{ScanOperation, ScanOperator};
use girih_testkit::check::Exact;
use half::{bf16, f16};

/// Every operation.
pub const OPERATIONS: [ScanOperation; 4] = [
    ScanOperation::Sum,
    ScanOperation::Product,
    ScanOperation::Min,
    ScanOperation::Max,
];

/// An element type of scans.
pub trait Number: CubeElement + Numeric + Exact {
    /// What elements are combined in.
    type Sum: Copy + PartialOrd;
    /// The smallest and the largest value.
    const EXTREMES: [Self::Sum; 2];
    /// The element as it is combined.
    fn wide(self) -> Self::Sum;
    /// The element of a result.
    fn narrow(sum: Self::Sum) -> Self;
    /// A small number.
    fn small(number: i64) -> Self;
    /// The two added.
    fn sum(first: Self::Sum, second: Self::Sum) -> Self::Sum;
    /// The two multiplied.
    fn product(first: Self::Sum, second: Self::Sum) -> Self::Sum;
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Number for $ty {
            type Sum = Self;
            const EXTREMES: [Self; 2] = [Self::MIN, Self::MAX];
            fn wide(self) -> Self {
                self
            }
            fn narrow(sum: Self) -> Self {
                sum
            }
            fn small(number: i64) -> Self {
                number as Self
            }
            fn sum(first: Self, second: Self) -> Self {
                first.wrapping_add(second)
            }
            fn product(first: Self, second: Self) -> Self {
                first.wrapping_mul(second)
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($ty:ty as $sum:ty: |$wide:ident| $widened:expr, |$narrow:ident| $narrowed:expr;)*) => {$(
        impl Number for $ty {
            type Sum = $sum;
            const EXTREMES: [$sum; 2] = [<$sum>::NEG_INFINITY, <$sum>::INFINITY];
            fn wide(self) -> $sum {
                let $wide = self;
                $widened
            }
            fn narrow($narrow: $sum) -> Self {
                $narrowed
            }
            fn small(number: i64) -> Self {
                Self::narrow(number as $sum)
            }
            fn sum(first: $sum, second: $sum) -> $sum {
                first + second
            }
            fn product(first: $sum, second: $sum) -> $sum {
                first * second
            }
        }
    )*};
}
floats! {
    f32 as f32: |value| value, |sum| sum;
    f64 as f64: |value| value, |sum| sum;
    f16 as f32: |value| value.to_f32(), |sum| f16::from_f32(sum);
    bf16 as f32: |value| value.to_f32(), |sum| bf16::from_f32(sum);
}

/// Numbers whose sums and products are exact, however they are grouped: 1 and -1, and now and then twice that.
pub fn sample<T: Number>(count: usize, seed: u64) -> Vec<T> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let drawn = mixed ^ (mixed >> 27);
            let sign = if drawn & 1 == 0 { 1 } else { -1 };
            // A factor of 2 in one of a thousand elements keeps products of thousands of them below 2^24.
            let large = drawn >> 8 & 1023 == 0;
            T::small(if large { 2 * sign } else { sign })
        })
        .collect()
}

fn combine<T: Number>(operation: ScanOperation, first: T::Sum, second: T::Sum) -> T::Sum {
    // What is not the same as itself is no number.
    let is_nan = second.partial_cmp(&second).is_none();
    match operation {
        ScanOperation::Sum => T::sum(first, second),
        ScanOperation::Product => T::product(first, second),
        ScanOperation::Min if second < first || is_nan => second,
        ScanOperation::Max if first < second || is_nan => second,
        ScanOperation::Min | ScanOperation::Max => first,
    }
}

/// What an exclusive scan begins with.
fn first<T: Number>(operation: ScanOperation) -> T::Sum {
    match operation {
        ScanOperation::Sum => T::small(0).wide(),
        ScanOperation::Product => T::small(1).wide(),
        ScanOperation::Min => T::EXTREMES[1],
        ScanOperation::Max => T::EXTREMES[0],
    }
}

/// One row scanned, anew at every head.
pub fn rows<T: Number>(
    row: &[T],
    operation: ScanOperation,
    exclusive: bool,
    is_head: impl Fn(usize) -> bool,
) -> Vec<T> {
    let start = first::<T>(operation);
    let mut before = None;
    let mut scanned = vec![];
    for (at, value) in row.iter().enumerate() {
        if is_head(at) {
            before = None;
        }
        let value = value.wide();
        let with = before.map_or(value, |before| combine::<T>(operation, before, value));
        scanned.push(T::narrow(match (exclusive, before) {
            (false, _) => with,
            (true, None) => start,
            (true, Some(before)) => combine::<T>(operation, start, before),
        }));
        before = Some(with);
    }
    scanned
}

/// A tensor in row-major order with every row along an axis mapped.
pub fn along<T: Copy>(
    values: &[T],
    shape: &[usize],
    axis: usize,
    row: impl Fn(&[T]) -> Vec<T>,
) -> Vec<T> {
    let inner: usize = shape[axis + 1..].iter().product();
    let length = shape[axis];
    let mut out = values.to_vec();
    if values.is_empty() {
        return out;
    }
    for outer in 0..values.len() / (inner * length) {
        for column in 0..inner {
            let places: Vec<usize> = (0..length)
                .map(|at| (outer * length + at) * inner + column)
                .collect();
            let held: Vec<T> = places.iter().map(|&place| values[place]).collect();
            for (place, value) in places.into_iter().zip(row(&held)) {
                out[place] = value;
            }
        }
    }
    out
}

/// Keeps the last number that is not 0, which does not commute.
pub struct LastNonZero;

#[cube]
impl ScanOperator for LastNonZero {
    fn identity<A: Numeric>() -> A {
        A::from_int(0)
    }
    fn combine<A: Numeric>(first: A, second: A) -> A {
        select(second == A::from_int(0), first, second)
    }
}

/// The last number of a row that is not 0, up to each element or before it, anew at every head.
pub fn last_of_row(row: &[i32], exclusive: bool, heads: &[usize]) -> Vec<i32> {
    let mut last = 0;
    let numbers = row.iter().enumerate().map(|(at, &value)| {
        let before = if heads.contains(&at) { 0 } else { last };
        last = if value == 0 { before } else { value };
        if exclusive { before } else { last }
    });
    numbers.collect()
}
