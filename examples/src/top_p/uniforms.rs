//! Numbers to draw with.

/// Numbers from 0 to before 1 that look random, the same for a seed (SplitMix64).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uniforms {
    state: u64,
}

impl Uniforms {
    /// Those of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }
}

impl Iterator for Uniforms {
    type Item = f32;

    fn next(&mut self) -> Option<f32> {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // 24 bits, as many as an f32 has.
        let bits = (mixed ^ (mixed >> 31)) >> 40;
        Some(bits as f32 / (1 << 24) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn are_spread_over_the_range() {
        let drawn: Vec<f32> = Uniforms::new(3).take(10_000).collect();
        assert!(drawn.iter().all(|number| (0.0..1.0).contains(number)));
        let mean = drawn.iter().sum::<f32>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        assert_ne!(Uniforms::new(4).next(), Uniforms::new(3).next());
    }
}
