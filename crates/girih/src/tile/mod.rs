//! Tiles: values spread over a group of units.

mod packet;
mod shape;
mod value;

pub(crate) use packet::{Packet, Width, join, lane, splat, when, width};
pub use shape::TileShape;
pub use value::{Tile, TileExpand};
