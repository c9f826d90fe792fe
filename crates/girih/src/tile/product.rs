//! Products of tiles, added to a tile that a group holds.

use super::packet::only;
use super::spread::{Place, Spread};
use super::{Packet, Tile, TileExpand, TileShape, Width, splat};
use crate::coop::{Group, GroupExpand};
use core::marker::PhantomData;
use cubecl::frontend::branch;
use cubecl::prelude::*;

/// Any tile of a matrix multiply, whose elements become `E`, while the kernel is expanded: its extent along K is not part
/// of the type.
pub struct FactorExpand<E: Scalar, Outer> {
    tile: TileExpand<E, (Const<1>, Const<1>)>,
    dims: fn(&Scope) -> Vec<usize>,
    _outer: PhantomData<fn() -> Outer>,
}

/// The rows of a left factor are of `M`.
pub struct Rows<M>(PhantomData<M>);
/// The columns of a right factor are of `N`.
pub struct Columns<N>(PhantomData<N>);

impl<E: Scalar, F: Scalar, M: Size, K: Size> From<&TileExpand<F, (M, K)>>
    for FactorExpand<E, Rows<M>>
{
    fn from(tile: &TileExpand<F, (M, K)>) -> Self {
        Self {
            tile: tile.converted::<E>().of_shape(),
            dims: <(M, K)>::__expand_dims,
            _outer: PhantomData,
        }
    }
}
impl<E: Scalar, F: Scalar, K: Size, N: Size> From<&TileExpand<F, (K, N)>>
    for FactorExpand<E, Columns<N>>
{
    fn from(tile: &TileExpand<F, (K, N)>) -> Self {
        Self {
            tile: tile.converted::<E>().of_shape(),
            dims: <(K, N)>::__expand_dims,
            _outer: PhantomData,
        }
    }
}

/// Matrix multiply-accumulate.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
///
/// /// c += a b, one tile of c for each cube.
/// #[cube(launch_unchecked)]
/// fn product(a: &Tensor<f32>, b: &Tensor<f32>, c: &mut Tensor<f32>) {
///     let cube = this_cube();
///     let steps = a.shape(1).div_ceil(16);
///     let a = TileView::<f32, shape![16, 16]>::of(a);
///     let b = TileView::<f32, shape![16, 16]>::of(b);
///     let mut c = TileViewMut::<f32, shape![16, 16]>::of(c);
///     let at = (CUBE_POS_X, CUBE_POS_Y);
///     let mut sum = Tile::<f32, shape![16, 16]>::zeros().hold(&cube);
///     for step in 0..steps {
///         let left = a.load_masked(&cube, Zero, (CUBE_POS_X, step)).share(&cube);
///         let right = b.load_masked(&cube, Zero, (step, CUBE_POS_Y)).share(&cube);
///         sum.mma(&cube, &left, &right);
///     }
///     c.store_masked(&cube, sum, at);
/// }
/// # fn main() {}
/// ```
impl<E: Numeric, M: Size, N: Size> Tile<'_, E, (M, N)> {
    /// Adds the product of two tiles, in place: `self[m, n] += sum over k of a[m, k] b[k, n]`.
    ///
    /// The tile is [held](Tile::hold) by the group, and is the same registers before and after: a loop adds product after
    /// product. The elements of `a` and `b` become `E` before they are multiplied, so that halves are multiplied and added
    /// as `f32` in a tile of `f32`. Each element of a factor is read by many units: [`share`](Tile::share) both, unless
    /// they are cheap to compute. No unit waits for another.
    ///
    /// A tile that is not held, a factor that is (its elements are other units'), and factors whose extents along K differ fail
    /// the kernel by name.
    #[allow(unused_variables)]
    pub fn mma<F: Scalar, G: Scalar, K: Size>(
        &mut self,
        group: &Group,
        a: &Tile<'_, F, (M, K)>,
        b: &Tile<'_, G, (K, N)>,
    ) {
        cubecl::unexpanded!()
    }
}

#[cube]
fn fused<E: Numeric, W: Size>(sum: Vector<E, W>, a: Vector<E, W>, b: Vector<E, W>) -> Vector<E, W> {
    sum + a * b
}

impl<E: Numeric, M: Size, N: Size> TileExpand<E, (M, N)> {
    /// Expansion of [`Tile::mma`].
    pub fn __expand_mma_method(
        &mut self,
        scope: &Scope,
        group: &GroupExpand,
        a: FactorExpand<E, Rows<M>>,
        b: FactorExpand<E, Columns<N>>,
    ) {
        const CALL: &str = "Tile::mma";
        let Some(held) = self.registers() else {
            panic!("girih: {CALL}: a sum that no unit holds; `hold` it first");
        };
        let (left, right) = ((a.dims)(scope), (b.dims)(scope));
        assert!(
            left[1] == right[0],
            "girih: {CALL}: tiles of extents {left:?} and {right:?}; the second has as many rows as the first has columns"
        );
        a.tile.assert_anywhere(CALL);
        b.tile.assert_anywhere(CALL);
        let dims = <(M, N)>::__expand_dims(scope);
        if dims.contains(&0) || left[1] == 0 {
            return;
        }
        let width = held.width();
        let spread = Spread::new(&dims, group.holders(CALL) as usize, width);
        let step = |scope: &Scope, inner: NativeExpand<u32>| {
            let sum = |scope: &Scope, place: &Place<'_>| -> Packet<E> {
                let (row, column) = (place.at[0], place.at[1]);
                let factor = only(scope, a.tile.packet_at(scope, &[row, inner], 1));
                let factor = splat(scope, factor, width);
                let values = b.tile.packet_at(scope, &[inner, column], width);
                let so_far = held.get(scope, place, width);
                scope.register_size::<Width>(width);
                fused::expand::<E, Width>(scope, so_far, factor, values)
            };
            let unroll = super::Held::<E>::unroll(scope);
            spread.walk(scope, group, unroll, &sum, &|scope, place, value| {
                held.put(scope, place, value);
            });
        };
        let range = RangeExpand::new(0u32.into(), (left[1] as u32).into());
        branch::for_expand(scope, range, false, |scope, inner| step(scope, inner));
    }
}
