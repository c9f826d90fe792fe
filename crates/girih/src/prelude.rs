//! What a kernel author imports, beside `cubecl::prelude::*`.

pub use crate::coop::{
    Group, GroupMapping, GroupMappingExpand, LaneMask, Level, Mapping, MappingResult, Tag,
    binary_partition, group_as, group_by, identity, own, take, this_cluster, this_cube, this_grid,
    this_plane, this_unit,
};
pub use crate::layout::{KernelLayout, KernelTuple};
pub use crate::memory::{
    AcqRel, Acquire, AtomicExt, AtomicExtExpand, AtomicRef, Cluster, Cube, Device, Relaxed,
    Release, SeqCst, System, Unit, fence, shared,
};
pub use crate::shape;
pub use crate::tile::{Tile, TileShape};
pub use crate::view::{
    AtomicFlatView, AtomicGatherScatterView, Bounds, FlatView, FlatViewMut, GatherScatterView,
    GatherScatterViewMut, NaN, NegInf, NegZero, Pad, Padding, PosInf, TileView, TileViewMut, Zero,
    chunk,
};
