//! Views: which elements of a tensor a tile covers.
//!
//! | view | a tile covers |
//! |---|---|
//! | [`TileView`] | one tile of a regular partition |
//! | [`GatherScatterView`] | chunks at the indices that a tile lists, along one dimension or several |
//! | [`FlatView`] | single elements, each at indices of its own |
//!
//! Every call names the group of units that holds the tile. A store spreads the tile over it; a load only says who will
//! hold it, since its elements are fetched where the tile is used (see [`Tile`](crate::tile::Tile)).
//!
//! Each has a `Mut` form that stores; [`AtomicGatherScatterView`] and [`AtomicFlatView`] combine with what memory holds.

mod access;
mod atomic;
mod atomic_span;
mod bounds;
mod checked;
mod duplicates;
mod each;
mod flat;
mod gather_scatter;
mod index;
mod list;
mod options;
mod padding;
mod partition;
mod records;
mod region;
mod reporter;
mod saturate;
mod span;
mod start;
mod stored;
mod tile_view;
mod transfer;
mod types;

pub use atomic::{AtomicGatherScatterView, AtomicGatherScatterViewExpand};
pub use atomic_span::AtomicSource;
pub use bounds::{AxisBounds, Bounds, BoundsPack, resolve};
pub use checked::{Checked, Report};
pub use duplicates::Winner;
pub use each::{EachTile, EachTileExpand};
pub use flat::{
    AtomicFlatView, AtomicFlatViewExpand, AxisIndices, BroadcastTo, FlatIndex, FlatIndexExpand,
    FlatIndexPack, FlatView, FlatViewExpand, FlatViewMut, FlatViewMutExpand, Mask, MaskElement,
    MaskExpand, MaskOf,
};
pub use gather_scatter::{
    GatherScatterView, GatherScatterViewExpand, GatherScatterViewMut, GatherScatterViewMutExpand,
};
pub use index::{ChunkIndex, ChunkIndexExpand, GatherDim, IndexEntry, IndexPack, Listed};
pub use list::{Indices, IndicesExpand, ListOf};
pub use options::{KnownLatency, Latency};
pub use padding::{NaN, NegInf, NegZero, Pad, PadValue, Padding, PosInf, Zero};
pub use partition::{Dims, TileIndex, TileIndexExpand, TileIndexPack, TileNumber};
pub use reporter::{Offence, Reporter, ReporterExpand};
pub use span::{Span, SpanExpand, SpanMut, SpanMutExpand, SpanSource, SpanSourceMut};
pub use start::{Chunk, ChunkExpand, Start, StartExpand, chunk};
pub use stored::{StoredTile, StoredTileExpand, Widens};
pub use tile_view::{TileView, TileViewExpand, TileViewMut, TileViewMutExpand};
pub use types::ViewTypes;

/// The book's chapter, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/src/views.md")]
struct Book;
