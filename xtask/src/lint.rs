//! `cargo xtask lint`.

use crate::build_set::{self, BuildSet};
use crate::device::Device;
use crate::error::Result;
use crate::{doc, forbidden, llvm_names, metadata, process, setup};

/// Formatting, clippy and documentation without warnings, and the repository's own rules.
pub fn run(offline: bool) -> Result<()> {
    process::run(build_set::cargo().args(["fmt", "--all", "--check"]))?;
    forbidden::check(&build_set::root())?;
    llvm_names::run(true)?;
    setup::ensure(Device::Cpu.components(), offline)?;
    let gated = metadata::gated(&metadata::metadata(&["--no-deps"])?);
    let selections = std::iter::once(BuildSet::Main.cargo("clippy"))
        .chain(gated.iter().map(|gated| gated.cargo("clippy")));
    for mut clippy in selections {
        process::run(clippy.args(["--all-targets", "--", "-D", "warnings"]))?;
    }
    doc::run(false, offline)
}
