//! `cargo xtask test`.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::process::Command;
use std::thread;

use clap::Args;

use crate::build_set::BuildSet;
use crate::device::Device;
use crate::error::Result;
use crate::report::Report;
use crate::setup::Environment;
use crate::suite::{Choice, Suite};
use crate::tally::Tally;
use crate::{metadata, process};

/// The integration test of girih-suite that runs all of it under `cargo test`; here each device has a run of its own.
const DEVICE_SUITE: &str = "device";

/// What is tested, where.
#[derive(Debug, Args)]
pub struct Options {
    /// Run only the tests whose name holds one of these.
    pub filters: Vec<String>,
    /// Where the device suite runs; may be given several times.
    #[arg(long = "device", value_enum)]
    pub devices: Vec<Device>,
    /// Fetch nothing; name what is missing.
    #[arg(long)]
    pub offline: bool,
    /// Random cases of each property, and random data sets of each device test.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub cases: Option<u32>,
    /// Processes that share the device suite's tests; by default as many as the machine has cores, 4 at most, and one on
    /// a GPU, whose memory they would share as well
    #[arg(long, value_name = "N")]
    pub processes: Option<NonZeroUsize>,
}

/// The most processes that share a suite where nobody says how many: each may hold large tensors in memory.
const MOST_PROCESSES: usize = 4;

/// Sets up, builds, runs and reports.
pub fn run(options: &Options) -> Result<()> {
    let choice = Choice::new(&options.devices);
    let environment = choice.set_up(options.offline)?;
    let mut report = Report::default();
    if !choice.is_named() {
        report.ran("host", host(options, &environment)?);
        let suite = Suite::build(Device::Cpu, &environment)?;
        report.ran("offline", with_suite(&suite, &["--offline"], options)?);
    }
    for device in Device::ALL {
        let name = device.name();
        if !choice.devices().any(|chosen| chosen == device) {
            let reason = device.absent_at_sight().map_or_else(
                || format!("not asked for: --device {name}"),
                |reason| format!("absent: {reason}"),
            );
            report.left(name, reason);
            continue;
        }
        match Suite::find(device, &environment)? {
            Ok(suite) => {
                let tally = with_suite(&suite, &["--device", name], options)?;
                report.ran(name, tally);
            }
            Err(reason) => {
                choice.allow_absence(device, &reason)?;
                report.left(name, format!("absent: {reason}"));
            }
        }
    }
    report.close(&match options.filters.as_slice() {
        [] => "no device is there".to_owned(),
        filters => format!("nothing matches `{}`", filters.join("` or `")),
    })
}

/// Every crate's unit, property, compile-fail and documentation tests, the device suite left out.
fn host(options: &Options, environment: &Environment) -> Result<Tally> {
    let metadata = metadata::metadata(&["--no-deps"])?;
    let mut targets = BuildSet::Main.cargo("test");
    targets.args(["--lib", "--bins", "--examples"]);
    for name in metadata::integration_tests(&metadata) {
        if name != DEVICE_SUITE {
            targets.args(["--test", &name]);
        }
    }
    let mut documentation = BuildSet::Main.cargo("test");
    documentation.arg("--doc");
    let mut commands = vec![targets, documentation];
    for gated in metadata::gated(&metadata) {
        let mut command = gated.cargo("test");
        command.args(gated.targets);
        commands.push(command);
    }

    let mut tally = Tally::default();
    for mut command in commands {
        command
            .args(["--no-fail-fast", "--"])
            .args(&options.filters);
        environment.apply(&mut command);
        if let Some(cases) = options.cases {
            command.env("PROPTEST_CASES", cases.to_string());
        }
        tally += count(&mut command)?;
    }
    Ok(tally)
}

/// The suite's tests that `selection` names: those of a device, or the compile checks.
///
/// A process compiles one kernel at a time, so that several of them, each with every so-manieth test, use the cores.
fn with_suite(suite: &Suite, selection: &[&str], options: &Options) -> Result<Tally> {
    let processes = options
        .processes
        .map_or_else(|| suite.processes(MOST_PROCESSES), NonZeroUsize::get);
    let part = |number: usize| {
        let mut command = suite.command("test");
        command.args(&options.filters).args(selection);
        command.args(["--shard", &format!("{number}/{processes}")]);
        if let Some(cases) = options.cases {
            command.args(["--cases", &cases.to_string()]);
        }
        count(&mut command)
    };
    together(processes, part)
}

/// The sum of what `part` counts for each of 1 to `parts`, all of them at the same time.
fn together(parts: usize, part: impl Fn(usize) -> Result<Tally> + Sync) -> Result<Tally> {
    thread::scope(|scope| {
        let part = &part;
        let running: Vec<_> = (1..=parts)
            .map(|number| scope.spawn(move || part(number)))
            .collect();
        let mut sum = Tally::default();
        for thread in running {
            sum += thread.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        }
        Ok(sum)
    })
}

/// Runs a test program, shows its output and counts its tests; a program that breaks off counts as a failed test.
fn count(command: &mut Command) -> Result<Tally> {
    let mut tally = Tally::default();
    let status = process::watch(command, |line| {
        println!("{line}");
        if let Some(counts) = Tally::from_libtest(line) {
            tally += counts;
        }
    })?;
    if !status.success() && tally.failed == 0 {
        eprintln!("`{}` broke off ({status})", process::describe(command));
        tally.failed = 1;
    }
    Ok(tally)
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
    fn results_of_several_binaries_add_up() {
        let script = "echo 'test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured'
            echo 'test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured'; exit 101";
        let expected = Tally {
            passed: 5,
            failed: 1,
            skipped: 1,
        };
        assert_eq!(count(&mut shell(script)).unwrap(), expected);
    }

    #[test]
    fn parts_that_run_together_add_up() {
        let part = |number: usize| {
            let script =
                format!("echo 'test result: ok. {number} passed; 0 failed; 1 ignored; 0 measured'");
            count(&mut shell(&script))
        };
        let expected = Tally {
            passed: 6,
            failed: 0,
            skipped: 3,
        };
        assert_eq!(together(3, part).unwrap(), expected);
    }

    #[test]
    fn a_program_that_breaks_off_is_a_failure() {
        let script = "echo 'test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured'; exit 101";
        assert_eq!(count(&mut shell(script)).unwrap().failed, 1);
        assert_eq!(count(&mut shell("kill -9 $$")).unwrap().failed, 1);
    }
}
