//! Tiles of another shape: broadcast, permuted, reshaped.

use super::fill::row_major;
use super::packet::{join, only, splat};
use super::spread::coordinates;
use super::{SameRank, Tile, TileExpand, TileShape};
use crate::layout::Number;
use crate::view::Dims;
use cubecl::prelude::*;

/// Other shapes of the same elements. Each is a matter of coordinates: nothing moves until the tile is used.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
///
/// /// out[i, j] = row[j] - column[i], and its transpose.
/// #[cube(launch_unchecked)]
/// fn differences(row: &[i32], column: &[i32], out: &mut Tensor<i32>, transposed: &mut Tensor<i32>) {
///     let cube = this_cube();
///     let row = TileView::<i32, shape![8]>::of(row).load(&cube, 0);
///     let column = TileView::<i32, shape![4]>::of(column).load(&cube, 0);
///     let row = row.reshape::<shape![1, 8]>().broadcast_to::<shape![4, 8]>();
///     let column = column.reshape::<shape![4, 1]>();
///     let difference = row - column.broadcast_to();
///     TileViewMut::<i32, shape![8, 4]>::of(transposed).store(&cube, difference.transpose(), (0, 0));
///     TileViewMut::<i32, shape![4, 8]>::of(out).store(&cube, difference, (0, 0));
/// }
/// # fn main() {}
/// ```
impl<'a, E: Scalar, S: TileShape> Tile<'a, E, S> {
    /// The tile repeated along each dimension in which its extent is 1 and that of `To` is another. All other extents are
    /// equal: a kernel fails by name where they are not. In `x - y.broadcast_to()` the compiler finds `To`.
    pub fn broadcast_to<To: TileShape>(&self) -> Tile<'a, E, To>
    where
        S: SameRank<To>,
    {
        cubecl::unexpanded!()
    }

    /// The tile whose dimension `k` is dimension `order[k]` of this one. `To` has the extents in that order: a kernel fails by
    /// name where it has others.
    #[allow(unused_variables)]
    pub fn permute<To: TileShape>(&self, order: impl Into<Dims>) -> Tile<'a, E, To>
    where
        S: SameRank<To>,
    {
        cubecl::unexpanded!()
    }

    /// The tile of another shape with the same elements in row-major order. `To` has as many elements: a kernel fails by
    /// name where it has not.
    pub fn reshape<To: TileShape>(&self) -> Tile<'a, E, To> {
        cubecl::unexpanded!()
    }
}

impl<'a, E: Scalar, A: Size, B: Size> Tile<'a, E, (A, B)> {
    /// The tile with its two dimensions exchanged.
    pub fn transpose(&self) -> Tile<'a, E, (B, A)> {
        cubecl::unexpanded!()
    }
}

impl<E: Scalar, A: Size, B: Size> TileExpand<E, (A, B)> {
    /// Expansion of [`Tile::transpose`].
    pub fn __expand_transpose_method(&self, scope: &Scope) -> TileExpand<E, (B, A)> {
        self.permuted(scope, "Tile::transpose", &[1, 0])
    }
}

impl<E: Scalar, S: TileShape> TileExpand<E, S> {
    /// Expansion of [`Tile::broadcast_to`].
    pub fn __expand_broadcast_to_method<To: TileShape>(&self, scope: &Scope) -> TileExpand<E, To>
    where
        S: SameRank<To>,
    {
        let (from, to) = (S::__expand_dims(scope), To::__expand_dims(scope));
        if from == to {
            return self.of_shape();
        }
        let fits = from.iter().zip(&to).all(|(a, b)| a == b || *a == 1);
        assert!(
            fits,
            "girih: Tile::broadcast_to: a tile of extents {from:?} to extents {to:?}; each extent must be the same, \
             or 1"
        );
        self.assert_anywhere("Tile::broadcast_to");
        let last = from.len() - 1;
        let repeats_last = from[last] != to[last];
        let width = if repeats_last { 1 } else { self.width() };
        let tile = self.clone();
        TileExpand::new(width, move |scope, at, width| {
            let at = at.iter().zip(&from);
            let at: Vec<_> = at
                .map(|(coordinate, extent)| match extent {
                    1 => 0u32.into(),
                    _ => *coordinate,
                })
                .collect();
            if !repeats_last {
                return tile.packet_at(scope, &at, width);
            }
            let element = only(scope, tile.packet_at(scope, &at, 1));
            splat(scope, element, width)
        })
    }

    /// Expansion of [`Tile::permute`].
    pub fn __expand_permute_method<To: TileShape>(
        &self,
        scope: &Scope,
        order: Dims,
    ) -> TileExpand<E, To>
    where
        S: SameRank<To>,
    {
        self.permuted(scope, "Tile::permute", order.as_slice())
    }

    fn permuted<To: TileShape>(
        &self,
        scope: &Scope,
        call: &str,
        order: &[usize],
    ) -> TileExpand<E, To> {
        let (from, to) = (S::__expand_dims(scope), To::__expand_dims(scope));
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        assert!(
            sorted.iter().copied().eq(0..from.len()),
            "girih: {call}: {order:?}; a permutation of 0..{} is needed",
            from.len()
        );
        let permuted: Vec<_> = order.iter().map(|&axis| from[axis]).collect();
        assert!(
            permuted == to,
            "girih: {call}: a tile of extents {from:?} in the order {order:?} as one of extents {to:?}; it has extents \
             {permuted:?}"
        );
        self.assert_anywhere(call);
        let last = from.len() - 1;
        let keeps_last = order[last] == last;
        let width = if keeps_last { self.width() } else { 1 };
        let (tile, order) = (self.clone(), order.to_vec());
        let source = move |at: &[NativeExpand<u32>]| {
            let mut source = at.to_vec();
            for (coordinate, &axis) in at.iter().zip(&order) {
                source[axis] = *coordinate;
            }
            source
        };
        TileExpand::new(width, move |scope, at, width| {
            if keeps_last {
                return tile.packet_at(scope, &source(at), width);
            }
            by_element(scope, at, width, |scope, at| {
                only(scope, tile.packet_at(scope, &source(at), 1))
            })
        })
    }

    /// Expansion of [`Tile::reshape`].
    pub fn __expand_reshape_method<To: TileShape>(&self, scope: &Scope) -> TileExpand<E, To> {
        let (from, to) = (S::__expand_dims(scope), To::__expand_dims(scope));
        if from == to {
            return self.of_shape();
        }
        let [have, need] = [&from, &to].map(|dims| dims.iter().product::<usize>());
        assert!(
            have == need,
            "girih: Tile::reshape: a tile of extents {from:?} as one of extents {to:?}; it has {have} elements, not {need}"
        );
        self.assert_anywhere("Tile::reshape");
        let [row, new_row] = [&from, &to].map(|dims| dims[dims.len() - 1]);
        let is_whole =
            move |width: usize| row.is_multiple_of(width) && new_row.is_multiple_of(width);
        let width = if is_whole(self.width()) {
            self.width()
        } else {
            1
        };
        let tile = self.clone();
        let source = move |scope: &Scope, at: &[NativeExpand<u32>]| {
            renumbered(at, &to, &from).unwrap_or_else(|| {
                let position = row_major(scope, &to, at);
                let position = Number::below(position, have as u64);
                coordinates(scope, &from, position)
            })
        };
        TileExpand::new(width, move |scope, at, width| {
            if is_whole(width) {
                let at = source(scope, at);
                return tile.packet_at(scope, &at, width);
            }
            by_element(scope, at, width, |scope, at| {
                let at = source(scope, at);
                only(scope, tile.packet_at(scope, &at, 1))
            })
        })
    }

    /// The same tile, of a type with the same extents.
    pub(super) fn of_shape<To: TileShape>(&self) -> TileExpand<E, To> {
        let tile = self.clone();
        TileExpand::of(self.grain(), move |scope, place, width| {
            tile.packet(scope, place, width)
        })
    }
}

/// The packet of these elements, each of which is one dimension further along the last than the one before.
fn by_element<E: Scalar>(
    scope: &Scope,
    at: &[NativeExpand<u32>],
    width: usize,
    element: impl Fn(&Scope, &[NativeExpand<u32>]) -> NativeExpand<E>,
) -> super::Packet<E> {
    let mut at = at.to_vec();
    let last = at.len() - 1;
    let first = at[last];
    let lanes: Vec<_> = (0..width as u32)
        .map(|lane| {
            if lane > 0 {
                at[last] = first.__expand_add_method(scope, lane.into());
            }
            element(scope, &at)
        })
        .collect();
    join(scope, &lanes)
}

/// The coordinates along `to` where the extents other than 1 are those of `from`, in their order.
fn renumbered(
    at: &[NativeExpand<u32>],
    from: &[usize],
    to: &[usize],
) -> Option<Vec<NativeExpand<u32>>> {
    let mut long = at.iter().zip(from).filter(|(_, extent)| **extent != 1);
    let renumbered: Option<Vec<_>> = to
        .iter()
        .map(|extent| match extent {
            1 => Some(0u32.into()),
            _ => long
                .next()
                .filter(|(_, other)| *other == extent)
                .map(|(coordinate, _)| *coordinate),
        })
        .collect();
    renumbered.filter(|_| long.next().is_none())
}
