//! A Python with pip, the client that wheels are downloaded with.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::packages;
use crate::error::{Error, Result};
use crate::process;

/// A Python interpreter that has pip.
pub struct Python {
    program: PathBuf,
}

impl Python {
    /// The system's python3; where it has no pip, a virtual environment in `folder` that brings its own; where that
    /// cannot be made either, the distribution's pip.
    pub fn with_pip(folder: &Path) -> Result<Self> {
        if !process::succeeds(Command::new("python3").arg("--version")) {
            packages::install("python3", &["python3"])?;
        }
        let system = Self {
            program: PathBuf::from("python3"),
        };
        if system.has_pip() {
            return Ok(system);
        }
        let environment = folder.join("venv");
        let private = Self {
            program: environment.join("bin/python3"),
        };
        if private.has_pip()
            || (process::succeeds(system.module("venv").arg("--clear").arg(&environment))
                && private.has_pip())
        {
            return Ok(private);
        }
        packages::install("python3-pip", &["python3-pip"])?;
        if system.has_pip() {
            Ok(system)
        } else {
            Err(Error::Install {
                package: "python3-pip",
                reason: "python3 has no pip",
            })
        }
    }

    /// The interpreter at `program`, taken as it is.
    #[cfg(test)]
    pub fn at(program: &str) -> Self {
        Self {
            program: PathBuf::from(program),
        }
    }

    /// `python3 -m MODULE`.
    pub fn module(&self, module: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["-m", module]);
        command
    }

    fn has_pip(&self) -> bool {
        process::succeeds(self.module("pip").arg("--version"))
    }
}

/// Whether the system's python3 runs `script` to its end with exit status 0.
pub fn agrees(script: &str) -> bool {
    process::succeeds(Command::new("python3").args(["-c", script]))
}
