//! Keys of every type: their order on the host, and data to sort.

use cubecl::prelude::*;
use half::{bf16, f16};
use proptest::prelude::{Strategy, prop_oneof};

/// An element that can be sorted.
pub trait Key: CubeElement + Scalar + Copy + std::fmt::Debug {
    /// Bits of it.
    const BITS: u32;
    /// The element with these bits.
    fn from_low_bits(bits: u64) -> Self;
    /// Its bits.
    fn bits(self) -> u128;
    /// The unsigned integer that stands for it: its place among all elements of the type in their order.
    fn place(self) -> u128;
    /// The least, the greatest, and others that are special.
    fn extremes() -> Vec<Self>;
}

macro_rules! unsigned {
    ($($t:ty)*) => {$(
        impl Key for $t {
            const BITS: u32 = <$t>::BITS;
            fn from_low_bits(bits: u64) -> Self {
                bits as $t
            }
            fn bits(self) -> u128 {
                u128::from(self)
            }
            fn place(self) -> u128 {
                u128::from(self)
            }
            fn extremes() -> Vec<Self> {
                vec![0, 1, <$t>::MAX, <$t>::MAX - 1, <$t>::MAX / 2, <$t>::MAX / 2 + 1]
            }
        }
    )*};
}
unsigned!(u8 u16 u32 u64);

macro_rules! signed {
    ($($t:ty, $u:ty;)*) => {$(
        impl Key for $t {
            const BITS: u32 = <$t>::BITS;
            fn from_low_bits(bits: u64) -> Self {
                bits as $t
            }
            fn bits(self) -> u128 {
                u128::from(self as $u)
            }
            fn place(self) -> u128 {
                (i128::from(self) - i128::from(<$t>::MIN)) as u128
            }
            fn extremes() -> Vec<Self> {
                vec![0, 1, -1, <$t>::MAX, <$t>::MIN, <$t>::MIN + 1]
            }
        }
    )*};
}
signed! {
    i8, u8;
    i16, u16;
    i32, u32;
    i64, u64;
}

macro_rules! float {
    ($($t:ty, $u:ty, $fraction:literal;)*) => {$(
        impl Key for $t {
            const BITS: u32 = <$u>::BITS;
            fn from_low_bits(bits: u64) -> Self {
                <$t>::from_bits(bits as $u)
            }
            fn bits(self) -> u128 {
                u128::from(self.to_bits())
            }
            fn place(self) -> u128 {
                let magnitude = i128::from(self.to_bits() & (<$u>::MAX >> 1));
                let infinity = i128::from(<$t>::INFINITY.to_bits());
                // -inf is first, so that a negative number of a magnitude is so far from it.
                let (is_negative, is_nan) = (self.to_bits() >> (<$u>::BITS - 1) == 1, self.is_nan());
                let nans = (1i128 << $fraction) - 1;
                let place = match (is_nan, is_negative) {
                    (false, true) => infinity - magnitude,
                    (false, false) => infinity + 1 + magnitude,
                    (true, false) => infinity + 1 + magnitude,
                    // The negative NaNs of large magnitude come before those of small ones.
                    (true, true) => 2 * (infinity + 1) + nans + (nans - (magnitude - infinity)),
                };
                place as u128
            }
            fn extremes() -> Vec<Self> {
                let bits: [$u; 4] = [
                    <$t>::NAN.to_bits(),
                    <$u>::MAX,
                    <$u>::MAX >> 1,
                    <$t>::NEG_INFINITY.to_bits() + 1,
                ];
                let mut all: Vec<Self> = bits.into_iter().map(<$t>::from_bits).collect();
                all.extend([
                    <$t>::INFINITY,
                    <$t>::NEG_INFINITY,
                    <$t>::from_bits(0),
                    <$t>::from_bits(1),
                    <$t>::from_bits(1 << (<$u>::BITS - 1)),
                    <$t>::from_bits((1 << (<$u>::BITS - 1)) + 1),
                    <$t>::MAX,
                    <$t>::MIN,
                ]);
                all
            }
        }
    )*};
}
float! {
    f16, u16, 10;
    bf16, u16, 7;
    f32, u32, 23;
    f64, u64, 52;
}

/// Kinds of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Any bits.
    Any,
    /// In order.
    Ascending,
    /// In reverse order.
    Descending,
    /// All the same.
    Equal,
    /// Of three values.
    Few,
    /// Special values.
    Extremes,
    /// Half of them the same, half any.
    Half,
}

impl Values {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Any,
        Self::Ascending,
        Self::Descending,
        Self::Equal,
        Self::Few,
        Self::Extremes,
        Self::Half,
    ];
}

/// So many keys of a kind, the same in every run.
pub fn values<E: Key>(kind: Values, len: usize) -> Vec<E> {
    let any = |at: usize| E::from_low_bits(mixed(at as u64));
    let ordered = || {
        let mut all: Vec<E> = (0..len).map(any).collect();
        all.sort_by_key(|key| key.place());
        all
    };
    match kind {
        Values::Any => (0..len).map(any).collect(),
        Values::Ascending => ordered(),
        Values::Descending => ordered().into_iter().rev().collect(),
        Values::Equal => vec![any(3); len],
        Values::Few => (0..len)
            .map(|at| any(mixed(at as u64) as usize % 3))
            .collect(),
        Values::Extremes => {
            let extremes = E::extremes();
            (0..len)
                .map(|at| extremes[mixed(at as u64) as usize % extremes.len()])
                .collect()
        }
        Values::Half => (0..len)
            .map(|at| any(if mixed(at as u64) >> 63 == 1 { at } else { 0 }))
            .collect(),
    }
}

/// A number that looks random (SplitMix64).
fn mixed(seed: u64) -> u64 {
    let mut z = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Any kind of data.
pub fn kinds() -> impl Strategy<Value = Values> {
    proptest::sample::select(Values::ALL.to_vec())
}

/// Lengths of every size, many of them next to those of tiles.
pub fn lengths() -> impl Strategy<Value = usize> {
    let edges = proptest::sample::select(vec![
        256usize, 512, 1024, 2048, 4096, 6144, 8192, 8832, 16_384, 17_664,
    ]);
    prop_oneof![
        2 => 1usize..40,
        2 => 1usize..12_000,
        3 => (edges, 0usize..5).prop_map(|(edge, by)| edge + by - 2),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element has a place of its own, and they are those from 0 on, in the order of numbers.
    #[test]
    fn places_of_f16_are_a_total_order() {
        let mut all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        all.sort_by_key(|value| value.place());
        for (place, value) in all.iter().enumerate() {
            assert_eq!(value.place(), place as u128);
        }
        let numbers: Vec<f16> = all
            .iter()
            .copied()
            .filter(|value| !value.is_nan())
            .collect();
        assert!(all[numbers.len()..].iter().all(|value| value.is_nan()));
        assert!(numbers.windows(2).all(|two| two[0] <= two[1]));
        let zero = numbers
            .iter()
            .position(|value| *value == f16::ZERO)
            .unwrap();
        assert!(numbers[zero].is_sign_negative() && numbers[zero + 1].is_sign_positive());
    }
}
