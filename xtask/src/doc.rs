//! `cargo xtask doc`.

use crate::build_set::BuildSet;
use crate::device::Device;
use crate::error::Result;
use crate::{process, setup};

/// Documents every crate of the workspace; a warning is an error.
pub fn run(open: bool, offline: bool) -> Result<()> {
    // Documentation runs the same build scripts as a build.
    setup::ensure(Device::Cpu.components(), offline)?;
    let mut command = BuildSet::Main.cargo("doc");
    command.arg("--no-deps").env("RUSTDOCFLAGS", "-D warnings");
    if open {
        command.arg("--open");
    }
    process::run(&mut command)
}
