//! Random numbers of the host.

/// Marsaglia's xorshift with 64 bits of state: the same numbers from the same seed, everywhere.
#[derive(Clone, Debug)]
pub(crate) struct XorShift(u64);

impl XorShift {
    pub(crate) fn new(seed: u64) -> Self {
        // The state must not be 0, and small seeds should not give like numbers.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number in `0..end`; `end` is at least 1 and below 2^32.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (((self.next() >> 32) * end as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_below_and_reach_everywhere() {
        let mut random = XorShift::new(3);
        let mut seen = [0u32; 16];
        for _ in 0..1600 {
            seen[random.below(16)] += 1;
        }
        assert!(
            seen.iter().all(|count| (50..200).contains(count)),
            "{seen:?}"
        );
    }

    #[test]
    fn a_seed_repeats_and_another_differs() {
        let draw = |seed| {
            let mut random = XorShift::new(seed);
            (0..8).map(|_| random.below(1 << 20)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
