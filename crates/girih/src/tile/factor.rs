//! [`FactorExpand`]: the tiles of which a product is made.

use super::packet::only;
use super::{Packet, TileExpand, TileShape, Width, join};
use core::marker::PhantomData;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::tf32;
use pliron::value::Value;
use std::rc::Rc;

/// Any tile of a matrix multiply whose sums are of `E`, while the kernel is expanded: its extent along K is not part of the
/// type.
pub struct FactorExpand<E: Scalar, Outer> {
    /// The elements as those of the sums.
    pub(super) converted: TileExpand<E, (Const<1>, Const<1>)>,
    /// The elements as they are.
    pub(super) given: Rc<dyn Factor>,
    dims: fn(&Scope) -> Vec<usize>,
    _outer: PhantomData<fn() -> Outer>,
}

/// The rows of a left factor are of `M`.
pub struct Rows<M>(PhantomData<M>);
/// The columns of a right factor are of `N`.
pub struct Columns<N>(PhantomData<N>);

impl<E: Scalar, Outer> FactorExpand<E, Outer> {
    fn new<F: Scalar, S: TileShape>(tile: &TileExpand<F, S>) -> Self {
        Self {
            converted: tile.converted::<E>().of_shape(),
            given: Rc::new(tile.clone()),
            dims: S::__expand_dims,
            _outer: PhantomData,
        }
    }

    pub(super) fn dims(&self, scope: &Scope) -> Vec<usize> {
        (self.dims)(scope)
    }
}

impl<E: Scalar, F: Scalar, M: Size, K: Size> From<&TileExpand<F, (M, K)>>
    for FactorExpand<E, Rows<M>>
{
    fn from(tile: &TileExpand<F, (M, K)>) -> Self {
        Self::new(tile)
    }
}
impl<E: Scalar, F: Scalar, K: Size, N: Size> From<&TileExpand<F, (K, N)>>
    for FactorExpand<E, Columns<N>>
{
    fn from(tile: &TileExpand<F, (K, N)>) -> Self {
        Self::new(tile)
    }
}

/// How a register of a fragment is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// The dimension along which its elements are neighbours: K.
    pub axis: usize,
    /// How many there are.
    pub width: usize,
    /// Whether they are rounded to `tf32`.
    pub rounds: bool,
}

/// A tile of two dimensions, the type of its elements forgotten.
pub(super) trait Factor {
    fn element(&self, scope: &Scope) -> ElemType;
    /// The registers of a fragment, each of which starts at one of these places, as an array.
    fn fragment(&self, scope: &Scope, places: &[[NativeExpand<u32>; 2]], reading: Reading)
    -> Value;
}

impl<F: Scalar, S: TileShape> Factor for TileExpand<F, S> {
    fn element(&self, scope: &Scope) -> ElemType {
        F::elem_type(scope)
    }

    fn fragment(
        &self,
        scope: &Scope,
        places: &[[NativeExpand<u32>; 2]],
        reading: Reading,
    ) -> Value {
        let packets: Vec<_> = places
            .iter()
            .map(|place| register(self, scope, *place, reading))
            .collect();
        if !reading.rounds {
            return registers(scope, &packets, reading.width).read_value(scope);
        }
        let rounded: Vec<Packet<tf32>> = packets
            .into_iter()
            .map(|packet| {
                scope.register_size::<Width>(reading.width);
                Vector::<tf32, Width>::__expand_cast_from::<Vector<F, Width>>(scope, packet)
            })
            .collect();
        registers(scope, &rounded, reading.width).read_value(scope)
    }
}

/// The elements of one register.
fn register<F: Scalar, S: TileShape>(
    tile: &TileExpand<F, S>,
    scope: &Scope,
    first: [NativeExpand<u32>; 2],
    reading: Reading,
) -> Packet<F> {
    if reading.axis == 1 {
        return tile.packet_at(scope, &first, reading.width);
    }
    let elements: Vec<_> = (0..reading.width as u32)
        .map(|further| {
            let mut at = first;
            if further > 0 {
                at[reading.axis] = at[reading.axis].__expand_add_method(scope, further.into());
            }
            only(scope, tile.packet_at(scope, &at, 1))
        })
        .collect();
    join(scope, &elements)
}

/// These packets as an array, which a matrix instruction takes for its registers.
pub(super) fn registers<E: Scalar>(
    scope: &Scope,
    packets: &[Packet<E>],
    width: usize,
) -> NativeExpand<Array<Vector<E, Width>>> {
    scope.register_size::<Width>(width);
    let mut array = Array::<Vector<E, Width>>::__expand_new(scope, packets.len());
    for (index, packet) in packets.iter().enumerate() {
        let index = NativeExpand::<usize>::from(index);
        array
            .__expand_index_mut_method(scope, index)
            .__expand_assign_method(scope, *packet);
    }
    array
}
