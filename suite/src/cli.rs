//! The command line.

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use girih_testkit::{DeviceKind, Rt};
use libtest_mimic::Arguments;

use crate::{bench, explain, litmus, oracle, plot, random, shard::Shard, stress, trials};

/// The device tests, vector files and benchmarks of girih.
#[derive(Debug, Parser)]
#[command(name = "girih-suite", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the tests on every device of this build that the machine has
    Test(Test),
    /// Say which devices this build can drive and this machine has
    Devices,
    /// Answer the questions of vector files
    Oracle(Oracle),
    /// Time kernels, Burn ops and what a call costs the host, on one device, and check what they wrote
    Bench(Bench),
    /// Draw what benchmarks measured: SVG pictures, and a table in Markdown
    Plot(plot::Options),
    /// Say how a gather, and a scatter of its slices, is launched on one device
    Explain(explain::Options),
    /// Play the litmus tests of memory orders on one device, and say which outcomes were seen
    Litmus(litmus::Options),
    /// Put the building blocks of `girih::memory::blocks` under load, and check every update
    Stress(stress::Options),
}

#[derive(Debug, clap::Args)]
struct Test {
    /// Run the tests whose name contains one of these
    filters: Vec<String>,
    /// Only on this device (cpu, vulkan, wgsl or cuda); may be repeated
    #[arg(long = "device", value_name = "DEVICE")]
    devices: Vec<DeviceKind>,
    /// Only the compile checks, which need no device, and those on the devices named
    #[arg(long)]
    offline: bool,
    /// Data sets that each configuration of a random test tries
    #[arg(long, value_name = "N", default_value_t = random::DEFAULT_DATA_SETS)]
    cases: u32,
    /// Name the tests without running them
    #[arg(long)]
    list: bool,
    /// A filter is a whole name
    #[arg(long)]
    exact: bool,
    /// Only one part of them, as 1/8 to 8/8: every eighth
    #[arg(long, value_name = "PART/COUNT")]
    shard: Option<Shard>,
    /// Tests that run at a time
    #[arg(long, value_name = "N")]
    test_threads: Option<usize>,
}

#[derive(Debug, clap::Args)]
struct Oracle {
    /// Files of one JSON object a line
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where the questions are asked; else on the first of cuda, wgsl, vulkan and cpu that is there
    #[arg(long, value_name = "DEVICE")]
    device: Option<DeviceKind>,
}

#[derive(Debug, clap::Args)]
struct Bench {
    /// Time the workloads whose name contains one of these
    filters: Vec<String>,
    /// Where; else on the first of cuda, wgsl, vulkan and cpu that is there
    #[arg(long, value_name = "DEVICE")]
    device: Option<DeviceKind>,
    /// Also write the measurements here, one JSON object a line
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs the program on the process's arguments.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Test(test) => run_tests(&test),
        Command::Devices => list_devices(),
        Command::Oracle(Oracle { files, device }) => oracle::main(&files, device),
        Command::Bench(Bench {
            filters,
            device,
            json,
        }) => bench::main(&filters, device, json),
        Command::Plot(options) => plot::main(&options),
        Command::Explain(options) => explain::main(&options),
        Command::Litmus(options) => litmus::main(&options),
        Command::Stress(options) => stress::main(&options),
    }
}

fn run_tests(test: &Test) -> ExitCode {
    random::set_data_sets(test.cases);
    let everything = test.devices.is_empty() && !test.offline;
    let wanted: Vec<_> = if everything {
        DeviceKind::built().collect()
    } else {
        test.devices.clone()
    };
    let (devices, absent) = trials::devices(wanted);
    for error in &absent {
        eprintln!("{error}");
    }
    // A device asked for by name that is not there has failed its tests, whatever the others say.
    if !everything && !absent.is_empty() {
        return ExitCode::FAILURE;
    }
    let mut trials = trials::device_trials(&devices);
    if everything || test.offline {
        trials.extend(trials::offline_trials());
    }
    let mut arguments = Arguments {
        list: test.list,
        test_threads: test.test_threads,
        ..Arguments::default()
    };
    trials::select(&mut arguments, &trials, &test.filters, test.exact);
    if let Some(shard) = test.shard {
        trials.retain(|trial| !arguments.is_filtered_out(trial));
        trials = shard.of(trials);
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn list_devices() -> ExitCode {
    for kind in DeviceKind::ALL {
        match Rt::open(kind) {
            Ok(_) => println!("{kind} present"),
            Err(error) => println!("{kind} absent: {error}"),
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
