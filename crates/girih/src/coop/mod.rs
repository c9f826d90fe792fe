//! Groups of units: who holds a tile.

mod group;

pub use group::{Group, GroupExpand, Level, this_cube, this_plane, this_unit};
