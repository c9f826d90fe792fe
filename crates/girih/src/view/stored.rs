//! What a store takes: a tile of the view's elements, or of elements that become them without loss.

use super::transfer::Given;
use crate::handle::comptime_handle;
use crate::tile::{Grain, Packet, Place, TileExpand, TileShape, convert};
use core::marker::PhantomData;
use cubecl::prelude::*;
use std::rc::Rc;

/// Every value of the type is a value of `E`: `i8` of `i32`, `u32` of `i64`, `f16` of `f32`, `u8` of `f16`.
///
/// NaNs stay NaNs, of maybe another payload.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` cannot be stored as `{E}` without loss",
    label = "some values of `{Self}` are none of `{E}`",
    note = "a store converts a tile only where no value can be lost; convert it before, saying how"
)]
pub trait Widens<E: Scalar>: Scalar {}
impl<E: Scalar> Widens<E> for E {}

macro_rules! widens {
    ($($from:ty => $($to:ty),+;)*) => {$($(
        impl Widens<$to> for $from {}
    )+)*};
}
widens! {
    u8 => u16, u32, u64, i16, i32, i64, half::f16, half::bf16, f32, f64;
    u16 => u32, u64, i32, i64, f32, f64;
    u32 => u64, i64, f64;
    i8 => i16, i32, i64, half::f16, half::bf16, f32, f64;
    i16 => i32, i64, f32, f64;
    i32 => i64, f64;
    half::f16 => f32, f64;
    half::bf16 => f32, f64;
    f32 => f64;
}

/// A tile on its way to memory whose elements are of type `E`.
pub struct StoredTile<E: Scalar, S: TileShape>(PhantomData<(E, S)>);

/// What a [`StoredTile`] is while the kernel is expanded.
pub struct StoredTileExpand<E: Scalar, S: TileShape> {
    tile: Rc<dyn Stored<E, S>>,
}
impl<E: Scalar, S: TileShape> Clone for StoredTileExpand<E, S> {
    fn clone(&self) -> Self {
        Self {
            tile: self.tile.clone(),
        }
    }
}
impl<E: Scalar, S: TileShape> CubeType for StoredTile<E, S> {
    type ExpandType = StoredTileExpand<E, S>;
}
comptime_handle!([E: Scalar, S: TileShape] StoredTileExpand<E, S>);

/// A tile, the type of its elements forgotten.
trait Stored<E: Scalar, S: TileShape> {
    fn packet(&self, scope: &Scope, place: &Place<'_>, width: usize) -> Packet<E>;
    fn grain(&self) -> Grain;
    fn unroll(&self, scope: &Scope) -> Option<u64>;
    fn is_held(&self) -> bool;
    /// The tile as one of `E`.
    fn converted(&self) -> TileExpand<E, S>;
}

/// A tile of elements of another type than the view's.
struct Wider<T: Scalar, S: TileShape>(TileExpand<T, S>);

impl<E: Scalar, S: TileShape> Stored<E, S> for TileExpand<E, S> {
    fn packet(&self, scope: &Scope, place: &Place<'_>, width: usize) -> Packet<E> {
        self.packet(scope, place, width)
    }
    fn grain(&self) -> Grain {
        self.grain()
    }
    fn unroll(&self, scope: &Scope) -> Option<u64> {
        self.unroll(scope)
    }
    fn is_held(&self) -> bool {
        self.is_held()
    }
    fn converted(&self) -> TileExpand<E, S> {
        self.clone()
    }
}

impl<T: Scalar, E: Scalar, S: TileShape> Stored<E, S> for Wider<T, S> {
    fn packet(&self, scope: &Scope, place: &Place<'_>, width: usize) -> Packet<E> {
        convert(scope, self.0.packet(scope, place, width))
    }
    fn grain(&self) -> Grain {
        self.0.grain()
    }
    fn unroll(&self, scope: &Scope) -> Option<u64> {
        self.0.unroll(scope)
    }
    fn is_held(&self) -> bool {
        self.0.is_held()
    }
    fn converted(&self) -> TileExpand<E, S> {
        let tile = self.0.clone();
        TileExpand::of(tile.grain(), move |scope, place, width| {
            convert(scope, tile.packet(scope, place, width))
        })
    }
}

impl<E: Scalar, T: Widens<E>, S: TileShape> From<TileExpand<T, S>> for StoredTileExpand<E, S> {
    fn from(tile: TileExpand<T, S>) -> Self {
        // One type is the other where they are one: then nothing is converted.
        let same: Box<dyn core::any::Any> = Box::new(tile.clone());
        match same.downcast::<TileExpand<E, S>>() {
            Ok(same) => Self {
                tile: Rc::new(*same),
            },
            Err(_) => Self {
                tile: Rc::new(Wider(tile)),
            },
        }
    }
}

impl<E: Scalar, S: TileShape> StoredTileExpand<E, S> {
    /// Hands `store` what it needs of the tile, and gives the tile back.
    pub(super) fn given(
        self,
        scope: &Scope,
        store: impl FnOnce(&Given<'_, E>),
    ) -> TileExpand<E, S> {
        store(&Given {
            dims: S::__expand_dims(scope),
            grain: self.tile.grain(),
            unroll: self.tile.unroll(scope),
            is_held: self.tile.is_held(),
            packets: &|scope, place, width| self.tile.packet(scope, place, width),
        });
        self.tile.converted()
    }
}
