//! A C++ compiler: CubeCL compiles three small shims against LLVM's headers.

use std::process::Command;

use super::packages;
use crate::error::Result;
use crate::process;

/// Whether the compiler that CubeCL's build scripts will call answers.
pub fn present() -> bool {
    let program = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    process::succeeds(Command::new(program).arg("--version"))
}

/// Installs g++ from the distribution.
pub fn install() -> Result<()> {
    packages::install("g++", &["g++"])
}
