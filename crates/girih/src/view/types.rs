//! The types that belong to a view.

use super::{
    AtomicGatherScatterView, ChunkIndex, GatherScatterView, GatherScatterViewMut, TileIndex,
    TileView, TileViewMut,
};
use crate::memory::KnownScope;
use crate::tile::{Tile, TileShape};
use cubecl::prelude::*;

/// The types that belong to a view, for code that is generic over views.
///
/// ```
/// use girih::prelude::*;
/// use girih::view::ViewTypes;
///
/// /// Bytes of one tile of the view.
/// fn tile_bytes<V: ViewTypes<Shape = shape![8, 64]>>() -> usize {
///     8 * 64 * size_of::<V::Element>()
/// }
/// assert_eq!(tile_bytes::<GatherScatterView<f32, shape![8, 64], 0>>(), 2048);
/// ```
pub trait ViewTypes {
    /// What memory holds.
    type Element: Scalar;
    /// What says which tile is meant.
    type Index;
    /// The extents of a tile.
    type Shape: TileShape;
    /// What a load gives.
    type Tile;
}

macro_rules! view_types {
    ($([$($generics:tt)*] $view:ty, $index:ty, $lifetime:lifetime;)*) => {$(
        impl<'a, $($generics)*> ViewTypes for $view {
            type Element = E;
            type Index = $index;
            type Shape = S;
            type Tile = Tile<$lifetime, E, S>;
        }
    )*};
}
view_types! {
    [E: Scalar, S: TileShape] TileView<'a, E, S>, TileIndex<S>, 'a;
    [E: Scalar, S: TileShape] TileViewMut<'a, E, S>, TileIndex<S>, 'static;
    [E: Scalar, S: TileShape, const DIM: usize] GatherScatterView<'a, E, S, DIM>, ChunkIndex<S, DIM>, 'a;
    [E: Scalar, S: TileShape, const DIM: usize] GatherScatterViewMut<'a, E, S, DIM>, ChunkIndex<S, DIM>, 'static;
    [E: Scalar, S: TileShape, const DIM: usize, M: KnownScope] AtomicGatherScatterView<'a, E, S, DIM, M>,
        ChunkIndex<S, DIM>, 'a;
}
