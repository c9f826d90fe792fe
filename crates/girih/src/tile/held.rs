//! [`Held`]: a tile in the registers of the units that hold it.

use super::packet::number;
use super::spread::{Place, Spread};
use super::{Packet, Width, splat};
use crate::coop::{GroupExpand, Members};
use crate::device::{Target, expanded_for};
use cubecl::prelude::*;

/// Packets that a unit of a GPU keeps at once: its registers have no index, so that every access to them is unrolled.
const MOST_UNROLLED: u64 = 16;

/// The packets of a tile that this unit holds, one per step of the walk that made them.
pub(crate) struct Held<E: Scalar> {
    packets: NativeExpand<Array<Vector<E, Width>>>,
    dims: Vec<usize>,
    width: usize,
    units: u32,
    members: Members,
}

impl<E: Scalar> Held<E> {
    /// Registers for the share of each unit of a tile that is spread so, and 0 in each.
    pub(crate) fn new(scope: &Scope, call: &str, spread: &Spread, group: &GroupExpand) -> Self {
        let units = group.holders(call);
        let steps = spread.steps(units);
        assert!(
            steps <= MOST_UNROLLED || !is_gpu(scope),
            "girih: {call}: a tile of extents {:?} held by {} units is {steps} packets of {} elements each; at most \
             {MOST_UNROLLED} stay in a unit's registers: take a smaller tile or more units",
            spread.dims(),
            units,
            spread.width(),
        );
        scope.register_size::<Width>(spread.width());
        let mut held = Self {
            packets: Array::__expand_new(scope, steps as usize),
            dims: spread.dims().to_vec(),
            width: spread.width(),
            units,
            members: group.members(),
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
        is_gpu(scope).then_some(MOST_UNROLLED)
    }

    /// Keeps the packet of the step at which the walk is.
    pub(crate) fn set(&mut self, scope: &Scope, place: &Place<'_>, value: Packet<E>) {
        let step = place.step_of_walk(scope);
        self.set_at(scope, step, value);
    }

    /// As [`set`](Self::set), in registers that a tile has already.
    pub(crate) fn put(&self, scope: &Scope, place: &Place<'_>, value: Packet<E>) {
        let step = place.step_of_walk(scope);
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
        assert!(
            (walk.units, walk.members, width) == (self.units, self.members, self.width),
            "girih: a tile of extents {:?} that the {} units of {} hold in packets of {} elements, taken by the {} \
             units of {} in packets of {width}; a tile in registers is stored by those that hold it, to memory of \
             the same vectors",
            self.dims,
            self.units,
            self.members,
            self.width,
            walk.units,
            walk.members,
        );
        scope.register_size::<Width>(width);
        let step = place.step_of_walk(scope);
        let packet = self.packets.__expand_index_method(scope, step);
        packet.__expand_deref_method(scope).read_value(scope).into()
    }

    /// The width of the packets.
    pub(crate) fn width(&self) -> usize {
        self.width
    }
}

/// Whether a register is something that no run-time index reaches.
fn is_gpu(scope: &Scope) -> bool {
    expanded_for(scope).is_none_or(|(target, _)| target != Target::Cpu)
}
