//! `cargo xtask oracle`.

use std::path::PathBuf;
use std::process::Command;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::process;
use crate::report::verdict;
use crate::suite::{Choice, Suite};
use crate::tally::Tally;

/// Runs the vector files on each device, and sums up.
pub fn run(files: &[PathBuf], named: &[Device], offline: bool) -> Result<()> {
    let choice = Choice::new(named);
    let environment = choice.set_up(offline)?;
    let mut tallies = Vec::new();
    for device in choice.devices() {
        match Suite::find(device, &environment)? {
            Ok(suite) => {
                println!("{device}:");
                let mut command = suite.command("oracle");
                command.args(files).args(["--device", device.name()]);
                tallies.push(count(&mut command)?);
            }
            Err(reason) => {
                choice.allow_absence(device, &reason)?;
                println!("{device}: absent: {reason}");
            }
        }
    }
    let mut total = Tally::default();
    for tally in &tallies {
        total += *tally;
    }
    if tallies.len() > 1 {
        println!("all devices:\n{total}");
    }
    verdict(total, "no vector ran")
}

/// Runs the suite on vectors, shows its output and reads its closing line.
fn count(command: &mut Command) -> Result<Tally> {
    let mut closing = None;
    let status = process::watch(command, |line| {
        println!("{line}");
        closing = Tally::from_closing(line).or(closing);
    })?;
    match closing {
        Some(tally) if status.success() || tally.failed > 0 => Ok(tally),
        _ => Err(Error::Output {
            command: process::describe(command),
            reason: format!("no closing line that fits its end ({status})"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_last_closing_line_counts() {
        let script =
            "echo '1 passed, 0 failed, 0 skipped'; echo '2 passed, 1 failed, 3 skipped'; exit 1";
        let expected = Tally {
            passed: 2,
            failed: 1,
            skipped: 3,
        };
        assert_eq!(count(&mut shell(script)).unwrap(), expected);
    }

    #[test]
    fn a_run_that_breaks_off_is_an_error() {
        assert!(count(&mut shell("echo '2 passed, 0 failed, 0 skipped'; exit 1")).is_err());
        assert!(count(&mut shell("true")).is_err());
    }
}
