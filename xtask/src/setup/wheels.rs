//! Python wheels as archives: downloaded by name and version, checked against a pinned SHA-256, unpacked.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::python::Python;
use crate::error::{Error, Result};
use crate::{process, progress};

/// A file that the package index serves, pinned.
pub struct Wheel {
    pub package: &'static str,
    pub version: &'static str,
    /// Of the file, in hexadecimal.
    pub sha256: &'static str,
    /// Size of the file, for the progress bar.
    pub bytes: u64,
}

impl Wheel {
    fn label(&self) -> String {
        format!("{} {}", self.package, self.version)
    }

    /// The downloaded and checked file in `folder`, which is fetched there where it is not yet.
    fn fetch(&self, python: &Python, folder: &Path) -> Result<PathBuf> {
        let path = folder.join(format!("{}-{}.whl", self.package, self.version));
        if path.is_file() && sha256(&path)? == self.sha256 {
            return Ok(path);
        }
        // A download that was cut off stays in `partial` and does not count.
        let partial = folder.join("partial");
        remove(&partial)?;
        fs::create_dir_all(&partial).map_err(Error::file(&partial))?;
        self.download(python, &partial)?;
        let fetched = only_wheel(&partial)?;
        let actual = sha256(&fetched)?;
        if actual != self.sha256 {
            return Err(Error::Checksum {
                wheel: self.label(),
                pinned: self.sha256,
                actual,
            });
        }
        fs::rename(&fetched, &path).map_err(Error::file(&path))?;
        remove(&partial)?;
        Ok(path)
    }

    /// Runs pip, with a bar that follows the files it writes.
    fn download(&self, python: &Python, folder: &Path) -> Result<()> {
        let mut command = python.module("pip");
        command
            .args(["download", "--quiet", "--no-deps", "--no-cache-dir"])
            .args([
                "--only-binary",
                ":all:",
                "--disable-pip-version-check",
                "--dest",
            ])
            .arg(folder)
            .arg(format!("{}=={}", self.package, self.version))
            .env("TMPDIR", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let bar = progress::download(&format!("downloading {}", self.label()), self.bytes);
        let mut child = process::start(&mut command)?;
        while child.try_wait().map_err(Error::file(folder))?.is_none() {
            bar.set_position(size(folder).min(self.bytes));
            std::thread::sleep(Duration::from_millis(100));
        }
        bar.finish_and_clear();
        let output = child.wait_with_output().map_err(Error::file(folder))?;
        process::check(
            &command,
            output.status,
            &String::from_utf8_lossy(&output.stderr),
        )
    }
}

/// Fetches and unpacks `wheels` into one folder and lets `place` take from it what it wants, called `what`.
///
/// What was downloaded is kept until then, so that a run after one that was cut off fetches the rest alone.
pub fn install(
    what: &'static str,
    wheels: &[Wheel],
    folder: &Path,
    place: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    check_platform(what)?;
    let python = Python::with_pip(folder)?;
    let downloads = folder.join("downloads");
    let files = wheels
        .iter()
        .map(|wheel| wheel.fetch(&python, &downloads))
        .collect::<Result<Vec<_>>>()?;

    let bar = progress::spinner(&format!("installing {what}"));
    let unpacked = downloads.join("unpacked");
    remove(&unpacked)?;
    for file in &files {
        let mut unzip = python.module("zipfile");
        process::capture(unzip.arg("-e").arg(file).arg(&unpacked))?;
    }
    place(&unpacked)?;
    remove(&unpacked)?;
    for file in &files {
        fs::remove_file(file).map_err(Error::file(file))?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// Gives back a program's permission to run, which unpacking loses.
pub fn make_executable(path: &Path) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(Error::file(path))
}

/// Fails where the pinned wheels are not for this machine.
fn check_platform(what: &'static str) -> Result<()> {
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(());
    }
    Err(Error::Platform {
        what,
        os: std::env::consts::OS,
        arch: std::env::consts::ARCH,
    })
}

/// Removes the folder `path` where it exists.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::file(path)(error)),
        _ => Ok(()),
    }
}

fn only_wheel(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).map_err(Error::file(folder))?;
    entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| Error::Output {
            command: "pip download".to_owned(),
            reason: format!("no wheel in {}", folder.display()),
        })
}

/// The SHA-256 of a file, in hexadecimal.
fn sha256(path: &Path) -> Result<String> {
    let mut file = File::open(path).map_err(Error::file(path))?;
    let mut hasher = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block).map_err(Error::file(path))? {
            0 => break,
            read => hasher.update(&block[..read]),
        }
    }
    Ok(hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Bytes of all files under `folder`; what cannot be read counts as nothing.
fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => size(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fresh folder, removed with the value.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("girih-{name}-{}", std::process::id()));
            remove(&path).unwrap();
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// FIPS 180-4's example of one block.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn sha256_is_the_standard_one() {
        let scratch = Scratch::new("sha256");
        let path = scratch.0.join("abc");
        fs::write(&path, "abc").unwrap();
        assert_eq!(sha256(&path).unwrap(), ABC);
    }

    #[test]
    fn a_checked_file_is_not_fetched_again() {
        let scratch = Scratch::new("cached");
        let wheel = Wheel {
            package: "no-such-package",
            version: "0",
            sha256: ABC,
            bytes: 3,
        };
        let path = scratch.0.join("no-such-package-0.whl");
        fs::write(&path, "abc").unwrap();
        // A fetch would fail: there is no such interpreter.
        let nowhere = Python::at("girih-no-such-program");
        assert_eq!(wheel.fetch(&nowhere, &scratch.0).unwrap(), path);
        fs::write(&path, "abd").unwrap();
        assert!(matches!(
            wheel.fetch(&nowhere, &scratch.0),
            Err(Error::Start { .. })
        ));
    }

    #[test]
    fn sizes_are_summed_over_folders() {
        let scratch = Scratch::new("size");
        fs::create_dir(scratch.0.join("inner")).unwrap();
        fs::write(scratch.0.join("a"), "12").unwrap();
        fs::write(scratch.0.join("inner/b"), "345").unwrap();
        assert_eq!(size(&scratch.0), 5);
        assert_eq!(size(&scratch.0.join("missing")), 0);
    }
}
