//! Every chore of the workspace: set-up, demo, tests, vectors, benchmarks, documentation, lints, packing.
//!
//! Run it as `cargo xtask CHORE`; `cargo xtask --help` lists the chores.

mod bench;
mod build_set;
mod cli;
mod demo;
mod device;
mod doc;
mod error;
mod forbidden;
mod lint;
mod llvm_names;
mod metadata;
mod oracle;
mod pack;
mod process;
mod progress;
mod report;
mod setup;
mod suite;
mod tally;
mod test;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
