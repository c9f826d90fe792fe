//! What mappings are evaluated on: the host, one unit after the other, or a kernel, for every unit at once.

mod host;
mod kernel;

pub(super) use host::Host;
pub(super) use kernel::Kernel;

use super::lanes::WORDS;

/// Integers of 32 bits and truth values, with what is known of them.
pub(super) trait Machine {
    /// An integer.
    type Number: Copy;
    /// A truth value.
    type Flag: Copy;
    /// What every lane says to a question.
    type Predicate: Clone;

    fn known(&self, value: u32) -> Self::Number;
    /// The number, where it is known while the mapping is evaluated.
    fn constant(&self, number: Self::Number) -> Option<u32>;

    fn add(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    fn sub(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    fn mul(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    /// The quotient; no matter what where the divisor is 0.
    fn div(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    /// The remainder; no matter what where the divisor is 0.
    fn rem(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    fn bitand(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    fn bitxor(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    /// `a << b`, for `b` below 32.
    fn shl(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    /// `a >> b`, for `b` below 32.
    fn shr(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    fn count_ones(&self, a: Self::Number) -> Self::Number;
    fn is_below(&self, a: Self::Number, b: Self::Number) -> Self::Flag;
    fn both(&self, a: Self::Flag, b: Self::Flag) -> Self::Flag;
    fn select(&self, flag: Self::Flag, a: Self::Number, b: Self::Number) -> Self::Number;

    /// `a - b`, or 0 where that is below 0.
    fn saturating_sub(&self, a: Self::Number, b: Self::Number) -> Self::Number {
        if self.constant(b) == Some(0) {
            return a;
        }
        let is_below = self.is_below(a, b);
        self.select(is_below, self.known(0), self.sub(a, b))
    }

    /// This unit's lane in its plane.
    fn lane(&self) -> Self::Number;
    /// The size of planes, where they have one.
    fn plane(&self) -> Option<u32>;
    /// Words of a lane mask that the device's planes reach.
    fn words(&self) -> usize;
    /// What this lane says, and the lanes that say yes, of those in `lanes`.
    fn vote(
        &self,
        predicate: &Self::Predicate,
        lanes: [Self::Number; WORDS],
    ) -> (Self::Flag, [Self::Number; WORDS]);
    /// The lanes of `lanes` that have this unit's number.
    fn matching(&self, number: Self::Number, lanes: [Self::Number; WORDS])
    -> [Self::Number; WORDS];
}
