//! What a selection in one launch knows of the last one wanted of each row: an answer for each digit, which says all of it in one word.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::at_once::AtOnce;
use super::{DIGIT_BITS, DIGITS};
use cubecl::prelude::*;
use girih::coop::Sum;
use girih::prelude::*;

/// An answer's digit is in its lowest bits, how many are still to be found among those that have it in the bits above. This bit says
/// that all of them are wanted,
const ALL_WANTED: u32 = 1 << 30;
/// and this one that there is an answer.
const ANSWERED: u32 = 1 << 31;
/// Most that are wanted, since an answer counts them.
pub(super) const MOST_WANTED: usize = (1 << (30 - DIGIT_BITS)) - 1;

/// The answers to some of the digits of a row, whose words begin at `row`: each by a unit, which waits for it.
#[cube]
pub(super) fn hear(
    answers: &mut Shared<[u32]>,
    words: &[Atomic<u32>],
    row: usize,
    from: u32,
    to: u32,
    #[comptime] plan: AtOnce,
) {
    let mut digit = from + UNIT_POS;
    while digit < to {
        let answer = row + comptime!(plan.answers()) + digit as usize;
        let mut heard = 0u32;
        while heard == 0u32 {
            heard = words[answer].at::<Device>().load::<Relaxed>();
        }
        answers[digit as usize] = heard;
        digit += comptime!(plan.units);
    }
}

/// What is known of the last one wanted of a row.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Known<W: Int> {
    /// The digits of its key that are.
    pub key: W,
    /// Those of its place among equal keys; the last place of all, where its place does not matter.
    pub place: u32,
    /// How many are still to be found among those that have them.
    pub left: u32,
    /// How many digits have to be.
    pub digits: u32,
}

/// What the answers say that come before a phase. Those about the key were heard.
#[cube]
pub(super) fn learn<W: Int>(
    answers: &mut Shared<[u32]>,
    words: &[Atomic<u32>],
    row: usize,
    phase: u32,
    k: u32,
    #[comptime] plan: AtOnce,
) -> Known<W> {
    let key_digits = comptime!(plan.key_digits).runtime();
    let mut key = W::new(0i64);
    let mut left = k;
    let mut is_settled = false;
    for digit in 0..phase.min(key_digits) {
        let answer = answers[digit as usize];
        key = (key << W::new(comptime!(i64::from(DIGIT_BITS)))) | W::cast_from(digit_of(answer));
        left = left_of(answer);
        is_settled = answer & ALL_WANTED != 0u32;
    }
    // Of equal keys the first places are wanted; where all of them are, any place will do.
    let mut place = 0xffff_ffffu32;
    let mut digits = key_digits;
    if phase >= key_digits && !is_settled {
        hear(answers, words, row, key_digits, phase, plan);
        sync_cube();
        place = 0u32;
        digits = comptime!(plan.digits()).runtime();
        for digit in key_digits..phase {
            let answer = answers[digit as usize];
            place = (place << DIGIT_BITS) | digit_of(answer);
            left = left_of(answer);
        }
    }
    Known::<W> {
        key,
        place,
        left,
        digits,
    }
}

/// The digit that an answer tells.
#[cube]
fn digit_of(answer: u32) -> u32 {
    answer & comptime!((1u32 << DIGIT_BITS) - 1)
}

/// How many are still to be found among those that have the digit.
#[cube]
fn left_of(answer: u32) -> u32 {
    (answer >> DIGIT_BITS) & comptime!(MOST_WANTED as u32)
}

/// Answers which digit the last one wanted has, where the counts say how many have which, and `left` are to be found.
#[cube]
pub(super) fn choose(
    words: &[Atomic<u32>],
    counts: usize,
    answer: usize,
    left: u32,
    #[comptime] plan: AtOnce,
) {
    let own = comptime!(DIGITS.div_ceil(plan.units as usize));
    let first = UNIT_POS as usize * own;
    let mut held = Array::<u32>::new(own);
    let mut total = 0u32;
    for each in 0..own {
        let mut count = 0u32;
        if first + each < DIGITS {
            count = words[counts + first + each]
                .at::<Device>()
                .load::<Relaxed>();
        }
        held[each] = count;
        total += count;
    }
    let mut before = this_cube().exclusive_scan::<u32, Sum>(total, 0u32);
    for each in 0..own {
        let count = held[each];
        if before < left && left <= before + count {
            let rest = left - before;
            let marks = select(rest == count, ANSWERED | ALL_WANTED, ANSWERED.runtime());
            words[answer]
                .at::<Device>()
                .store::<Relaxed>(marks | (rest << DIGIT_BITS) | (first + each) as u32);
        }
        before += count;
    }
}
