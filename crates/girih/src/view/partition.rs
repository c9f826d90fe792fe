//! [`TileView`] and its form that stores.

use super::access::{Access, Axis, Region, Sink};
use super::index::{Indices, IndicesExpand};
use super::padding::{PadValue, Padding};
use super::span::{Span, SpanExpand, SpanMut, SpanMutExpand, SpanSource, SpanSourceMut};
use super::start::StartExpand;
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
pub struct TileViewMut<'a, E: Scalar, S: TileShape> {
    _memory: PhantomData<&'a mut E>,
    _shape: PhantomData<S>,
}

/// One number per dimension of a tile, known when the kernel is expanded: `[1, 0]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dims(Vec<usize>);
macro_rules! dims_from {
    ($($number:ty),*) => {$(
        impl<const N: usize> From<[$number; N]> for Dims {
            fn from(dims: [$number; N]) -> Self {
                Self(dims.iter().map(|&dim| usize::try_from(dim).unwrap_or_else(|_| {
                    panic!("girih: TileView: {dim} in {dims:?}; dimensions and steps are at least 0")
                })).collect())
            }
        }
    )*};
}
dims_from!(i32, u32, usize);
impl Dims {
    pub(crate) fn as_slice(&self) -> &[usize] {
        &self.0
    }
}
impl From<Vec<usize>> for Dims {
    fn from(dims: Vec<usize>) -> Self {
        Self(dims)
    }
}

/// The number of a tile: one `u32` or `usize` per dimension, as a tuple, or alone where the rank is 1.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the number of a tile of shape `{S}`",
    note = "a tile is numbered by one `u32` or `usize` per dimension of its shape: `(i, j)`"
)]
pub trait TileIndexPack<S: TileShape> {}

/// A number along one dimension of a partition.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not number tiles",
    note = "tiles are numbered by `u32` or `usize`"
)]
pub trait TileNumber {}
impl TileNumber for u32 {}
impl TileNumber for usize {}
impl TileNumber for i32 {}

/// Any [`TileIndexPack`], as one type.
pub struct TileIndex<S: TileShape>(PhantomData<S>);
/// What a [`TileIndex`] is while the kernel is expanded.
#[derive(Clone)]
pub struct TileIndexExpand<S: TileShape> {
    starts: Vec<StartExpand>,
    _shape: PhantomData<S>,
}
impl<S: TileShape> CubeType for TileIndex<S> {
    type ExpandType = TileIndexExpand<S>;
}
comptime_handle!([S: TileShape] TileIndexExpand<S>);

macro_rules! tile_index {
    ($($dim:ident $number:ident),*) => {
        #[diagnostic::do_not_recommend]
        impl<$($dim: Size, $number: TileNumber),*> TileIndexPack<($($dim,)*)> for ($($number,)*) {}
        impl<$($dim: Size, $number: Into<StartExpand>),*> From<($($number,)*)> for TileIndexExpand<($($dim,)*)> {
            #[allow(non_snake_case)]
            fn from(($($number,)*): ($($number,)*)) -> Self {
                Self { starts: vec![$($number.into()),*], _shape: PhantomData }
            }
        }
    };
}
tile_index!(A Ia);
tile_index!(A Ia, B Ib);
tile_index!(A Ia, B Ib, C Ic);
tile_index!(A Ia, B Ib, C Ic, D Id);
tile_index!(A Ia, B Ib, C Ic, D Id, F If);
macro_rules! lone_tile_index {
    ($($number:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl<A: Size> TileIndexPack<(A,)> for $number {}
        impl<A: Size> From<NativeExpand<$number>> for TileIndexExpand<(A,)> {
            fn from(number: NativeExpand<$number>) -> Self {
                Self::from((number,))
            }
        }
        impl<A: Size> From<$number> for TileIndexExpand<(A,)> {
            fn from(number: $number) -> Self {
                Self::from((number,))
            }
        }
    )*};
}
lone_tile_index!(u32, usize, i32);

/// Extents, axis order and steps of a partition.
#[derive(Clone)]
struct Partition {
    dims: Vec<usize>,
    order: Vec<usize>,
    step: Vec<usize>,
}

impl Partition {
    fn new(dims: Vec<usize>) -> Self {
        Self {
            order: (0..dims.len()).collect(),
            step: dims.clone(),
            dims,
        }
    }

    fn ordered(mut self, call: &str, Dims(order): Dims) -> Self {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(
            sorted.iter().copied().eq(0..self.dims.len()),
            "girih: {call}::order: {order:?}; a permutation of 0..{} is needed",
            self.dims.len()
        );
        self.order = order;
        self
    }

    fn stepped(mut self, call: &str, Dims(step): Dims) -> Self {
        assert!(
            step.len() == self.dims.len() && !step.contains(&0),
            "girih: {call}::step: {step:?}; one step of at least 1 for each of the {} dimensions is needed",
            self.dims.len()
        );
        self.step = step;
        self
    }

    /// Axis `order[k]` of memory is tile dimension `k`.
    fn access<S: TileShape>(&self, scope: &Scope, index: TileIndexExpand<S>) -> Access {
        let mut axes: Vec<_> = (0..self.dims.len()).collect();
        axes.sort_unstable_by_key(|&dim| self.order[dim]);
        let axes = axes.into_iter().map(|dim| {
            let start = index.starts[dim].clone().tile(scope);
            Axis::Run {
                dim,
                step: self.step[dim],
                start,
            }
        });
        Access {
            axes: axes.collect(),
        }
    }
}

macro_rules! expand_types {
    ($($view:ident, $expand:ident, $name:literal;)*) => {$(
        /// What the view is while the kernel is expanded.
        pub struct $expand<E: Scalar, S: TileShape> {
            region: Region<E>,
            partition: Partition,
            _shape: PhantomData<S>,
        }
        impl<E: Scalar, S: TileShape> Clone for $expand<E, S> {
            fn clone(&self) -> Self {
                Self { region: self.region.clone(), partition: self.partition.clone(), _shape: PhantomData }
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
        }
        impl<E: Scalar, S: TileShape> $expand<E, S> {
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
        }
    )*};
}
expand_types! {
    TileView, TileViewExpand, "TileView";
    TileViewMut, TileViewMutExpand, "TileViewMut";
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
        let region = Region::new(scope, source.0, S::RANK);
        TileViewExpand {
            region,
            partition: Partition::new(S::__expand_dims(scope)),
            _shape: PhantomData,
        }
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
        let access = self.partition.access(scope, index);
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
        IndicesExpand::new(self.region.clone(), self.partition.access(scope, index))
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
    /// Stores the tile of that number and gives it back. All of it is promised to be in range; an element that is not
    /// is undefined behaviour.
    #[allow(unused_variables)]
    pub fn store<'t>(
        &mut self,
        group: &Group,
        tile: Tile<'t, E, S>,
        index: impl TileIndexPack<S>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }
    /// Stores the elements of the tile that are in range, and gives it back.
    #[allow(unused_variables)]
    pub fn store_masked<'t>(
        &mut self,
        group: &Group,
        tile: Tile<'t, E, S>,
        index: impl TileIndexPack<S>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }

    /// Expansion of [`of`](Self::of).
    pub fn __expand_of(scope: &Scope, source: SpanMutExpand<E>) -> TileViewMutExpand<E, S> {
        let region = Region::new(scope, source.0, S::RANK);
        TileViewMutExpand {
            region,
            partition: Partition::new(S::__expand_dims(scope)),
            _shape: PhantomData,
        }
    }
}

impl<E: Scalar, S: TileShape> TileViewMutExpand<E, S> {
    /// Expansion of [`TileViewMut::span`].
    pub fn __expand_span_method(&self, _scope: &Scope) -> SpanMutExpand<E> {
        SpanMutExpand(self.region.memory())
    }
    /// Expansion of [`TileViewMut::store`].
    pub fn __expand_store_method(
        &mut self,
        scope: &Scope,
        group: &GroupExpand,
        tile: TileExpand<E, S>,
        index: TileIndexExpand<S>,
    ) -> TileExpand<E, S> {
        self.put(scope, group, tile, index, false)
    }
    /// Expansion of [`TileViewMut::store_masked`].
    pub fn __expand_store_masked_method(
        &mut self,
        scope: &Scope,
        group: &GroupExpand,
        tile: TileExpand<E, S>,
        index: TileIndexExpand<S>,
    ) -> TileExpand<E, S> {
        self.put(scope, group, tile, index, true)
    }

    fn put(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: TileExpand<E, S>,
        index: TileIndexExpand<S>,
        masked: bool,
    ) -> TileExpand<E, S> {
        let access = self.partition.access(scope, index);
        let memory = self.region.memory();
        let sink = Sink {
            call: "TileViewMut::store",
            masked,
            write: &|scope, offset, value| memory.write(scope, offset, value),
        };
        access.store(scope, group, &self.region, &tile, sink);
        tile
    }
}
