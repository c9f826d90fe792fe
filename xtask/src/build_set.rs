//! The three builds of the workspace, each with its own features and target directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::process;

/// A selection of packages and features that is always built the same way.
///
/// Cargo unifies features over what one command selects, so each set has a single selection: the demo, the tests and
/// clippy then share every artefact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildSet {
    /// CPU, Vulkan and kernels compiled for CUDA without a GPU: the whole workspace.
    Main,
    /// WGSL: the suite's tests of views and kernels, without Burn.
    Wgsl,
    /// An NVIDIA GPU through NVRTC, without LLVM: the suite alone, optimised.
    Cuda,
}

impl BuildSet {
    /// The packages and features of this set, as cargo's arguments.
    pub fn selection(self) -> &'static [&'static str] {
        match self {
            Self::Main => &["--workspace", "--features", "cpu,vulkan,offline"],
            Self::Wgsl => &[
                "--package",
                "girih-suite",
                "--no-default-features",
                "--features",
                "wgpu",
            ],
            Self::Cuda => &[
                "--package",
                "girih-suite",
                "--release",
                "--features",
                "cuda",
            ],
        }
    }

    /// The folder of the target directory that the set has to itself.
    fn subfolder(self) -> Option<&'static str> {
        match self {
            Self::Main => None,
            Self::Wgsl => Some("wgsl"),
            Self::Cuda => Some("cuda"),
        }
    }

    /// `cargo SUBCOMMAND` on this set.
    pub fn cargo(self, subcommand: &str) -> Command {
        let mut command = cargo();
        command.arg(subcommand).args(self.selection());
        if let Some(folder) = self.subfolder() {
            command.env("CARGO_TARGET_DIR", target_dir().join(folder));
        }
        if self == Self::Cuda {
            // CubeCL's build scripts then leave LLVM out, and the crate llvm-absent stands in at the link.
            command.env("DOCS_RS", "1");
        }
        command
    }

    /// Builds the programs that `targets` select (`--bin NAME`, `--example NAME`) and returns the one called `name`.
    pub fn build(self, name: &str, targets: &[&str]) -> Result<PathBuf> {
        let mut command = self.cargo("build");
        command.args(targets).args([
            // Examples bring the development dependencies' features, which the tests have as well.
            "--examples",
            "--message-format",
            "json-render-diagnostics",
        ]);
        let output = command
            .stderr(Stdio::inherit())
            .stdout(Stdio::piped())
            .spawn()
            .and_then(std::process::Child::wait_with_output)
            .map_err(|source| Error::Start {
                command: process::describe(&command),
                source,
            })?;
        process::check(&command, output.status, "")?;
        executable(&String::from_utf8_lossy(&output.stdout), name).ok_or_else(|| Error::NoProgram {
            name: name.to_owned(),
            command: process::describe(&command),
        })
    }

    /// Builds the device suite.
    pub fn suite(self) -> Result<PathBuf> {
        self.build("girih-suite", &["--bin", "girih-suite"])
    }
}

/// Cargo, run at the workspace's root as a person would.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        if describes_xtask(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether `cargo run` sets the variable to something about xtask. Build scripts that watch such variables (ring's does)
/// would run again, and all that stands on them be built anew, whenever `cargo xtask` follows a plain `cargo build`.
fn describes_xtask(variable: &str) -> bool {
    [
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_BIN_",
        "CARGO_CRATE_",
    ]
    .iter()
    .any(|prefix| variable.starts_with(prefix))
        || variable == "OUT_DIR"
}

/// The workspace's root.
pub fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .unwrap_or_else(|| OsString::from(env!("CARGO_MANIFEST_DIR")));
    let package = Path::new(&package);
    package.parent().unwrap_or(package).to_owned()
}

/// Where cargo puts the main set's artefacts.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// The executable called `name` in cargo's JSON messages.
fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == name && message["profile"]["test"] == false)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_among_cargo_messages() {
        let messages = r#"
{"reason":"compiler-artifact","target":{"name":"girih-suite"},"profile":{"test":true},"executable":"/t/deps/suite-1"}
{"reason":"compiler-artifact","target":{"name":"girih-suite"},"profile":{"test":false},"executable":"/t/girih-suite"}
{"reason":"compiler-artifact","target":{"name":"girih"},"profile":{"test":false},"executable":null}
{"reason":"build-finished","success":true}
"#;
        assert_eq!(
            executable(messages, "girih-suite"),
            Some(PathBuf::from("/t/girih-suite"))
        );
        assert_eq!(executable(messages, "karate"), None);
    }

    #[test]
    fn only_the_set_without_llvm_hides_it() {
        for (set, hidden) in [
            (BuildSet::Main, false),
            (BuildSet::Wgsl, false),
            (BuildSet::Cuda, true),
        ] {
            let command = set.cargo("build");
            assert_eq!(
                command.get_envs().any(|(name, _)| name == "DOCS_RS"),
                hidden,
                "{set:?}"
            );
        }
    }

    #[test]
    fn cargo_is_not_told_about_xtask() {
        // `cargo test` runs this with the same variables as `cargo run`.
        let command = cargo();
        let removed = |name: &str| {
            command
                .get_envs()
                .any(|(variable, value)| variable == name && value.is_none())
        };
        assert!(removed("CARGO_MANIFEST_DIR") && removed("CARGO_PKG_NAME"));
        assert!(!removed("CARGO_HOME") && !removed("PATH"));
        assert!(!describes_xtask("CARGO_TARGET_DIR") && !describes_xtask("CARGO_BUILD_JOBS"));
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.lock").is_file());
    }
}
