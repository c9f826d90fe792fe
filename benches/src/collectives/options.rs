//! The collectives of a run.

use super::workload::{Element, Members, Op, Workload};
use crate::timing::Schedule;
use cubecl::client::Client;
use girih::device::{Device, Target};

/// A workload, and how often it is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is measured.
    pub workload: Workload,
    /// How often.
    pub schedule: Schedule,
}

/// Sizes of a run.
struct Scale {
    /// Units of cubes that are measured as wholes.
    cubes: &'static [u32],
    /// Units of the cubes that are measured plane by plane.
    of_planes: u32,
    /// Units of a launch that fills the device, and its rounds.
    units: u32,
    rounds: u32,
    /// Rounds of a launch of one cube: what one takes from start to end, with nothing beside it.
    rounds_alone: u32,
    schedule: Schedule,
}

/// Four times the units that 132 multiprocessors hold.
const LARGE: Scale = Scale {
    cubes: &[256, 1024],
    of_planes: 256,
    units: 4 * 132 * 2048,
    rounds: 256,
    rounds_alone: 2048,
    schedule: Schedule {
        warmup: 6,
        launches: 30,
        windows: 3,
    },
};

/// A check of the benchmark more than a figure.
const SMALL: Scale = Scale {
    cubes: &[2, 64],
    of_planes: 64,
    units: 128,
    rounds: 3,
    rounds_alone: 8,
    schedule: Schedule {
        warmup: 1,
        launches: 2,
        windows: 1,
    },
};

/// The collectives that suit a device: many rounds of many units on CUDA, few elsewhere.
pub fn plans(client: &Client) -> Vec<Plan> {
    match Device::of(client).target() {
        Target::Cuda => scaled(&LARGE),
        _ => scaled(&SMALL),
    }
}

fn scaled(scale: &Scale) -> Vec<Plan> {
    let cubes = scale.cubes.iter().map(|&cube| (Members::Cube, cube));
    let whole = cubes.flat_map(|group| Op::ALL.map(|op| (op, group)));
    let parts = [Members::Plane, Members::Lanes(8)];
    let parts = parts.map(|members| (Op::Reduce, (members, scale.of_planes)));
    let groups = whole
        .chain(parts)
        .flat_map(|(op, (members, cube))| Element::ALL.map(|element| (op, members, cube, element)));
    let schedule = scale.schedule;
    let sizes = |cube| [(scale.units / cube, scale.rounds), (1, scale.rounds_alone)];
    groups
        .flat_map(|(op, members, cube, element)| {
            sizes(cube).map(|(cubes, rounds)| Plan {
                workload: Workload {
                    op,
                    element,
                    members,
                    cube,
                    cubes,
                    rounds,
                },
                schedule,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_collective_has_a_name_of_its_own_and_fills_its_cubes() {
        for scale in [&LARGE, &SMALL] {
            let plans = scaled(scale);
            let names: HashSet<_> = plans.iter().map(|plan| plan.workload.name()).collect();
            assert_eq!(names.len(), plans.len());
            for Plan { workload, .. } in plans {
                let whole = workload.units() == scale.units as usize;
                assert!(whole || workload.cubes == 1, "{}", workload.name());
            }
        }
    }
}
