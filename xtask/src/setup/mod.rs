//! What a fresh machine lacks for building and testing girih, and how it gets it.
//!
//! Every chore asks for the components that it needs; a component that is there costs a look and prints nothing.

mod compiler;
pub mod cuda;
mod llvm;
mod packages;
mod python;
mod vulkan;
mod wheels;

#[cfg(test)]
pub use wheels::make_executable;

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

/// Something that a build or a test run needs beside Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// A C++ compiler, for CubeCL's three shims over LLVM.
    Compiler,
    /// LLVM, for the CPU runtime.
    Llvm,
    /// A Vulkan loader and driver.
    Vulkan,
    /// NVRTC, CUDA's headers, ptxas and nvdisasm, for compile checks without a GPU.
    Cuda,
}

impl Component {
    /// Every component.
    pub const ALL: [Self; 4] = [Self::Compiler, Self::Llvm, Self::Vulkan, Self::Cuda];

    /// What it is called in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compiler => "a C++ compiler",
            Self::Llvm => "LLVM for the CPU runtime",
            Self::Vulkan => "a Vulkan adapter",
            Self::Cuda => "CUDA's compilers",
        }
    }

    /// Whether everything works without it; tests then leave a device out and say so.
    fn optional(self) -> bool {
        self == Self::Vulkan
    }

    fn present(self, folders: &Folders) -> bool {
        match self {
            Self::Compiler => compiler::present(),
            Self::Llvm => llvm::present(folders),
            Self::Vulkan => vulkan::present(),
            Self::Cuda => cuda::present(folders),
        }
    }

    fn install(self, folders: &Folders) -> Result<()> {
        match self {
            Self::Compiler => compiler::install(),
            Self::Llvm => llvm::install(folders),
            Self::Vulkan => vulkan::install(),
            Self::Cuda => cuda::install(folders),
        }
    }
}

/// The folders of the user's data directory that set-up writes to.
pub struct Folders {
    data: PathBuf,
}

impl Folders {
    /// `$XDG_DATA_HOME`, else `~/.local/share`: where CubeCL's LLVM bundle is looked for as well.
    pub fn of_user() -> Result<Self> {
        let absolute = |path: &PathBuf| path.is_absolute();
        let data = std::env::var_os("XDG_DATA_HOME")
            .map(PathBuf::from)
            .filter(absolute)
            .or_else(|| std::env::home_dir().map(|home| home.join(".local/share")))
            .filter(absolute)
            .ok_or(Error::NoDataHome)?;
        Ok(Self { data })
    }

    /// girih's own folder.
    fn girih(&self) -> PathBuf {
        self.data.join("girih")
    }

    /// The folder of CubeCL's bundles.
    fn tracel(&self) -> PathBuf {
        self.data.join("tracel")
    }
}

/// Makes the components present, and returns what the programs that use them need in their environment.
///
/// With `offline` nothing is fetched: what is missing is named, in the error where it cannot be done without.
pub fn ensure(components: &[Component], offline: bool) -> Result<Environment> {
    let folders = Folders::of_user()?;
    let missing = |components: &[Component]| -> Vec<Component> {
        let absent = |component: &Component| !component.present(&folders);
        components.iter().copied().filter(absent).collect()
    };
    let wanted = missing(components);
    if offline {
        refuse(&wanted)?;
    } else if !wanted.is_empty() {
        // Two chores that start together set up one after the other.
        let _lock = lock(&folders.girih())?;
        for component in missing(&wanted) {
            install(component, &folders)?;
        }
    }
    Ok(Environment::new(&folders))
}

/// `cargo xtask setup`: like [`ensure`], and says what is there.
pub fn report(offline: bool) -> Result<()> {
    ensure(&Component::ALL, offline)?;
    let folders = Folders::of_user()?;
    for component in Component::ALL {
        let state = match component {
            _ if component.present(&folders) => "present",
            // Only CubeCL's own build script can fetch from its release page; `ensure` found that page reachable.
            Component::Llvm => "left to the build, which downloads it",
            _ => "missing",
        };
        println!("{}: {state}", component.name());
    }
    Ok(())
}

/// The outcome of `--offline` with something missing.
fn refuse(missing: &[Component]) -> Result<()> {
    if missing.iter().any(|component| !component.optional()) {
        return Err(Error::Offline {
            missing: missing.iter().map(|component| component.name()).collect(),
        });
    }
    for component in missing {
        eprintln!(
            "--offline: {} is missing; going on without",
            component.name()
        );
    }
    Ok(())
}

fn install(component: Component, folders: &Folders) -> Result<()> {
    match component.install(folders) {
        Err(error) if component.optional() => {
            eprintln!("{} is missing; going on without: {error}", component.name());
            Ok(())
        }
        other => other,
    }
}

/// An exclusive lock on set-up, held until the file is dropped.
fn lock(folder: &Path) -> Result<File> {
    fs::create_dir_all(folder).map_err(Error::file(folder))?;
    let path = folder.join("setup.lock");
    let file = File::create(&path).map_err(Error::file(&path))?;
    file.lock().map_err(Error::file(&path))?;
    Ok(file)
}

/// Variables for the programs that launch kernels.
#[derive(Clone, Debug)]
pub struct Environment {
    toolkit: PathBuf,
    variables: Vec<(&'static str, OsString)>,
}

impl Environment {
    fn new(folders: &Folders) -> Self {
        let mut variables = Vec::new();
        if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
            // Mesa's drivers complain on every start where it is not set.
            variables.push(("XDG_RUNTIME_DIR", std::env::temp_dir().into_os_string()));
        }
        Self {
            toolkit: cuda::folder(folders),
            variables,
        }
    }

    /// The same for an NVIDIA GPU: with the installed toolkit, unless the machine has one, which fits its driver.
    pub fn on_gpu(mut self) -> Self {
        if !cuda::machine_has_toolkit() {
            let mut libraries = self.toolkit.join("lib").into_os_string();
            if let Some(before) = std::env::var_os("LD_LIBRARY_PATH") {
                libraries.push(":");
                libraries.push(before);
            }
            self.variables
                .push(("CUDA_PATH", self.toolkit.clone().into_os_string()));
            self.variables.push(("LD_LIBRARY_PATH", libraries));
        }
        self
    }

    /// Sets the variables for `command`.
    pub fn apply(&self, command: &mut Command) {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offline_refuses_what_is_needed_and_names_everything_missing() {
        let error = refuse(&[Component::Llvm, Component::Vulkan])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("LLVM for the CPU runtime, a Vulkan adapter"),
            "{error}"
        );
        assert!(refuse(&[Component::Vulkan]).is_ok());
    }

    #[test]
    fn the_lock_is_exclusive() {
        let folder = std::env::temp_dir().join(format!("girih-lock-{}", std::process::id()));
        let held = lock(&folder).unwrap();
        let second = File::create(folder.join("setup.lock")).unwrap();
        assert!(second.try_lock().is_err());
        drop(held);
        assert!(second.try_lock().is_ok());
        fs::remove_dir_all(&folder).unwrap();
    }
}
