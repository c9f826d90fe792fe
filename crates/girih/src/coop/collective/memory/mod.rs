//! Collectives of groups that go on from plane to plane: what each plane has of a group is combined from lane to lane, what
//! the planes have through shared memory.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
// The expansions use them.
#![allow(clippy::extra_unused_type_parameters)]

mod raking;
mod scratch;
mod teams;
mod walks;

use super::super::group::{Group, GroupExpand};
use super::super::machine::Kernel;
use super::super::operators::Associative;
use super::segment::{self, Segment};
use crate::memory::shared;
use cubecl::frontend::branch;
use cubecl::prelude::*;
use raking::Rows;
use scratch::{half, halves, wait_for_readers};
use teams::{has_parts, seats, slots, team};
use walks::{after_those_before, all, before_this, walk, walk_before};

#[cube]
#[allow(unused_variables)]
fn wait_together(group: &Group, #[comptime] call: &'static str) {
    intrinsic!(|scope| { group.wait_together(&Kernel::of(scope), call) })
}

/// What `f` makes of this unit's segment, where it has one of several units; else `alone`.
fn in_segment<E: CubePrimitive, const N: usize>(
    scope: &Scope,
    call: &str,
    group: &GroupExpand,
    alone: [NativeExpand<E>; N],
    f: impl Fn(&Segment<'_>) -> [NativeExpand<E>; N],
) -> [NativeExpand<E>; N] {
    if !has_parts(group) {
        return alone;
    }
    let on = |scope: &Scope| {
        let kernel = Kernel::of(scope);
        f(&Segment::of_part(&kernel, call, group))
    };
    let is_valid = group.result.is_valid;
    if is_valid.constant().is_some() {
        return on(scope);
    }
    let mut out = alone.map(|value| value.into_mut(scope));
    branch::if_expand(scope, is_valid, |scope| {
        for (out, made) in out.iter_mut().zip(on(scope)) {
            out.__expand_assign_method(scope, made);
        }
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
        let [reduced] = in_segment::<E, 1>(scope, call, group, [value], |segment| {
            [segment.reduce::<E, O>(value, false)]
        });
        reduced
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
        let [scanned] = in_segment::<E, 1>(scope, call, group, [value], |segment| {
            [segment.scan::<E, O>(value)]
        });
        scanned
    })
}

/// The same, and what the segment has before this unit.
#[cube]
#[allow(unused_variables)]
fn scanned_part_and_before<E: CubePrimitive, O: Associative<E>>(
    group: &Group,
    value: E,
    #[comptime] call: &'static str,
) -> (E, E) {
    intrinsic!(|scope| {
        let [scanned, before] = in_segment::<E, 2>(scope, call, group, [value; 2], |segment| {
            segment.scan_and_before::<E, O>(value)
        });
        (scanned, before)
    })
}

/// Whether the first unit of a segment finds nothing before it, in an exclusive scan.
#[cube]
#[allow(unused_variables)]
fn has_nothing_first<E: CubePrimitive, O: Associative<E>>(group: &Group) -> comptime_type!(bool) {
    intrinsic!(|scope| { has_parts(group) && segment::has_differences::<E, O>(scope) })
}

/// All values of the group combined: on each of its units, or where `everywhere` is not asked for on the first at least.
pub(super) fn reduce_group<E: CubePrimitive, O: Associative<E>>(
    scope: &Scope,
    group: &GroupExpand,
    value: NativeExpand<E>,
    everywhere: bool,
    call: &'static str,
) -> NativeExpand<E> {
    let rows = (!everywhere).then(|| Rows::of::<E, O>(scope, group, call));
    match rows.flatten() {
        Some(rows) => raking::reduce::expand::<E, O>(scope, group, value, rows, call),
        None => reduce::expand::<E, O>(scope, group, value, everywhere, call),
    }
}

/// The same, where each segment combines its part first.
#[cube]
fn reduce<E: CubePrimitive, O: Associative<E>>(
    group: &Group,
    value: E,
    #[comptime] everywhere: bool,
    #[comptime] call: &'static str,
) -> E {
    let team = team(group, call);
    let len = slots(group);
    let halves = halves(group, false);
    let walk = walk(group);
    let mut slots = shared::<E>(comptime!(len * halves));
    let start = half(group, len, false);
    let part = reduced_part::<E, O>(group, value, call);
    if team.is_head {
        slots[(start + team.slot) as usize] = part;
    }
    wait_together(group, call);
    let mut total = part;
    if comptime!(everywhere) {
        total = all::<E, O>(&slots, start, &team, walk, call);
    } else {
        if team.index == 0u32 {
            total = all::<E, O>(&slots, start, &team, walk, call);
        }
    }
    wait_for_readers(group, call, false);
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
    let len = slots(group);
    let halves = halves(group, false);
    let walk = walk_before::<E, O>(group);
    let mut slots = shared::<E>(comptime!(len * halves));
    let start = half(group, len, false);
    let part = scanned_part::<E, O>(group, value, call);
    if team.is_tail {
        slots[(start + team.slot) as usize] = part;
    }
    wait_together(group, call);
    let result = after_those_before::<E, O>(&slots, start, &team, part, walk, call);
    wait_for_readers(group, call, false);
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
    let len = slots(group);
    let halves = halves(group, false);
    let walk = walk_before::<E, O>(group);
    let mut slots = shared::<E>(comptime!(len * halves));
    let start = half(group, len, false);
    let (part, part_before) = scanned_part_and_before::<E, O>(group, value, call);
    let has_nothing_first = has_nothing_first::<E, O>(group);
    if team.is_tail {
        slots[(start + team.slot) as usize] = part;
    }
    wait_together(group, call);
    let start_of_part = before_this::<E, O>(&slots, start, &team, first, walk, call);
    let mut result = O::combine(start_of_part, part_before);
    if comptime!(!has_nothing_first) {
        result = select(team.rank > 0u32, result, start_of_part);
    }
    wait_for_readers(group, call, false);
    result
}

/// What the unit of a rank has, which is the same on all units.
#[cube]
pub(super) fn broadcast<E: CubePrimitive>(
    group: &Group,
    value: E,
    rank: u32,
    #[comptime] call: &'static str,
) -> E {
    let team = team(group, call);
    let len = slots(group);
    let halves = halves(group, false);
    let mut slots = shared::<E>(comptime!(len * halves));
    let start = half(group, len, false);
    let place = (start + team.first) as usize;
    if team.is_seated && group.unit_rank() == rank {
        slots[place] = value;
    }
    wait_together(group, call);
    let result = slots[place];
    wait_for_readers(group, call, false);
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
    let mut slots = shared::<E>(seats());
    let own = group.unit_rank();
    if team.is_seated {
        slots[(team.seat + own * team.stride) as usize] = value;
    }
    wait_together(group, call);
    let mut result = value;
    if rank < group.unit_count() && group.is_valid() {
        result = slots[(team.seat + rank * team.stride) as usize];
    }
    wait_for_readers(group, call, true);
    result
}
