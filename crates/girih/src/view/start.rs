//! Where a tile starts along a dimension that is not gathered.

use crate::handle::comptime_handle;
use cubecl::prelude::*;

/// A start offset: `u32`, `usize` or `i32` elements (below 0 is out of bounds), or a [`chunk()`] number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a start offset",
    note = "a start is a `u32`, `usize` or `i32` in elements, or `chunk(i)` for a multiple of the tile's extent"
)]
pub trait Start {}
impl Start for u32 {}
impl Start for usize {}
impl Start for i32 {}
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
#[derive(Clone)]
pub enum StartExpand {
    /// Elements from 0 on.
    Unsigned(NativeExpand<usize>),
    /// 32-bit elements from 0 on, widened when used.
    Unsigned32(NativeExpand<u32>),
    /// Elements, maybe below 0.
    Signed(NativeExpand<i32>),
    /// Multiples of the tile's extent, or of a partition's step.
    Tile(NativeExpand<usize>),
}

impl From<NativeExpand<usize>> for StartExpand {
    fn from(start: NativeExpand<usize>) -> Self {
        Self::Unsigned(start)
    }
}
impl From<NativeExpand<u32>> for StartExpand {
    fn from(start: NativeExpand<u32>) -> Self {
        Self::Unsigned32(start)
    }
}
impl From<NativeExpand<i32>> for StartExpand {
    fn from(start: NativeExpand<i32>) -> Self {
        Self::Signed(start)
    }
}
impl From<ChunkExpand> for StartExpand {
    fn from(chunk: ChunkExpand) -> Self {
        Self::Tile(chunk.0)
    }
}
macro_rules! literal_starts {
    ($($literal:ty),*) => {$(
        impl From<$literal> for StartExpand {
            fn from(start: $literal) -> Self {
                Self::from(NativeExpand::<$literal>::from(start))
            }
        }
    )*};
}
literal_starts!(i32, u32, usize);

/// A position along an axis: the element, and whether it is in range (`None`: it always is).
pub(super) struct Position {
    pub element: NativeExpand<usize>,
    pub in_range: Option<NativeExpand<bool>>,
}

impl StartExpand {
    /// The element `coordinate` steps after the start, along an axis of `extent` elements.
    pub(super) fn position(
        &self,
        scope: &Scope,
        step: usize,
        coordinate: NativeExpand<u32>,
        extent: NativeExpand<usize>,
    ) -> Position {
        match self {
            Self::Signed(start) => match start.constant() {
                Some(known) if known.as_i64() >= 0 => {
                    Self::Unsigned((known.as_i64() as usize).into())
                        .position(scope, step, coordinate, extent)
                }
                _ => signed(scope, *start, coordinate, extent),
            },
            Self::Unsigned32(start) => {
                let start = usize::__expand_cast_from(scope, *start);
                Self::Unsigned(start).position(scope, step, coordinate, extent)
            }
            Self::Unsigned(start) => {
                let element = add(scope, *start, coordinate);
                let mut in_range = element.__expand_lt_method(scope, &extent);
                if start.constant().is_none() {
                    // A start near the top of the address type wraps around: then the start itself is out of range.
                    let no_wrap = start.__expand_lt_method(scope, &extent);
                    in_range = and(scope, in_range, no_wrap);
                }
                Position {
                    element,
                    in_range: Some(in_range),
                }
            }
            Self::Tile(index) => {
                let first = index.__expand_mul_method(scope, step.into());
                let element = add(scope, first, coordinate);
                let in_range = element.__expand_lt_method(scope, &extent);
                let tiles = extent.__expand_div_method(scope, step.into());
                let no_wrap = index.__expand_le_method(scope, &tiles);
                let in_range = and(scope, in_range, no_wrap);
                Position {
                    element,
                    in_range: Some(in_range),
                }
            }
        }
    }

    /// This number as one of tiles.
    pub(super) fn tile(self, scope: &Scope) -> Self {
        match self {
            Self::Unsigned(number) | Self::Tile(number) => Self::Tile(number),
            Self::Unsigned32(number) => Self::Tile(usize::__expand_cast_from(scope, number)),
            Self::Signed(number) => Self::Tile(usize::__expand_cast_from(scope, number)),
        }
    }

    /// Whether every start of this kind is a multiple of `width` elements: `None` where only the kernel can say.
    pub(super) fn aligned(&self, step: usize, width: usize) -> Option<bool> {
        let constant = match self {
            Self::Unsigned(start) => start.constant(),
            Self::Unsigned32(start) => start.constant(),
            Self::Signed(start) => start.constant(),
            Self::Tile(_) => return Some(step.is_multiple_of(width)),
        };
        constant.map(|value| value.as_i64() % width as i64 == 0)
    }
}

fn signed(
    scope: &Scope,
    start: NativeExpand<i32>,
    coordinate: NativeExpand<u32>,
    extent: NativeExpand<usize>,
) -> Position {
    let coordinate = i32::__expand_cast_from(scope, coordinate);
    let sum = start.__expand_add_method(scope, coordinate);
    let element = usize::__expand_cast_from(scope, sum);
    let not_below = sum.__expand_ge_method(scope, &0i32.into());
    let below_end = element.__expand_lt_method(scope, &extent);
    Position {
        element,
        in_range: Some(and(scope, not_below, below_end)),
    }
}

fn add(
    scope: &Scope,
    start: NativeExpand<usize>,
    coordinate: NativeExpand<u32>,
) -> NativeExpand<usize> {
    let coordinate = usize::__expand_cast_from(scope, coordinate);
    start.__expand_add_method(scope, coordinate)
}

pub(super) fn and(
    scope: &Scope,
    a: NativeExpand<bool>,
    b: NativeExpand<bool>,
) -> NativeExpand<bool> {
    a.__expand_and_method(scope, b)
}
