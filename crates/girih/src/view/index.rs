//! The index pack of a gather or scatter: for each dimension of the tile a list of indices, or a start.

use super::access::{Access, Axis, Way};
use super::bounds::Rules;
use super::list::{Indices, IndicesExpand, List, ListOf, ListOfExpand};
use super::start::{Chunk, ChunkExpand, StartExpand};
use crate::handle::comptime_handle;
use crate::tile::{Tile, TileExpand, TileShape};
use core::marker::PhantomData;
use cubecl::prelude::*;

/// The argument of a gather or scatter: one entry per dimension of the tile.
///
/// | entry | coordinate `j` along the dimension is |
/// |---|---|
/// | a list of indices ([`ListOf`]) | element `list[j]` of the axis |
/// | several lists, as a tuple `(&a, &b)` | elements `a[j]` and `b[j]` of two axes: the tile has a dimension less than the tensor |
/// | a start ([`Start`](super::Start)) | element `start + j` of the axis |
///
/// The gather dimension takes lists; any other takes what it is given. Lists along two dimensions are taken with each
/// other: element `(i, j)` of the tile is `span[a[i], b[j]]`.
#[diagnostic::on_unimplemented(
    message = "wrong index pack for a tile of shape `{S}` gathered along dimension {DIM}: `{Self}`",
    label = "expected one entry per dimension, the list of indices in place {DIM}",
    note = "the list is `&Tile<I, (N,)>`, `&[I]` or `&Tensor<I>`, N the tile's extent there, or a tuple of such lists; every other entry is a list as well, or a start: an integer or `chunk(i)`"
)]
pub trait IndexPack<S: TileShape, const DIM: usize> {}

/// `DIM` is a dimension of the shape.
#[diagnostic::on_unimplemented(
    message = "gather dimension {DIM} is not a dimension of the tile shape `{Self}`",
    note = "the gather dimension must be less than the rank of the tile's shape"
)]
pub trait GatherDim<const DIM: usize>: TileShape {}

/// What the gather dimension of extent `N` takes: a list, or a tuple of lists, one for each axis.
pub trait Listed<N: Size> {}
/// [`Listed`] while the kernel is expanded.
pub trait ListedExpand<N: Size> {
    #[doc(hidden)]
    fn into_lists(self) -> Vec<List>;
}

/// What any other dimension of extent `N` takes: a start, or what [`Listed`] is.
pub trait IndexEntry<N: Size> {}
/// [`IndexEntry`] while the kernel is expanded.
pub trait IndexEntryExpand<N: Size> {
    #[doc(hidden)]
    fn into_entry(self) -> Entry;
}

/// What one dimension of the tile is given.
#[doc(hidden)]
#[derive(Clone)]
pub enum Entry {
    /// One list for each axis that the dimension runs along.
    Lists(Vec<List>),
    Start(StartExpand),
}

macro_rules! lists {
    ($([$($generics:tt)*] $list:ty, $expand:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Listed<N> for $list {}
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> IndexEntry<N> for $list {}
        impl<$($generics)*> ListedExpand<N> for $expand {
            fn into_lists(self) -> Vec<List> {
                vec![ListOfExpand::<N>::into_list(self)]
            }
        }
        impl<$($generics)*> IndexEntryExpand<N> for $expand {
            fn into_entry(self) -> Entry {
                Entry::Lists(ListedExpand::<N>::into_lists(self))
            }
        }
    )*};
}
lists! {
    [I: Int, N: Size] &Tile<'_, I, (N,)>, &TileExpand<I, (N,)>;
    [I: Int, N: Size] &Indices<'_, I, (N,)>, &IndicesExpand<I, (N,)>;
    [I: Int, N: Size] &[I], &SliceExpand<I>;
    [I: Int, N: Size] &Tensor<I>, &TensorExpand<I>;
}

macro_rules! paired {
    ($($list:ident $name:ident),*) => {
        #[diagnostic::do_not_recommend]
        impl<N: Size, $($list: ListOf<N>),*> Listed<N> for ($($list,)*) {}
        #[diagnostic::do_not_recommend]
        impl<N: Size, $($list: ListOf<N>),*> IndexEntry<N> for ($($list,)*) {}
        impl<N: Size, $($list: ListOfExpand<N>),*> ListedExpand<N> for ($($list,)*) {
            fn into_lists(self) -> Vec<List> {
                let ($($name,)*) = self;
                vec![$($name.into_list()),*]
            }
        }
        impl<N: Size, $($list: ListOfExpand<N>),*> IndexEntryExpand<N> for ($($list,)*) {
            fn into_entry(self) -> Entry {
                Entry::Lists(ListedExpand::<N>::into_lists(self))
            }
        }
    };
}
paired!(A a, B b);
paired!(A a, B b, C c);
paired!(A a, B b, C c, D d);
paired!(A a, B b, C c, D d, F f);

macro_rules! starts {
    ($($start:ty, $expand:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<N: Size> IndexEntry<N> for $start {}
        impl<N: Size> IndexEntryExpand<N> for $expand {
            fn into_entry(self) -> Entry {
                Entry::Start(self.into())
            }
        }
    )*};
}
starts! {
    u8, NativeExpand<u8>;
    u16, NativeExpand<u16>;
    u32, NativeExpand<u32>;
    u64, NativeExpand<u64>;
    usize, NativeExpand<usize>;
    i8, NativeExpand<i8>;
    i16, NativeExpand<i16>;
    i32, NativeExpand<i32>;
    i64, NativeExpand<i64>;
    Chunk, ChunkExpand;
}

/// Any [`IndexPack`], as one type.
pub struct ChunkIndex<S: TileShape, const DIM: usize>(PhantomData<S>);
/// What a [`ChunkIndex`] is while the kernel is expanded.
#[derive(Clone)]
pub struct ChunkIndexExpand<S: TileShape, const DIM: usize> {
    /// One per dimension of the tile.
    entries: Vec<Entry>,
    _shape: PhantomData<S>,
}
impl<S: TileShape, const DIM: usize> CubeType for ChunkIndex<S, DIM> {
    type ExpandType = ChunkIndexExpand<S, DIM>;
}
comptime_handle!([S: TileShape, const DIM: usize] ChunkIndexExpand<S, DIM>);

impl<S: TileShape, const DIM: usize> ChunkIndexExpand<S, DIM> {
    /// The axes of memory in order: those of tile dimension 0, of dimension 1, and so on.
    pub(super) fn access(&self, scope: &Scope, rules: &Rules) -> Access {
        let dims = S::__expand_dims(scope);
        let dimensions = self.entries.iter().zip(dims).enumerate();
        let axes = dimensions.flat_map(|(dim, (entry, step))| {
            let ways = match entry {
                Entry::Lists(lists) => lists.iter().cloned().map(Way::List).collect(),
                Entry::Start(start) => vec![Way::Run {
                    step,
                    start: start.read(scope),
                }],
            };
            let policy = rules.policy(dim, matches!(entry, Entry::Lists(_)));
            ways.into_iter().map(move |way| Axis {
                dim,
                way,
                policy: policy.clone(),
            })
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
        impl<$($before: Size, $b: IndexEntry<$before>,)* $at: Size, Indices: Listed<$at>, $($after: Size, $a: IndexEntry<$after>),*>
            IndexPack<($($before,)* $at, $($after,)*), $dim> for ($($b,)* Indices, $($a,)*)
        {
        }
        impl<$($before: Size, $b: IndexEntryExpand<$before>,)* $at: Size, Indices: ListedExpand<$at>, $($after: Size, $a: IndexEntryExpand<$after>),*>
            From<($($b,)* Indices, $($a,)*)> for ChunkIndexExpand<($($before,)* $at, $($after,)*), $dim>
        {
            #[allow(non_snake_case)]
            fn from(($($b,)* indices, $($a,)*): ($($b,)* Indices, $($a,)*)) -> Self {
                let listed = Entry::Lists(indices.into_lists());
                Self { entries: vec![$($b.into_entry(),)* listed, $($a.into_entry()),*], _shape: PhantomData }
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

macro_rules! lone_list {
    ($([$($generics:tt)*] $list:ty, $expand:ty;)*) => {$(
        /// A gather of rank 1 takes the list itself.
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> IndexPack<(A,), 0> for $list {}
        impl<$($generics)*> From<$expand> for ChunkIndexExpand<(A,), 0> {
            fn from(list: $expand) -> Self {
                Self::from((list,))
            }
        }
    )*};
}
lone_list! {
    [A: Size, I: Int] &Tile<'_, I, (A,)>, &TileExpand<I, (A,)>;
    [A: Size, I: Int] &Indices<'_, I, (A,)>, &IndicesExpand<I, (A,)>;
}
