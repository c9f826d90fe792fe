//! The index pack of a gather or scatter: a list of indices in the gather dimension's place, a start in every other.

use super::access::{Access, Axis, IndexList, Region};
use super::bounds::{Policy, resolve};
use super::start::{Position, Start, StartExpand, and};
use crate::handle::comptime_handle;
use crate::tile::{Place, Tile, TileExpand, TileShape};
use core::marker::PhantomData;
use cubecl::frontend::branch;
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

/// [`ListOf`] while the kernel is expanded.
pub trait ListOfExpand<N: Size> {
    #[doc(hidden)]
    fn into_list(self) -> List;
}

/// A list of indices, its type forgotten.
#[doc(hidden)]
#[derive(Clone)]
pub struct List(IndexList);

/// An entry of a list, and whether the list has it (`None`: it has all that are asked of it).
type Entry<I> = (NativeExpand<I>, Option<NativeExpand<bool>>);

impl List {
    fn new<I: Int>(entry: impl Fn(&Scope, NativeExpand<u32>) -> Entry<I> + 'static) -> Self {
        Self(Rc::new(
            move |scope, coordinate, extent, policy: &Policy| {
                let (index, present) = entry(scope, coordinate);
                let (element, valid) = resolve::expand::<I>(scope, index, extent, policy.bounds);
                if let Some(reporter) = &policy.reporter {
                    let bad = valid.__expand_not_method(scope);
                    let bad = present.map_or(bad, |present| and(scope, present, bad));
                    branch::if_expand(scope, bad, |scope| reporter.offend(scope, coordinate));
                }
                let in_range = present.map_or(valid, |present| and(scope, present, valid));
                Position {
                    element,
                    in_range: Some(in_range),
                }
            },
        ))
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

    /// The entry at these coordinates.
    pub(super) fn entry(&self, scope: &Scope, at: &[NativeExpand<u32>]) -> Entry<I> {
        let (index, present) = self.access.fetch_present(scope, &self.region, at);
        (index.read_value(scope).into(), present)
    }
}

#[diagnostic::do_not_recommend]
impl<I: Int, N: Size> ListOf<N> for &Indices<'_, I, (N,)> {}
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
            (
                tile.packet(scope, &Place::anywhere(&[coordinate]), 1)
                    .read_value(scope)
                    .into(),
                None,
            )
        })
    }
}
impl<I: Int, N: Size> ListOfExpand<N> for &SliceExpand<I> {
    fn into_list(self) -> List {
        let slice = self.clone_unchecked();
        List::new::<I>(move |scope, coordinate| {
            let at = usize::__expand_cast_from(scope, coordinate);
            (
                slice
                    .__expand_index_method(scope, at)
                    .__expand_deref_method(scope),
                None,
            )
        })
    }
}
impl<I: Int, N: Size> ListOfExpand<N> for &TensorExpand<I> {
    fn into_list(self) -> List {
        let slice: &SliceExpand<I> = self;
        ListOfExpand::<N>::into_list(slice)
    }
}

/// The argument of a gather or scatter: one entry per dimension of the tile.
#[diagnostic::on_unimplemented(
    message = "wrong index pack for a tile of shape `{S}` gathered along dimension {DIM}: `{Self}`",
    label = "expected one entry per dimension, the list of indices in place {DIM}",
    note = "the list is `&Tile<I, (N,)>`, `&[I]` or `&Tensor<I>`, N the tile's extent there; every other entry is a start: `u32`, `usize`, `i32` or `chunk(i)`"
)]
pub trait IndexPack<S: TileShape, const DIM: usize> {}

/// `DIM` is a dimension of the shape.
#[diagnostic::on_unimplemented(
    message = "gather dimension {DIM} is not a dimension of the tile shape `{Self}`",
    note = "the gather dimension must be less than the rank of the tile's shape"
)]
pub trait GatherDim<const DIM: usize>: TileShape {}

/// Any [`IndexPack`], as one type.
pub struct ChunkIndex<S: TileShape, const DIM: usize>(PhantomData<S>);
/// What a [`ChunkIndex`] is while the kernel is expanded.
#[derive(Clone)]
pub struct ChunkIndexExpand<S: TileShape, const DIM: usize> {
    list: List,
    /// One per dimension but the gathered one.
    starts: Vec<StartExpand>,
    _shape: PhantomData<S>,
}
impl<S: TileShape, const DIM: usize> CubeType for ChunkIndex<S, DIM> {
    type ExpandType = ChunkIndexExpand<S, DIM>;
}
comptime_handle!([S: TileShape, const DIM: usize] ChunkIndexExpand<S, DIM>);

impl<S: TileShape, const DIM: usize> ChunkIndexExpand<S, DIM> {
    /// Tile dimension `k` is axis `k` of memory.
    pub(super) fn access(&self, dims: &[usize], policy: &Policy) -> Access {
        let mut starts = self.starts.iter();
        let axes = dims.iter().enumerate().map(|(dim, &step)| {
            if dim == DIM {
                return Axis::List {
                    dim,
                    list: self.list.0.clone(),
                    policy: policy.clone(),
                };
            }
            let start = starts
                .next()
                .expect("a start per dimension that is not gathered")
                .clone();
            Axis::Run { dim, step, start }
        });
        Access {
            axes: axes.collect(),
        }
    }
}

macro_rules! index_pack {
    ($dim:literal: [$($before:ident $b:ident),*] $at:ident [$($after:ident $a:ident),*]) => {
        impl<$($before: Size,)* $at: Size, $($after: Size),*> GatherDim<$dim> for ($($before,)* $at, $($after,)*) {}
        #[diagnostic::do_not_recommend]
        impl<$($before: Size, $b: Start,)* $at: Size, Indices: ListOf<$at>, $($after: Size, $a: Start),*>
            IndexPack<($($before,)* $at, $($after,)*), $dim> for ($($b,)* Indices, $($a,)*)
        {
        }
        impl<$($before: Size, $b: Into<StartExpand>,)* $at: Size, Indices: ListOfExpand<$at>, $($after: Size, $a: Into<StartExpand>),*>
            From<($($b,)* Indices, $($a,)*)> for ChunkIndexExpand<($($before,)* $at, $($after,)*), $dim>
        {
            #[allow(non_snake_case)]
            fn from(($($b,)* indices, $($a,)*): ($($b,)* Indices, $($a,)*)) -> Self {
                let list = indices.into_list();
                Self { list, starts: vec![$($b.into(),)* $($a.into()),*], _shape: PhantomData }
            }
        }
    };
}
index_pack!(0: [] A []);
index_pack!(0: [] A [B Sb]);
index_pack!(1: [A Sa] B []);
index_pack!(0: [] A [B Sb, C Sc]);
index_pack!(1: [A Sa] B [C Sc]);
index_pack!(2: [A Sa, B Sb] C []);
index_pack!(0: [] A [B Sb, C Sc, D Sd]);
index_pack!(1: [A Sa] B [C Sc, D Sd]);
index_pack!(2: [A Sa, B Sb] C [D Sd]);
index_pack!(3: [A Sa, B Sb, C Sc] D []);
index_pack!(0: [] A [B Sb, C Sc, D Sd, F Sf]);
index_pack!(1: [A Sa] B [C Sc, D Sd, F Sf]);
index_pack!(2: [A Sa, B Sb] C [D Sd, F Sf]);
index_pack!(3: [A Sa, B Sb, C Sc] D [F Sf]);
index_pack!(4: [A Sa, B Sb, C Sc, D Sd] F []);

/// A gather of rank 1 takes the list itself.
#[diagnostic::do_not_recommend]
impl<A: Size, I: Int> IndexPack<(A,), 0> for &Tile<'_, I, (A,)> {}
impl<A: Size, I: Int> From<&TileExpand<I, (A,)>> for ChunkIndexExpand<(A,), 0> {
    fn from(tile: &TileExpand<I, (A,)>) -> Self {
        Self::from((tile,))
    }
}
