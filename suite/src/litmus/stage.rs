//! Where the trials of a launch are played: how many units, in which cubes, in how many rounds.

use std::thread::available_parallelism;

use girih::device::{Device, Target};
use girih::memory::MemoryScope;
use girih_testkit::Rt;

use super::Space;
use super::program::{LOCATIONS, Program};

/// Units of a cube, where a cube may be as large.
const UNITS: u32 = 256;
/// Cubes of that size that a multiprocessor holds at once, when a unit takes no more than 64 of its 65,536 registers. Many
/// units hide what a fence waits for.
const RESIDENT: u32 = 4;
/// Cubes of a GPU that does not say how many multiprocessors it has.
const FEW_CUBES: u32 = 16;
/// Planes of a GPU are wider than this; narrower ones are a processor's vectors, and each cube one thread of the host.
const NARROW: u32 = 8;
/// Units of a cube on the host: more than a few threads only wait for each other.
const HOST_UNITS: u32 = 8;

/// The units of a launch, and how they keep time. Each count of units, cubes, rounds and batches is a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ensemble {
    /// Units of a cube.
    pub units: u32,
    /// Cubes, few enough to be all there at once.
    pub cubes: u32,
    /// Rounds between two meetings of the units.
    pub rounds: u32,
    /// Meetings of a launch.
    pub batches: u32,
    /// The pause between two moments of a round is none, or up to this power of two of steps, without the last.
    pub pauses: u32,
    /// How often a cube looks whether the others have come to a meeting before it goes on without them.
    pub patience: u32,
}

impl Ensemble {
    /// The ensemble of a device.
    fn of(rt: &Rt, device: &Device) -> Self {
        let hardware = &rt.client.properties().hardware;
        let (most, planes) = (hardware.max_units_per_cube, hardware.plane_size_max);
        match device.target() {
            Target::Cpu => Self::host(below(most.min(HOST_UNITS))),
            _ if planes <= NARROW => Self::software(planes),
            _ => {
                let multiprocessors = hardware.num_streaming_multiprocessors;
                let cubes = multiprocessors.map_or(FEW_CUBES, |count| below(RESIDENT * count));
                Self::gpu(below(most.min(UNITS)), cubes)
            }
        }
    }

    /// The units of a cube are threads that run at once, and cubes follow each other: one cube plays at every scope. Two
    /// threads drift apart soon, so they meet often.
    const fn host(units: u32) -> Self {
        Self {
            units,
            cubes: 1,
            rounds: 32,
            batches: 2048 / units,
            pauses: 5,
            patience: 0,
        }
    }

    /// A device that runs on the host's cores: a cube is one thread, as many at once as there are cores, and its units are
    /// lanes of a vector. Mesa's ends every loop of a unit once they have gone round 65,535 times in all; the longest
    /// pauses and the longest waits together stay below.
    fn software(plane: u32) -> Self {
        let cores = available_parallelism().map_or(2, usize::from) as u32;
        Self {
            units: plane,
            cubes: below(cores.clamp(2, FEW_CUBES)),
            rounds: 16,
            batches: 16,
            pauses: 5,
            patience: 512,
        }
    }

    /// A cube's units are a few planes that take turns on one multiprocessor; cubes run at once.
    pub(crate) const fn gpu(units: u32, cubes: u32) -> Self {
        Self {
            units,
            cubes,
            rounds: 4,
            batches: 8,
            pauses: 6,
            patience: 4096,
        }
    }
}

/// What a launch plays, all of it known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stage {
    /// Who plays.
    pub ensemble: Ensemble,
    /// Roles of a trial, a power of two.
    pub roles: u32,
    /// Whether the roles of a trial are spread over all cubes, rather than one.
    pub wide: bool,
    /// Whether the locations are in shared memory.
    pub shared: bool,
}

impl Stage {
    /// The stage on which a device plays a program at a scope.
    pub fn of(rt: &Rt, program: &Program, scope: MemoryScope, space: Space) -> Self {
        let device = Device::of(&rt.client);
        Self {
            ensemble: Ensemble::of(rt, &device),
            roles: program.roles.len() as u32,
            wide: scope != MemoryScope::Cube,
            shared: space == Space::Shared,
        }
    }

    /// Units among which the roles of a trial are spread.
    pub const fn members(&self) -> u32 {
        let cubes = if self.wide { self.ensemble.cubes } else { 1 };
        self.ensemble.units * cubes
    }

    /// Groups of such units.
    pub const fn groups(&self) -> u32 {
        if self.wide { 1 } else { self.ensemble.cubes }
    }

    /// Roles that a unit plays in a round.
    pub const fn seats(&self) -> u32 {
        if self.members() < self.roles {
            self.roles / self.members()
        } else {
            1
        }
    }

    /// Trials of a group in a round.
    pub const fn trials_of_round(&self) -> u32 {
        self.members() * self.seats() / self.roles
    }

    /// Trials of a group between two meetings.
    pub const fn trials_of_batch(&self) -> u32 {
        self.trials_of_round() * self.ensemble.rounds
    }

    /// Trials of a launch.
    pub const fn trials(&self) -> u32 {
        self.trials_of_batch() * self.groups() * self.ensemble.batches
    }

    /// Cells of shared memory.
    pub const fn shared_cells(&self) -> usize {
        self.trials_of_batch() as usize * LOCATIONS
    }
}

/// The largest power of two that is not above a number.
fn below(number: u32) -> u32 {
    1 << number.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::litmus::Test;
    use crate::litmus::kernels::ROUND;

    #[test]
    fn everything_is_a_power_of_two_and_every_role_has_a_seat() {
        for rt in Rt::present() {
            for test in Test::all() {
                let stage = Stage::of(rt, &test.program(), test.scope, test.space);
                let Ensemble {
                    units,
                    cubes,
                    rounds,
                    batches,
                    ..
                } = stage.ensemble;
                let products = [stage.seats(), stage.trials_of_round(), stage.trials()];
                for size in [&[units, cubes, rounds, batches][..], &products].concat() {
                    assert!(size.is_power_of_two(), "{stage:?}");
                }
                assert!(stage.members() * stage.seats() >= stage.roles, "{stage:?}");
            }
        }
    }

    #[test]
    fn a_software_device_is_not_cut_short() {
        let Ensemble {
            rounds,
            batches,
            pauses,
            patience,
            ..
        } = Ensemble::software(8);
        let moment = 1 + (1 << (pauses - 1));
        let batch = 1 + patience + rounds * (1 + ROUND * moment);
        assert!(batches * batch < 65_535, "{}", batches * batch);
    }

    #[test]
    fn a_number_is_rounded_down() {
        assert_eq!([0, 1, 2, 3, 528].map(below), [1, 1, 2, 2, 512]);
    }
}
