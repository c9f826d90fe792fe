//! The steps of a role, as the accesses of girih that they are.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use core::ops::Range;

use cubecl::prelude::*;
use girih::memory::{KnownScope, MemoryOrder};
use girih::prelude::*;

use super::program::{Access, LARGEST, Program, Step};

/// The steps that a role does at one moment, and where in the outcome each puts what it reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part(Vec<(Step, usize)>);

impl Part {
    /// The first access.
    pub(super) fn first(program: &Program, role: usize) -> Self {
        Self::range(program, role, 0..1)
    }

    /// What comes after the first access.
    pub(super) fn rest(program: &Program, role: usize) -> Self {
        Self::range(program, role, 1..program.roles[role].len())
    }

    fn range(program: &Program, role: usize, range: Range<usize>) -> Self {
        let placed = |at| (program.roles[role][at], program.observation(role, at));
        Self(range.map(placed).collect())
    }
}

/// Does the steps, and gives their part of the outcome.
#[cube]
pub(super) fn act<S: KnownScope>(
    cells: &[Atomic<u32>],
    x: u32,
    y: u32,
    #[comptime] part: Part,
) -> u32 {
    let mut observed = 0u32;
    #[unroll]
    for at in 0..comptime!(part.0.len()) {
        let (step, place) = comptime!(part.0[at]);
        let cell = if comptime!(step.location == 0) { x } else { y };
        if comptime!(step.observes()) {
            let value = read::<S>(&cells[cell as usize], step);
            observed |= min(value, LARGEST) << comptime!(2 * place as u32);
        } else if comptime!(step.writes()) {
            write::<S>(&cells[cell as usize], step);
        } else {
            order::<S>(step);
        }
    }
    observed
}

#[cube]
fn read<S: KnownScope>(cell: &Atomic<u32>, #[comptime] step: Step) -> u32 {
    if comptime!(step.access == Access::Fetch) {
        match comptime!(step.order) {
            MemoryOrder::Acquire => cell.at::<S>().fetch_add::<Acquire>(0u32),
            MemoryOrder::AcqRel => cell.at::<S>().fetch_add::<AcqRel>(0u32),
            MemoryOrder::SeqCst => cell.at::<S>().fetch_add::<SeqCst>(0u32),
            _ => cell.at::<S>().fetch_add::<Relaxed>(0u32),
        }
    } else {
        match comptime!(step.order) {
            MemoryOrder::Acquire => cell.at::<S>().load::<Acquire>(),
            MemoryOrder::SeqCst => cell.at::<S>().load::<SeqCst>(),
            _ => cell.at::<S>().load::<Relaxed>(),
        }
    }
}

#[cube]
fn write<S: KnownScope>(cell: &Atomic<u32>, #[comptime] step: Step) {
    let value = comptime!(step.value);
    if comptime!(step.access == Access::Exchange) {
        match comptime!(step.order) {
            MemoryOrder::Release => {
                cell.at::<S>().exchange::<Release>(value);
            }
            MemoryOrder::AcqRel => {
                cell.at::<S>().exchange::<AcqRel>(value);
            }
            MemoryOrder::SeqCst => {
                cell.at::<S>().exchange::<SeqCst>(value);
            }
            _ => {
                cell.at::<S>().exchange::<Relaxed>(value);
            }
        }
    } else {
        match comptime!(step.order) {
            MemoryOrder::Release => cell.at::<S>().store::<Release>(value),
            MemoryOrder::SeqCst => cell.at::<S>().store::<SeqCst>(value),
            _ => cell.at::<S>().store::<Relaxed>(value),
        }
    }
}

#[cube]
fn order<S: KnownScope>(#[comptime] step: Step) {
    match comptime!(step.order) {
        MemoryOrder::Acquire => fence::<Acquire, S>(),
        MemoryOrder::Release => fence::<Release, S>(),
        MemoryOrder::AcqRel => fence::<AcqRel, S>(),
        _ => fence::<SeqCst, S>(),
    }
}
