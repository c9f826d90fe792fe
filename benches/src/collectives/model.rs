//! What a launch is to leave, computed on the host.

use super::workload::{Element, Op, Workload};

/// Values start over after so many units, so that the host computes few groups; every group's size divides it.
pub(super) const PERIOD: usize = 8192;

/// An element as its 32 bits.
pub(super) trait Value: Copy {
    /// An integer that a hash of the position gives; a float's is small.
    fn at(position: usize) -> Self;
    /// The sum of two.
    fn plus(self, other: Self) -> Self;
    /// What a round leaves of a sum.
    fn next(self) -> Self;
    /// Nothing.
    const ZERO: Self;
    fn bits(self) -> u32;
}

fn hash(position: usize) -> u32 {
    let mut hash = (position % PERIOD) as u32 ^ 0x5bd1_e995;
    hash = hash.wrapping_mul(0x9e37_79b1);
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x85eb_ca77);
    hash ^ hash >> 13
}

impl Value for u32 {
    fn at(position: usize) -> Self {
        hash(position)
    }
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    fn next(self) -> Self {
        self
    }
    const ZERO: Self = 0;
    fn bits(self) -> u32 {
        self
    }
}

impl Value for f32 {
    fn at(position: usize) -> Self {
        (hash(position) >> 22) as f32
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
    fn next(self) -> Self {
        self % 1024.0
    }
    const ZERO: Self = 0.0;
    fn bits(self) -> u32 {
        self.to_bits()
    }
}

/// What the units of one group have after a round.
fn round<T: Value>(op: Op, group: &mut [T]) {
    let mut sum = T::ZERO;
    match op {
        Op::Reduce => {
            let sum = group.iter().fold(sum, |sum, value| sum.plus(*value));
            group[0] = group[0].plus(sum).next();
            group[1..]
                .iter_mut()
                .for_each(|value| *value = value.next());
        }
        Op::InclusiveScan | Op::ExclusiveScan => {
            for value in group {
                let before = sum;
                sum = sum.plus(*value);
                let scanned = match op {
                    Op::InclusiveScan => sum,
                    _ => before,
                };
                *value = value.plus(scanned).next();
            }
        }
    }
}

/// The bits that a launch is to leave in its first units; the later ones' are the same over and over.
pub(super) fn expected(workload: &Workload, group: u32) -> Vec<u32> {
    match workload.element {
        Element::U32 => after::<u32>(workload, group),
        Element::F32 => after::<f32>(workload, group),
    }
}

fn after<T: Value>(workload: &Workload, group: u32) -> Vec<u32> {
    let units = workload.units().min(PERIOD);
    let mut values: Vec<T> = (0..units).map(T::at).collect();
    for group in values.chunks_mut(group as usize) {
        (0..workload.rounds).for_each(|_| round(workload.op, group));
    }
    values.into_iter().map(Value::bits).collect()
}

/// A number that moves with every bit of every word and with its place.
pub(super) fn checksum(words: impl IntoIterator<Item = u32>) -> u64 {
    let places = (0..).zip(words);
    places.fold(0u64, |sum, (place, word)| {
        sum.wrapping_add(u64::from(word).wrapping_mul(place % 65_521 + 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_sums_of_what_the_last_one_left() {
        let mut reduced = [1, 2, 3];
        round(Op::Reduce, &mut reduced);
        assert_eq!(reduced, [7, 2, 3]);
        let mut scanned = [1, 2, 3];
        round(Op::InclusiveScan, &mut scanned);
        assert_eq!(scanned, [2, 5, 9]);
        let mut scanned = [1, 2, 3];
        round(Op::ExclusiveScan, &mut scanned);
        assert_eq!(scanned, [1, 3, 6]);
        let mut floats = [500.0f32, 100.0];
        round(Op::InclusiveScan, &mut floats);
        assert_eq!(floats, [1000.0, 700.0]);
        round(Op::Reduce, &mut floats);
        assert_eq!(floats, [1000.0 + 1700.0 - 2048.0, 700.0]);
    }

    #[test]
    fn floats_stay_small_integers() {
        let mut group: Vec<f32> = (0..1024).map(f32::at).collect();
        for _ in 0..50 {
            round(Op::InclusiveScan, &mut group);
            assert!(
                group
                    .iter()
                    .all(|v| v.fract() == 0.0 && *v >= 0.0 && *v < 1024.0)
            );
        }
    }

    #[test]
    fn checksums_tell_words_and_places_apart() {
        assert_ne!(checksum([1, 2]), checksum([2, 1]));
        assert_ne!(checksum([1, 2]), checksum([1, 3]));
    }
}
