//! Counts of tests, and the closing lines they are read from.

use std::fmt;
use std::ops::AddAssign;

/// How many tests, vectors or checks passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Tally {
    /// Tests that ran, whatever came of them.
    pub fn ran(self) -> u64 {
        self.passed + self.failed
    }

    /// Reads libtest's `test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; …`.
    pub fn from_libtest(line: &str) -> Option<Self> {
        let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
        let mut fields = counts.split("; ");
        Some(Self {
            passed: count(fields.next()?, "passed")?,
            failed: count(fields.next()?, "failed")?,
            skipped: count(fields.next()?, "ignored")?,
        })
    }

    /// Reads the plain `5 passed, 0 failed, 1 skipped`.
    pub fn from_closing(line: &str) -> Option<Self> {
        let mut fields = line.split(", ");
        let tally = Self {
            passed: count(fields.next()?, "passed")?,
            failed: count(fields.next()?, "failed")?,
            skipped: count(fields.next()?, "skipped")?,
        };
        fields.next().is_none().then_some(tally)
    }
}

/// `5` of `5 passed`, where the word is the one wanted.
fn count(field: &str, word: &str) -> Option<u64> {
    let (number, found) = field.trim().split_once(' ')?;
    (found == word).then(|| number.parse().ok())?
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: u64, failed: u64, skipped: u64) -> Tally {
        Tally {
            passed,
            failed,
            skipped,
        }
    }

    #[test]
    fn libtest_lines_are_read() {
        let ok = "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 4 filtered out; finished in 0.02s";
        assert_eq!(Tally::from_libtest(ok), Some(tally(12, 0, 3)));
        let red = "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s";
        assert_eq!(Tally::from_libtest(red), Some(tally(1, 2, 0)));
    }

    #[test]
    fn other_lines_are_not() {
        for line in [
            "test layout::sizes ... ok",
            "test result: ok.",
            "test result: ok. many passed; 0 failed; 0 ignored",
            "running 5 tests",
            "",
        ] {
            assert_eq!(Tally::from_libtest(line), None, "{line}");
        }
    }

    #[test]
    fn closing_lines_are_read_back_as_written() {
        let written = tally(7, 1, 2);
        assert_eq!(Tally::from_closing(&written.to_string()), Some(written));
        for line in [
            "7 passed, 1 failed",
            "7 passed, 1 failed, 2 skipped, 3 lost",
            "7 passed; 1 failed; 2 skipped",
            "cpu: 7 passed, 1 failed, 2 skipped",
        ] {
            assert_eq!(Tally::from_closing(line), None, "{line}");
        }
    }

    #[test]
    fn tallies_add_up() {
        let mut sum = tally(1, 2, 3);
        sum += tally(10, 20, 30);
        assert_eq!(sum, tally(11, 22, 33));
        assert_eq!(sum.ran(), 33);
    }
}
