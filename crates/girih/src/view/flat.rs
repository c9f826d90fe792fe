//! Flat gathers and scatters: every element of a tile has indices of its own.

mod access;
mod atomic;
mod index;

pub use atomic::{AtomicFlatView, AtomicFlatViewExpand};
pub use index::{
    AxisIndices, BroadcastTo, FlatIndex, FlatIndexExpand, FlatIndexPack, Mask, MaskElement,
    MaskExpand, MaskOf,
};

use super::bounds::{Bounds, Policy};
use super::padding::{PadValue, Padding};
use super::reporter::{Reporter, ReporterExpand};
use super::span::{Memory, Span, SpanExpand, SpanMut, SpanMutExpand, SpanSource, SpanSourceMut};
use crate::coop::{Group, GroupExpand};
use crate::handle::comptime_handle;
use crate::tile::{Tile, TileExpand, TileShape};
use access::{Fill, FlatAccess, Options};
use core::marker::PhantomData;
use cubecl::prelude::*;
use std::rc::Rc;

/// Reads a tile of shape `S` element by element: with an index tile per axis of memory, element `j` of the tile is
/// `span[i_0[j], i_1[j], ..]`.
///
/// The index tiles are broadcast to `S`: each has its rank, and along each dimension its extent, or 1. Memory has as many
/// axes as there are index tiles, 1 to 5.
///
/// An element takes part where [`mask`](Self::mask) says so (everywhere without one). Of one that does not, or has an
/// index out of range for which [`bounds`](Self::bounds) finds no place, nothing is read.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
///
/// /// out[r, c] = x[rows[r], columns[c]] where `wanted[r, c]` is not 0, else -1.
/// #[cube(launch_unchecked)]
/// fn pick(x: &Tensor<f32>, rows: &Tensor<i32>, columns: &Tensor<i32>, wanted: &Tensor<u32>, out: &mut Tensor<f32>) {
///     let cube = this_cube();
///     let rows = TileView::<i32, shape![8, 1]>::of(rows).load(&cube, (0, 0));
///     let columns = TileView::<i32, shape![1, 4]>::of(columns).load(&cube, (0, 0));
///     let wanted = TileView::<u32, shape![8, 4]>::of(wanted).load(&cube, (0, 0));
///     let view = FlatView::<f32, shape![8, 4]>::of(x).mask(&wanted);
///     let tile = view.gather(&cube, comptime!(Pad(-1.0f32)), (&rows, &columns));
///     TileViewMut::<f32, shape![8, 4]>::of(out).store(&cube, tile, (0, 0));
/// }
/// # fn main() {}
/// ```
pub struct FlatView<'a, E: Scalar, S: TileShape> {
    _memory: PhantomData<&'a E>,
    _shape: PhantomData<S>,
}

/// As [`FlatView`], to store: element `j` of the tile goes to `span[i_0[j], i_1[j], ..]`, memory of scalars.
///
/// Of elements that go to one place, one is left; [`AtomicFlatView`] combines them.
pub struct FlatViewMut<'a, E: Scalar, S: TileShape> {
    _memory: PhantomData<&'a mut E>,
    _shape: PhantomData<S>,
}

impl<E: Scalar, S: TileShape> Clone for FlatView<'_, E, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: Scalar, S: TileShape> Copy for FlatView<'_, E, S> {}

/// Methods of a flat view, and of what it is while the kernel is expanded, that choose what it does.
macro_rules! options {
    ($view:ident, $expand:ident, $element:ident; $([$scope:ident: $known:ident])?) => {
        impl<'a, E: $element, S: TileShape, $($scope: $known)?> $view<'a, E, S, $($scope)?> {
            /// The same view of the elements alone for which the mask is true (an integer: not 0), as far as their
            /// indices are in range. The mask is broadcast to `S`; a later one takes the place of an earlier.
            #[allow(unused_variables)]
            pub fn mask(self, mask: impl MaskOf<S>) -> Self {
                cubecl::unexpanded!()
            }
            /// The same view with another rule for indices out of range, on every axis; the default is
            /// [`Bounds::Mask`].
            ///
            /// It is a comptime value. [`Bounds::Report`] wants [`report`](Self::report) instead.
            #[allow(unused_variables)]
            pub fn bounds(self, bounds: Bounds) -> Self {
                cubecl::unexpanded!()
            }
            /// The same view under [`Bounds::Report`]: masked, and the first offence kept by the reporter.
            ///
            /// The position of an element that takes part, and has an index out of range on any axis, is its row-major
            /// position in the tile, added to the reporter's first. It is the position in the list of indices where that
            /// is not broadcast. A reporter of axes keeps one for each axis.
            #[allow(unused_variables)]
            pub fn report(self, reporter: Reporter<'a>) -> Self {
                cubecl::unexpanded!()
            }
            /// `false`, a comptime value, promises that the indices of all elements that take part are in range, as
            /// [`Bounds::Assume`] does: one that is not is undefined behaviour. `true` changes nothing.
            #[allow(unused_variables)]
            pub fn check_bounds(self, check: bool) -> Self {
                cubecl::unexpanded!()
            }
            /// The same view with a hint how long memory takes, 1 to 10: a unit that stores many packets of a tile has so
            /// many in flight at a time, on every target.
            pub fn latency<const N: u32>(self) -> Self
            where
                crate::view::Latency<N>: crate::view::KnownLatency,
            {
                cubecl::unexpanded!()
            }
        }
        impl<E: $element, S: TileShape, $($scope: $known)?> $expand<E, S, $($scope)?> {
            /// Expansion of `mask`.
            pub fn __expand_mask_method(mut self, _scope: &Scope, mask: MaskExpand<S>) -> Self {
                self.options.mask = Some(mask);
                self
            }
            /// Expansion of `bounds`.
            pub fn __expand_bounds_method(mut self, _scope: &Scope, bounds: Bounds) -> Self {
                self.options.policy = Policy::of(stringify!($view), bounds);
                self
            }
            /// Expansion of `report`.
            pub fn __expand_report_method(mut self, _scope: &Scope, reporter: ReporterExpand) -> Self {
                self.options.policy = Policy::report(reporter);
                self
            }
            /// Expansion of `check_bounds`.
            pub fn __expand_check_bounds_method(mut self, _scope: &Scope, check: bool) -> Self {
                if !check {
                    self.options.policy = Policy::promise();
                }
                self
            }
            /// Expansion of `latency`.
            pub fn __expand_latency_method<const N: u32>(mut self, _scope: &Scope) -> Self {
                self.options.latency = Some(N);
                self
            }
        }
    };
}
use options;

macro_rules! expand_types {
    ($($view:ident, $expand:ident;)*) => {$(
        /// What the view is while the kernel is expanded.
        pub struct $expand<E: Scalar, S: TileShape> {
            memory: Rc<dyn Memory<E>>,
            options: Options<S>,
        }
        impl<E: Scalar, S: TileShape> Clone for $expand<E, S> {
            fn clone(&self) -> Self {
                Self { memory: self.memory.clone(), options: self.options.clone() }
            }
        }
        impl<E: Scalar, S: TileShape> CubeType for $view<'_, E, S> {
            type ExpandType = $expand<E, S>;
        }
        comptime_handle!([E: Scalar, S: TileShape] $expand<E, S>);
        options!($view, $expand, Scalar;);
    )*};
}
expand_types! {
    FlatView, FlatViewExpand;
    FlatViewMut, FlatViewMutExpand;
}

impl<'a, E: Scalar, S: TileShape> FlatView<'a, E, S> {
    /// The view of a tensor, or of a slice as a tensor of rank 1.
    #[allow(unused_variables)]
    pub fn of(source: impl SpanSource<'a, E>) -> Self {
        cubecl::unexpanded!()
    }
    /// The memory viewed.
    pub fn span(&self) -> Span<'a, E> {
        cubecl::unexpanded!()
    }
    /// The elements at these indices, `padding` where an element does not take part or is out of range.
    #[allow(unused_variables)]
    pub fn gather(
        &self,
        group: &Group,
        padding: impl Padding<E>,
        index: impl FlatIndexPack<S>,
    ) -> Tile<'a, E, S> {
        cubecl::unexpanded!()
    }
    /// The elements at these indices, that of `other` where an element does not take part or is out of range.
    #[allow(unused_variables)]
    pub fn gather_or(
        &self,
        group: &Group,
        other: &Tile<'a, E, S>,
        index: impl FlatIndexPack<S>,
    ) -> Tile<'a, E, S> {
        cubecl::unexpanded!()
    }

    /// Expansion of [`of`](Self::of).
    pub fn __expand_of(_scope: &Scope, source: SpanExpand<E>) -> FlatViewExpand<E, S> {
        FlatViewExpand {
            memory: source.0,
            options: Options::default(),
        }
    }
}

impl<E: Scalar, S: TileShape> FlatViewExpand<E, S> {
    /// Expansion of [`FlatView::span`].
    pub fn __expand_span_method(&self, _scope: &Scope) -> SpanExpand<E> {
        SpanExpand(self.memory.clone())
    }
    /// Expansion of [`FlatView::gather`].
    pub fn __expand_gather_method(
        &self,
        scope: &Scope,
        _group: &GroupExpand,
        padding: PadValue<E>,
        index: FlatIndexExpand<S>,
    ) -> TileExpand<E, S> {
        let fill = Fill::Value(padding.value(scope));
        self.tile(scope, "FlatView::gather", index, fill)
    }
    /// Expansion of [`FlatView::gather_or`].
    pub fn __expand_gather_or_method(
        &self,
        scope: &Scope,
        _group: &GroupExpand,
        other: &TileExpand<E, S>,
        index: FlatIndexExpand<S>,
    ) -> TileExpand<E, S> {
        let fill = Fill::Tile(other.clone());
        self.tile(scope, "FlatView::gather_or", index, fill)
    }

    fn tile(
        &self,
        scope: &Scope,
        call: &'static str,
        index: FlatIndexExpand<S>,
        fill: Fill<E, S>,
    ) -> TileExpand<E, S> {
        let access = FlatAccess::new(scope, call, self.memory.clone(), index, &self.options);
        TileExpand::new(1, move |scope, at, width| {
            access.fetch(scope, at, width, &fill)
        })
    }
}

impl<'a, E: Scalar, S: TileShape> FlatViewMut<'a, E, S> {
    /// The view of a tensor, or of a slice as a tensor of rank 1.
    #[allow(unused_variables)]
    pub fn of(source: impl SpanSourceMut<'a, E>) -> Self {
        cubecl::unexpanded!()
    }
    /// The memory viewed.
    pub fn span(&self) -> SpanMut<'a, E> {
        cubecl::unexpanded!()
    }
    /// Stores the elements of the tile that take part and are in range, and gives the tile back.
    #[allow(unused_variables)]
    pub fn scatter<'t>(
        &mut self,
        group: &Group,
        tile: Tile<'t, E, S>,
        index: impl FlatIndexPack<S>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }

    /// Expansion of [`of`](Self::of).
    pub fn __expand_of(_scope: &Scope, source: SpanMutExpand<E>) -> FlatViewMutExpand<E, S> {
        FlatViewMutExpand {
            memory: source.0,
            options: Options::default(),
        }
    }
}

impl<E: Scalar, S: TileShape> FlatViewMutExpand<E, S> {
    /// Expansion of [`FlatViewMut::span`].
    pub fn __expand_span_method(&self, _scope: &Scope) -> SpanMutExpand<E> {
        SpanMutExpand(self.memory.clone())
    }
    /// Expansion of [`FlatViewMut::scatter`].
    pub fn __expand_scatter_method(
        &mut self,
        scope: &Scope,
        group: &GroupExpand,
        tile: TileExpand<E, S>,
        index: FlatIndexExpand<S>,
    ) -> TileExpand<E, S> {
        let call = "FlatViewMut::scatter";
        let access = FlatAccess::new(scope, call, self.memory.clone(), index, &self.options);
        access.store(scope, group, &tile, &|scope, offset, value| {
            self.memory.write(scope, offset, value);
        });
        tile
    }
}
