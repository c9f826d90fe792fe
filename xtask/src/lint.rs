//! `cargo xtask lint`.

use std::process::Command;

use crate::build_set::{self, BuildSet};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::{doc, llvm_names, process, setup};

/// Hosts of package registries, and folders of one machine: text that no file may hold. Written as patterns that do
/// not match themselves.
const FORBIDDEN: [&str; 6] = [
    r"crates[.]io",
    r"(^|[^a-z])py[p]i[.]org",
    r"pythonhosted[.]org",
    r"deb[.]debian[.]org",
    r"(^|[^[:alnum:]._-])/(root|work|home)/[[:alnum:]]",
    r"/tmp/[b]ash_jobs",
];

/// Formatting, clippy and documentation without warnings, and the repository's own rules.
pub fn run(offline: bool) -> Result<()> {
    process::run(build_set::cargo().args(["fmt", "--all", "--check"]))?;
    text()?;
    llvm_names::run(true)?;
    setup::ensure(Device::Cpu.components(), offline)?;
    let mut clippy = BuildSet::Main.cargo("clippy");
    process::run(clippy.args(["--all-targets", "--", "-D", "warnings"]))?;
    doc::run(false, offline)
}

/// No tracked file but the lock file holds forbidden text.
fn text() -> Result<()> {
    let mut command = Command::new("git");
    command.current_dir(build_set::root()).args([
        "grep",
        "--line-number",
        "-I",
        "--extended-regexp",
    ]);
    for pattern in FORBIDDEN {
        command.args(["-e", pattern]);
    }
    command.args(["--", ".", ":!*.lock", ":!*.svg", ":!*.jsonl"]);
    let output = command.output().map_err(|source| Error::Start {
        command: process::describe(&command),
        source,
    })?;
    match output.status.code() {
        // git grep ends with 1 where nothing matches.
        Some(1) => Ok(()),
        Some(0) => Err(Error::ForbiddenText {
            found: String::from_utf8_lossy(&output.stdout).into_owned(),
        }),
        _ => process::check(
            &command,
            output.status,
            &String::from_utf8_lossy(&output.stderr),
        ),
    }
}
