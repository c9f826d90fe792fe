//! Views: which elements of a tensor a tile covers.
//!
//! | view | a tile covers |
//! |---|---|
//! | [`TileView`] | one tile of a regular partition |
//! | [`GatherScatterView`] | chunks at the indices that a tile lists, along one dimension |
//! | [`FlatView`] | single elements, each at indices of its own |
//!
//! Every call names the group of units that holds the tile. A store spreads the tile over it; a load only says who will
//! hold it, since its elements are fetched where the tile is used (see [`Tile`](crate::tile::Tile)).
//!
//! Each has a `Mut` form that stores; [`AtomicGatherScatterView`] and [`AtomicFlatView`] combine with what memory holds.

mod access;
mod atomic;
mod bounds;
mod checked;
mod flat;
mod gather_scatter;
mod index;
mod padding;
mod partition;
mod span;
mod start;

pub use atomic::{AtomicGatherScatterView, AtomicGatherScatterViewExpand, AtomicSource};
pub use bounds::{Bounds, Offence, Reporter, ReporterExpand};
pub use checked::{Checked, Report};
pub use flat::{
    AtomicFlatView, AtomicFlatViewExpand, AxisIndices, BroadcastTo, FlatIndex, FlatIndexExpand,
    FlatIndexPack, FlatView, FlatViewExpand, FlatViewMut, FlatViewMutExpand, Latency, Mask,
    MaskElement, MaskExpand, MaskOf,
};
pub use gather_scatter::{
    GatherScatterView, GatherScatterViewExpand, GatherScatterViewMut, GatherScatterViewMutExpand,
};
pub use index::{
    ChunkIndex, ChunkIndexExpand, GatherDim, IndexPack, Indices, IndicesExpand, ListOf,
};
pub use padding::{NaN, NegInf, NegZero, Pad, PadValue, Padding, PosInf, Zero};
pub use partition::{
    Dims, TileIndex, TileIndexExpand, TileIndexPack, TileNumber, TileView, TileViewExpand,
    TileViewMut, TileViewMutExpand,
};
pub use span::{Span, SpanExpand, SpanMut, SpanMutExpand, SpanSource, SpanSourceMut};
pub use start::{Chunk, ChunkExpand, Start, StartExpand, chunk};

/// The book's chapter, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/src/views.md")]
struct Book;
