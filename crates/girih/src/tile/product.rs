//! Products of tiles, added to a tile that a group holds.

use super::factor::{Columns, FactorExpand, Rows};
use super::fragments::Blocks;
use super::multiply::{Fragments, instruction};
use super::packet::only;
use super::spread::{Place, Spread, Turns};
use super::{Held, Packet, Tile, TileExpand, TileShape, Width, splat};
use crate::coop::{Group, GroupExpand};
use cubecl::frontend::branch;
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::prelude::*;

/// Matrix multiply-accumulate.
///
/// Where sums are held for products of a type ([`hold_products`](Tile::hold_products)) and the device has matrix instructions for
/// it, planes multiply by these; elsewhere each unit multiplies for the elements that it holds. Results are the same within
/// rounding.
///
/// | sums of | for products of | by matrix instructions of NVIDIA's GPUs from compute capability 8.0 on |
/// |---|---|---|
/// | `f32` | `f16`, `bf16` | products are exact, and added as `f32` |
/// | `f32` | `tf32` | factors of `f32` are rounded to 10 bits after the point first |
/// | `i32` | `i8`, `u8` | exact, and sums wrap |
/// | any other | any other | none |
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
/// use half::f16;
///
/// /// c = a b, a tile of c for each cube.
/// #[cube(launch_unchecked)]
/// fn product(a: &Tensor<f16>, b: &Tensor<f16>, c: &mut Tensor<f32>) {
///     let cube = this_cube();
///     let steps = a.shape(1).div_ceil(32);
///     let a = TileView::<f16, shape![64, 32]>::of(a);
///     let b = TileView::<f16, shape![32, 64]>::of(b);
///     let mut c = TileViewMut::<f32, shape![64, 64]>::of(c);
///     let at = (CUBE_POS_X, CUBE_POS_Y);
///     let mut sum = Tile::<f32, shape![64, 64]>::zeros().hold_products::<f16>(&cube);
///     for step in 0..steps {
///         let left = a.load_masked(&cube, Zero, (CUBE_POS_X, step)).share(&cube);
///         let right = b.load_masked(&cube, Zero, (step, CUBE_POS_Y)).share(&cube);
///         sum.mma(&cube, &left, &right);
///     }
///     c.store_masked(&cube, sum.maximum(0.0), at);
/// }
/// # fn main() {}
/// ```
impl<E: Numeric, M: Size, N: Size> Tile<'_, E, (M, N)> {
    /// The same elements in the registers of the units of the group, as [`hold`](Tile::hold) has them, for products of factors of
    /// type `F` that [`mma`](Tile::mma) adds to them: as fragments of matrix instructions, where the device has them for `F`
    /// and `E`, the group is whole planes, and the tile is 16 x 8 times whole numbers. Planes that are more than there are
    /// such parts of the tile hold nothing; blocks as near to squares as can be read the least of the factors.
    ///
    /// `F` says what `mma` takes: factors of other types are refused by it, on every device, but for two. Of `i8` and `u8`
    /// each may stand for the other; `tf32` stands for factors of `f32`, which are rounded to it where there are instructions
    /// for it.
    ///
    /// The tile is then combined, stored, shared and reduced as any that is held. It is not combined with tiles that `hold`
    /// holds, of which other units have the elements, and is stored to memory of scalars or of vectors of 2: of scalars where
    /// its rows are odd. On a GPU a unit holds at most 64 packets of 2 elements (of 1 in odd rows).
    ///
    /// All units of the group call it, and the group's size is known while the kernel is expanded.
    #[allow(unused_variables)]
    pub fn hold_products<F: Scalar>(&self, group: &Group) -> Tile<'static, E, (M, N)> {
        cubecl::unexpanded!()
    }

    /// Adds the product of two tiles, in place: `self[m, n] += sum over k of a[m, k] b[k, n]`.
    ///
    /// The tile is held by the group, and is the same registers before and after: a loop adds product after product. Each
    /// element of a factor is read by many units: [`share`](Tile::share) both, unless they are cheap to compute. All units of the
    /// group call it together; none waits for another.
    ///
    /// Of a tile that is held for products ([`hold_products`](Tile::hold_products)) as many of the products are multiplied by matrix
    /// instructions as whole ones take: each adds 8 of `tf32`, 16 of halves, 32 of bytes. The rest, and those of any other
    /// tile ([`hold`](Tile::hold)), are multiplied by each unit for its own elements; those of the factors become `E` first,
    /// so that halves are multiplied and added as `f32` in a tile of `f32`.
    ///
    /// A tile that is not held, a factor that is (its elements are other units'), factors of another type than those that the
    /// tile is held for, and factors whose extents along K differ fail the kernel by name.
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
    /// Expansion of [`Tile::hold_products`].
    pub fn __expand_hold_products_method<F: Scalar>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
    ) -> Self {
        const CALL: &str = "Tile::hold_products";
        // Those that hold it may be other units than those that are to.
        let tile = self.askable(scope, CALL, group);
        let dims = <(M, N)>::__expand_dims(scope);
        let factors = F::elem_type(scope);
        let blocks = Blocks::of::<E>(scope, group, &dims, factors);
        let width = match dims[1].is_multiple_of(Blocks::WIDTH) {
            true => Blocks::WIDTH,
            false => 1,
        };
        let units = group.holders(CALL) as usize;
        let spread = Spread::of(&dims, units, width, Turns::Products(blocks));
        let held = Held::for_products(scope, CALL, &spread, group, factors);
        tile.kept_in(scope, group, &spread, held)
    }

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
        let (left, right) = (a.dims(scope), b.dims(scope));
        assert!(
            left[1] == right[0],
            "girih: {CALL}: tiles of extents {left:?} and {right:?}; the second has as many rows as the first has columns"
        );
        a.converted.assert_anywhere(CALL);
        b.converted.assert_anywhere(CALL);
        let factors = [&a.given, &b.given].map(|factor| factor.element(scope));
        assert_multiplied(held.factors(), factors);
        let dims = <(M, N)>::__expand_dims(scope);
        let inner = left[1];
        if dims.contains(&0) || inner == 0 {
            return;
        }
        let spread = Spread::of(
            &dims,
            group.holders(CALL) as usize,
            held.width(),
            held.holders().turns,
        );
        held.assert_held_by(spread.holders(group), held.width());
        let mut done = 0;
        if let (Turns::Products(Some(blocks)), Some(of)) = (held.holders().turns, held.factors())
            && let Some(matrix) = instruction::<E>(scope, of, factors, inner)
        {
            let steps = inner as u64 / matrix.inner();
            let fragments = Fragments {
                held: &held,
                blocks,
                matrix,
                dims: &dims,
                left: &*a.given,
                right: &*b.given,
            };
            fragments.add(scope, group, steps);
            done = (steps * matrix.inner()) as usize;
        }
        if done == inner {
            return;
        }
        let width = held.width();
        let step = |scope: &Scope, inner: NativeExpand<u32>| {
            let sum = |scope: &Scope, place: &Place<'_>| -> Packet<E> {
                let (row, column) = (place.at[0], place.at[1]);
                let factor = only(scope, a.converted.packet_at(scope, &[row, inner], 1));
                let factor = splat(scope, factor, width);
                let values = b.converted.packet_at(scope, &[inner, column], width);
                let so_far = held.get(scope, place, width);
                scope.register_size::<Width>(width);
                fused::expand::<E, Width>(scope, so_far, factor, values)
            };
            let unroll = Held::<E>::unroll(scope);
            spread.walk(scope, group, unroll, &sum, &|scope, place, value| {
                held.put(scope, place, value);
            });
        };
        let range = RangeExpand::new((done as u32).into(), (inner as u32).into());
        branch::for_expand(scope, range, false, |scope, inner| step(scope, inner));
    }
}

/// Fails where a factor is not of the type for whose products the sums are held.
fn assert_multiplied(held_for: Option<ElemType>, factors: [ElemType; 2]) {
    const BYTES: [ElemType; 2] = [ElemType::Int(IntKind::I8), ElemType::UInt(UIntKind::U8)];
    let Some(of) = held_for else {
        return;
    };
    for factor in factors {
        let is_rounded =
            of == ElemType::Float(FloatKind::TF32) && factor == ElemType::Float(FloatKind::F32);
        let is_byte = BYTES.contains(&of) && BYTES.contains(&factor);
        assert!(
            factor == of || is_rounded || is_byte,
            "girih: Tile::mma: a factor of {factor}, and a sum that is held for products of {of}; `cast` the factor, or hold \
             the sum with `hold_products` of its type"
        );
    }
}
