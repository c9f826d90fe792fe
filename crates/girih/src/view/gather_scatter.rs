//! [`GatherScatterView`], and what its form that stores has in common with it.

mod stores;

use super::access::Region;
use super::index::{ChunkIndexExpand, GatherDim, IndexPack};
use super::options::{Options, view_options};
use super::padding::{PadValue, Padding};
use super::span::{Memory, Span, SpanExpand, SpanSource};
use crate::coop::{Group, GroupExpand};
use crate::handle::comptime_handle;
use crate::tile::{Tile, TileExpand, TileShape};
use core::marker::PhantomData;
use cubecl::prelude::*;
use std::rc::Rc;

/// Reads chunks that need not be neighbours: tile dimension `DIM` lists elements of axis `DIM` of memory, every other
/// dimension is a run of neighbours from a start, or lists its elements as well.
///
/// With `p_DIM = indices[j_DIM]` and `p_k = start_k + j_k` elsewhere, element `j` of the tile is `span[p]`. The rank of
/// the tile's shape must be that of the tensor, but for a dimension that is given several lists, one for each axis that
/// it runs along ([`IndexPack`]).
///
/// Out of range, in any dimension: [`load`](Self::load) promises that nothing is; [`load_masked`](Self::load_masked)
/// gives its padding, where [`bounds`](Self::bounds) does not find the index a place.
pub struct GatherScatterView<'a, E: Scalar, S: TileShape, const DIM: usize> {
    _memory: PhantomData<&'a E>,
    _shape: PhantomData<S>,
}

/// As [`GatherScatterView`], to store: a tile's element `j` goes to `span[p]`.
///
/// Two elements that go to one place leave either, unless [`keep`](Self::keep) says which;
/// [`combine`](Self::combine) keeps all, and [`AtomicGatherScatterView`](super::AtomicGatherScatterView) does between
/// tiles as well.
///
/// What it loads is read where the call stands, and stays in the registers of the units of the group: it may be stored
/// through the same view.
pub struct GatherScatterViewMut<'a, E: Scalar, S: TileShape, const DIM: usize> {
    _memory: PhantomData<&'a mut E>,
    _shape: PhantomData<S>,
}

impl<E: Scalar, S: TileShape, const DIM: usize> Clone for GatherScatterView<'_, E, S, DIM> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: Scalar, S: TileShape, const DIM: usize> Copy for GatherScatterView<'_, E, S, DIM> {}

macro_rules! expand_types {
    ($($view:ident, $expand:ident;)*) => {$(
        /// What the view is while the kernel is expanded.
        pub struct $expand<E: Scalar, S: TileShape, const DIM: usize> {
            region: Region<E>,
            options: Options,
            _shape: PhantomData<S>,
        }
        impl<E: Scalar, S: TileShape, const DIM: usize> $expand<E, S, DIM> {
            fn new(scope: &Scope, memory: Rc<dyn Memory<E>>) -> Self {
                Self {
                    region: Region::new(scope, memory, S::RANK),
                    options: Options::of_gather(),
                    _shape: PhantomData,
                }
            }
        }
        impl<E: Scalar, S: TileShape, const DIM: usize> Clone for $expand<E, S, DIM> {
            fn clone(&self) -> Self {
                Self {
                    region: self.region.clone(),
                    options: self.options.clone(),
                    _shape: PhantomData,
                }
            }
        }
        impl<E: Scalar, S: TileShape, const DIM: usize> CubeType for $view<'_, E, S, DIM> {
            type ExpandType = $expand<E, S, DIM>;
        }
        comptime_handle!([E: Scalar, S: TileShape, const DIM: usize] $expand<E, S, DIM>);
    )*};
}
expand_types! {
    GatherScatterView, GatherScatterViewExpand;
    GatherScatterViewMut, GatherScatterViewMutExpand;
}
view_options! {
    [E: Scalar, S: TileShape, const DIM: usize] GatherScatterView<'a, E, S, DIM>, GatherScatterViewExpand<E, S, DIM>,
        S, 'a, "GatherScatterView";
    [E: Scalar, S: TileShape, const DIM: usize] GatherScatterViewMut<'a, E, S, DIM>,
        GatherScatterViewMutExpand<E, S, DIM>, S, 'a, "GatherScatterViewMut";
}

impl<'a, E: Scalar, S: TileShape, const DIM: usize> GatherScatterView<'a, E, S, DIM> {
    /// The view of a tensor, or of a slice as a tensor of rank 1.
    #[allow(unused_variables)]
    pub fn of(source: impl SpanSource<'a, E>) -> Self
    where
        S: GatherDim<DIM>,
    {
        cubecl::unexpanded!()
    }
    /// The memory viewed.
    pub fn span(&self) -> Span<'a, E> {
        cubecl::unexpanded!()
    }
    /// The tile at these indices. All of it is promised to be in range; an element that is not is undefined behaviour.
    #[allow(unused_variables)]
    pub fn load(&self, group: &Group, index: impl IndexPack<S, DIM>) -> Tile<'a, E, S> {
        cubecl::unexpanded!()
    }
    /// The tile at these indices, `padding` where an element is out of range.
    #[allow(unused_variables)]
    pub fn load_masked(
        &self,
        group: &Group,
        padding: impl Padding<E>,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'a, E, S> {
        cubecl::unexpanded!()
    }

    /// Expansion of [`of`](Self::of).
    pub fn __expand_of(scope: &Scope, source: SpanExpand<E>) -> GatherScatterViewExpand<E, S, DIM> {
        GatherScatterViewExpand::new(scope, source.0)
    }
}

impl<E: Scalar, S: TileShape, const DIM: usize> GatherScatterViewExpand<E, S, DIM> {
    /// Expansion of [`GatherScatterView::span`].
    pub fn __expand_span_method(&self, _scope: &Scope) -> SpanExpand<E> {
        SpanExpand(self.region.memory())
    }
    /// Expansion of [`GatherScatterView::load`].
    pub fn __expand_load_method(
        &self,
        scope: &Scope,
        _group: &GroupExpand,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        self.tile(scope, index, None)
    }
    /// Expansion of [`GatherScatterView::load_masked`].
    pub fn __expand_load_masked_method(
        &self,
        scope: &Scope,
        _group: &GroupExpand,
        padding: PadValue<E>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        self.tile(scope, index, Some(padding.value(scope)))
    }

    fn tile(
        &self,
        scope: &Scope,
        index: ChunkIndexExpand<S, DIM>,
        fill: Option<NativeExpand<E>>,
    ) -> TileExpand<E, S> {
        let access = index.access(scope, &self.options.rules(fill.is_some()));
        let region = self.region.of_rank(scope, access.axes.len());
        TileExpand::new(region.width(), move |scope, at, width| {
            access.fetch(scope, &region, at, width, fill)
        })
    }
}
