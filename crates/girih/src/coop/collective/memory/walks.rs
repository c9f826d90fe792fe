//! Combining what the segments of a group have put down.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
// The expansions use them.
#![allow(clippy::extra_unused_type_parameters)]

use super::super::super::group::{Group, GroupExpand};
use super::super::super::levels::cube_units;
use super::super::super::machine::{Kernel, Machine};
use super::super::super::operators::Associative;
use super::super::segment::{self, Segment};
use super::teams::{Team, is_of_planes, known_segments, slot};
use cubecl::prelude::*;

/// So many slots are read at once, and combined with nothing between them.
const FEW: u32 = 8;
/// The same, where the target combines those of all lanes in one instruction.
const FEW_BESIDE_AN_INSTRUCTION: u32 = 3;

/// How a unit goes through the slots of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Walk {
    /// One after the other, as many as the run knows.
    OneByOne,
    /// So many at once.
    AtOnce(u32),
    /// So many, one by each lane of a plane, which then combine them from lane to lane.
    ByLanes(u32),
}

fn walk_of(kernel: &Kernel<'_>, group: &GroupExpand, few: u32) -> Walk {
    let Some(segments) = known_segments(kernel, group) else {
        return Walk::OneByOne;
    };
    // Every lane of a plane comes along.
    let is_by_planes = kernel
        .plane()
        .is_some_and(|plane| segments <= plane && cube_units(kernel.scope()).is_multiple_of(plane));
    match segments {
        0 => Walk::OneByOne,
        _ if segments <= few => Walk::AtOnce(segments),
        _ if is_by_planes && is_of_planes(kernel, group) => Walk::ByLanes(segments),
        _ => Walk::OneByOne,
    }
}

/// For all of them.
#[cube]
#[allow(unused_variables)]
pub(super) fn walk(group: &Group) -> comptime_type!(Walk) {
    intrinsic!(|scope| { walk_of(&Kernel::of(scope), group, FEW) })
}

/// For those before a unit's own.
#[cube]
#[allow(unused_variables)]
pub(super) fn walk_before<E: CubePrimitive, O: Associative<E>>(
    group: &Group,
) -> comptime_type!(Walk) {
    intrinsic!(|scope| {
        let kernel = Kernel::of(scope);
        let few = match segment::has_instruction::<E, O>(&kernel) {
            true => FEW_BESIDE_AN_INSTRUCTION,
            false => FEW,
        };
        walk_of(&kernel, group, few)
    })
}

/// The lane of this unit.
#[cube]
fn lane() -> u32 {
    intrinsic!(|scope| { Kernel::of(scope).lane() })
}

/// What all lanes of the plane hold, combined, where it has `count` different values over and over again.
#[cube]
#[allow(unused_variables)]
pub(super) fn of_lanes<E: CubePrimitive, O: Associative<E>>(
    held: E,
    #[comptime] count: u32,
    #[comptime] call: &'static str,
) -> E {
    intrinsic!(|scope| {
        let kernel = Kernel::of(scope);
        Segment::of_first_lanes(&kernel, call, count).reduce_repeated::<E, O>(held)
    })
}

#[cube]
#[allow(unused_variables)]
fn of_lanes_before<E: CubePrimitive, O: Associative<E>>(
    held: E,
    end: u32,
    #[comptime] count: u32,
    #[comptime] call: &'static str,
) -> E {
    intrinsic!(|scope| {
        let kernel = Kernel::of(scope);
        Segment::of_first_lanes(&kernel, call, count).reduce_below::<E, O>(held, end)
    })
}

/// The values combined two by two, so that few wait for others.
#[cube]
#[allow(unused_variables)]
pub(super) fn combined<E: CubePrimitive, O: Associative<E>>(values: Sequence<E>) -> E {
    intrinsic!(|scope| {
        let mut values: Vec<NativeExpand<E>> = values.into_iter().collect();
        while values.len() > 1 {
            values = values
                .chunks(2)
                .map(|pair| match pair {
                    [first, second] => O::__expand_combine(scope, *first, *second),
                    _ => pair[0],
                })
                .collect();
        }
        values[0]
    })
}

/// What all segments have put down, combined. `start` is where the slots of this round start.
#[cube]
pub(super) fn all<E: CubePrimitive, O: Associative<E>>(
    slots: &[E],
    start: u32,
    team: &Team,
    #[comptime] walk: Walk,
    #[comptime] call: &'static str,
) -> E {
    let first = start + team.first;
    match walk {
        Walk::AtOnce(count) => {
            let mut values = Sequence::<E>::new();
            #[unroll]
            for index in 0..count {
                values.push(slots[(first + index) as usize]);
            }
            combined::<E, O>(values)
        }
        Walk::ByLanes(count) => {
            let held = slots[(first + lane() % count) as usize];
            of_lanes::<E, O>(held, count, call)
        }
        Walk::OneByOne => {
            let mut total = slots[first as usize];
            for index in 1u32..team.segments {
                total = O::combine(total, slots[(start + slot(team, index)) as usize]);
            }
            total
        }
    }
}

/// How many blocks, each twice as large as the one before it, an index below `count` is made of at most.
const fn blocks(count: u32) -> u32 {
    u32::BITS - count.saturating_sub(1).leading_zeros()
}

/// Whether one of an index's blocks has `size` slots: the larger blocks come first.
#[cube]
fn has_block(index: u32, #[comptime] size: u32) -> bool {
    index & size != 0u32
}

/// What that block's slots hold, combined.
#[cube]
fn block<E: CubePrimitive, O: Associative<E>>(
    slots: &[E],
    first: u32,
    index: u32,
    #[comptime] size: u32,
) -> E {
    let at = first + (index & comptime!((2 * size).wrapping_neg()));
    let mut values = Sequence::<E>::new();
    #[unroll]
    for place in 0..size {
        values.push(slots[(at + place) as usize]);
    }
    combined::<E, O>(values)
}

/// `own`, after what the segments before this unit's have put down.
///
/// Few are taken by blocks, so that a plane reads and combines what it needs, and few instructions depend on its index.
#[cube]
pub(super) fn after_those_before<E: CubePrimitive, O: Associative<E>>(
    slots: &[E],
    start: u32,
    team: &Team,
    own: E,
    #[comptime] walk: Walk,
    #[comptime] call: &'static str,
) -> E {
    match walk {
        Walk::AtOnce(count) => {
            let first = start + team.first;
            let mut result = own;
            #[unroll]
            for power in 0..comptime!(blocks(count)) {
                let size = comptime!(1u32 << power);
                if has_block(team.index, size) {
                    let held = block::<E, O>(slots, first, team.index, size);
                    result = O::combine(held, result);
                }
            }
            result
        }
        _ => {
            let total = before::<E, O>(slots, start, team, walk, call);
            select(team.index > 0u32, O::combine(total, own), own)
        }
    }
}

/// `head`, and after it what the segments before this unit's have put down.
#[cube]
pub(super) fn before_this<E: CubePrimitive, O: Associative<E>>(
    slots: &[E],
    start: u32,
    team: &Team,
    head: E,
    #[comptime] walk: Walk,
    #[comptime] call: &'static str,
) -> E {
    match walk {
        Walk::AtOnce(count) => {
            let first = start + team.first;
            let mut result = head;
            #[unroll]
            for step in 1..comptime!(blocks(count) + 1) {
                let size = comptime!(1u32 << (blocks(count) - step));
                if has_block(team.index, size) {
                    let held = block::<E, O>(slots, first, team.index, size);
                    result = O::combine(result, held);
                }
            }
            result
        }
        _ => {
            let total = before::<E, O>(slots, start, team, walk, call);
            select(team.index > 0u32, O::combine(head, total), head)
        }
    }
}

/// What the segments before this unit's have put down, combined, where that is by lanes or one by one; nothing sensible
/// where there are none.
#[cube]
fn before<E: CubePrimitive, O: Associative<E>>(
    slots: &[E],
    start: u32,
    team: &Team,
    #[comptime] walk: Walk,
    #[comptime] call: &'static str,
) -> E {
    let first = start + team.first;
    if let Walk::ByLanes(count) = walk {
        let held = slots[(first + lane() % count) as usize];
        of_lanes_before::<E, O>(held, team.index, count, call)
    } else {
        let mut total = slots[first as usize];
        for index in 1u32..team.index {
            total = O::combine(total, slots[(start + slot(team, index)) as usize]);
        }
        total
    }
}
