//! The table at the end of a test run.

use std::fmt;

use crate::error::{Error, Result};
use crate::tally::Tally;

/// What became of one part of the run.
#[derive(Clone, Debug)]
enum Outcome {
    Ran(Tally),
    Left(String),
}

/// The parts of a run, in order: the host's tests, the compile checks and each device.
#[derive(Clone, Debug, Default)]
pub struct Report {
    parts: Vec<(String, Outcome)>,
}

impl Report {
    /// Adds a part that ran.
    pub fn ran(&mut self, part: &str, tally: Tally) {
        self.parts.push((part.to_owned(), Outcome::Ran(tally)));
    }

    /// Adds a part that did not run, and why.
    pub fn left(&mut self, part: &str, reason: impl Into<String>) {
        self.parts
            .push((part.to_owned(), Outcome::Left(reason.into())));
    }

    /// The sum over the parts that ran.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for (_, outcome) in &self.parts {
            if let Outcome::Ran(tally) = outcome {
                total += *tally;
            }
        }
        total
    }

    /// Prints the table, and fails where a test failed or none ran.
    pub fn close(&self, without_tests: &str) -> Result<()> {
        println!("\n{self}");
        verdict(self.total(), without_tests)
    }
}

/// An error where something failed, or where nothing ran.
pub fn verdict(total: Tally, without_tests: &str) -> Result<()> {
    if total.failed > 0 {
        return Err(Error::Failed {
            failed: total.failed,
        });
    }
    if total.ran() == 0 {
        return Err(Error::NoTestRan {
            reason: without_tests.to_owned(),
        });
    }
    Ok(())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<8}{:>8}{:>8}{:>8}", "", "passed", "failed", "skipped")?;
        for (part, outcome) in &self.parts {
            match outcome {
                Outcome::Ran(tally) => writeln!(
                    f,
                    "{part:<8}{:>8}{:>8}{:>8}",
                    tally.passed, tally.failed, tally.skipped
                )?,
                Outcome::Left(reason) => writeln!(f, "{part:<8}  {reason}")?,
            }
        }
        write!(f, "{}", self.total())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREEN: Tally = Tally {
        passed: 10,
        failed: 0,
        skipped: 1,
    };
    const RED: Tally = Tally {
        passed: 9,
        failed: 1,
        skipped: 0,
    };

    #[test]
    fn the_table_closes_with_the_plain_sum() {
        let mut report = Report::default();
        report.ran("host", GREEN);
        report.ran("cpu", RED);
        report.left("cuda", "absent: no NVIDIA driver answers");
        let expected = "          passed  failed skipped
host          10       0       1
cpu            9       1       0
cuda      absent: no NVIDIA driver answers
19 passed, 1 failed, 1 skipped";
        assert_eq!(report.to_string(), expected);
        assert_eq!(
            report
                .to_string()
                .lines()
                .last()
                .and_then(Tally::from_closing),
            Some(report.total())
        );
    }

    #[test]
    fn one_failure_anywhere_is_an_error() {
        let mut report = Report::default();
        report.ran("host", GREEN);
        assert!(report.close("").is_ok());
        report.ran("cpu", RED);
        assert!(matches!(report.close(""), Err(Error::Failed { failed: 1 })));
    }

    #[test]
    fn a_run_without_a_test_is_an_error() {
        let mut report = Report::default();
        report.left("cpu", "absent");
        let error = report.close("nothing matches `x`").unwrap_err();
        assert_eq!(error.to_string(), "no test ran: nothing matches `x`");
        let skipped = Tally {
            skipped: 3,
            ..Tally::default()
        };
        report.ran("host", skipped);
        assert!(matches!(report.close(""), Err(Error::NoTestRan { .. })));
    }
}
