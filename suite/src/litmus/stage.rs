//! Where the trials of a launch are played: how many units, in which cubes, in how many rounds.

use girih::device::{Device, Target};
use girih::memory::MemoryScope;
use girih_testkit::Rt;

use super::Space;
use super::program::{LOCATIONS, Program};

/// Units of a cube, where a cube may be as large.
const UNITS: u32 = 256;
/// Cubes that a multiprocessor holds at once, whatever the kernel needs of it.
const RESIDENT: u32 = 2;
/// Cubes of a GPU that does not say how many multiprocessors it has.
const FEW_CUBES: u32 = 16;
/// Planes of a GPU are wider than this; narrower ones are a processor's vectors, and each cube one thread of the host.
const NARROW: u32 = 8;
/// Units of a cube on the host: more than a few threads only wait for each other.
const HOST_UNITS: u32 = 8;

/// The geometry of a launch, all of it known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stage {
    /// Roles of a trial, a power of two.
    pub roles: u32,
    /// Units of a cube, a power of two.
    pub units: u32,
    /// Cubes, a power of two, few enough to be all there at once.
    pub cubes: u32,
    /// Rounds between two meetings of the units, a power of two.
    pub rounds: u32,
    /// Meetings of a launch, a power of two.
    pub batches: u32,
    /// Whether the roles of a trial are spread over all cubes, rather than one.
    pub wide: bool,
    /// Whether the locations are in shared memory.
    pub shared: bool,
}

impl Stage {
    /// The stage on which a device plays a program at a scope.
    ///
    /// GPUs get as many cubes as are surely there at once. On the host the units of one cube are threads that run at once
    /// and cubes follow each other, so one cube plays at every scope. A device of narrow planes is a software one: it runs
    /// each cube on one thread, as many at once as the host has cores.
    pub fn of(rt: &Rt, program: &Program, scope: MemoryScope, space: Space) -> Self {
        let hardware = &rt.client.properties().hardware;
        let roles = program.roles.len() as u32;
        let most = hardware.max_units_per_cube;
        let shared = space == Space::Shared;
        let (units, cubes, rounds, batches) = match Device::of(&rt.client).target() {
            Target::Cpu => {
                let units = below(most.min(HOST_UNITS));
                (units, 1, 2048 / units, 16)
            }
            _ if hardware.plane_size_max <= NARROW => {
                let cores = std::thread::available_parallelism().map_or(2, usize::from);
                let cubes = below((cores as u32).clamp(2, FEW_CUBES));
                (hardware.plane_size_max, cubes, 64, 128 / cubes)
            }
            _ => {
                let multiprocessors = hardware.num_streaming_multiprocessors;
                let cubes = multiprocessors.map_or(FEW_CUBES, |count| below(RESIDENT * count));
                (below(most.min(UNITS)), cubes, 4, 8)
            }
        };
        Self {
            roles,
            units,
            cubes,
            rounds,
            batches,
            wide: scope != MemoryScope::Cube,
            shared,
        }
    }

    /// Units among which the roles of a trial are spread.
    pub const fn members(&self) -> u32 {
        if self.wide {
            self.units * self.cubes
        } else {
            self.units
        }
    }

    /// Groups of such units.
    pub const fn groups(&self) -> u32 {
        if self.wide { 1 } else { self.cubes }
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
        self.trials_of_round() * self.rounds
    }

    /// Trials of a launch.
    pub const fn trials(&self) -> u32 {
        self.trials_of_batch() * self.groups() * self.batches
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

    #[test]
    fn everything_is_a_power_of_two_and_every_role_has_a_seat() {
        for rt in Rt::present() {
            for test in Test::all() {
                let stage = Stage::of(rt, &test.program(), test.scope, test.space);
                let sizes = [stage.units, stage.cubes, stage.rounds, stage.batches];
                let products = [stage.seats(), stage.trials_of_round(), stage.trials()];
                for size in [&sizes[..], &products].concat() {
                    assert!(size.is_power_of_two(), "{stage:?}");
                }
                assert!(stage.members() * stage.seats() >= stage.roles, "{stage:?}");
            }
        }
    }

    #[test]
    fn a_number_is_rounded_down() {
        assert_eq!([0, 1, 2, 3, 264].map(below), [1, 1, 2, 2, 256]);
    }
}
