//! Regular partitions of a tensor, and the numbers of their tiles.

use super::access::{Access, Axis, Way};
use super::bounds::Rules;
use super::start::{Start, StartExpand};
use crate::handle::comptime_handle;
use crate::tile::TileShape;
use core::marker::PhantomData;
use cubecl::prelude::*;

/// The greatest rank of a tile.
const MAX_RANK: usize = 5;

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

/// The number of a tile: one integer per dimension, as a tuple, or alone where the rank is 1; or a [`TileIndex`].
///
/// A number below 0, or past the last tile, is one of a tile that is wholly outside.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the number of a tile of shape `{S}`",
    note = "a tile is numbered by one integer per dimension of its shape: `(i, j)`"
)]
pub trait TileIndexPack<S: TileShape> {}

/// A number along one dimension of a partition.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not number tiles",
    note = "tiles are numbered by integers"
)]
pub trait TileNumber: Start {}

/// The number of a tile of shape `S`, whatever it was made of.
pub struct TileIndex<S: TileShape>(PhantomData<S>);
impl<S: TileShape> TileIndexPack<S> for TileIndex<S> {}
/// What a [`TileIndex`] is while the kernel is expanded.
#[derive(Clone, Copy)]
pub struct TileIndexExpand<S: TileShape> {
    /// One for each dimension, and as many more as make up the greatest rank.
    starts: [StartExpand; MAX_RANK],
    _shape: PhantomData<S>,
}
impl<S: TileShape> Clone for TileIndex<S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: TileShape> Copy for TileIndex<S> {}
impl<S: TileShape> CubeType for TileIndex<S> {
    type ExpandType = TileIndexExpand<S>;
}
comptime_handle!([S: TileShape] TileIndexExpand<S>);

impl<S: TileShape> TileIndexExpand<S> {
    pub(super) fn new(starts: &[StartExpand]) -> Self {
        let none = StartExpand::from(0usize);
        Self {
            starts: core::array::from_fn(|dim| starts.get(dim).copied().unwrap_or(none)),
            _shape: PhantomData,
        }
    }
}

macro_rules! tile_index {
    ($($dim:ident $number:ident),*) => {
        #[diagnostic::do_not_recommend]
        impl<$($dim: Size, $number: TileNumber),*> TileIndexPack<($($dim,)*)> for ($($number,)*) {}
        impl<$($dim: Size, $number: Into<StartExpand>),*> From<($($number,)*)> for TileIndexExpand<($($dim,)*)> {
            #[allow(non_snake_case)]
            fn from(($($number,)*): ($($number,)*)) -> Self {
                Self::new(&[$($number.into()),*])
            }
        }
    };
}
tile_index!(A Ia);
tile_index!(A Ia, B Ib);
tile_index!(A Ia, B Ib, C Ic);
tile_index!(A Ia, B Ib, C Ic, D Id);
tile_index!(A Ia, B Ib, C Ic, D Id, F If);
macro_rules! tile_numbers {
    ($($number:ty),*) => {$(
        impl TileNumber for $number {}
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
tile_numbers!(u8, u16, u32, u64, usize, i8, i16, i32, i64);

/// Extents, axis order and steps of a partition.
#[derive(Clone)]
pub(super) struct Partition {
    dims: Vec<usize>,
    pub order: Vec<usize>,
    pub step: Vec<usize>,
}

impl Partition {
    pub(super) fn new(dims: Vec<usize>) -> Self {
        Self {
            order: (0..dims.len()).collect(),
            step: dims.clone(),
            dims,
        }
    }

    pub(super) fn ordered(mut self, call: &str, Dims(order): Dims) -> Self {
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

    pub(super) fn stepped(mut self, call: &str, Dims(step): Dims) -> Self {
        assert!(
            step.len() == self.dims.len() && !step.contains(&0),
            "girih: {call}::step: {step:?}; one step of at least 1 for each of the {} dimensions is needed",
            self.dims.len()
        );
        self.step = step;
        self
    }

    /// Axis `order[k]` of memory is tile dimension `k`.
    pub(super) fn access<S: TileShape>(
        &self,
        scope: &Scope,
        index: TileIndexExpand<S>,
        rules: &Rules,
    ) -> Access {
        let mut axes: Vec<_> = (0..self.dims.len()).collect();
        axes.sort_unstable_by_key(|&dim| self.order[dim]);
        let axes = axes.into_iter().map(|dim| Axis {
            dim,
            way: Way::Run {
                step: self.step[dim],
                start: index.starts[dim].tile().read(scope),
            },
            policy: rules.policy(dim, false),
        });
        Access {
            axes: axes.collect(),
        }
    }
}
