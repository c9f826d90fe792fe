//! Lists of indices.

use super::access::{Access, Position, Region};
use super::bounds::{Bounds, resolve};
use crate::handle::comptime_handle;
use crate::tile::{Place, Tile, TileExpand, TileShape};
use core::marker::PhantomData;
use cubecl::prelude::*;
use std::rc::Rc;

/// A list of `N` indices: a rank-1 tile of that extent, or memory that holds at least so many.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of indices for a gather dimension of extent `{N}`",
    label = "expected a rank-1 tile of that extent, or a slice, of integers",
    note = "the indices are `&Tile<I, ({N},)>`, `&[I]` or `&Tensor<I>` with `I` an integer"
)]
pub trait ListOf<N: Size> {}
#[diagnostic::do_not_recommend]
impl<I: Int, N: Size> ListOf<N> for &Tile<'_, I, (N,)> {}
#[diagnostic::do_not_recommend]
impl<I: Int, N: Size> ListOf<N> for &[I] {}
#[diagnostic::do_not_recommend]
impl<I: Int, N: Size> ListOf<N> for &Tensor<I> {}
#[diagnostic::do_not_recommend]
impl<I: Int, N: Size> ListOf<N> for &Indices<'_, I, (N,)> {}

/// [`ListOf`] while the kernel is expanded.
pub trait ListOfExpand<N: Size> {
    #[doc(hidden)]
    fn into_list(self) -> List;
}

/// Gives the element that the entry `coordinate` points at, along an axis of that extent.
type Find = dyn Fn(&Scope, NativeExpand<u32>, NativeExpand<usize>, Bounds) -> Position;

/// A list of indices, its type forgotten.
#[doc(hidden)]
#[derive(Clone)]
pub struct List(Rc<Find>);

/// An entry of a list, and whether the list has it (`None`: it has all that are asked of it).
type Entry<I> = (NativeExpand<I>, Option<NativeExpand<bool>>);

impl List {
    fn new<I: Int>(entry: impl Fn(&Scope, NativeExpand<u32>) -> Entry<I> + 'static) -> Self {
        Self(Rc::new(move |scope, coordinate, extent, bounds| {
            let (index, present) = entry(scope, coordinate);
            let (element, valid) = resolve::expand::<I>(scope, index, extent, bounds);
            Position {
                element,
                valid: (bounds != Bounds::Assume).then_some(valid),
                present,
                moved: None,
            }
        }))
    }

    /// Where the entry `coordinate` points along an axis of that extent.
    pub(super) fn position(
        &self,
        scope: &Scope,
        coordinate: NativeExpand<u32>,
        extent: NativeExpand<usize>,
        bounds: Bounds,
    ) -> Position {
        (self.0)(scope, coordinate, extent, bounds)
    }
}

/// The entries of a list of indices that one tile of its partition covers ([`TileView::indices`]).
///
/// Entries past the end of the list are none: nothing is loaded, stored or reported for them.
///
/// [`TileView::indices`]: super::TileView::indices
pub struct Indices<'a, I: Int, S: TileShape> {
    _memory: PhantomData<&'a I>,
    _shape: PhantomData<S>,
}
/// What [`Indices`] are while the kernel is expanded.
pub struct IndicesExpand<I: Int, S: TileShape> {
    region: Region<I>,
    access: Access,
    _shape: PhantomData<S>,
}
impl<I: Int, S: TileShape> Clone for IndicesExpand<I, S> {
    fn clone(&self) -> Self {
        Self::new(self.region.clone(), self.access.clone())
    }
}
impl<I: Int, S: TileShape> CubeType for Indices<'_, I, S> {
    type ExpandType = IndicesExpand<I, S>;
}
comptime_handle!([I: Int, S: TileShape] IndicesExpand<I, S>);

impl<I: Int, S: TileShape> IndicesExpand<I, S> {
    pub(super) fn new(region: Region<I>, access: Access) -> Self {
        Self {
            region,
            access,
            _shape: PhantomData,
        }
    }

    /// The entry at these coordinates, and whether the list has it.
    pub(super) fn entry(&self, scope: &Scope, at: &[NativeExpand<u32>]) -> Entry<I> {
        let (index, present) = self.access.fetch_present(scope, &self.region, at);
        (index.read_value(scope).into(), present)
    }
}

impl<I: Int, N: Size> ListOfExpand<N> for &IndicesExpand<I, (N,)> {
    fn into_list(self) -> List {
        let list = self.clone();
        List::new::<I>(move |scope, coordinate| list.entry(scope, &[coordinate]))
    }
}
impl<I: Int, N: Size> ListOfExpand<N> for &TileExpand<I, (N,)> {
    fn into_list(self) -> List {
        let tile = self.clone();
        List::new::<I>(move |scope, coordinate| {
            let entry = tile.packet(scope, &Place::anywhere(&[coordinate]), 1);
            (entry.read_value(scope).into(), None)
        })
    }
}
impl<I: Int, N: Size> ListOfExpand<N> for &SliceExpand<I> {
    fn into_list(self) -> List {
        let slice = self.clone_unchecked();
        List::new::<I>(move |scope, coordinate| {
            let at = usize::__expand_cast_from(scope, coordinate);
            let entry = slice.__expand_index_method(scope, at);
            (entry.__expand_deref_method(scope), None)
        })
    }
}
impl<I: Int, N: Size> ListOfExpand<N> for &TensorExpand<I> {
    fn into_list(self) -> List {
        let slice: &SliceExpand<I> = self;
        ListOfExpand::<N>::into_list(slice)
    }
}
