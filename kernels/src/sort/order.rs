//! The order of keys, as that of unsigned integers.

use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;

/// What the bits of a key say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An unsigned integer.
    Unsigned,
    /// A signed integer, in two's complement.
    Signed,
    /// A binary float of IEEE 754's form with so many bits of fraction.
    Float {
        /// Bits of the fraction.
        fraction: u32,
    },
}

/// How keys become unsigned integers that are in the same order, and back: one to one.
///
/// Floats are in the order of their numbers, -0 before +0, then the NaNs: first those whose sign bit is clear. Among those of
/// one sign their bits say. Descending is the reverse of all that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// What the bits say.
    pub kind: Kind,
    /// How many bits a key has.
    pub bits: u32,
    /// Whether large keys come first.
    pub descending: bool,
}

impl Order {
    /// The order of the elements of a type, where it is a number that has one.
    pub(crate) fn of(element: ElemType, descending: bool) -> Option<Self> {
        let kind = match element {
            ElemType::UInt(_) | ElemType::Index => Kind::Unsigned,
            ElemType::Int(_) => Kind::Signed,
            ElemType::Float(FloatKind::F16) => Kind::Float { fraction: 10 },
            ElemType::Float(FloatKind::BF16) => Kind::Float { fraction: 7 },
            ElemType::Float(FloatKind::F32) => Kind::Float { fraction: 23 },
            ElemType::Float(FloatKind::F64) => Kind::Float { fraction: 52 },
            _ => return None,
        };
        let bits = 8 * element.size() as u32;
        Some(Self {
            kind,
            bits,
            descending,
        })
    }

    /// Bits of the fraction of a float.
    fn fraction(self) -> Option<u32> {
        match self.kind {
            Kind::Float { fraction } => Some(fraction),
            Kind::Unsigned | Kind::Signed => None,
        }
    }

    /// The order of keys in memory before or after a pass that is, or is not, at that end of the sort: what costs little is
    /// undone by each pass, which makes kernels fewer, and what costs more at the ends.
    pub(crate) fn at_end(self, is_end: bool) -> Option<Self> {
        self.unless_identity().filter(|_| self.is_cheap() || is_end)
    }

    /// Whether keys are in the order, and out of it, by one instruction or two.
    pub(crate) fn is_cheap(self) -> bool {
        self.fraction().is_none()
    }

    /// The order, unless keys are in it as they are.
    pub(crate) fn unless_identity(self) -> Option<Self> {
        (self.kind != Kind::Unsigned || self.descending).then_some(self)
    }
}

/// What the passes of a sweep keep keys encoded by: what costs little is undone by each of them, what costs more by the last alone.
pub(crate) fn cheap(order: Option<Order>) -> Option<Order> {
    order.filter(|order| order.is_cheap())
}

/// A number with one bit set.
#[cube]
fn bit<W: Int>(#[comptime] place: u32) -> W {
    W::new(1i64) << W::new(comptime!(i64::from(place)))
}

/// The bits that a key has, whatever the word has.
#[cube]
fn all<W: Int>(#[comptime] bits: u32) -> W {
    let highest = bit::<W>(comptime!(bits - 1));
    highest | (highest - W::new(1i64))
}

/// The key as an unsigned integer.
#[cube]
pub(crate) fn encode<W: Int>(raw: W, #[comptime] order: Option<Order>) -> W {
    if comptime!(order.is_none()) {
        raw
    } else {
        let order = comptime!(order.unwrap());
        let sign = bit::<W>(comptime!(order.bits - 1));
        let all = all::<W>(comptime!(order.bits));
        let mut key = raw;
        if comptime!(order.kind == Kind::Signed) {
            key ^= sign;
        }
        if comptime!(order.fraction().is_some()) {
            let flipped = key ^ select(key >= sign, all, sign);
            // The NaNs of the sign bit would be the lowest: they wrap round to the top.
            key = (flipped - nans::<W>(order)) & all;
        }
        if comptime!(order.descending) {
            key ^= all;
        }
        key
    }
}

/// The key that an unsigned integer stands for.
#[cube]
pub(crate) fn decode<W: Int>(encoded: W, #[comptime] order: Option<Order>) -> W {
    if comptime!(order.is_none()) {
        encoded
    } else {
        let order = comptime!(order.unwrap());
        let sign = bit::<W>(comptime!(order.bits - 1));
        let all = all::<W>(comptime!(order.bits));
        let mut key = encoded;
        if comptime!(order.descending) {
            key ^= all;
        }
        if comptime!(order.kind == Kind::Signed) {
            key ^= sign;
        }
        if comptime!(order.fraction().is_some()) {
            let flipped = (key + nans::<W>(order)) & all;
            key = flipped ^ select(flipped >= sign, sign, all);
        }
        key
    }
}

/// How many NaNs there are of each sign.
#[cube]
fn nans<W: Int>(#[comptime] order: Order) -> W {
    W::new(comptime!((1i64 << order.fraction().unwrap_or(0)) - 1))
}
