//! `cargo xtask demo`.

use std::process::Command;

use crate::build_set::BuildSet;
use crate::error::Result;
use crate::process;
use crate::setup::{self, Component};

/// Builds the karate club example and runs it with `arguments`.
pub fn run(offline: bool, arguments: &[String]) -> Result<()> {
    let needed = [Component::Compiler, Component::Llvm, Component::Vulkan];
    let environment = setup::ensure(&needed, offline)?;
    let mut command = Command::new(BuildSet::Main.build("karate", &[])?);
    environment.apply(command.args(arguments));
    process::run(&mut command)
}
