//! Relations on a few events, as matrices of bits.

/// Which of at most 32 events are related to which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation(Vec<u32>);

impl Relation {
    /// The relation on `count` events that `holds` says.
    ///
    /// # Panics
    /// If there are more than 32.
    pub fn new(count: usize, holds: impl Fn(usize, usize) -> bool) -> Self {
        assert!(
            count <= u32::BITS as usize,
            "{count} events; up to 32 are allowed"
        );
        let row = |a| (0..count).fold(0, |row, b| row | u32::from(holds(a, b)) << b);
        Self((0..count).map(row).collect())
    }

    fn holds(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 == 1
    }

    fn rows(&self, other: &Self, combine: impl Fn(u32, u32) -> u32) -> Self {
        let pairs = self.0.iter().zip(&other.0);
        Self(pairs.map(|(&a, &b)| combine(a, b)).collect())
    }

    /// Where one of the two holds.
    pub fn or(&self, other: &Self) -> Self {
        self.rows(other, |a, b| a | b)
    }

    /// Where both hold.
    pub fn and(&self, other: &Self) -> Self {
        self.rows(other, |a, b| a & b)
    }

    /// Where this holds and the other does not.
    pub fn without(&self, other: &Self) -> Self {
        self.rows(other, |a, b| a & !b)
    }

    /// From `a` to `c` where this leads from `a` to some `b`, and the other from there to `c`.
    pub fn then(&self, other: &Self) -> Self {
        let reached = |row: &u32| {
            let through = (0..other.0.len()).filter(|b| row >> b & 1 == 1);
            through.fold(0, |reached, b| reached | other.0[b])
        };
        Self(self.0.iter().map(reached).collect())
    }

    /// From `b` to `a` where this leads from `a` to `b`.
    pub fn inverse(&self) -> Self {
        Self::new(self.0.len(), |a, b| self.holds(b, a))
    }

    /// With every event related to itself.
    pub fn or_itself(&self) -> Self {
        Self::new(self.0.len(), |a, b| a == b || self.holds(a, b))
    }

    /// With what is reached in any number of steps.
    pub fn closed(&self) -> Self {
        let mut closed = self.clone();
        loop {
            let further = closed.or(&closed.then(&closed));
            if further == closed {
                return closed;
            }
            closed = further;
        }
    }

    /// Whether it relates nothing to itself.
    pub fn is_irreflexive(&self) -> bool {
        (0..self.0.len()).all(|at| !self.holds(at, at))
    }

    /// Whether it relates nothing.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&row| row == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 leads to 1, 1 to 2, 2 to 3.
    fn chain() -> Relation {
        Relation::new(4, |a, b| a + 1 == b)
    }

    #[test]
    fn steps_compose() {
        assert_eq!(chain().then(&chain()), Relation::new(4, |a, b| a + 2 == b));
        assert_eq!(chain().closed(), Relation::new(4, |a, b| a < b));
        assert_eq!(chain().inverse(), Relation::new(4, |a, b| b + 1 == a));
        assert_eq!(chain().or_itself().and(&chain()), chain());
    }

    #[test]
    fn a_circle_reaches_itself() {
        assert!(chain().closed().is_irreflexive());
        let circle = Relation::new(4, |a, b| (a + 1) % 4 == b);
        assert!(circle.is_irreflexive() && !circle.closed().is_irreflexive());
        assert!(circle.without(&circle).is_empty() && !circle.is_empty());
    }
}
