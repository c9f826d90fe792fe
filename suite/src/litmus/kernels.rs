//! The two kernels: one plays trials, one counts their outcomes and clears up.
//!
//! All placement is arithmetic on the launch's seed, so the host sends nothing but that.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use cubecl::prelude::*;
use girih::memory::{KnownScope, MemoryOrder};
use girih::prelude::*;

use super::program::{Access, LARGEST, LOCATIONS, Program, Step};
use super::stage::Stage;

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
        let near = Shared::<[Atomic<u32>]>::new_slice(comptime!(stage.shared_cells()));
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

/// The number of the first trial that the unit's group plays after a meeting.
#[cube]
fn first_trial(batch: u32, #[comptime] stage: Stage) -> u32 {
    let trials = comptime!(stage.trials_of_batch());
    if comptime!(stage.wide) {
        batch * trials
    } else {
        (batch * comptime!(stage.groups()) + CUBE_POS as u32) * trials
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
    let seats = comptime!(stage.seats() as usize);
    let mut chance = chance;
    let mut roles = Array::<u32>::new(seats);
    let mut trials = Array::<u32>::new(seats);
    let mut first = Array::<u32>::new(seats);
    let mut second = Array::<u32>::new(seats);
    let mut observed = Array::<u32>::new(seats);
    let mut places = Array::<u32>::new(comptime!(seats * LOCATIONS));

    for round in 0..comptime!(stage.ensemble.rounds) {
        let key = hash(seed ^ hash(batch * comptime!(stage.ensemble.rounds) + round));
        let pause = (1u32 << (hash(key) % comptime!(stage.ensemble.pauses + 1))) >> 1;
        let before = if comptime!(stage.shared) {
            round * comptime!(stage.trials_of_round())
        } else {
            first_trial(batch, stage) + round * comptime!(stage.trials_of_round())
        };
        #[unroll]
        for seat in 0..seats {
            chance = advance(chance);
            let draw = hash(chance);
            let (role, trial) = assign(key, comptime!(seat as u32), stage);
            roles[seat] = role;
            trials[seat] = trial + round * comptime!(stage.trials_of_round());
            first[seat] = draw % MOMENTS;
            // Half of the roles do both accesses at once.
            second[seat] = draw % MOMENTS + ((draw >> 8) % GAPS) * ((draw >> 16) & 1);
            observed[seat] = 0u32;
            #[unroll]
            for location in 0..comptime!(LOCATIONS) {
                let all = comptime!(if stage.shared {
                    stage.trials_of_batch()
                } else {
                    stage.trials()
                });
                places[comptime!(seat * LOCATIONS + location)] =
                    cell_of(seed, before + trial, comptime!(location as u32), all);
            }
        }
        for moment in 0..comptime!(ROUND) {
            for _step in 0..pause {
                chance = advance(chance);
            }
            #[unroll]
            for seat in 0..seats {
                #[unroll]
                for role in 0..comptime!(program.roles.len()) {
                    if roles[seat] == comptime!(role as u32) {
                        let x = places[comptime!(seat * LOCATIONS)];
                        let y = places[comptime!(seat * LOCATIONS + 1)];
                        if moment == first[seat] {
                            let part = comptime!(Part::first(&program, role));
                            observed[seat] |= act::<S>(cells, x, y, part);
                        }
                        if moment == second[seat] {
                            let part = comptime!(Part::rest(&program, role));
                            observed[seat] |= act::<S>(cells, x, y, part);
                        }
                    }
                }
            }
        }
        #[unroll]
        for seat in 0..seats {
            let all = comptime!(stage.trials());
            let trial = first_trial(batch, stage) + trials[seat];
            seen[(roles[seat] * all + trial) as usize] = observed[seat];
        }
    }
    chance
}

/// The steps that a role does at one moment, and where in the outcome each puts what it reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Part(Vec<(Step, usize)>);

impl Part {
    fn first(program: &Program, role: usize) -> Self {
        Self::range(program, role, 0..1)
    }

    fn rest(program: &Program, role: usize) -> Self {
        Self::range(program, role, 1..program.roles[role].len())
    }

    fn range(program: &Program, role: usize, range: core::ops::Range<usize>) -> Self {
        let placed = |at| (program.roles[role][at], program.observation(role, at));
        Self(range.map(placed).collect())
    }
}

/// Does the steps, and gives their part of the outcome.
#[cube]
fn act<S: KnownScope>(cells: &[Atomic<u32>], x: u32, y: u32, #[comptime] part: Part) -> u32 {
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

/// The role that a seat of this unit plays in a round, and of which of its group's trials.
///
/// The seats of the group are numbered; some bits of the number are the role (low ones: the roles are with neighbours; high
/// ones: in other planes or cubes), the others the rank among those of the same role. Each role then maps ranks to trials
/// by its own affine permutation.
#[cube]
fn assign(key: u32, #[comptime] seat: u32, #[comptime] stage: Stage) -> (u32, u32) {
    let members = comptime!(stage.members());
    let bits = comptime!(stage.roles.ilog2());
    let shifts = comptime!((members * stage.seats() / stage.roles).ilog2() + 1);
    let member = if comptime!(stage.wide) {
        ABSOLUTE_POS as u32
    } else {
        UNIT_POS
    };
    let number = select(
        key & 1 == 0,
        member * comptime!(stage.seats()) + seat,
        member + comptime!(members * seat),
    );
    let shift = (key >> 1) % shifts;
    let role = ((number >> shift) + (key >> 8)) & comptime!(stage.roles - 1);
    let rank = ((number >> (shift + bits)) << shift) | (number & ((1u32 << shift) - 1));
    let mix = hash(key + role + 1);
    let trial = rank * (mix | 1) + (mix >> 16);
    (role, trial & comptime!(stage.trials_of_round() - 1))
}

/// Where a location of a trial is: beside the trial's other one or, every other launch, far from it.
#[cube]
fn cell_of(seed: u32, trial: u32, #[comptime] location: u32, #[comptime] trials: u32) -> u32 {
    let mix = hash(seed);
    let beside = trial * (mix | 1) % trials * comptime!(LOCATIONS as u32) + location;
    let apart = trial * (hash(mix + location) | 1) % trials + comptime!(location * trials);
    select(mix >> 31 == 0, beside, apart)
}

/// The next state of a chance, which is not 0 (Marsaglia's xorshift). No compiler takes two steps at once, so that a pause
/// of more steps is a longer one.
#[cube]
fn advance(state: u32) -> u32 {
    let left = state ^ (state << 13);
    let right = left ^ (left >> 17);
    right ^ (right << 5)
}

/// Bits that look independent of those of other numbers (a step and the output of PCG RXS-M-XS 32).
#[cube]
fn hash(number: u32) -> u32 {
    let state = number * 747_796_405u32 + 2_891_336_453u32;
    let word = ((state >> ((state >> 28) + 4)) ^ state) * 277_803_737u32;
    (word >> 22) ^ word
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
    if comptime!(stage.counts_in_shared) {
        let bins = Shared::<[Atomic<u32>]>::new_slice(comptime!(OUTCOMES as usize + 1));
        clear(&*bins);
        sync_cube();
        count::<Cube>(cells, seen, &*bins, seed, program, stage);
        sync_cube();
        for bin in range_stepped(UNIT_POS, comptime!(OUTCOMES + 1), CUBE_DIM) {
            let trials = bins[bin as usize].at::<Cube>().load::<Relaxed>();
            if trials > 0 {
                histogram[bin as usize]
                    .at::<Device>()
                    .fetch_add::<Relaxed>(trials);
            }
        }
    } else {
        count::<Device>(cells, seen, histogram, seed, program, stage);
    }
    if ABSOLUTE_POS == 0 {
        meeting[0].store_weak(0u32);
    }
}

/// Adds the outcome of each of the unit's trials to its bin, and clears what they used.
#[cube]
fn count<S: KnownScope>(
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
            .at::<S>()
            .fetch_add::<Relaxed>(1u32);
    }
}
