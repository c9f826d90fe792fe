//! The way of a cube through its share of a row, for a selection in one launch.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::DIGIT_BITS;
use super::at_once::AtOnce;
use crate::sort::{Order, encode};
use cubecl::prelude::*;
use girih::prelude::*;

/// What is done with each key on the way through a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Visit {
    /// Its digit is counted, if those above are the ones found.
    Key,
    /// The digit of its place is counted, if it is the key found and the digits above are.
    Place,
    /// It is written, if it is wanted.
    Collect,
}

/// What is known of the last one wanted, and what is asked.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Question<W: Int> {
    /// Its key, or the digits of it that are known.
    pub key: W,
    /// Its place among equal keys, or the digits of it that are known.
    pub place: u32,
    /// The place of the digit that is asked.
    pub shift: u32,
}

/// Where a row's first keys go.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Slots {
    /// The first slot in the outputs.
    pub first: usize,
    /// How many there are.
    pub count: u32,
    /// The word that counts those written.
    pub written: usize,
}

/// A cube's share of a row: chunks of vectors, in turn with the other cubes of the row.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Share {
    /// The row's first vector.
    pub start: usize,
    /// Its vectors.
    pub len: usize,
    /// The first of the cube's.
    pub first: usize,
    /// From a chunk of the cube to the next.
    pub step: usize,
}

/// What is done on the way through a row, but for how each key is visited.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Errand<W: Int> {
    /// The keys.
    pub share: Share,
    /// What is asked of them.
    pub question: Question<W>,
    /// Where those wanted go.
    pub slots: Slots,
}

/// Goes through the cube's share of a row.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn walk<K: Int, W: Int, I: Int, N: Size>(
    keys: &[Vector<K, N>],
    digits: &Shared<[Atomic<u32>]>,
    words: &[Atomic<u32>],
    out: &mut [K],
    places: &mut [I],
    errand: Errand<W>,
    #[comptime] visit: Visit,
    #[comptime] plan: AtOnce,
    #[comptime] order: Option<Order>,
) {
    let units = comptime!(plan.units as usize);
    let items = comptime!(plan.items as usize);
    let share = errand.share;
    let mut at = share.first;
    while at + comptime!(units * items) <= share.len {
        let mut held = Array::<Vector<K, N>>::new(items);
        #[unroll]
        for item in 0..items {
            held[item] = keys[share.start + at + UNIT_POS as usize + item * units];
        }
        #[unroll]
        for item in 0..items {
            let place = at + UNIT_POS as usize + item * units;
            look::<K, W, I, N>(
                held[item], place, digits, words, out, places, errand, visit, order,
            );
        }
        at += share.step;
    }
    // The last chunk may be cut short; one cube has it.
    let mut place = at + UNIT_POS as usize;
    while place < share.len {
        look::<K, W, I, N>(
            keys[share.start + place],
            place,
            digits,
            words,
            out,
            places,
            errand,
            visit,
            order,
        );
        place += units;
    }
}

/// Counts or writes the keys of a vector.
#[cube]
#[allow(clippy::too_many_arguments)]
fn look<K: Int, W: Int, I: Int, N: Size>(
    several: Vector<K, N>,
    at: usize,
    digits: &Shared<[Atomic<u32>]>,
    words: &[Atomic<u32>],
    out: &mut [K],
    places: &mut [I],
    errand: Errand<W>,
    #[comptime] visit: Visit,
    #[comptime] order: Option<Order>,
) {
    let (question, slots) = (errand.question, errand.slots);
    let width = N::value();
    let shift = W::cast_from(question.shift);
    let digit_bits = W::new(comptime!(i64::from(DIGIT_BITS)));
    let mask = comptime!((1u32 << DIGIT_BITS) - 1);
    #[unroll]
    for lane in 0..width {
        let raw = several.extract(lane);
        let key = encode::<W>(W::cast_from(raw), order);
        let place = at * width + lane;
        if comptime!(visit == Visit::Key) {
            // Two shifts, since one by all bits of the word is none.
            let rest = key >> shift;
            if rest >> digit_bits == question.key {
                let digit = u32::cast_from(rest) & mask;
                digits[digit as usize]
                    .at::<Cube>()
                    .fetch_add::<Relaxed>(1u32);
            }
        } else if comptime!(visit == Visit::Place) {
            let rest = place as u32 >> question.shift;
            if key == question.key && rest >> DIGIT_BITS == question.place {
                let digit = rest & mask;
                digits[digit as usize]
                    .at::<Cube>()
                    .fetch_add::<Relaxed>(1u32);
            }
        } else if key < question.key || (key == question.key && place as u32 <= question.place) {
            let slot = words[slots.written]
                .at::<Device>()
                .fetch_add::<Relaxed>(1u32);
            if slot < slots.count {
                out[slots.first + slot as usize] = raw;
                places[slots.first + slot as usize] = I::cast_from(place);
            }
        }
    }
}
