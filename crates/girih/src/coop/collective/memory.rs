//! Collectives of groups that go on from plane to plane: what each plane has of a group is combined from lane to lane, what
//! the planes have through shared memory.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
// The expansions use them.
#![allow(clippy::extra_unused_type_parameters)]

use super::super::Level;
use super::super::group::{Group, GroupExpand};
use super::super::levels::cube_units;
use super::super::machine::{Kernel, Machine};
use super::super::operators::Associative;
use super::segment::Segment;
use crate::memory::shared;
use cubecl::frontend::branch;
use cubecl::prelude::*;

/// Where a unit of a group finds what the others have. A segment is what one plane has of the group, or one unit of it.
#[derive(CubeType, Clone)]
#[expand(derive(Clone))]
struct Team {
    /// Whether this unit puts down what its segment has, as its first unit.
    is_head: bool,
    /// The same, as its last unit.
    is_tail: bool,
    /// Whether this unit puts down what itself has.
    is_seated: bool,
    /// This unit's rank in its segment.
    rank: u32,
    /// Where its segment's value is.
    slot: u32,
    /// Where the first segment's value is.
    first: u32,
    /// Every later segment starts at a multiple of this.
    step: u32,
    segments: u32,
    /// The segment's rank among them.
    index: u32,
    /// Where the value of the unit of rank 0 is, and how far the next one's.
    seat: u32,
    stride: u32,
}

/// The place of a segment's value.
#[cube]
fn slot(team: &Team, index: u32) -> u32 {
    (team.first / team.step + index) * team.step
}

/// Slots for every unit of the cube, whose last plane may be cut short.
#[cube]
fn slots() -> comptime_type!(usize) {
    intrinsic!(|scope| {
        let plane = Kernel::of(scope).widest_plane();
        cube_units(scope).next_multiple_of(plane) as usize
    })
}

#[cube]
#[allow(unused_variables)]
fn team(group: &Group, #[comptime] call: &'static str) -> Team {
    intrinsic!(|scope| {
        let kernel = Kernel::of(scope);
        team_of(&kernel, group, call)
    })
}

#[cube]
#[allow(unused_variables)]
fn wait_together(group: &Group, #[comptime] call: &'static str) {
    intrinsic!(|scope| { group.wait_together(&Kernel::of(scope), call) })
}

/// Whether a unit's segment is a part of a plane with several units.
fn has_parts(group: &GroupExpand) -> bool {
    group.unit == Level::Unit && group.result.properties.is_always_contiguous
}

fn team_of(kernel: &Kernel<'_>, group: &GroupExpand, call: &str) -> TeamExpand {
    let scope = kernel.scope();
    let (result, plane) = (&group.result, kernel.plane_size());
    let position = UNIT_POS::expand(scope);
    let index_of_plane = kernel.div(position, plane);
    let speaks = match group.unit {
        Level::Unit => true.into(),
        _ => kernel.is_below(kernel.lane(), 1u32.into()),
    };
    let team = if has_parts(group) {
        let segment = Segment::of_part(kernel, call, group);
        let first = kernel.sub(position, result.unit_rank);
        let before = kernel.div(first, plane);
        let last = kernel.sub(kernel.add(first, result.unit_count), 1u32.into());
        let planes = kernel.sub(kernel.div(last, plane), before);
        let is_last = kernel.is_below(kernel.add(segment.rank, 1u32.into()), segment.count);
        TeamExpand {
            is_head: kernel.is_below(segment.rank, 1u32.into()),
            is_tail: is_last.__expand_not_method(scope),
            is_seated: true.into(),
            rank: segment.rank,
            slot: kernel.sub(position, segment.rank),
            first,
            step: plane,
            segments: kernel.add(planes, 1u32.into()),
            index: kernel.sub(index_of_plane, before),
            seat: first,
            stride: 1u32.into(),
        }
    } else {
        let (first, step) = if result.properties.is_always_contiguous {
            let before = kernel.sub(index_of_plane, result.unit_rank);
            (kernel.mul(before, plane), plane)
        } else {
            if result.properties.unit_count.is_none() || group.peers.is_none() {
                kernel.refuse(format!(
                    "girih: {call}: {}, whose units are no neighbours, and whose size is not known while the kernel is \
                     expanded; one or the other is needed",
                    group.members()
                ));
            }
            let before = kernel.mul(group.peer_rank, result.unit_count);
            (before, 1u32.into())
        };
        let slot = kernel.add(first, kernel.mul(result.unit_rank, step));
        TeamExpand {
            is_head: speaks,
            is_tail: speaks,
            is_seated: speaks,
            rank: 0u32.into(),
            slot,
            first,
            step,
            segments: result.unit_count,
            index: result.unit_rank,
            seat: first,
            stride: step,
        }
    };
    guarded(kernel, group, team)
}

/// The team of a unit that may be in no group: then it puts down nothing, and reads the first slot.
fn guarded(kernel: &Kernel<'_>, group: &GroupExpand, team: TeamExpand) -> TeamExpand {
    let is_valid = group.result.is_valid;
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

/// What `f` makes of the value in this unit's segment, where it is in a group.
fn in_segment<E: CubePrimitive>(
    scope: &Scope,
    call: &str,
    group: &GroupExpand,
    value: NativeExpand<E>,
    f: impl Fn(&Segment<'_>, NativeExpand<E>) -> NativeExpand<E>,
) -> NativeExpand<E> {
    if !has_parts(group) {
        return value;
    }
    let on = |scope: &Scope| {
        let kernel = Kernel::of(scope);
        f(&Segment::of_part(&kernel, call, group), value)
    };
    let is_valid = group.result.is_valid;
    if is_valid.constant().is_some() {
        return on(scope);
    }
    let mut out = value.into_mut(scope);
    branch::if_expand(scope, is_valid, |scope| {
        let made = on(scope);
        out.__expand_assign_method(scope, made);
    });
    out
}

#[cube]
#[allow(unused_variables)]
fn reduced_part<E: CubePrimitive, O: Associative<E>>(
    group: &Group,
    value: E,
    #[comptime] call: &'static str,
) -> E {
    intrinsic!(|scope| {
        in_segment::<E>(scope, call, group, value, |segment, value| {
            segment.reduce::<E, O>(value, false)
        })
    })
}

#[cube]
#[allow(unused_variables)]
fn scanned_part<E: CubePrimitive, O: Associative<E>>(
    group: &Group,
    value: E,
    #[comptime] call: &'static str,
) -> E {
    intrinsic!(|scope| {
        in_segment::<E>(scope, call, group, value, |segment, value| {
            segment.scan::<E, O>(value)
        })
    })
}

#[cube]
#[allow(unused_variables)]
fn part_before<E: CubePrimitive>(group: &Group, value: E, #[comptime] call: &'static str) -> E {
    intrinsic!(|scope| {
        in_segment::<E>(scope, call, group, value, |segment, value| {
            segment.before::<E>(value)
        })
    })
}

/// All values of the group combined, on each of its units.
#[cube]
pub(super) fn reduce<E: CubePrimitive, O: Associative<E>>(
    group: &Group,
    value: E,
    #[comptime] call: &'static str,
) -> E {
    let team = team(group, call);
    let mut slots = shared::<E>(slots());
    let part = reduced_part::<E, O>(group, value, call);
    if team.is_head {
        slots[team.slot as usize] = part;
    }
    wait_together(group, call);
    let mut total = slots[team.first as usize];
    for index in 1u32..team.segments {
        total = O::combine(total, slots[slot(&team, index) as usize]);
    }
    wait_together(group, call);
    total
}

/// The values of the group up to this unit's combined.
#[cube]
pub(super) fn inclusive_scan<E: CubePrimitive, O: Associative<E>>(
    group: &Group,
    value: E,
    #[comptime] call: &'static str,
) -> E {
    let team = team(group, call);
    let mut slots = shared::<E>(slots());
    let part = scanned_part::<E, O>(group, value, call);
    if team.is_tail {
        slots[team.slot as usize] = part;
    }
    wait_together(group, call);
    let mut result = part;
    if team.index > 0u32 {
        let mut total = slots[team.first as usize];
        for index in 1u32..team.index {
            total = O::combine(total, slots[slot(&team, index) as usize]);
        }
        result = O::combine(total, part);
    }
    wait_together(group, call);
    result
}

/// `first`, and the values of the group before this unit's, combined.
#[cube]
pub(super) fn exclusive_scan<E: CubePrimitive, O: Associative<E>>(
    group: &Group,
    value: E,
    first: E,
    #[comptime] call: &'static str,
) -> E {
    let team = team(group, call);
    let mut slots = shared::<E>(slots());
    let part = scanned_part::<E, O>(group, value, call);
    let before = part_before::<E>(group, part, call);
    if team.is_tail {
        slots[team.slot as usize] = part;
    }
    wait_together(group, call);
    let mut result = first;
    if team.index > 0u32 {
        let mut total = slots[team.first as usize];
        for index in 1u32..team.index {
            total = O::combine(total, slots[slot(&team, index) as usize]);
        }
        result = O::combine(result, total);
    }
    if team.rank > 0u32 {
        result = O::combine(result, before);
    }
    wait_together(group, call);
    result
}

/// What the unit of a rank has; this unit's own value where there is none.
#[cube]
pub(super) fn shuffle<E: CubePrimitive>(
    group: &Group,
    value: E,
    rank: u32,
    #[comptime] call: &'static str,
) -> E {
    let team = team(group, call);
    let mut slots = shared::<E>(slots());
    let own = group.unit_rank();
    if team.is_seated {
        slots[(team.seat + own * team.stride) as usize] = value;
    }
    wait_together(group, call);
    let mut result = value;
    if rank < group.unit_count() && group.is_valid() {
        result = slots[(team.seat + rank * team.stride) as usize];
    }
    wait_together(group, call);
    result
}
