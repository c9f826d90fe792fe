//! Packages of the distribution, where it is Debian's family and the user may install.

use std::process::Command;

use crate::error::{Error, Result};
use crate::{process, progress};

/// Installs `packages`, or says that a person has to: `what` is named then.
pub fn install(what: &'static str, packages: &[&str]) -> Result<()> {
    if !process::succeeds(Command::new("apt-get").arg("--version")) {
        return Err(Error::Install {
            package: what,
            reason: "this system has no apt-get",
        });
    }
    let root = process::capture(Command::new("id").arg("-u"))?.trim() == "0";
    if !root && !process::succeeds(Command::new("sudo").args(["-n", "true"])) {
        return Err(Error::Install {
            package: what,
            reason: "this user may not",
        });
    }
    let bar = progress::spinner(&format!("installing {}", packages.join(" ")));
    process::capture(apt_get(root).arg("update"))?;
    process::capture(
        apt_get(root)
            .args(["install", "--yes", "--no-install-recommends"])
            .args(packages),
    )?;
    bar.finish_and_clear();
    Ok(())
}

/// apt-get that asks nothing and waits for another one to finish.
fn apt_get(root: bool) -> Command {
    let mut words = vec![
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "--option",
        "DPkg::Lock::Timeout=300",
    ];
    if !root {
        words.splice(0..0, ["sudo", "-n"]);
    }
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}
