//! The arguments of a flat gather or scatter: an index tile per axis, and a mask.

use crate::handle::comptime_handle;
use crate::tile::{Place, Tile, TileExpand, TileShape, lane};
use crate::view::bounds::{Bounds, resolve};
use crate::view::list::{Indices, IndicesExpand};
use core::marker::PhantomData;
use cubecl::prelude::*;
use std::rc::Rc;

/// A shape that can stand for `S`: of the same rank, each extent that of `S`, or 1, whose one element then stands for all.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` cannot be broadcast to shape `{S}`",
    note = "both need the same rank; each extent is that of `{S}`, or 1"
)]
pub trait BroadcastTo<S: TileShape>: TileShape {}

/// Indices along one axis of memory: a tile of integers, or [`Indices`], whose shape is broadcast to `S`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not list indices for a tile of shape `{S}`",
    note = "an axis takes `&Tile<I, T>` or `&Indices<I, T>`, `I` an integer and `T` of the rank of `{S}`"
)]
pub trait AxisIndices<S: TileShape> {}
#[diagnostic::do_not_recommend]
impl<I: Int, T: BroadcastTo<S>, S: TileShape> AxisIndices<S> for &Tile<'_, I, T> {}
#[diagnostic::do_not_recommend]
impl<I: Int, T: BroadcastTo<S>, S: TileShape> AxisIndices<S> for &Indices<'_, I, T> {}

/// [`AxisIndices`] while the kernel is expanded.
pub trait AxisIndicesExpand<S: TileShape> {
    #[doc(hidden)]
    fn into_axis(self) -> AxisTile;
}

/// Where an index points along its axis.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub element: NativeExpand<usize>,
    /// Whether that is in range.
    pub valid: NativeExpand<bool>,
    /// Whether the list has the index (`None`: it has all that are asked of it).
    pub present: Option<NativeExpand<bool>>,
}

/// The entries for the lanes of the packet at these coordinates of the index tile, along an axis of that extent.
type Entries =
    dyn Fn(&Scope, &[NativeExpand<u32>], usize, NativeExpand<usize>, Bounds) -> Vec<Entry>;

/// Index tiles of one axis, their types forgotten.
#[doc(hidden)]
#[derive(Clone)]
pub struct AxisTile {
    pub(super) dims: fn(&Scope) -> Vec<usize>,
    entries: Rc<Entries>,
}

impl AxisTile {
    /// Where the lanes of the packet at these coordinates of the whole tile point.
    pub(super) fn entries(
        &self,
        scope: &Scope,
        at: &[NativeExpand<u32>],
        width: usize,
        extent: NativeExpand<usize>,
        bounds: Bounds,
    ) -> Vec<Entry> {
        let dims = (self.dims)(scope);
        let at = broadcast(at, &dims);
        match dims.last() {
            Some(1) => vec![(self.entries)(scope, &at, 1, extent, bounds)[0]; width],
            _ => (self.entries)(scope, &at, width, extent, bounds),
        }
    }
}

impl<I: Int, T: BroadcastTo<S>, S: TileShape> AxisIndicesExpand<S> for &TileExpand<I, T> {
    fn into_axis(self) -> AxisTile {
        let tile = self.clone();
        AxisTile {
            dims: |scope| T::__expand_dims(scope),
            entries: Rc::new(move |scope, at, width, extent, bounds| {
                let packet = tile.packet(scope, &Place::anywhere(at), width);
                let lanes = (0..width).map(|index| match width {
                    1 => packet.read_value(scope).into(),
                    _ => lane(scope, packet, index),
                });
                let entry = |index| {
                    let (element, valid) = resolve::expand::<I>(scope, index, extent, bounds);
                    Entry {
                        element,
                        valid,
                        present: None,
                    }
                };
                lanes.map(entry).collect()
            }),
        }
    }
}

impl<I: Int, T: BroadcastTo<S>, S: TileShape> AxisIndicesExpand<S> for &IndicesExpand<I, T> {
    fn into_axis(self) -> AxisTile {
        let list = self.clone();
        AxisTile {
            dims: |scope| T::__expand_dims(scope),
            entries: Rc::new(move |scope, at, width, extent, bounds| {
                let entry = |step| {
                    let (index, present) = list.entry(scope, &along(scope, at, step));
                    let (element, valid) = resolve::expand::<I>(scope, index, extent, bounds);
                    Entry {
                        element,
                        valid,
                        present,
                    }
                };
                (0..width).map(entry).collect()
            }),
        }
    }
}

/// Coordinates in a tile of these extents of the element that stands for the one at `at`.
fn broadcast(at: &[NativeExpand<u32>], dims: &[usize]) -> Vec<NativeExpand<u32>> {
    let one = |(&at, &extent): (&NativeExpand<u32>, &usize)| match extent {
        1 => 0u32.into(),
        _ => at,
    };
    at.iter().zip(dims).map(one).collect()
}

/// These coordinates, `steps` further along the last dimension.
pub(super) fn along(
    scope: &Scope,
    at: &[NativeExpand<u32>],
    steps: usize,
) -> Vec<NativeExpand<u32>> {
    let mut at = at.to_vec();
    if let (Some(last), 1..) = (at.last_mut(), steps) {
        *last = last.__expand_add_method(scope, (steps as u32).into());
    }
    at
}

/// The indices of a flat gather or scatter: one index tile per axis of memory, as a tuple, or alone where the rank is 1.
#[diagnostic::on_unimplemented(
    message = "wrong indices for a flat tile of shape `{S}`: `{Self}`",
    label = "expected one index tile per axis of memory, of 1 to 5",
    note = "the indices are `(&i, &j, ..)`, each a `Tile` of integers of the rank of `{S}`, of its extents or of 1"
)]
pub trait FlatIndexPack<S: TileShape> {}

/// Any [`FlatIndexPack`], as one type.
pub struct FlatIndex<S: TileShape>(PhantomData<S>);
/// What a [`FlatIndex`] is while the kernel is expanded.
#[derive(Clone)]
pub struct FlatIndexExpand<S: TileShape> {
    pub(super) axes: Vec<AxisTile>,
    _shape: PhantomData<S>,
}
impl<S: TileShape> CubeType for FlatIndex<S> {
    type ExpandType = FlatIndexExpand<S>;
}
comptime_handle!([S: TileShape] FlatIndexExpand<S>);

macro_rules! of_rank {
    ($($dim:ident $own:ident),*) => {
        impl<$($dim: Size, $own: Size),*> BroadcastTo<($($dim,)*)> for ($($own,)*) {}
    };
}
of_rank!(A Ia);
of_rank!(A Ia, B Ib);
of_rank!(A Ia, B Ib, C Ic);
of_rank!(A Ia, B Ib, C Ic, D Id);
of_rank!(A Ia, B Ib, C Ic, D Id, F If);

macro_rules! of_axes {
    ($($axis:ident),*) => {
        #[diagnostic::do_not_recommend]
        impl<S: TileShape, $($axis: AxisIndices<S>),*> FlatIndexPack<S> for ($($axis,)*) {}
        impl<S: TileShape, $($axis: AxisIndicesExpand<S>),*> From<($($axis,)*)> for FlatIndexExpand<S> {
            #[allow(non_snake_case)]
            fn from(($($axis,)*): ($($axis,)*)) -> Self {
                Self { axes: vec![$($axis.into_axis()),*], _shape: PhantomData }
            }
        }
    };
}
of_axes!(A);
of_axes!(A, B);
of_axes!(A, B, C);
of_axes!(A, B, C, D);
of_axes!(A, B, C, D, F);

macro_rules! of_one_axis {
    ($($list:ident, $expand:ident;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<I: Int, T: BroadcastTo<S>, S: TileShape> FlatIndexPack<S> for &$list<'_, I, T> {}
        impl<I: Int, T: BroadcastTo<S>, S: TileShape> From<&$expand<I, T>> for FlatIndexExpand<S> {
            fn from(list: &$expand<I, T>) -> Self {
                Self::from((list,))
            }
        }
    )*};
}
of_one_axis! {
    Tile, TileExpand;
    Indices, IndicesExpand;
}

/// An element of a mask: a `bool`, or an integer, whose 0 is false.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element of a mask",
    note = "a mask is a tile of `bool`, or of `u8`, `i8`, `u16`, `i16`, `u32`, `i32`, `u64` or `i64`, whose 0 is false"
)]
pub trait MaskElement: Scalar {
    #[doc(hidden)]
    fn is_true(scope: &Scope, value: NativeExpand<Self>) -> NativeExpand<bool>;
}
impl MaskElement for bool {
    fn is_true(_scope: &Scope, value: NativeExpand<Self>) -> NativeExpand<bool> {
        value
    }
}
macro_rules! mask_elements {
    ($($element:ty),*) => {$(
        impl MaskElement for $element {
            fn is_true(scope: &Scope, value: NativeExpand<Self>) -> NativeExpand<bool> {
                let zero = <$element>::__expand_from_int(scope, 0i64.into());
                value.__expand_ne_method(scope, &zero)
            }
        }
    )*};
}
mask_elements!(u8, i8, u16, i16, u32, i32, u64, i64);

/// Which elements of a tile of shape `S` take part: a tile of [`MaskElement`]s whose shape is broadcast to `S`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a mask for a tile of shape `{S}`",
    note = "a mask is `&Tile<M, T>` with `M` a `bool` or an integer, and `T` of the rank of `{S}`, of its extents or of 1"
)]
pub trait MaskOf<S: TileShape> {}
#[diagnostic::do_not_recommend]
impl<M: MaskElement, T: BroadcastTo<S>, S: TileShape> MaskOf<S> for &Tile<'_, M, T> {}

/// Any [`MaskOf`], as one type.
pub struct Mask<S: TileShape>(PhantomData<S>);
/// What a [`Mask`] is while the kernel is expanded.
#[derive(Clone)]
pub struct MaskExpand<S: TileShape> {
    pub(super) dims: fn(&Scope) -> Vec<usize>,
    takes: Rc<Takes>,
    _shape: PhantomData<S>,
}
/// Whether the element at these coordinates of the mask takes part.
type Takes = dyn Fn(&Scope, &[NativeExpand<u32>]) -> NativeExpand<bool>;

impl<S: TileShape> CubeType for Mask<S> {
    type ExpandType = MaskExpand<S>;
}
comptime_handle!([S: TileShape] MaskExpand<S>);

impl<M: MaskElement, T: BroadcastTo<S>, S: TileShape> From<&TileExpand<M, T>> for MaskExpand<S> {
    fn from(tile: &TileExpand<M, T>) -> Self {
        let tile = tile.clone();
        Self {
            dims: |scope| T::__expand_dims(scope),
            takes: Rc::new(move |scope, at| {
                let value = tile.packet(scope, &Place::anywhere(at), 1);
                M::is_true(scope, value.read_value(scope).into())
            }),
            _shape: PhantomData,
        }
    }
}

impl<S: TileShape> MaskExpand<S> {
    /// Whether the element at these coordinates of the whole tile takes part.
    pub(super) fn takes(&self, scope: &Scope, at: &[NativeExpand<u32>]) -> NativeExpand<bool> {
        let dims = (self.dims)(scope);
        (self.takes)(scope, &broadcast(at, &dims))
    }
}
