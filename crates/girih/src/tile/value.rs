//! [`Tile`].

use super::{Held, Packet, Place, TileShape, join, splat};
use crate::handle::comptime_handle;
use core::marker::PhantomData;
use cubecl::prelude::*;
use std::rc::Rc;

/// A value of `S`'s extents with elements of type `E`, spread over a group of units.
///
/// A tile is a function from its coordinates to elements. Where the elements come from memory that the kernel only
/// reads, they are fetched where the tile is used, so data that passes from a load to a store goes through registers
/// one packet at a time, whatever the tile's extents: no register array, no unrolling. The lifetime is that of the
/// memory read, so the borrow checker keeps a deferred read from moving past a write by the same unit. A tile that is
/// used twice is fetched twice.
///
/// What an atomic access gives is read once, in the order that it names: such a tile is in the registers of the units of
/// the group that asked, and is stored by the same group.
///
/// Storing it ([`TileViewMut::store`](crate::view::TileViewMut::store)) spreads it over the units of a group: packet
/// `v`, in row-major order, belongs to unit `v % units`, so that neighbouring units touch neighbouring addresses.
pub struct Tile<'a, E: Scalar, S: TileShape> {
    _memory: PhantomData<&'a ()>,
    _value: PhantomData<fn() -> (E, S)>,
}

/// The packet of `width` elements that starts at these coordinates, along the last dimension.
type Function<E> = Rc<dyn Fn(&Scope, &[NativeExpand<u32>], usize) -> Packet<E>>;

/// Where the elements of a tile come from.
enum Source<E: Scalar> {
    /// A function of the coordinates, which any unit can ask.
    Deferred {
        function: Function<E>,
        /// The width at which it gives packets most cheaply.
        width: usize,
    },
    /// The registers of the units that hold it.
    Held(Rc<Held<E>>),
}

impl<E: Scalar> Clone for Source<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Deferred { function, width } => Self::Deferred {
                function: function.clone(),
                width: *width,
            },
            Self::Held(held) => Self::Held(held.clone()),
        }
    }
}

/// What a [`Tile`] is while the kernel is expanded.
pub struct TileExpand<E: Scalar, S: TileShape> {
    source: Source<E>,
    _shape: PhantomData<fn() -> S>,
}

impl<E: Scalar, S: TileShape> Clone for Tile<'_, E, S> {
    fn clone(&self) -> Self {
        cubecl::unexpanded!()
    }
}
impl<E: Scalar, S: TileShape> Clone for TileExpand<E, S> {
    fn clone(&self) -> Self {
        Self {
            source: self.source.clone(),
            _shape: PhantomData,
        }
    }
}
impl<E: Scalar, S: TileShape> CubeType for Tile<'_, E, S> {
    type ExpandType = TileExpand<E, S>;
}
comptime_handle!([E: Scalar, S: TileShape] TileExpand<E, S>);

impl<E: Scalar, S: TileShape> TileExpand<E, S> {
    pub(crate) fn new(
        width: usize,
        source: impl Fn(&Scope, &[NativeExpand<u32>], usize) -> Packet<E> + 'static,
    ) -> Self {
        let function = Rc::new(source);
        Self {
            source: Source::Deferred { function, width },
            _shape: PhantomData,
        }
    }

    /// The tile that these registers hold.
    pub(crate) fn held(held: Held<E>) -> Self {
        Self {
            source: Source::Held(Rc::new(held)),
            _shape: PhantomData,
        }
    }

    pub(crate) fn packet(&self, scope: &Scope, place: &Place<'_>, width: usize) -> Packet<E> {
        match &self.source {
            Source::Deferred { function, .. } => function(scope, place.at, width),
            Source::Held(held) => held.get(scope, place, width),
        }
    }

    /// The width at which packets come most cheaply, or the only one.
    pub(crate) fn width(&self) -> usize {
        match &self.source {
            Source::Deferred { width, .. } => *width,
            Source::Held(held) => held.width(),
        }
    }

    /// Whether only the unit that holds an element can read it.
    pub(crate) fn is_held(&self) -> bool {
        matches!(self.source, Source::Held(_))
    }

    /// How a walk over the tile is to be unrolled: registers have no index.
    pub(crate) fn unroll(&self, scope: &Scope) -> Option<u64> {
        match &self.source {
            Source::Deferred { .. } => None,
            Source::Held(_) => Held::<E>::unroll(scope),
        }
    }
}

impl<E: Scalar, S: TileShape> Tile<'static, E, S> {
    /// The tile that holds `value` everywhere.
    #[allow(unused_variables)]
    pub fn full(value: E) -> Self {
        cubecl::unexpanded!()
    }

    /// Expansion of [`full`](Self::full).
    pub fn __expand_full(_scope: &Scope, value: NativeExpand<E>) -> TileExpand<E, S> {
        TileExpand::new(1, move |scope, _, width| splat(scope, value, width))
    }
}

impl<E: Numeric, S: TileShape> Tile<'static, E, S> {
    /// The tile whose elements count from 0 in row-major order.
    pub fn iota() -> Self {
        cubecl::unexpanded!()
    }

    /// Expansion of [`iota`](Self::iota).
    pub fn __expand_iota(scope: &Scope) -> TileExpand<E, S> {
        let dims = S::__expand_dims(scope);
        TileExpand::new(1, move |scope, at, width| {
            let first = row_major(scope, &dims, at);
            let lanes: Vec<_> = (0..width as u32)
                .map(|lane| {
                    let element = first.__expand_add_method(scope, lane.into());
                    E::__expand_cast_from(scope, element)
                })
                .collect();
            join(scope, &lanes)
        })
    }
}

/// Row-major position of the element at these coordinates.
fn row_major(scope: &Scope, dims: &[usize], at: &[NativeExpand<u32>]) -> NativeExpand<u32> {
    at.iter().zip(dims).fold(
        0u32.into(),
        |position: NativeExpand<u32>, (coordinate, &extent)| {
            let scaled = position.__expand_mul_method(scope, (extent as u32).into());
            scaled.__expand_add_method(scope, *coordinate)
        },
    )
}
