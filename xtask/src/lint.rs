//! `cargo xtask lint`.

use crate::build_set::{self, BuildSet};
use crate::device::Device;
use crate::error::Result;
use crate::{doc, forbidden, llvm_names, process, setup};

/// Formatting, clippy and documentation without warnings, and the repository's own rules.
pub fn run(offline: bool) -> Result<()> {
    process::run(build_set::cargo().args(["fmt", "--all", "--check"]))?;
    forbidden::check(&build_set::root())?;
    llvm_names::run(true)?;
    setup::ensure(Device::Cpu.components(), offline)?;
    let mut clippy = BuildSet::Main.cargo("clippy");
    process::run(clippy.args(["--all-targets", "--", "-D", "warnings"]))?;
    doc::run(false, offline)
}
