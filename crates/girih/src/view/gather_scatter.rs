//! [`GatherScatterView`] and its form that stores.

use super::access::{Region, Sink};
use super::bounds::{Bounds, Policy, Reporter, ReporterExpand};
use super::index::{ChunkIndexExpand, GatherDim, IndexPack};
use super::padding::{PadValue, Padding};
use super::span::{Span, SpanExpand, SpanMut, SpanMutExpand, SpanSource, SpanSourceMut};
use crate::coop::{Group, GroupExpand};
use crate::handle::comptime_handle;
use crate::tile::{Tile, TileExpand, TileShape};
use core::marker::PhantomData;
use cubecl::prelude::*;

/// Reads chunks that need not be neighbours: tile dimension `DIM` lists elements of axis `DIM` of memory, every other
/// dimension is a run of neighbours from a start.
///
/// With `p_DIM = indices[j_DIM]` and `p_k = start_k + j_k` elsewhere, element `j` of the tile is `span[p]`. The rank of
/// the tile's shape must be that of the tensor.
///
/// Out of range, in any dimension: [`load`](Self::load) promises that nothing is; [`load_masked`](Self::load_masked)
/// gives its padding, where [`bounds`](Self::bounds) does not find the index a place.
pub struct GatherScatterView<'a, E: Scalar, S: TileShape, const DIM: usize> {
    _memory: PhantomData<&'a E>,
    _shape: PhantomData<S>,
}

/// As [`GatherScatterView`], to store: a tile's element `j` goes to `span[p]`.
///
/// Two elements that go to one place leave either; [`AtomicGatherScatterView`](super::AtomicGatherScatterView)
/// combines them.
pub struct GatherScatterViewMut<'a, E: Scalar, S: TileShape, const DIM: usize> {
    _memory: PhantomData<&'a mut E>,
    _shape: PhantomData<S>,
}

macro_rules! expand_types {
    ($($view:ident, $expand:ident;)*) => {$(
        /// What the view is while the kernel is expanded.
        pub struct $expand<E: Scalar, S: TileShape, const DIM: usize> {
            region: Region<E>,
            policy: Policy,
            dims: Vec<usize>,
            _shape: PhantomData<S>,
        }
        impl<E: Scalar, S: TileShape, const DIM: usize> Clone for $expand<E, S, DIM> {
            fn clone(&self) -> Self {
                Self {
                    region: self.region.clone(),
                    policy: self.policy.clone(),
                    dims: self.dims.clone(),
                    _shape: PhantomData,
                }
            }
        }
        impl<E: Scalar, S: TileShape, const DIM: usize> CubeType for $view<'_, E, S, DIM> {
            type ExpandType = $expand<E, S, DIM>;
        }
        comptime_handle!([E: Scalar, S: TileShape, const DIM: usize] $expand<E, S, DIM>);

        impl<'a, E: Scalar, S: TileShape, const DIM: usize> $view<'a, E, S, DIM> {
            /// The same view with another rule for indices out of range; the default is [`Bounds::Mask`].
            ///
            /// It is a comptime value. [`Bounds::Report`] wants [`report`](Self::report) instead.
            #[allow(unused_variables)]
            pub fn bounds(self, bounds: Bounds) -> Self {
                cubecl::unexpanded!()
            }
            /// The same view under [`Bounds::Report`]: masked, and the first offence kept by the reporter.
            #[allow(unused_variables)]
            pub fn report(self, reporter: Reporter<'a>) -> Self {
                cubecl::unexpanded!()
            }
        }
        impl<E: Scalar, S: TileShape, const DIM: usize> $expand<E, S, DIM> {
            /// Expansion of `bounds`.
            pub fn __expand_bounds_method(mut self, _scope: &Scope, bounds: Bounds) -> Self {
                self.policy = Policy::of(stringify!($view), bounds);
                self
            }
            /// Expansion of `report`.
            pub fn __expand_report_method(mut self, _scope: &Scope, reporter: ReporterExpand) -> Self {
                self.policy = Policy::report(reporter);
                self
            }
        }
    )*};
}
expand_types! {
    GatherScatterView, GatherScatterViewExpand;
    GatherScatterViewMut, GatherScatterViewMutExpand;
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
        let region = Region::new(scope, source.0, S::RANK);
        let dims = S::__expand_dims(scope);
        GatherScatterViewExpand {
            region,
            policy: Policy::default(),
            dims,
            _shape: PhantomData,
        }
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
        _scope: &Scope,
        _group: &GroupExpand,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        self.tile(index, &Policy::promise(), None)
    }
    /// Expansion of [`GatherScatterView::load_masked`].
    pub fn __expand_load_masked_method(
        &self,
        scope: &Scope,
        _group: &GroupExpand,
        padding: PadValue<E>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        self.tile(index, &self.policy, Some(padding.value(scope)))
    }

    fn tile(
        &self,
        index: ChunkIndexExpand<S, DIM>,
        policy: &Policy,
        fill: Option<NativeExpand<E>>,
    ) -> TileExpand<E, S> {
        let access = index.access(&self.dims, policy);
        let region = self.region.clone();
        TileExpand::new(region.width(), move |scope, at, width| {
            access.fetch(scope, &region, at, width, fill)
        })
    }
}

impl<'a, E: Scalar, S: TileShape, const DIM: usize> GatherScatterViewMut<'a, E, S, DIM> {
    /// The view of a tensor, or of a slice as a tensor of rank 1.
    #[allow(unused_variables)]
    pub fn of(source: impl SpanSourceMut<'a, E>) -> Self
    where
        S: GatherDim<DIM>,
    {
        cubecl::unexpanded!()
    }
    /// The memory viewed.
    pub fn span(&self) -> SpanMut<'a, E> {
        cubecl::unexpanded!()
    }
    /// Stores the tile at these indices and gives it back. All of it is promised to be in range; an element that is
    /// not is undefined behaviour.
    #[allow(unused_variables)]
    pub fn store<'t>(
        &mut self,
        group: &Group,
        tile: Tile<'t, E, S>,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }
    /// Stores the elements of the tile that are in range, and gives it back.
    #[allow(unused_variables)]
    pub fn store_masked<'t>(
        &mut self,
        group: &Group,
        tile: Tile<'t, E, S>,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }

    /// Expansion of [`of`](Self::of).
    pub fn __expand_of(
        scope: &Scope,
        source: SpanMutExpand<E>,
    ) -> GatherScatterViewMutExpand<E, S, DIM> {
        let region = Region::new(scope, source.0, S::RANK);
        let dims = S::__expand_dims(scope);
        GatherScatterViewMutExpand {
            region,
            policy: Policy::default(),
            dims,
            _shape: PhantomData,
        }
    }
}

impl<E: Scalar, S: TileShape, const DIM: usize> GatherScatterViewMutExpand<E, S, DIM> {
    /// Expansion of [`GatherScatterViewMut::span`].
    pub fn __expand_span_method(&self, _scope: &Scope) -> SpanMutExpand<E> {
        SpanMutExpand(self.region.memory())
    }
    /// Expansion of [`GatherScatterViewMut::store`].
    pub fn __expand_store_method(
        &mut self,
        scope: &Scope,
        group: &GroupExpand,
        tile: TileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        self.scatter(scope, group, tile, index, &Policy::promise(), false)
    }
    /// Expansion of [`GatherScatterViewMut::store_masked`].
    pub fn __expand_store_masked_method(
        &mut self,
        scope: &Scope,
        group: &GroupExpand,
        tile: TileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        self.scatter(scope, group, tile, index, &self.policy, true)
    }

    fn scatter(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: TileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
        policy: &Policy,
        masked: bool,
    ) -> TileExpand<E, S> {
        let access = index.access(&self.dims, policy);
        let memory = self.region.memory();
        let sink = Sink {
            call: "GatherScatterViewMut::store",
            masked,
            write: &|scope, offset, value| memory.write(scope, offset, value),
        };
        access.store(scope, group, &self.region, &tile, sink);
        tile
    }
}
