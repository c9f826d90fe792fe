//! Tiles that are made of nothing: one value everywhere, and counts.

use super::packet::{now, number};
use super::{HasAxis, Tile, TileExpand, TileShape, join, splat};
use cubecl::ir::ConstantValue;
use cubecl::prelude::*;

/// Tiles of a value, and of counts.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
///
/// /// out[i, j] = 10 i + j.
/// #[cube(launch_unchecked)]
/// fn table(out: &mut Tensor<u32>) {
///     let cube = this_cube();
///     let row = Tile::<u32, shape![8, 8]>::iota_along::<0>();
///     let column = Tile::<u32, shape![8, 8]>::iota_along::<1>();
///     TileViewMut::<u32, shape![8, 8]>::of(out).store(&cube, row * 10 + column, (0, 0));
/// }
/// # fn main() {}
/// ```
impl<E: Scalar, S: TileShape> Tile<'static, E, S> {
    /// The tile that holds `value` everywhere.
    #[allow(unused_variables)]
    pub fn full(value: E) -> Self {
        cubecl::unexpanded!()
    }

    /// Expansion of [`full`](Self::full).
    pub fn __expand_full(scope: &Scope, value: NativeExpand<E>) -> TileExpand<E, S> {
        TileExpand::full(scope, value)
    }
}

impl<E: Numeric, S: TileShape> Tile<'static, E, S> {
    /// The tile of zeros.
    pub fn zeros() -> Self {
        cubecl::unexpanded!()
    }

    /// The tile whose elements count from 0 in row-major order. A count that the element type cannot hold is cut as by a
    /// cast from `u32`.
    pub fn iota() -> Self {
        cubecl::unexpanded!()
    }

    /// The tile whose elements are their own coordinate along a dimension.
    pub fn iota_along<const AXIS: usize>() -> Self
    where
        S: HasAxis<AXIS>,
    {
        cubecl::unexpanded!()
    }

    /// Expansion of [`zeros`](Self::zeros).
    pub fn __expand_zeros(scope: &Scope) -> TileExpand<E, S> {
        TileExpand::full(scope, number::<E>(scope, 0))
    }

    /// Expansion of [`iota`](Self::iota).
    pub fn __expand_iota(scope: &Scope) -> TileExpand<E, S> {
        let dims = S::__expand_dims(scope);
        TileExpand::new(1, move |scope, at, width| {
            counting(scope, row_major(scope, &dims, at), 1, width)
        })
    }

    /// Expansion of [`iota_along`](Self::iota_along).
    pub fn __expand_iota_along<const AXIS: usize>(scope: &Scope) -> TileExpand<E, S>
    where
        S: HasAxis<AXIS>,
    {
        let is_last = AXIS + 1 == S::__expand_dims(scope).len();
        TileExpand::new(1, move |scope, at, width| {
            counting(scope, at[AXIS], u32::from(is_last), width)
        })
    }
}

impl<E: Scalar, S: TileShape> TileExpand<E, S> {
    pub(crate) fn full(scope: &Scope, value: NativeExpand<E>) -> Self {
        let value = match value.expand.as_const() {
            Some(ConstantValue::Float(known)) if !known.is_finite() => from_bits(scope, known),
            _ => now(scope, value),
        };
        Self::new(1, move |scope, _, width| splat(scope, value, width))
    }
}

/// Goes through the bits, since WGSL has no literal for a value that is not finite.
fn from_bits<E: Scalar>(scope: &Scope, value: f64) -> NativeExpand<E> {
    let bits = (value as f32).to_bits();
    let single = f32::__expand_reinterpret::<u32>(scope, bits.into());
    E::__expand_cast_from(scope, single)
}

/// The packet that counts up from `first` by `step`.
fn counting<E: Numeric>(
    scope: &Scope,
    first: NativeExpand<u32>,
    step: u32,
    width: usize,
) -> super::Packet<E> {
    let lanes: Vec<_> = (0..width as u32)
        .map(|lane| {
            let count = match step * lane {
                0 => first,
                distance => first.__expand_add_method(scope, distance.into()),
            };
            E::__expand_cast_from(scope, count)
        })
        .collect();
    join(scope, &lanes)
}

/// Row-major position of the element at these coordinates.
pub(super) fn row_major(
    scope: &Scope,
    dims: &[usize],
    at: &[NativeExpand<u32>],
) -> NativeExpand<u32> {
    let mut position: Option<NativeExpand<u32>> = None;
    for (coordinate, &extent) in at.iter().zip(dims) {
        position = match (position, extent) {
            // The only coordinate along an extent of 1 is 0.
            (position, 1) => position,
            (None, _) => Some(*coordinate),
            (Some(position), extent) => {
                let scaled = position.__expand_mul_method(scope, (extent as u32).into());
                Some(scaled.__expand_add_method(scope, *coordinate))
            }
        };
    }
    position.unwrap_or_else(|| 0u32.into())
}
