//! [`Operand`]: the other side of an operation on a tile.

use super::packet::now;
use super::{Tile, TileExpand, TileShape};
use core::marker::PhantomData;
use cubecl::ir::ConstantValue;
use cubecl::prelude::*;

/// What a tile of `E` of shape `S` is combined with: another such tile, or one element for all.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined with a tile of `{E}` of shape `{S}`",
    label = "expected a tile of the same elements and shape, or an element",
    note = "`broadcast_to` repeats a tile along dimensions of extent 1, and `cast` converts its elements"
)]
pub trait Operand<'a, E: Scalar, S: TileShape> {}
#[diagnostic::do_not_recommend]
impl<'a, E: Scalar, S: TileShape> Operand<'a, E, S> for Tile<'a, E, S> {}
#[diagnostic::do_not_recommend]
impl<'a, E: Scalar, S: TileShape> Operand<'a, E, S> for &Tile<'a, E, S> {}
#[diagnostic::do_not_recommend]
impl<E: Scalar, S: TileShape> Operand<'_, E, S> for E {}

/// Any [`Operand`] while the kernel is expanded.
pub struct OperandExpand<E: Scalar, S: TileShape>(Given<E, S>);

enum Given<E: Scalar, S: TileShape> {
    Tile(TileExpand<E, S>),
    Element(NativeExpand<E>),
    /// A literal, whose type rustc chose.
    Literal(ConstantValue, PhantomData<E>),
}

impl<E: Scalar, S: TileShape> OperandExpand<E, S> {
    /// The operand as a tile, and its value where it is one that is known.
    pub(super) fn resolve(self, scope: &Scope) -> (TileExpand<E, S>, Option<ConstantValue>) {
        match self.0 {
            Given::Tile(tile) => (tile, None),
            Given::Element(element) => {
                let known = element.expand.as_const();
                (TileExpand::full(scope, now(scope, element)), known)
            }
            Given::Literal(value, _) => {
                let element = E::elem_type(scope).constant(value);
                let known = element.as_const();
                (TileExpand::full(scope, element.into()), known)
            }
        }
    }
}

impl<E: Scalar, S: TileShape> From<TileExpand<E, S>> for OperandExpand<E, S> {
    fn from(tile: TileExpand<E, S>) -> Self {
        Self(Given::Tile(tile))
    }
}
impl<E: Scalar, S: TileShape> From<&TileExpand<E, S>> for OperandExpand<E, S> {
    fn from(tile: &TileExpand<E, S>) -> Self {
        Self(Given::Tile(tile.clone()))
    }
}
impl<E: Scalar, S: TileShape> From<NativeExpand<E>> for OperandExpand<E, S> {
    fn from(element: NativeExpand<E>) -> Self {
        Self(Given::Element(element))
    }
}

macro_rules! literals {
    ($($ty:ty: $kind:ident as $wide:ty;)*) => {$(
        impl<E: Scalar, S: TileShape> From<$ty> for OperandExpand<E, S> {
            fn from(literal: $ty) -> Self {
                Self(Given::Literal(ConstantValue::$kind(literal as $wide), PhantomData))
            }
        }
    )*};
}
literals! {
    f32: Float as f64;
    f64: Float as f64;
    i8: Int as i64;
    i16: Int as i64;
    i32: Int as i64;
    i64: Int as i64;
    u8: UInt as u64;
    u16: UInt as u64;
    u32: UInt as u64;
    u64: UInt as u64;
    usize: UInt as u64;
    bool: Bool as bool;
}
