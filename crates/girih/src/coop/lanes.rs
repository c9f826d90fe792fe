//! [`LaneMask`].
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use super::machine::{Kernel, Machine};
use core::fmt;
use cubecl::prelude::*;

/// Words of 32 lanes that a mask has: enough for planes of 128 units.
pub(super) const WORDS: usize = 4;

/// A set of the units of one plane, up to 128 of them.
///
/// In a kernel the words past the device's plane are constants, 0, and cost nothing.
///
/// ```
/// use girih::coop::LaneMask;
///
/// let mask = LaneMask::from(0b1011u128);
/// assert_eq!((mask.count(), mask.contains(2)), (3, false));
/// assert_eq!(mask.to_string(), "0xb");
/// ```
#[derive(CubeType, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expand(derive(Clone, Copy))]
pub struct LaneMask {
    w0: u32,
    w1: u32,
    w2: u32,
    w3: u32,
}

impl LaneMask {
    pub(super) const fn new([w0, w1, w2, w3]: [u32; WORDS]) -> Self {
        Self { w0, w1, w2, w3 }
    }

    pub(super) const fn words(&self) -> [u32; WORDS] {
        [self.w0, self.w1, self.w2, self.w3]
    }

    /// The mask as one number, lane 0 in its lowest bit; on the host alone.
    pub fn bits(&self) -> u128 {
        let words = self.words().into_iter().rev();
        words.fold(0, |bits, word| bits << 32 | u128::from(word))
    }

    /// Lanes `32 * index` to `32 * index + 31`; `index` is a comptime value below 4.
    pub fn word(&self, index: u32) -> u32 {
        self.words()[index as usize]
    }

    /// How many lanes are in the set.
    pub fn count(&self) -> u32 {
        self.bits().count_ones()
    }

    /// Whether the lane, which is below 128, is in the set.
    pub fn contains(&self, lane: u32) -> bool {
        self.bits() >> lane & 1 == 1
    }
}

impl From<u128> for LaneMask {
    fn from(bits: u128) -> Self {
        Self::new([0, 32, 64, 96].map(|first| (bits >> first) as u32))
    }
}

impl fmt::Display for LaneMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.bits())
    }
}

impl LaneMaskExpand {
    pub(super) fn new([w0, w1, w2, w3]: [NativeExpand<u32>; WORDS]) -> Self {
        Self { w0, w1, w2, w3 }
    }

    pub(super) fn words(&self) -> [NativeExpand<u32>; WORDS] {
        [self.w0, self.w1, self.w2, self.w3]
    }

    /// Expansion of [`LaneMask::word`].
    pub fn __expand_word_method(&self, _scope: &Scope, index: u32) -> NativeExpand<u32> {
        match self.words().get(index as usize) {
            Some(word) => *word,
            None => panic!("girih: LaneMask::word: word {index}; a mask has {WORDS}"),
        }
    }

    /// Expansion of [`LaneMask::count`].
    pub fn __expand_count_method(&self, scope: &Scope) -> NativeExpand<u32> {
        let machine = Kernel::of(scope);
        count(&machine, self.words())
    }

    /// Expansion of [`LaneMask::contains`].
    pub fn __expand_contains_method(
        &self,
        scope: &Scope,
        lane: NativeExpand<u32>,
    ) -> NativeExpand<bool> {
        let machine = Kernel::of(scope);
        let mut word = machine.known(0);
        for (index, candidate) in (0..).zip(self.words()).take(machine.words()) {
            let past = machine.known(32 * index);
            let is_before = machine.is_below(lane, past);
            word = machine.select(is_before, word, candidate);
        }
        let bit = machine.bitand(lane, machine.known(31));
        let shifted = word.__expand_shr_method(scope, bit);
        machine
            .bitand(shifted, machine.known(1))
            .__expand_eq_method(scope, &1u32.into())
    }
}

/// How many bits are set.
pub(super) fn count<M: Machine>(m: &M, words: [M::Number; WORDS]) -> M::Number {
    let counts = words[..m.words()].iter().map(|&word| m.count_ones(word));
    counts.fold(m.known(0), |sum, count| m.add(sum, count))
}

/// The lanes below `end`, which may be past the last.
pub(super) fn below<M: Machine>(m: &M, end: M::Number) -> [M::Number; WORDS] {
    each_word(m, |index| {
        let in_word = m.saturating_sub(end, m.known(32 * index));
        let is_partial = m.is_below(in_word, m.known(32));
        let bits = m.shl(m.known(1), m.bitand(in_word, m.known(31)));
        m.select(is_partial, m.sub(bits, m.known(1)), m.known(u32::MAX))
    })
}

/// `count` lanes from `first`: of one word and a known count, one shift.
pub(super) fn run<M: Machine>(m: &M, first: M::Number, count: M::Number) -> [M::Number; WORDS] {
    match m.constant(count) {
        Some(count) if m.words() == 1 => each_word(m, |_| match count {
            0 => m.known(0),
            1..=31 => m.shl(m.known((1 << count) - 1), first),
            _ => m.known(u32::MAX),
        }),
        _ => between(m, first, m.add(first, count)),
    }
}

/// The lanes from `first` to before `end`.
pub(super) fn between<M: Machine>(m: &M, first: M::Number, end: M::Number) -> [M::Number; WORDS] {
    let (before, all) = (below(m, first), below(m, end));
    // Whatever is below the first is below the end.
    each_word(m, |index| {
        let index = index as usize;
        m.sub(all[index], before[index])
    })
}

/// Of the lanes set, those with a rank among them from `first` to before `end`.
pub(super) fn ranked<M: Machine>(
    m: &M,
    lanes: [M::Number; WORDS],
    first: M::Number,
    end: M::Number,
) -> [M::Number; WORDS] {
    let (before, all) = (lowest(m, lanes, first), lowest(m, lanes, end));
    each_word(m, |index| {
        let index = index as usize;
        m.sub(all[index], before[index])
    })
}

/// The lowest `count` of the lanes set, or all.
fn lowest<M: Machine>(m: &M, lanes: [M::Number; WORDS], count: M::Number) -> [M::Number; WORDS] {
    let mut left = count;
    let mut out = [m.known(0); WORDS];
    for (out, &word) in out.iter_mut().zip(&lanes).take(m.words()) {
        *out = lowest_of_word(m, word, left);
        left = m.saturating_sub(left, m.count_ones(word));
    }
    out
}

/// The lane of this rank among those that are set, which has one.
pub(super) fn ranked_lane<M: Machine>(
    m: &M,
    lanes: [M::Number; WORDS],
    rank: M::Number,
) -> M::Number {
    let (mut word, mut first, mut left) = (lanes[0], m.known(0), rank);
    for (index, next) in (0..).zip(lanes).take(m.words()).skip(1) {
        let before = m.count_ones(word);
        let is_here = m.is_below(left, before);
        left = m.select(is_here, left, m.sub(left, before));
        word = m.select(is_here, word, next);
        first = m.select(is_here, first, m.known(32 * index));
    }
    let (place, _) = place_of_bit(m, word, left);
    m.add(first, place)
}

/// The lowest `count` of the bits set, or all.
fn lowest_of_word<M: Machine>(m: &M, word: M::Number, count: M::Number) -> M::Number {
    let (place, left) = place_of_bit(m, word, count);
    // The last bit is among the lowest unless it is number `count`.
    let below = m.sub(m.shl(m.known(1), place), m.known(1));
    let is_last = m.is_below(m.known(0), left);
    let through = m.select(is_last, m.known(u32::MAX), below);
    m.bitand(word, through)
}

/// The place of bit number `count` of those set, found by halves, and 0; or 31 and what is left of the count, which the
/// word's last bit is not taken off.
fn place_of_bit<M: Machine>(m: &M, word: M::Number, count: M::Number) -> (M::Number, M::Number) {
    let (mut place, mut left) = (m.known(0), count);
    for width in [16u32, 8, 4, 2, 1] {
        let half = m.bitand(m.shr(word, place), m.known((1 << width) - 1));
        let set = m.count_ones(half);
        let is_here = m.is_below(left, set);
        left = m.select(is_here, left, m.sub(left, set));
        place = m.select(is_here, place, m.add(place, m.known(width)));
    }
    (place, left)
}

/// A mask made word by word; the words past the plane are 0.
pub(super) fn each_word<M: Machine>(m: &M, word: impl Fn(u32) -> M::Number) -> [M::Number; WORDS] {
    core::array::from_fn(|index| match index < m.words() {
        true => word(index as u32),
        false => m.known(0),
    })
}

#[cfg(test)]
mod tests {
    use super::super::machine::Host;
    use super::*;

    fn bits(words: [u32; WORDS]) -> u128 {
        LaneMask::new(words).bits()
    }

    /// The lanes of `mask` whose rank among them is in the range.
    fn expected(mask: u128, first: u32, end: u32) -> u128 {
        let lanes = (0..128).filter(|lane| mask >> lane & 1 == 1);
        let ranked = (0..).zip(lanes);
        let kept = ranked.filter(|(rank, _)| (first..end).contains(rank));
        kept.fold(0, |bits, (_, lane)| bits | 1 << lane)
    }

    #[test]
    fn runs_of_lanes_cross_words() {
        let host = Host::at(0);
        for (first, count) in [(0, 0), (0, 128), (31, 2), (5, 27), (60, 68), (127, 1)] {
            let all = expected(u128::MAX, first, first + count);
            assert_eq!(bits(run(&host, first, count)), all, "{first} + {count}");
        }
        // A group may go on in the next plane.
        assert_eq!(
            bits(between(&host, 120, 300)),
            expected(u128::MAX, 120, 128)
        );
    }

    #[test]
    fn lanes_are_found_by_their_rank() {
        let host = Host::at(0);
        let masks = [
            0,
            1,
            u128::MAX,
            0b1011_0110,
            0x8000_0001 << 30,
            0x5555 << 90,
            1 << 127,
        ];
        for mask in masks {
            for (first, end) in [
                (0, 0),
                (0, 1),
                (1, 3),
                (2, 40),
                (31, 33),
                (0, 128),
                (64, 200),
            ] {
                let lanes = LaneMask::from(mask).words();
                let got = bits(ranked(&host, lanes, first, end));
                assert_eq!(got, expected(mask, first, end), "{mask:#x}, {first}..{end}");
            }
            let lanes = (0..128).filter(|lane| mask >> lane & 1 == 1);
            for (rank, lane) in (0..).zip(lanes) {
                let words = LaneMask::from(mask).words();
                assert_eq!(ranked_lane(&host, words, rank), lane, "{mask:#x}, {rank}");
            }
        }
    }
}
