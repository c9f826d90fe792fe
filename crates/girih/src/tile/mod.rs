//! Tiles: values spread over a group of units.

mod held;
mod packet;
mod shape;
mod spread;
mod value;

pub(crate) use held::Held;
pub(crate) use packet::{Packet, Width, join, lane, splat, when, width};
pub use shape::TileShape;
pub(crate) use spread::{Place, Spread};
pub use value::{Tile, TileExpand};
