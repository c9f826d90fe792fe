//! Who plays what, and where it lies: arithmetic on the launch's seed.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use cubecl::prelude::*;

use super::program::LOCATIONS;
use super::stage::Stage;

/// The number of the first trial that the unit's group plays after a meeting.
#[cube]
pub(super) fn first_trial(batch: u32, #[comptime] stage: Stage) -> u32 {
    let trials = comptime!(stage.trials_of_batch());
    if comptime!(stage.wide) {
        batch * trials
    } else {
        (batch * comptime!(stage.groups()) + CUBE_POS as u32) * trials
    }
}

/// The role that a seat of this unit plays in a round, and of which of its group's trials.
///
/// The seats of the group are numbered; some bits of the number are the role (low ones: the roles are with neighbours; high
/// ones: in other planes or cubes), the others the rank among those of the same role. Each role then maps ranks to trials
/// by its own affine permutation.
#[cube]
pub(super) fn assign(key: u32, #[comptime] seat: u32, #[comptime] stage: Stage) -> (u32, u32) {
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
pub(super) fn cell_of(
    seed: u32,
    trial: u32,
    #[comptime] location: u32,
    #[comptime] trials: u32,
) -> u32 {
    let mix = hash(seed);
    let beside = trial * (mix | 1) % trials * comptime!(LOCATIONS as u32) + location;
    let apart = trial * (hash(mix + location) | 1) % trials + comptime!(location * trials);
    select(mix >> 31 == 0, beside, apart)
}

/// The next state of a chance, which is not 0 (Marsaglia's xorshift). No compiler takes two steps at once, so that a pause
/// of more steps is a longer one.
#[cube]
pub(super) fn advance(state: u32) -> u32 {
    let left = state ^ (state << 13);
    let right = left ^ (left >> 17);
    right ^ (right << 5)
}

/// Bits that look independent of those of other numbers (a step and the output of PCG RXS-M-XS 32).
#[cube]
pub(super) fn hash(number: u32) -> u32 {
    let state = number * 747_796_405u32 + 2_891_336_453u32;
    let word = ((state >> ((state >> 28) + 4)) ^ state) * 277_803_737u32;
    (word >> 22) ^ word
}
