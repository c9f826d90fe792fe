//! The two kernels: one plays trials, one counts their outcomes and clears up.
//!
//! All placement is arithmetic on the launch's seed, so the host sends nothing but that.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
// A kernel's text is expanded as it stands: a dereference is not inferred, and a condition of the expansion is apart from
// one of the kernel.
#![allow(clippy::explicit_auto_deref, clippy::collapsible_if)]

use cubecl::prelude::*;
use girih::memory::KnownScope;
use girih::prelude::*;

use super::place::{advance, assign, cell_of, first_trial, hash};
use super::program::{LARGEST, LOCATIONS, Program};
use super::stage::Stage;
use super::steps::{Part, act};

/// What a role's part of an outcome is until the role was played: no outcome.
pub const NOT_PLAYED: u32 = OUTCOMES;
/// Outcomes, and the bin after them: trials some role of which was not played.
pub const OUTCOMES: u32 = 256;

/// Moments of a round at which a role may begin.
const MOMENTS: u32 = 8;
/// Moments by which a role's second access may come later.
const GAPS: u32 = 4;
/// Moments of a round.
pub(super) const ROUND: u32 = MOMENTS + GAPS;

/// Plays the trials of a launch.
///
/// `cells` holds zeros, `seen` [`NOT_PLAYED`] and `meeting` zero; afterwards `seen` holds what each role of each trial
/// observed, and `cells` the last values.
#[cube(launch_unchecked)]
pub fn play<S: KnownScope>(
    cells: &[Atomic<u32>],
    seen: &mut [u32],
    meeting: &[Atomic<u32>],
    seed: u32,
    #[comptime] program: Program,
    #[comptime] stage: Stage,
) {
    let mut chance = hash(seed ^ hash(ABSOLUTE_POS as u32)) | 1;
    if comptime!(stage.shared) {
        let near = shared::<Atomic<u32>>(comptime!(stage.shared_cells()));
        for batch in 0..comptime!(stage.ensemble.batches) {
            clear(&*near);
            meet(meeting, batch, stage);
            let rounds = comptime!(program.clone());
            chance = play_batch::<S>(&*near, seen, seed, batch, chance, rounds, stage);
            sync_cube();
            keep(&*near, cells, seed, batch, stage);
            sync_cube();
        }
    } else {
        for batch in 0..comptime!(stage.ensemble.batches) {
            meet(meeting, batch, stage);
            let rounds = comptime!(program.clone());
            chance = play_batch::<S>(cells, seen, seed, batch, chance, rounds, stage);
        }
    }
}

/// Zeroes the cube's cells.
#[cube]
fn clear(near: &[Atomic<u32>]) {
    for at in range_stepped(UNIT_POS, near.len() as u32, CUBE_DIM) {
        near[at as usize].store_weak(0u32);
    }
}

/// Copies the cube's cells to where the count looks for last values.
#[cube]
fn keep(
    near: &[Atomic<u32>],
    cells: &[Atomic<u32>],
    seed: u32,
    batch: u32,
    #[comptime] stage: Stage,
) {
    let trials = comptime!(stage.trials_of_batch());
    let first = first_trial(batch, stage);
    for trial in range_stepped(UNIT_POS, trials, CUBE_DIM) {
        #[unroll]
        for location in 0..comptime!(LOCATIONS) {
            let from = cell_of(seed, trial, comptime!(location as u32), trials);
            let all = comptime!(stage.trials());
            let to = cell_of(seed, first + trial, comptime!(location as u32), all);
            cells[to as usize].store_weak(near[from as usize].load_weak());
        }
    }
}

/// Waits for the cube's units; and, where trials are spread over cubes, for the other cubes, but no longer than a while:
/// a cube that is not there must not stop those that are.
#[cube]
fn meet(meeting: &[Atomic<u32>], batch: u32, #[comptime] stage: Stage) {
    if comptime!(stage.wide && stage.ensemble.cubes > 1) {
        if UNIT_POS == 0 {
            let come = (batch + 1) * comptime!(stage.ensemble.cubes);
            meeting[0].at::<Device>().fetch_add::<Relaxed>(1u32);
            let patience = comptime!(stage.ensemble.patience);
            let mut looks = 0u32;
            while looks < patience {
                let all = meeting[0].at::<Device>().load::<Relaxed>() >= come;
                looks = select(all, patience, looks + 1);
            }
        }
    }
    sync_cube();
}

/// What the seats of a unit play in a round, seat by seat.
#[derive(CubeType)]
struct Parts {
    /// The role.
    role: Array<u32>,
    /// The trial, among those that the group plays in the round.
    trial: Array<u32>,
    /// The moment of the first access.
    first: Array<u32>,
    /// The moment of the others.
    second: Array<u32>,
    /// The cells of the trial, location by location.
    cells: Array<u32>,
    /// What was read so far, as a part of the outcome.
    observed: Array<u32>,
}

#[cube]
fn no_parts(#[comptime] stage: Stage) -> Parts {
    let seats = comptime!(stage.seats() as usize);
    Parts {
        role: Array::new(seats),
        trial: Array::new(seats),
        first: Array::new(seats),
        second: Array::new(seats),
        cells: Array::new(comptime!(seats * LOCATIONS)),
        observed: Array::new(seats),
    }
}

/// Plays the rounds between two meetings; gives the state of the unit's chance after them.
///
/// In a round, each seat of a unit plays one role of one trial, which begins at a moment of chance. The pause between
/// moments is the same for all units, so that they stay together, and changes from round to round.
#[cube]
fn play_batch<S: KnownScope>(
    cells: &[Atomic<u32>],
    seen: &mut [u32],
    seed: u32,
    batch: u32,
    chance: u32,
    #[comptime] program: Program,
    #[comptime] stage: Stage,
) -> u32 {
    let mut chance = chance;
    let mut parts = no_parts(stage);
    let rounds = comptime!(stage.ensemble.rounds);
    let first = first_trial(batch, stage);
    for round in 0..rounds {
        let key = hash(seed ^ hash(batch * rounds + round));
        let pause = (1u32 << (hash(key) % comptime!(stage.ensemble.pauses + 1))) >> 1;
        let before = round * comptime!(stage.trials_of_round());
        // Shared memory holds the cells of one batch.
        let cells_before = if comptime!(stage.shared) {
            before
        } else {
            first + before
        };
        chance = take_parts(&mut parts, seed, key, chance, cells_before, stage);
        for moment in 0..comptime!(ROUND) {
            for _step in 0..pause {
                chance = advance(chance);
            }
            let program = comptime!(program.clone());
            play_moment::<S>(cells, &mut parts, moment, program, stage);
        }
        write_down(seen, &parts, first + before, stage);
    }
    chance
}

/// Gives each seat its part in a round; gives the state of the unit's chance after that.
#[cube]
fn take_parts(
    parts: &mut Parts,
    seed: u32,
    key: u32,
    chance: u32,
    before: u32,
    #[comptime] stage: Stage,
) -> u32 {
    let mut chance = chance;
    let trials = comptime!(match stage.shared {
        true => stage.trials_of_batch(),
        false => stage.trials(),
    });
    #[unroll]
    for seat in 0..comptime!(stage.seats() as usize) {
        chance = advance(chance);
        let draw = hash(chance);
        let (role, trial) = assign(key, comptime!(seat as u32), stage);
        parts.role[seat] = role;
        parts.trial[seat] = trial;
        parts.first[seat] = draw % MOMENTS;
        // Half of the roles do both accesses at once.
        parts.second[seat] = draw % MOMENTS + ((draw >> 8) % GAPS) * ((draw >> 16) & 1);
        parts.observed[seat] = 0u32;
        #[unroll]
        for location in 0..comptime!(LOCATIONS) {
            parts.cells[comptime!(seat * LOCATIONS + location)] =
                cell_of(seed, before + trial, comptime!(location as u32), trials);
        }
    }
    chance
}

/// Does what is due at a moment.
#[cube]
fn play_moment<S: KnownScope>(
    cells: &[Atomic<u32>],
    parts: &mut Parts,
    moment: u32,
    #[comptime] program: Program,
    #[comptime] stage: Stage,
) {
    #[unroll]
    for seat in 0..comptime!(stage.seats() as usize) {
        let x = parts.cells[comptime!(seat * LOCATIONS)];
        let y = parts.cells[comptime!(seat * LOCATIONS + 1)];
        #[unroll]
        for role in 0..comptime!(program.roles.len()) {
            if parts.role[seat] == comptime!(role as u32) {
                if moment == parts.first[seat] {
                    let part = comptime!(Part::first(&program, role));
                    parts.observed[seat] |= act::<S>(cells, x, y, part);
                }
                if moment == parts.second[seat] {
                    let part = comptime!(Part::rest(&program, role));
                    parts.observed[seat] |= act::<S>(cells, x, y, part);
                }
            }
        }
    }
}

/// Writes down what each seat observed.
#[cube]
fn write_down(seen: &mut [u32], parts: &Parts, before: u32, #[comptime] stage: Stage) {
    #[unroll]
    for seat in 0..comptime!(stage.seats() as usize) {
        let role = parts.role[seat] * comptime!(stage.trials());
        seen[(role + before + parts.trial[seat]) as usize] = parts.observed[seat];
    }
}

/// Adds each trial's outcome to its bin, and leaves the buffers as [`play`] wants them.
#[cube(launch_unchecked)]
pub fn tally(
    cells: &[Atomic<u32>],
    seen: &mut [u32],
    meeting: &[Atomic<u32>],
    histogram: &[Atomic<u32>],
    seed: u32,
    #[comptime] program: Program,
    #[comptime] stage: Stage,
) {
    let bins = shared::<Atomic<u32>>(comptime!(OUTCOMES as usize + 1));
    clear(&*bins);
    sync_cube();
    count(cells, seen, &*bins, seed, program, stage);
    sync_cube();
    for bin in range_stepped(UNIT_POS, comptime!(OUTCOMES + 1), CUBE_DIM) {
        let trials = bins[bin as usize].at::<Cube>().load::<Relaxed>();
        if trials > 0 {
            histogram[bin as usize]
                .at::<Device>()
                .fetch_add::<Relaxed>(trials);
        }
    }
    if ABSOLUTE_POS == 0 {
        meeting[0].store_weak(0u32);
    }
}

/// Adds the outcome of each of the unit's trials to its bin, and clears what they used.
#[cube]
fn count(
    cells: &[Atomic<u32>],
    seen: &mut [u32],
    bins: &[Atomic<u32>],
    seed: u32,
    #[comptime] program: Program,
    #[comptime] stage: Stage,
) {
    let all = comptime!(stage.trials());
    let units = CUBE_COUNT as u32 * CUBE_DIM;
    for trial in range_stepped(ABSOLUTE_POS as u32, all, units) {
        let mut outcome = 0u32;
        #[unroll]
        for role in 0..comptime!(stage.roles) {
            let at = (comptime!(role * all) + trial) as usize;
            outcome |= seen[at];
            seen[at] = NOT_PLAYED;
        }
        #[unroll]
        for location in 0..comptime!(LOCATIONS) {
            let cell = cell_of(seed, trial, comptime!(location as u32), all) as usize;
            let place = comptime!(program.last_value(location));
            if comptime!(place.is_some()) {
                let place = comptime!(2 * place.unwrap_or_default() as u32);
                outcome |= min(cells[cell].load_weak(), LARGEST) << place;
            }
            cells[cell].store_weak(0u32);
        }
        bins[min(outcome, OUTCOMES) as usize]
            .at::<Cube>()
            .fetch_add::<Relaxed>(1u32);
    }
}
