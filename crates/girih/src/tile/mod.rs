//! Tiles: values spread over a group of units.
//!
//! A [`Tile`] is computed with as a number is: `a * b + 1.0`, `x.exp()`, `x.lt(&y)`. What each operation does is in the
//! documentation of [`Tile`], by kind; all of them in one table are in the book's chapter on tiles.

mod arithmetic;
mod compare;
mod elements;
mod factor;
mod fill;
mod fragments;
mod held;
mod keep;
mod kept;
mod lines;
mod moves;
mod multiply;
mod operand;
mod packet;
mod position;
mod product;
mod reduce;
mod scan;
mod shape;
mod spread;
mod value;

pub(crate) use arithmetic::convert;
pub use elements::{Bits, Real, Signed};
pub use factor::{Columns, FactorExpand, Rows};
pub(crate) use held::Held;
pub use operand::{Operand, OperandExpand};
pub(crate) use packet::{Packet, Width, join, lane, splat, when, width};
pub use reduce::{Maximum, Minimum};
pub use shape::{HasAxis, SameRank, TileShape};
pub(crate) use spread::{Place, Spread, Turns};
pub(crate) use value::Grain;
pub use value::{Tile, TileExpand};

/// The book's chapter, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/src/tiles.md")]
struct Book;
