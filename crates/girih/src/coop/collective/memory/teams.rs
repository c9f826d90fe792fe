//! Where each unit of a group puts down what it has, and finds what the others have.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use super::super::super::Level;
use super::super::super::group::{Group, GroupExpand};
use super::super::super::levels::cube_units;
use super::super::super::machine::{Kernel, Machine};
use super::super::segment::Segment;
use cubecl::prelude::*;

/// The places of a unit's group in shared memory. A segment is what one plane has of the group, or one unit of it.
#[derive(CubeType, Clone)]
#[expand(derive(Clone))]
pub(super) struct Team {
    /// Whether this unit puts down what its segment has, as its first unit.
    pub is_head: bool,
    /// The same, as its last unit.
    pub is_tail: bool,
    /// Whether this unit puts down what itself has.
    pub is_seated: bool,
    /// This unit's rank in its segment.
    pub rank: u32,
    /// Where its segment's value is.
    pub slot: u32,
    /// Where the first segment's value is.
    pub first: u32,
    /// Every later segment starts at a multiple of this.
    pub step: u32,
    pub segments: u32,
    /// The segment's rank among them.
    pub index: u32,
    /// Where the value of the unit of rank 0 is, of as many as there are units, and how far the next one's.
    pub seat: u32,
    pub stride: u32,
}

/// The place of a segment's value.
#[cube]
pub(super) fn slot(team: &Team, index: u32) -> u32 {
    (team.first / team.step + index) * team.step
}

#[cube]
#[allow(unused_variables)]
pub(super) fn team(group: &Group, #[comptime] call: &'static str) -> Team {
    intrinsic!(|scope| {
        let kernel = Kernel::of(scope);
        team_of(&kernel, group, call)
    })
}

/// Slots for every segment of the cube: one for each plane where segments are planes.
#[cube]
#[allow(unused_variables)]
pub(super) fn slots(group: &Group) -> comptime_type!(usize) {
    intrinsic!(|scope| {
        let kernel = Kernel::of(scope);
        match kernel.plane().filter(|_| is_of_planes(&kernel, group)) {
            Some(plane) => cube_units(scope).div_ceil(plane) as usize,
            None => seats_of(&kernel),
        }
    })
}

/// Slots for every unit of the cube.
#[cube]
pub(super) fn seats() -> comptime_type!(usize) {
    intrinsic!(|scope| { seats_of(&Kernel::of(scope)) })
}

/// The last plane may be cut short.
fn seats_of(kernel: &Kernel<'_>) -> usize {
    cube_units(kernel.scope()).next_multiple_of(kernel.widest_plane()) as usize
}

/// Whether a unit's segment is a part of a plane with several units.
pub(super) fn has_parts(group: &GroupExpand) -> bool {
    group.unit == Level::Unit && group.result.properties.is_always_contiguous
}

/// Whether every segment is known to be a plane, which puts down its value in a slot of its own.
pub(super) fn is_of_planes(kernel: &Kernel<'_>, group: &GroupExpand) -> bool {
    match group.unit {
        Level::Unit => kernel.plane().is_some() && group.is_whole_planes(kernel),
        _ => true,
    }
}

/// How many segments each group has, if that is known.
pub(super) fn known_segments(kernel: &Kernel<'_>, group: &GroupExpand) -> Option<u32> {
    let units = group.result.properties.unit_count?;
    match group.unit {
        Level::Unit => {
            let plane = kernel.plane().filter(|_| is_of_planes(kernel, group))?;
            Some(units / plane)
        }
        _ => Some(units),
    }
}

fn team_of(kernel: &Kernel<'_>, group: &GroupExpand, call: &str) -> TeamExpand {
    let team = if !has_parts(group) {
        of_wholes(kernel, group, call)
    } else if is_of_planes(kernel, group) {
        of_planes(kernel, group)
    } else {
        of_parts(kernel, group, call)
    };
    guarded(kernel, group, team)
}

/// Neighbours that fill whole planes.
fn of_planes(kernel: &Kernel<'_>, group: &GroupExpand) -> TeamExpand {
    let (position, plane) = (UNIT_POS::expand(kernel.scope()), kernel.plane_size());
    let (result, lane) = (&group.result, kernel.lane());
    let slot = kernel.div(position, plane);
    let index = kernel.div(result.unit_rank, plane);
    let last = kernel.sub(plane, 1u32.into());
    TeamExpand {
        is_head: kernel.is_below(lane, 1u32.into()),
        is_tail: lane.__expand_eq_method(kernel.scope(), &last),
        is_seated: true.into(),
        rank: lane,
        slot,
        first: kernel.sub(slot, index),
        step: 1u32.into(),
        segments: kernel.div(result.unit_count, plane),
        index,
        seat: kernel.sub(position, result.unit_rank),
        stride: 1u32.into(),
    }
}

/// Neighbours that start and end anywhere: a segment's slot is the position of its first unit.
fn of_parts(kernel: &Kernel<'_>, group: &GroupExpand, call: &str) -> TeamExpand {
    let scope = kernel.scope();
    let (result, plane) = (&group.result, kernel.plane_size());
    let position = UNIT_POS::expand(scope);
    let segment = Segment::of_part(kernel, call, group);
    let first = kernel.sub(position, result.unit_rank);
    let before = kernel.div(first, plane);
    let last = kernel.sub(kernel.add(first, result.unit_count), 1u32.into());
    let planes = kernel.sub(kernel.div(last, plane), before);
    let is_before_last = kernel.is_below(kernel.add(segment.rank, 1u32.into()), segment.count);
    TeamExpand {
        is_head: kernel.is_below(segment.rank, 1u32.into()),
        is_tail: is_before_last.__expand_not_method(scope),
        is_seated: true.into(),
        rank: segment.rank,
        slot: kernel.sub(position, segment.rank),
        first,
        step: plane,
        segments: kernel.add(planes, 1u32.into()),
        index: kernel.sub(kernel.div(position, plane), before),
        seat: first,
        stride: 1u32.into(),
    }
}

/// Planes that count as one, or units that are no neighbours: each is a segment.
fn of_wholes(kernel: &Kernel<'_>, group: &GroupExpand, call: &str) -> TeamExpand {
    let (scope, result) = (kernel.scope(), &group.result);
    let speaks = match group.unit {
        Level::Unit => true.into(),
        _ => kernel.is_below(kernel.lane(), 1u32.into()),
    };
    let first = if result.properties.is_always_contiguous {
        let index_of_plane = kernel.div(UNIT_POS::expand(scope), kernel.plane_size());
        kernel.sub(index_of_plane, result.unit_rank)
    } else {
        if result.properties.unit_count.is_none() || group.peers.is_none() {
            kernel.refuse(format!(
                "girih: {call}: {}, whose units are no neighbours, and whose size is not known while the kernel is \
                 expanded; one or the other is needed",
                group.members()
            ));
        }
        kernel.mul(group.peer_rank, result.unit_count)
    };
    TeamExpand {
        is_head: speaks,
        is_tail: speaks,
        is_seated: speaks,
        rank: 0u32.into(),
        slot: kernel.add(first, result.unit_rank),
        first,
        step: 1u32.into(),
        segments: result.unit_count,
        index: result.unit_rank,
        seat: first,
        stride: 1u32.into(),
    }
}

/// The team of a unit that may be in no group: then it puts down nothing, and reads the first slot.
fn guarded(kernel: &Kernel<'_>, group: &GroupExpand, team: TeamExpand) -> TeamExpand {
    let is_valid = group.result.is_valid;
    if is_valid.constant().is_some() {
        return team;
    }
    let number = |number| kernel.select(is_valid, number, 0u32.into());
    TeamExpand {
        is_head: kernel.both(is_valid, team.is_head),
        is_tail: kernel.both(is_valid, team.is_tail),
        is_seated: kernel.both(is_valid, team.is_seated),
        slot: number(team.slot),
        first: number(team.first),
        segments: number(team.segments),
        index: number(team.index),
        seat: number(team.seat),
        ..team
    }
}
