//! [`Held`]: a tile in the registers of the units that hold it.

use super::packet::number;
use super::spread::{Holders, Place, Spread};
use super::{Packet, Width, splat};
use crate::coop::GroupExpand;
use crate::device::{Target, expanded_for};
use cubecl::ir::ElemType;
use cubecl::prelude::*;

/// Packets that a unit of a GPU keeps at once: its registers have no index, so that every access to them is unrolled.
const MOST_UNROLLED: u64 = 16;
/// The same of sums of products, to which a unit does little else.
const MOST_SUMS: u64 = 64;

/// The packets of a tile that this unit holds, one per step of the walk that made them.
pub(crate) struct Held<E: Scalar> {
    packets: NativeExpand<Array<Vector<E, Width>>>,
    dims: Vec<usize>,
    width: usize,
    holders: Holders,
    /// The factors for whose products the tile is held, if it is held for products.
    factors: Option<ElemType>,
}

impl<E: Scalar> Held<E> {
    /// Registers for the share of each unit of a tile that is spread so, and 0 in each.
    pub(crate) fn new(scope: &Scope, call: &str, spread: &Spread, group: &GroupExpand) -> Self {
        Self::of_at_most(scope, call, spread, group, MOST_UNROLLED)
    }

    /// The same of sums of products of factors of this type.
    pub(super) fn for_products(
        scope: &Scope,
        call: &str,
        spread: &Spread,
        group: &GroupExpand,
        factors: ElemType,
    ) -> Self {
        let held = Self::of_at_most(scope, call, spread, group, MOST_SUMS);
        Self {
            factors: Some(factors),
            ..held
        }
    }

    fn of_at_most(
        scope: &Scope,
        call: &str,
        spread: &Spread,
        group: &GroupExpand,
        most: u64,
    ) -> Self {
        let units = group.holders(call);
        let steps = spread.steps();
        assert!(
            steps <= most || !is_gpu(scope),
            "girih: {call}: a tile of extents {:?} held by {} units is {steps} packets of {} elements each; at most \
             {most} stay in a unit's registers: take a smaller tile or more units",
            spread.dims(),
            units,
            spread.width(),
        );
        scope.register_size::<Width>(spread.width());
        let mut held = Self {
            packets: Array::__expand_new(scope, steps as usize),
            dims: spread.dims().to_vec(),
            width: spread.width(),
            holders: spread.holders(group),
            factors: None,
        };
        for step in 0..steps as usize {
            let zero = splat(scope, number::<E>(scope, 0), held.width);
            held.set_at(scope, step.into(), zero);
        }
        held
    }
}

impl<E: Scalar> Held<E> {
    /// How a walk over the packets is to be unrolled: wholly on a GPU, up to the usual elsewhere.
    pub(crate) fn unroll(scope: &Scope) -> Option<u64> {
        // A tile that is held has no more steps than these.
        is_gpu(scope).then_some(MOST_SUMS)
    }

    /// Keeps the packet of the step at which the walk is.
    pub(crate) fn set(&mut self, scope: &Scope, place: &Place<'_>, value: Packet<E>) {
        let step = place.step_of_walk(scope);
        self.set_at(scope, step, value);
    }

    /// As [`set`](Self::set), in registers that a tile has already.
    pub(crate) fn put(&self, scope: &Scope, place: &Place<'_>, value: Packet<E>) {
        let step = place.step_of_walk(scope);
        self.put_at(scope, step, value);
    }

    /// Keeps the packet of a step, in registers that a tile has already.
    pub(super) fn put_at(&self, scope: &Scope, step: NativeExpand<usize>, value: Packet<E>) {
        scope.register_size::<Width>(self.width);
        let mut packets = self.packets;
        packets
            .__expand_index_mut_method(scope, step)
            .__expand_assign_method(scope, value);
    }

    fn set_at(&mut self, scope: &Scope, step: NativeExpand<usize>, value: Packet<E>) {
        scope.register_size::<Width>(self.width);
        self.packets
            .__expand_index_mut_method(scope, step)
            .__expand_assign_method(scope, value);
    }

    /// The packet of the step at which the walk is, which must be one over the same tile by the same units.
    pub(crate) fn get(&self, scope: &Scope, place: &Place<'_>, width: usize) -> Packet<E> {
        let Some(walk) = place.walk else {
            panic!(
                "girih: a tile that units hold in registers, from `hold`, `atomic_load` or a `fetch`, used as a list of \
                 indices; only the unit that holds an element can read it: `share` the tile first"
            );
        };
        self.assert_held_by(walk.holders, width);
        self.get_at(scope, place.step_of_walk(scope))
    }

    /// Fails where the elements are held by other units than these, or in packets of another width.
    pub(super) fn assert_held_by(&self, takers: Holders, width: usize) {
        assert!(
            takers.turns == self.holders.turns,
            "girih: a tile of extents {:?}, taken by {} in another order than {} holds it in; a tile that is held for products and \
             one that is not have each element in another unit: `share` one of the two first",
            self.dims,
            takers.members,
            self.holders.members,
        );
        assert!(
            (takers, width) == (self.holders, self.width),
            "girih: a tile of extents {:?} that the {} units of {} hold in packets of {} elements, taken by the {} \
             units of {} in packets of {width}; a tile in registers is stored by those that hold it, to memory of \
             the same vectors",
            self.dims,
            self.holders.units,
            self.holders.members,
            self.width,
            takers.units,
            takers.members,
        );
    }

    /// The packet of a step.
    pub(super) fn get_at(&self, scope: &Scope, step: NativeExpand<usize>) -> Packet<E> {
        scope.register_size::<Width>(self.width);
        let packet = self.packets.__expand_index_method(scope, step);
        packet.__expand_deref_method(scope).read_value(scope).into()
    }

    /// The width of the packets.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Who holds which elements.
    pub(super) fn holders(&self) -> Holders {
        self.holders
    }

    /// The factors for whose products the tile is held, if it is held for products.
    pub(super) fn factors(&self) -> Option<ElemType> {
        self.factors
    }
}

/// Whether a register is something that no run-time index reaches.
fn is_gpu(scope: &Scope) -> bool {
    expanded_for(scope).is_none_or(|(target, _)| target != Target::Cpu)
}
