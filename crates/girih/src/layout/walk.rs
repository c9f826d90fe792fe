//! The maps between coordinates and offsets, on numbers of a kernel.
//!
//! They agree with [`index_extended`](super::Layout::index_extended): of what an integer of a coordinate reaches, the
//! last leaf is endless.

use super::Swizzle;
use super::number::Number;
use super::tuple::Tree;
use cubecl::prelude::*;

/// The digits of a linear coordinate: one for each extent, the first extent's first.
pub(crate) fn digits(scope: &Scope, linear: Number, extents: &[Number]) -> Vec<Number> {
    let mut rest = linear;
    let mut digits = vec![];
    if let Some((_, all_but_last)) = extents.split_last() {
        for &extent in all_but_last {
            digits.push(rest.rem(scope, extent));
            rest = rest.div(scope, extent);
        }
        digits.push(rest);
    }
    digits
}

/// The offset of a coordinate, which [fits](Tree::fits) the shape: the sum of its digits, each times its stride.
pub(super) fn offset(scope: &Scope, coord: &Tree, shape: &Tree, stride: &Tree) -> Number {
    let mut known = Number::ZERO;
    let mut computed = Number::ZERO;
    for (digit, stride) in leaves(scope, coord, shape).into_iter().zip(stride.leaves()) {
        match digit.mul(scope, stride) {
            term @ Number::Known(_) => known = known.add(scope, term),
            term => computed = computed.add(scope, term),
        }
    }
    computed.add(scope, known)
}

/// The coordinate nested like the shape.
pub(super) fn nested(scope: &Scope, coord: &Tree, shape: &Tree) -> Tree {
    let mut leaves = leaves(scope, coord, shape).into_iter();
    fill(shape, &mut leaves)
}

/// `shape` with its leaves replaced in order.
pub(super) fn fill(shape: &Tree, leaves: &mut impl Iterator<Item = Number>) -> Tree {
    match shape {
        Tree::Leaf(extent) => Tree::Leaf(leaves.next().unwrap_or(*extent)),
        Tree::Tuple(modes) => Tree::Tuple(modes.iter().map(|mode| fill(mode, leaves)).collect()),
    }
}

/// The coordinate along each leaf of the shape.
fn leaves(scope: &Scope, coord: &Tree, shape: &Tree) -> Vec<Number> {
    match coord {
        Tree::Leaf(linear) => digits(scope, *linear, &shape.leaves()),
        Tree::Tuple(coords) => coords
            .iter()
            .zip(shape.modes())
            .flat_map(|(coord, mode)| leaves(scope, coord, mode))
            .collect(),
    }
}

/// Whether every integer of the coordinate is below the size of what it goes through.
pub(super) fn is_in_bounds(scope: &Scope, coord: &Tree, shape: &Tree) -> NativeExpand<bool> {
    let coords = match coord {
        Tree::Leaf(linear) => return linear.is_below(scope, shape.size(scope)),
        Tree::Tuple(coords) => coords,
    };
    let parts = coords.iter().zip(shape.modes());
    all(
        scope,
        parts.map(|(coord, mode)| is_in_bounds(scope, coord, mode)),
    )
}

/// Whether all conditions hold; what is known is not computed.
pub(super) fn all(
    scope: &Scope,
    conditions: impl Iterator<Item = NativeExpand<bool>>,
) -> NativeExpand<bool> {
    let holds = |condition: &NativeExpand<bool>| {
        condition
            .constant()
            .is_some_and(|constant| constant.as_bool())
    };
    let open = conditions.filter(|condition| !holds(condition));
    open.reduce(|a, b| a.__expand_and_method(scope, b))
        .unwrap_or_else(|| true.into())
}

/// Where a swizzle moves an offset.
pub(super) fn swizzled(scope: &Scope, swizzle: Swizzle, offset: Number) -> Number {
    if swizzle.is_identity() {
        return offset;
    }
    offset.map(
        scope,
        |offset| swizzle.apply(offset),
        |offset| {
            let distance = swizzle.shift().unsigned_abs();
            let (from, to) = match swizzle.shift() >= 0 {
                true => (swizzle.base() + distance, swizzle.base()),
                false => (swizzle.base(), swizzle.base() + distance),
            };
            let mask = (1usize << swizzle.bits()) - 1;
            let bits = offset
                .__expand_shr_method(scope, (from as usize).into())
                .__expand_bitand_method(scope, mask.into())
                .__expand_shl_method(scope, (to as usize).into());
            offset.__expand_bitxor_method(scope, bits)
        },
    )
}
