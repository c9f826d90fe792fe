//! Where a tile starts along a dimension that does not list its indices.

use super::saturate::{cut, distance, narrowed, product, sum, widened};
use crate::handle::comptime_handle;
use cubecl::prelude::*;
use std::rc::Rc;

/// A start offset: any integer, in elements (below 0 is out of bounds), or a [`chunk()`] number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a start offset",
    note = "a start is an integer in elements, or `chunk(i)` for a multiple of the tile's extent"
)]
pub trait Start {}
impl Start for Chunk {}

/// A start that is a multiple of the tile's extent along its dimension, so that it keeps vectors aligned.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    _index: usize,
}
/// What a [`Chunk`] is while the kernel is expanded.
#[derive(Clone)]
pub struct ChunkExpand(NativeExpand<usize>);
impl CubeType for Chunk {
    type ExpandType = ChunkExpand;
}
comptime_handle!([] ChunkExpand);

/// The start of chunk `index`: `index` times the tile's extent along that dimension.
#[allow(unused_variables)]
pub fn chunk(index: usize) -> Chunk {
    cubecl::unexpanded!()
}
/// Expansion of [`chunk()`].
pub mod chunk {
    use super::*;
    /// What a kernel that calls [`chunk()`](super::chunk()) does instead.
    pub fn expand(_scope: &Scope, index: NativeExpand<usize>) -> ChunkExpand {
        ChunkExpand(index)
    }
}

/// A start while the kernel is expanded.
#[derive(Clone, Copy)]
pub struct StartExpand {
    given: Given,
    /// Whether the number counts tiles, or elements.
    tiles: bool,
}

/// A number of one of the types in which indices are computed.
#[derive(Clone, Copy)]
enum Number {
    /// 32 bits, from 0 on.
    Unsigned(NativeExpand<u32>),
    Signed(NativeExpand<i32>),
    /// As wide as the kernel's addresses, from 0 on.
    Address(NativeExpand<usize>),
    UnsignedLong(NativeExpand<u64>),
    SignedLong(NativeExpand<i64>),
}

impl StartExpand {
    /// This number as one of tiles.
    pub(super) fn tile(self) -> Self {
        Self {
            tiles: true,
            ..self
        }
    }

    /// What the start is now, whatever the kernel assigns to its variable later.
    pub(super) fn read(self, scope: &Scope) -> Self {
        match self.given.known() {
            Some(_) => self,
            None => Self {
                given: self.given.read(scope),
                ..self
            },
        }
    }

    /// Whether the start is a multiple of `width` elements: `None` where only the kernel can say.
    pub(super) fn aligned(&self, step: usize, width: usize) -> Option<bool> {
        let step = if self.tiles { step } else { 1 };
        if step.is_multiple_of(width) {
            return Some(true);
        }
        let known = self.given.known()?;
        Some((known * step as i128).rem_euclid(width as i128) == 0)
    }

    /// The first index.
    pub(super) fn first(&self, scope: &Scope, step: usize) -> First {
        let step = if self.tiles { step } else { 1 };
        match self.given.known() {
            Some(known) => First::known(scope, known * step as i128),
            None => First::of(scope, self.given.number(scope), step, self.tiles),
        }
    }
}

impl From<ChunkExpand> for StartExpand {
    fn from(chunk: ChunkExpand) -> Self {
        Self::from(chunk.0).tile()
    }
}

macro_rules! starts {
    ($($name:ident: $number:ty => $kind:ident($wide:ty);)*) => {
        /// A number as the kernel gives it.
        #[derive(Clone, Copy)]
        enum Given {
            $($name(NativeExpand<$number>)),*
        }
        impl Given {
            /// The number, where it is known now.
            fn known(&self) -> Option<i128> {
                let constant = match self {
                    $(Self::$name(number) => number.constant()),*
                };
                constant.map(|value| value.as_i128())
            }

            /// What the number is now, whatever the kernel assigns to its variable later.
            fn read(self, scope: &Scope) -> Self {
                match self {
                    $(Self::$name(number) => Self::$name(number.read_value(scope).into())),*
                }
            }

            fn number(&self, scope: &Scope) -> Number {
                match *self {
                    $(Self::$name(number) => Number::$kind(<$wide>::__expand_cast_from(scope, number))),*
                }
            }
        }
        $(
            impl Start for $number {}
            impl From<NativeExpand<$number>> for StartExpand {
                fn from(start: NativeExpand<$number>) -> Self {
                    Self { given: Given::$name(start), tiles: false }
                }
            }
            impl From<$number> for StartExpand {
                fn from(start: $number) -> Self {
                    Self::from(NativeExpand::<$number>::from(start))
                }
            }
        )*
    };
}
starts! {
    U8: u8 => Unsigned(u32);
    U16: u16 => Unsigned(u32);
    U32: u32 => Unsigned(u32);
    Usize: usize => Address(usize);
    U64: u64 => UnsignedLong(u64);
    I8: i8 => Signed(i32);
    I16: i16 => Signed(i32);
    I32: i32 => Signed(i32);
    I64: i64 => SignedLong(i64);
}

/// Emits a number in 64 bits.
type Exact = dyn Fn(&Scope) -> NativeExpand<i64>;

/// The index at which a run starts, as its distance from 0. A distance past all addresses is cut to the largest one.
pub(super) struct First {
    distance: NativeExpand<usize>,
    /// Whether the index is below 0 (`None`: it is not).
    negative: Option<NativeExpand<bool>>,
    reach: Reach,
    /// The index in 64 bits, for a report.
    exact: Rc<Exact>,
}

/// What is known of a sum of the distance and a coordinate.
enum Reach {
    /// Addresses hold it.
    Held,
    /// They may not: it then is less than the distance.
    Wraps,
    /// The distance itself is a product that addresses hold only where the number of tiles is at most that of the extent.
    Product {
        number: NativeExpand<usize>,
        step: usize,
    },
}

/// Bits of the kernel's addresses.
fn address_bits(scope: &Scope) -> u32 {
    8 * usize::__expand_size(scope) as u32
}

/// The largest address of the kernel.
fn largest(scope: &Scope) -> u64 {
    u64::MAX >> (64 - address_bits(scope))
}

impl First {
    fn known(scope: &Scope, index: i128) -> Self {
        let distance = index.unsigned_abs().min(largest(scope).into()) as u64;
        let room = largest(scope) - distance;
        let exact = index.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Self {
            distance: (distance as usize).into(),
            negative: (index < 0).then(|| true.into()),
            // Coordinates are below 2^31.
            reach: match room >> 31 {
                0 => Reach::Wraps,
                _ => Reach::Held,
            },
            exact: Rc::new(move |_| exact.into()),
        }
    }

    fn of(scope: &Scope, number: Number, step: usize, tiles: bool) -> Self {
        let long = address_bits(scope) == 64;
        let (magnitude, negative, is_small) = match number {
            Number::Unsigned(number) => (usize::__expand_cast_from(scope, number), None, true),
            Number::Address(number) => (number, None, false),
            Number::UnsignedLong(number) => (cut::expand::<u64>(scope, number, long), None, false),
            Number::Signed(number) => {
                let negative = number.__expand_lt_method(scope, &0i32.into());
                (
                    distance::expand::<i32>(scope, number, long),
                    Some(negative),
                    true,
                )
            }
            Number::SignedLong(number) => {
                let negative = number.__expand_lt_method(scope, &0i64.into());
                let distance = distance::expand::<i64>(scope, number, long);
                (distance, Some(negative), false)
            }
        };
        let (distance, reach) = match (tiles, negative) {
            // A product of two numbers of 32 bits, and a coordinate beside it, need no more than 64.
            _ if long && is_small => (scaled(scope, magnitude, step), Reach::Held),
            (false, _) => (magnitude, Reach::Wraps),
            (true, None) => {
                let reach = Reach::Product {
                    number: magnitude,
                    step,
                };
                (scaled(scope, magnitude, step), reach)
            }
            (true, Some(_)) => {
                // Far enough below 0, or past the extent, is as good as farther.
                let most = (largest(scope) / 2 / step as u64) as usize;
                let cut = magnitude.__expand_min_method(scope, most.into());
                (scaled(scope, cut, step), Reach::Wraps)
            }
        };
        Self {
            distance,
            negative,
            reach,
            exact: Rc::new(move |scope| exact(scope, number, step)),
        }
    }

    /// Where the run starts, modulo `width`: 0 for whole vectors alone.
    pub(super) fn misalignment(&self, scope: &Scope, width: usize) -> NativeExpand<usize> {
        self.distance.__expand_rem_method(scope, width.into())
    }

    /// The index `coordinate` steps further, in 64 bits.
    pub(super) fn index(&self, scope: &Scope, coordinate: NativeExpand<u32>) -> NativeExpand<i64> {
        sum::expand(scope, (self.exact)(scope), coordinate)
    }

    /// The index `coordinate` steps further, modulo the addresses.
    pub(super) fn element(
        &self,
        scope: &Scope,
        coordinate: NativeExpand<u32>,
    ) -> NativeExpand<usize> {
        let coordinate = usize::__expand_cast_from(scope, coordinate);
        let after = |scope: &Scope| self.distance.__expand_add_method(scope, coordinate);
        match self.negative {
            None => after(scope),
            Some(negative) => {
                let before = coordinate.__expand_sub_method(scope, self.distance);
                choose(scope, negative, before, after)
            }
        }
    }

    /// Whether the index `coordinate` steps further, which is `element` modulo the addresses, is below 0 (`None`: it is
    /// not).
    pub(super) fn is_below(
        &self,
        scope: &Scope,
        coordinate: NativeExpand<u32>,
    ) -> Option<NativeExpand<bool>> {
        let negative = self.negative?;
        let coordinate = usize::__expand_cast_from(scope, coordinate);
        let before_0 = coordinate.__expand_lt_method(scope, &self.distance);
        Some(and(scope, negative, before_0))
    }

    /// Whether an index that is not below 0, and is `element` modulo the addresses, is below the extent.
    pub(super) fn is_inside(
        &self,
        scope: &Scope,
        element: NativeExpand<usize>,
        extent: NativeExpand<usize>,
    ) -> NativeExpand<bool> {
        let inside = element.__expand_lt_method(scope, &extent);
        let held = match self.reach {
            Reach::Held => return inside,
            Reach::Wraps => element.__expand_ge_method(scope, &self.distance),
            Reach::Product { number, step } => {
                let tiles = extent.__expand_div_method(scope, step.into());
                number.__expand_le_method(scope, &tiles)
            }
        };
        let held = match self.negative {
            None => held,
            Some(negative) => negative.__expand_or_method(scope, held),
        };
        and(scope, inside, held)
    }

    /// How far the index `coordinate` steps further is below 0, where it is.
    pub(super) fn distance_below(
        &self,
        scope: &Scope,
        coordinate: NativeExpand<u32>,
    ) -> NativeExpand<usize> {
        let coordinate = usize::__expand_cast_from(scope, coordinate);
        self.distance.__expand_sub_method(scope, coordinate)
    }
}

fn scaled(scope: &Scope, number: NativeExpand<usize>, step: usize) -> NativeExpand<usize> {
    match step {
        1 => number,
        _ => number.__expand_mul_method(scope, step.into()),
    }
}

/// `number * step` in 64 bits, cut to what these hold.
fn exact(scope: &Scope, number: Number, step: usize) -> NativeExpand<i64> {
    let long = match number {
        Number::Unsigned(number) => i64::__expand_cast_from(scope, number),
        // Lavapipe may widen a negative number as one without a sign.
        Number::Signed(number) => widened::expand(scope, number),
        Number::Address(number) => {
            let number = u64::__expand_cast_from(scope, number);
            narrowed::expand(scope, number)
        }
        Number::UnsignedLong(number) => narrowed::expand(scope, number),
        Number::SignedLong(number) => number,
    };
    product::expand(scope, long, step as i64)
}

/// `select`, where the condition may be known.
pub(super) fn choose(
    scope: &Scope,
    condition: NativeExpand<bool>,
    then: NativeExpand<usize>,
    otherwise: impl FnOnce(&Scope) -> NativeExpand<usize>,
) -> NativeExpand<usize> {
    match condition.constant() {
        Some(known) if known.as_bool() => then,
        Some(_) => otherwise(scope),
        None => {
            let otherwise = otherwise(scope);
            select::expand::<usize>(scope, condition, then, otherwise)
        }
    }
}

pub(super) fn and(
    scope: &Scope,
    a: NativeExpand<bool>,
    b: NativeExpand<bool>,
) -> NativeExpand<bool> {
    a.__expand_and_method(scope, b)
}
