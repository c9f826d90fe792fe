//! Tiles: values spread over a group of units.

mod packet;
mod shape;
mod spread;
mod value;

pub(crate) use packet::{Packet, Width, join, lane, splat, when, width};
pub use shape::TileShape;
pub(crate) use spread::Spread;
pub use value::{Tile, TileExpand};
