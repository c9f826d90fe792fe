//! The tiles of a partition one after another.

use super::access::Region;
use super::partition::{Partition, TileIndex, TileIndexExpand};
use super::start::{StartExpand, choose};
use crate::handle::comptime_handle;
use crate::tile::TileShape;
use core::marker::PhantomData;
use cubecl::frontend::branch::Iterable;
use cubecl::prelude::*;

/// The tiles of a partition, in row-major order of their numbers: what a kernel's `for` goes through.
///
/// There are `extent / step` tiles along each dimension, rounded up: those whose first element is one of the tensor. The
/// last may reach past its end.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
///
/// /// Each cube copies every `CUBE_COUNT`th tile.
/// #[cube(launch_unchecked)]
/// fn copy(from: &Tensor<f32>, to: &mut Tensor<f32>) {
///     let cube = this_cube();
///     let from = TileView::<f32, shape![8, 32]>::of(from);
///     let mut to = TileViewMut::<f32, shape![8, 32]>::of(to);
///     for number in from.eachtile().turns(CUBE_POS, CUBE_COUNT) {
///         let tile = from.load_masked(&cube, Zero, number);
///         to.store_masked(&cube, tile, number);
///     }
/// }
/// # fn main() {}
/// ```
pub struct EachTile<S: TileShape>(PhantomData<S>);

/// What [`EachTile`] is while the kernel is expanded.
#[derive(Clone)]
pub struct EachTileExpand<S: TileShape> {
    /// Tiles along each dimension.
    counts: Vec<NativeExpand<usize>>,
    first: NativeExpand<usize>,
    every: NativeExpand<usize>,
    _shape: PhantomData<S>,
}
impl<S: TileShape> CubeType for EachTile<S> {
    type ExpandType = EachTileExpand<S>;
}
comptime_handle!([S: TileShape] EachTileExpand<S>);

impl<S: TileShape> Iterator for EachTile<S> {
    type Item = TileIndex<S>;

    fn next(&mut self) -> Option<Self::Item> {
        cubecl::unexpanded!()
    }
}

impl<S: TileShape> EachTile<S> {
    /// How many tiles there are in all.
    pub fn len(&self) -> usize {
        cubecl::unexpanded!()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        cubecl::unexpanded!()
    }
    /// How many tiles there are along a dimension of the tile, a comptime value.
    #[allow(unused_variables)]
    pub fn along(&self, dim: u32) -> usize {
        cubecl::unexpanded!()
    }
    /// Every `of`th tile from tile `turn` on: the share of one of `of` cubes, planes or units. `of` is at least 1.
    #[allow(unused_variables)]
    pub fn turns(self, turn: usize, of: usize) -> Self {
        cubecl::unexpanded!()
    }
    /// The number of the tile at that place in row-major order.
    #[allow(unused_variables)]
    pub fn number(&self, place: usize) -> TileIndex<S> {
        cubecl::unexpanded!()
    }
}

impl<S: TileShape> EachTileExpand<S> {
    pub(super) fn new<E: Scalar>(scope: &Scope, region: &Region<E>, partition: &Partition) -> Self {
        let dimensions = partition.order.iter().zip(&partition.step);
        let counts = dimensions.map(|(&axis, &step)| {
            let extent = region.extent(axis);
            // Rounded up without a sum that may overflow.
            let whole = extent.__expand_div_method(scope, step.into());
            let rest = extent.__expand_rem_method(scope, step.into());
            let more = rest.__expand_gt_method(scope, &0usize.into());
            let more = usize::__expand_cast_from(scope, more);
            whole.__expand_add_method(scope, more)
        });
        Self {
            counts: counts.collect(),
            first: 0usize.into(),
            every: 1usize.into(),
            _shape: PhantomData,
        }
    }

    /// Expansion of [`EachTile::len`].
    pub fn __expand_len_method(&self, scope: &Scope) -> NativeExpand<usize> {
        let counts = self.counts.iter().copied();
        counts
            .reduce(|product, count| product.__expand_mul_method(scope, count))
            .expect("a tile has a dimension")
    }
    /// Expansion of [`EachTile::is_empty`].
    pub fn __expand_is_empty_method(&self, scope: &Scope) -> NativeExpand<bool> {
        self.__expand_len_method(scope)
            .__expand_eq_method(scope, &0usize.into())
    }
    /// Expansion of [`EachTile::along`].
    pub fn __expand_along_method(
        &self,
        _scope: &Scope,
        dim: NativeExpand<u32>,
    ) -> NativeExpand<usize> {
        let known = dim.constant().map(|dim| dim.as_usize());
        let count = known.and_then(|dim| self.counts.get(dim));
        *count.unwrap_or_else(|| {
            let given = known.map_or("a value of the run".into(), |dim| dim.to_string());
            panic!(
                "girih: EachTile::along: {given}; a dimension of the tile, in 0..{}, known at comptime is needed",
                self.counts.len()
            )
        })
    }
    /// Expansion of [`EachTile::turns`].
    pub fn __expand_turns_method(
        self,
        _scope: &Scope,
        turn: NativeExpand<usize>,
        of: NativeExpand<usize>,
    ) -> Self {
        Self {
            first: turn,
            every: of,
            ..self
        }
    }
    /// Expansion of [`EachTile::number`].
    pub fn __expand_number_method(
        &self,
        scope: &Scope,
        place: NativeExpand<usize>,
    ) -> TileIndexExpand<S> {
        let mut rest = place;
        let mut numbers = vec![];
        for (dim, &count) in self.counts.iter().enumerate().rev() {
            if dim == 0 {
                numbers.push(StartExpand::from(rest));
            } else {
                // Where there are no tiles there is no number to find either, but a division all the same.
                let count = count.__expand_max_method(scope, 1usize.into());
                numbers.push(rest.__expand_rem_method(scope, count).into());
                rest = rest.__expand_div_method(scope, count);
            }
        }
        numbers.reverse();
        TileIndexExpand::new(&numbers)
    }
}

impl<S: TileShape> Iterable for EachTileExpand<S> {
    type Item = TileIndexExpand<S>;

    fn expand(self, scope: &Scope, body: &mut dyn FnMut(&Scope, Self::Item)) {
        // Rounds are counted, so that no place overflows: (len - first) / every of them, rounded up.
        let len = self.__expand_len_method(scope);
        let some = self.first.__expand_lt_method(scope, &len);
        let left = len.__expand_sub_method(scope, self.first);
        let left = choose(scope, some, left, |_| 0usize.into());
        let whole = left.__expand_div_method(scope, self.every);
        let rest = left.__expand_rem_method(scope, self.every);
        let more = rest.__expand_gt_method(scope, &0usize.into());
        let rounds = whole.__expand_add_method(scope, usize::__expand_cast_from(scope, more));
        let rounds = RangeExpand::new(0usize.into(), rounds);
        rounds.expand(scope, &mut |scope: &Scope, round: NativeExpand<usize>| {
            let steps = round.__expand_mul_method(scope, self.every);
            let place = self.first.__expand_add_method(scope, steps);
            let number = self.__expand_number_method(scope, place);
            body(scope, number);
        });
    }

    fn expand_unroll(self, _scope: &Scope, _body: &mut dyn FnMut(&Scope, Self::Item)) {
        panic!("girih: eachtile: an unrolled loop; the number of tiles is known to the run alone")
    }
}
