//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::device::Device;
use crate::error::Result;
use crate::{bench, demo, doc, lint, llvm_names, oracle, pack, setup, test};

/// The chores of girih's workspace.
#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", version)]
pub struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Trains the karate club's graph network and draws `karate.svg`, set-up included.
    ///
    /// What follows is the example's own; `cargo xtask demo -- --help` lists it.
    Demo {
        /// Fetch nothing; name what is missing.
        #[arg(long)]
        offline: bool,
        /// Arguments of the example: `--device`, `--steps`, `--seed`, `--out`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Runs the tests, set-up included, and closes with the counts per device.
    ///
    /// Without `--device`: the host's tests, kernels compiled for CUDA without a GPU, and the device suite on cpu and
    /// vulkan. With it: the device suite alone, on the devices named, each of which has to be there.
    Test(test::Options),
    /// Runs vector files against girih; closes with `N passed, N failed, N skipped`.
    Oracle {
        /// Files of one JSON object a line.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Where to run them; cpu and vulkan, as far as they are there, unless named.
        #[arg(long = "device", value_enum)]
        devices: Vec<Device>,
        /// Fetch nothing; name what is missing.
        #[arg(long)]
        offline: bool,
    },
    /// Times the kernels: criterion on cpu and vulkan, the suite's own benchmarks on cuda.
    Bench {
        /// Where to run; cpu and vulkan unless named.
        #[arg(long = "device", value_enum)]
        devices: Vec<Device>,
        /// Fetch nothing; name what is missing.
        #[arg(long)]
        offline: bool,
        /// Passed on to the benchmark program.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Installs what is missing for builds and tests, and says what is there.
    Setup {
        /// Fetch nothing; name what is missing.
        #[arg(long)]
        offline: bool,
    },
    /// Checks formatting, clippy, documentation and what the repository must not hold.
    Lint {
        /// Fetch nothing; name what is missing.
        #[arg(long)]
        offline: bool,
    },
    /// Builds the documentation of every crate.
    Doc {
        /// Open it in a browser.
        #[arg(long)]
        open: bool,
        /// Fetch nothing; name what is missing.
        #[arg(long)]
        offline: bool,
    },
    /// Packs the suite, the vectors and the peers for an NVIDIA machine that has no toolchain.
    Pack {
        /// Where the archive is written.
        #[arg(long, default_value = "dist")]
        out: PathBuf,
    },
    /// Writes llvm-absent's list of names anew, from the locked llvm-sys.
    LlvmNames {
        /// Write nothing; fail where the list is out of date.
        #[arg(long)]
        check: bool,
    },
}

impl Cli {
    /// Does the chore.
    pub fn run(self) -> Result<()> {
        match self.chore {
            Chore::Demo { offline, arguments } => demo::run(offline, &arguments),
            Chore::Test(options) => test::run(&options),
            Chore::Oracle {
                files,
                devices,
                offline,
            } => oracle::run(&files, &devices, offline),
            Chore::Bench {
                devices,
                offline,
                arguments,
            } => bench::run(&devices, offline, &arguments),
            Chore::Setup { offline } => setup::report(offline),
            Chore::Lint { offline } => lint::run(offline),
            Chore::Doc { open, offline } => doc::run(open, offline),
            Chore::Pack { out } => pack::run(&out),
            Chore::LlvmNames { check } => llvm_names::run(check),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::*;

    fn parse(line: &str) -> Result<Chore, clap::Error> {
        Cli::try_parse_from(line.split(' ')).map(|cli| cli.chore)
    }

    #[test]
    fn the_command_line_is_consistent_and_explains_itself() {
        Cli::command().debug_assert();
        for chore in Cli::command().get_subcommands() {
            assert!(chore.get_about().is_some(), "{}", chore.get_name());
            for argument in chore
                .get_arguments()
                .filter(|argument| argument.get_id() != "help")
            {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    chore.get_name(),
                    argument.get_id()
                );
            }
        }
    }

    #[test]
    fn the_demo_passes_on_what_is_not_its_own() {
        let Ok(Chore::Demo { offline, arguments }) =
            parse("xtask demo --offline --device cpu --seed 3")
        else {
            panic!("not a demo");
        };
        assert!(offline);
        assert_eq!(arguments, ["--device", "cpu", "--seed", "3"]);
    }

    #[test]
    fn tests_take_filters_and_devices() {
        let Ok(Chore::Test(options)) =
            parse("xtask test gather --device cpu views --device wgsl --cases 9")
        else {
            panic!("not a test");
        };
        assert_eq!(options.filters, ["gather", "views"]);
        assert_eq!(options.devices, [Device::Cpu, Device::Wgsl]);
        assert_eq!(options.cases, Some(9));
        assert!(!options.offline);
    }

    #[test]
    fn mistakes_are_refused() {
        let kind = |line: &str| parse(line).unwrap_err().kind();
        assert_eq!(kind("xtask test --device metal"), ErrorKind::InvalidValue);
        assert_eq!(kind("xtask test --cases 0"), ErrorKind::ValueValidation);
        assert_eq!(kind("xtask oracle"), ErrorKind::MissingRequiredArgument);
        assert_eq!(kind("xtask fly"), ErrorKind::InvalidSubcommand);
    }
}
