//! What each operation does, on the host.

use cubecl::prelude::{CubeElement, Numeric};
use girih::memory::Operation;
use girih_testkit::check::Exact;
use half::f16;

/// An element that atomics are tested with.
pub(super) trait Number: Exact + CubeElement + Numeric + PartialEq {
    /// Values with every edge of the type among them.
    fn values() -> Vec<Self>;
    /// What an operation leaves of what memory held and a value.
    fn apply(operation: Operation, held: Self, value: Self) -> Self;
}

macro_rules! integer {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn values() -> Vec<Self> {
                vec![0, 1, 2, 3, 7, 100, <$t>::MAX, <$t>::MIN, <$t>::MAX - 1, <$t>::MAX / 2, <$t>::MIN / 2]
            }
            fn apply(operation: Operation, held: Self, value: Self) -> Self {
                match operation {
                    Operation::Add => held.wrapping_add(value),
                    Operation::Sub => held.wrapping_sub(value),
                    Operation::Mul => held.wrapping_mul(value),
                    Operation::Min => held.min(value),
                    Operation::Max => held.max(value),
                    Operation::And => held & value,
                    Operation::Or => held | value,
                    Operation::Xor => held ^ value,
                    _ => value,
                }
            }
        }
    )*};
}
integer!(i32 u32 i64 u64);

macro_rules! float {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn values() -> Vec<Self> {
                let of = |value: f32| <$t>::from_f32(value);
                let mut values: Vec<_> = [0.0, -0.0, 1.0, -1.0, 0.5, 1000.0, -3.25].map(of).into();
                values.extend([<$t>::INFINITY, <$t>::NEG_INFINITY, <$t>::NAN, <$t>::MAX, <$t>::MIN]);
                values
            }
            fn apply(operation: Operation, held: Self, value: Self) -> Self {
                let keep = |value_first: bool| match (held.is_nan(), value.is_nan()) {
                    (true, false) => value,
                    (_, true) => held,
                    _ if value_first => value,
                    _ => held,
                };
                let order = <$t>::total_cmp(&value, &held);
                match operation {
                    Operation::Add => held + value,
                    Operation::Sub => held - value,
                    Operation::Mul => held * value,
                    Operation::Min => keep(order.is_lt()),
                    Operation::Max => keep(order.is_gt()),
                    _ => value,
                }
            }
        }
    )*};
}
float!(f32 f64 f16);

/// Floats from an f32, as `half` names it.
trait FromF32 {
    fn from_f32(value: f32) -> Self;
}
impl FromF32 for f32 {
    fn from_f32(value: f32) -> Self {
        value
    }
}
impl FromF32 for f64 {
    fn from_f32(value: f32) -> Self {
        value.into()
    }
}

/// Every pair of values: what memory holds, and what it meets.
pub(super) fn pairs<T: Number>() -> (Vec<T>, Vec<T>) {
    let values = T::values();
    let pairs = values
        .iter()
        .flat_map(|&held| values.iter().map(move |&value| (held, value)));
    pairs.unzip()
}
