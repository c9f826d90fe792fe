//! `girih-suite`: the device tests, vector files and benchmarks of girih as one program.

use std::process::ExitCode;

fn main() -> ExitCode {
    girih_suite::cli::main()
}
