//! [`TileView`] and its form that stores.

use super::access::Region;
use super::bounds::Rules;
use super::each::{EachTile, EachTileExpand};
use super::list::{Indices, IndicesExpand};
use super::options::{Options, view_options};
use super::padding::{PadValue, Padding};
use super::partition::{Dims, Partition, TileIndexExpand, TileIndexPack};
use super::span::{Span, SpanExpand, SpanMut, SpanMutExpand, SpanSource, SpanSourceMut};
use super::stored::{StoredTileExpand, Widens};
use super::transfer::Sink;
use crate::coop::{Group, GroupExpand};
use crate::handle::comptime_handle;
use crate::tile::{Tile, TileExpand, TileShape};
use core::marker::PhantomData;
use cubecl::prelude::*;

/// Reads the tiles of a regular partition of a tensor: tile `i` starts at `i * step`.
///
/// Tile dimension `k` is axis `order[k]` of the tensor ([`order`](Self::order); by default axis `k`), and tiles are
/// `step[k]` elements apart ([`step`](Self::step); by default the tile's extent). The rank of the tile's shape must be
/// that of the tensor.
pub struct TileView<'a, E: Scalar, S: TileShape> {
    _memory: PhantomData<&'a E>,
    _shape: PhantomData<S>,
}

/// As [`TileView`], to store. Tiles at the edge are clipped by [`store_masked`](Self::store_masked); one wholly outside
/// stores nothing.
///
/// What it loads is read where the call stands, and stays in the registers of the units of the group: it may be stored
/// through the same view.
pub struct TileViewMut<'a, E: Scalar, S: TileShape> {
    _memory: PhantomData<&'a mut E>,
    _shape: PhantomData<S>,
}

impl<E: Scalar, S: TileShape> Clone for TileView<'_, E, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: Scalar, S: TileShape> Copy for TileView<'_, E, S> {}

macro_rules! expand_types {
    ($($view:ident, $expand:ident, $name:literal;)*) => {$(
        /// What the view is while the kernel is expanded.
        pub struct $expand<E: Scalar, S: TileShape> {
            region: Region<E>,
            partition: Partition,
            options: Options,
            _shape: PhantomData<S>,
        }
        impl<E: Scalar, S: TileShape> Clone for $expand<E, S> {
            fn clone(&self) -> Self {
                Self {
                    region: self.region.clone(),
                    partition: self.partition.clone(),
                    options: self.options.clone(),
                    _shape: PhantomData,
                }
            }
        }
        impl<E: Scalar, S: TileShape> CubeType for $view<'_, E, S> {
            type ExpandType = $expand<E, S>;
        }
        comptime_handle!([E: Scalar, S: TileShape] $expand<E, S>);

        impl<E: Scalar, S: TileShape> $view<'_, E, S> {
            /// The same view with tile dimension `k` along axis `order[k]` of the tensor; a permutation.
            #[allow(unused_variables)]
            pub fn order(self, order: impl Into<Dims>) -> Self {
                cubecl::unexpanded!()
            }
            /// The same view with tiles `step[k]` elements apart: fewer than the tile's extent overlaps, more leaves
            /// gaps.
            #[allow(unused_variables)]
            pub fn step(self, step: impl Into<Dims>) -> Self {
                cubecl::unexpanded!()
            }
            /// The tiles one after another, for a loop over all of them or some.
            pub fn eachtile(&self) -> EachTile<S> {
                cubecl::unexpanded!()
            }
        }
        impl<E: Scalar, S: TileShape> $expand<E, S> {
            fn new(scope: &Scope, memory: std::rc::Rc<dyn super::span::Memory<E>>) -> Self {
                Self {
                    region: Region::new(scope, memory, S::RANK),
                    partition: Partition::new(S::__expand_dims(scope)),
                    options: Options::of_partition(),
                    _shape: PhantomData,
                }
            }
            /// Expansion of `order`.
            pub fn __expand_order_method(mut self, _scope: &Scope, order: Dims) -> Self {
                self.partition = self.partition.ordered($name, order);
                self
            }
            /// Expansion of `step`.
            pub fn __expand_step_method(mut self, _scope: &Scope, step: Dims) -> Self {
                self.partition = self.partition.stepped($name, step);
                self
            }
            /// Expansion of `eachtile`.
            pub fn __expand_eachtile_method(&self, scope: &Scope) -> EachTileExpand<S> {
                EachTileExpand::new(scope, &self.region, &self.partition)
            }
        }
    )*};
}
expand_types! {
    TileView, TileViewExpand, "TileView";
    TileViewMut, TileViewMutExpand, "TileViewMut";
}
view_options! {
    [E: Scalar, S: TileShape] TileView<'a, E, S>, TileViewExpand<E, S>, S, 'a, "TileView";
    [E: Scalar, S: TileShape] TileViewMut<'a, E, S>, TileViewMutExpand<E, S>, S, 'a, "TileViewMut";
}

impl<'a, E: Scalar, S: TileShape> TileView<'a, E, S> {
    /// The view of a tensor, or of a slice as a tensor of rank 1.
    #[allow(unused_variables)]
    pub fn of(source: impl SpanSource<'a, E>) -> Self {
        cubecl::unexpanded!()
    }
    /// The memory viewed.
    pub fn span(&self) -> Span<'a, E> {
        cubecl::unexpanded!()
    }
    /// The tile of that number. All of it is promised to be in range; an element that is not is undefined behaviour.
    #[allow(unused_variables)]
    pub fn load(&self, group: &Group, index: impl TileIndexPack<S>) -> Tile<'a, E, S> {
        cubecl::unexpanded!()
    }
    /// The tile of that number, `padding` where an element is out of range.
    #[allow(unused_variables)]
    pub fn load_masked(
        &self,
        group: &Group,
        padding: impl Padding<E>,
        index: impl TileIndexPack<S>,
    ) -> Tile<'a, E, S> {
        cubecl::unexpanded!()
    }

    /// Expansion of [`of`](Self::of).
    pub fn __expand_of(scope: &Scope, source: SpanExpand<E>) -> TileViewExpand<E, S> {
        TileViewExpand::new(scope, source.0)
    }
}

impl<E: Scalar, S: TileShape> TileViewExpand<E, S> {
    /// Expansion of [`TileView::span`].
    pub fn __expand_span_method(&self, _scope: &Scope) -> SpanExpand<E> {
        SpanExpand(self.region.memory())
    }
    /// Expansion of [`TileView::load`].
    pub fn __expand_load_method(
        &self,
        scope: &Scope,
        _group: &GroupExpand,
        index: TileIndexExpand<S>,
    ) -> TileExpand<E, S> {
        self.tile(scope, index, None)
    }
    /// Expansion of [`TileView::load_masked`].
    pub fn __expand_load_masked_method(
        &self,
        scope: &Scope,
        _group: &GroupExpand,
        padding: PadValue<E>,
        index: TileIndexExpand<S>,
    ) -> TileExpand<E, S> {
        self.tile(scope, index, Some(padding.value(scope)))
    }

    fn tile(
        &self,
        scope: &Scope,
        index: TileIndexExpand<S>,
        fill: Option<NativeExpand<E>>,
    ) -> TileExpand<E, S> {
        let rules = self.options.rules(fill.is_some());
        let access = self.partition.access(scope, index, &rules);
        let region = self.region.clone();
        TileExpand::new(region.width(), move |scope, at, width| {
            access.fetch(scope, &region, at, width, fill)
        })
    }
}

impl<'a, I: Int, S: TileShape> TileView<'a, I, S> {
    /// The tile of that number as a list of indices, which ends where the tensor does: for the list's place in a
    /// gather or scatter.
    #[allow(unused_variables)]
    pub fn indices(&self, index: impl TileIndexPack<S>) -> Indices<'a, I, S> {
        cubecl::unexpanded!()
    }
}
impl<I: Int, S: TileShape> TileViewExpand<I, S> {
    /// Expansion of [`TileView::indices`].
    pub fn __expand_indices_method(
        &self,
        scope: &Scope,
        index: TileIndexExpand<S>,
    ) -> IndicesExpand<I, S> {
        let masked = Rules::of_every_dimension();
        let access = self.partition.access(scope, index, &masked);
        IndicesExpand::new(self.region.clone(), access)
    }
}

impl<'a, E: Scalar, S: TileShape> TileViewMut<'a, E, S> {
    /// The view of a tensor, or of a slice as a tensor of rank 1.
    #[allow(unused_variables)]
    pub fn of(source: impl SpanSourceMut<'a, E>) -> Self {
        cubecl::unexpanded!()
    }
    /// The memory viewed.
    pub fn span(&self) -> SpanMut<'a, E> {
        cubecl::unexpanded!()
    }
    /// The tile of that number, read now and kept in registers. All of it is promised to be in range; an element that is
    /// not is undefined behaviour.
    #[allow(unused_variables)]
    pub fn load(&self, group: &Group, index: impl TileIndexPack<S>) -> Tile<'static, E, S>
    where
        E: Numeric,
    {
        cubecl::unexpanded!()
    }
    /// The tile of that number, `padding` where an element is out of range, read now and kept in registers.
    #[allow(unused_variables)]
    pub fn load_masked(
        &self,
        group: &Group,
        padding: impl Padding<E>,
        index: impl TileIndexPack<S>,
    ) -> Tile<'static, E, S>
    where
        E: Numeric,
    {
        cubecl::unexpanded!()
    }
    /// Stores the tile of that number and gives it back. All of it is promised to be in range; an element that is not
    /// is undefined behaviour.
    ///
    /// Elements of another type are converted where that loses nothing ([`Widens`]); the tile given back is the one
    /// stored.
    #[allow(unused_variables)]
    pub fn store<'t>(
        &mut self,
        group: &Group,
        tile: Tile<'t, impl Widens<E>, S>,
        index: impl TileIndexPack<S>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }
    /// Stores the elements of the tile that are in range, and gives it back; converts them as [`store`](Self::store) does.
    #[allow(unused_variables)]
    pub fn store_masked<'t>(
        &mut self,
        group: &Group,
        tile: Tile<'t, impl Widens<E>, S>,
        index: impl TileIndexPack<S>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }

    /// Expansion of [`of`](Self::of).
    pub fn __expand_of(scope: &Scope, source: SpanMutExpand<E>) -> TileViewMutExpand<E, S> {
        TileViewMutExpand::new(scope, source.0)
    }
}

impl<E: Scalar, S: TileShape> TileViewMutExpand<E, S> {
    /// Expansion of [`TileViewMut::span`].
    pub fn __expand_span_method(&self, _scope: &Scope) -> SpanMutExpand<E> {
        SpanMutExpand(self.region.memory())
    }
    /// Expansion of [`TileViewMut::load`].
    pub fn __expand_load_method(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        index: TileIndexExpand<S>,
    ) -> TileExpand<E, S>
    where
        E: Numeric,
    {
        self.read(scope, group, index, None)
    }
    /// Expansion of [`TileViewMut::load_masked`].
    pub fn __expand_load_masked_method(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        padding: PadValue<E>,
        index: TileIndexExpand<S>,
    ) -> TileExpand<E, S>
    where
        E: Numeric,
    {
        self.read(scope, group, index, Some(padding.value(scope)))
    }
    /// Expansion of [`TileViewMut::store`].
    pub fn __expand_store_method(
        &mut self,
        scope: &Scope,
        group: &GroupExpand,
        tile: StoredTileExpand<E, S>,
        index: TileIndexExpand<S>,
    ) -> TileExpand<E, S> {
        self.put(scope, group, tile, index, false)
    }
    /// Expansion of [`TileViewMut::store_masked`].
    pub fn __expand_store_masked_method(
        &mut self,
        scope: &Scope,
        group: &GroupExpand,
        tile: StoredTileExpand<E, S>,
        index: TileIndexExpand<S>,
    ) -> TileExpand<E, S> {
        self.put(scope, group, tile, index, true)
    }

    fn read(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        index: TileIndexExpand<S>,
        fill: Option<NativeExpand<E>>,
    ) -> TileExpand<E, S>
    where
        E: Numeric,
    {
        let rules = self.options.rules(fill.is_some());
        let access = self.partition.access(scope, index, &rules);
        access.read_now(
            scope,
            "TileViewMut::load",
            group,
            &self.region,
            fill,
            self.options.hints,
        )
    }

    fn put(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: StoredTileExpand<E, S>,
        index: TileIndexExpand<S>,
        masked: bool,
    ) -> TileExpand<E, S> {
        let rules = self.options.rules(masked);
        let access = self.partition.access(scope, index, &rules);
        let memory = self.region.memory();
        let sink = Sink {
            call: "TileViewMut::store",
            masked,
            rivals: None,
            hints: self.options.hints,
            write: &|scope, offset, value| memory.write(scope, offset, value),
        };
        tile.given(scope, |given| {
            access.store(scope, group, &self.region, given, sink);
        })
    }
}
