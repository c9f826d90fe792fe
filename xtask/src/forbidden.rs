//! Text that no file of the repository may hold.

use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::process;

/// Hosts of package registries, and home folders of one machine; written so that no pattern matches itself.
const PATTERNS: [&str; 5] = [
    "crates[.]io",
    "pypi[.]org",
    "pythonhosted[.]org",
    "deb[.]debian[.]org",
    "(^|[^[:alnum:]._-])/(root|work|home)/[[:alnum:]]",
];

/// Files that are not looked at: written by cargo, drawn, or data.
const EXCEPT: [&str; 3] = [":!*.lock", ":!*.svg", ":!*.jsonl"];

/// Fails where a tracked file of the checkout at `root` matches, and names the lines.
pub fn check(root: &Path) -> Result<()> {
    let mut command = Command::new("git");
    command
        .current_dir(root)
        .args(["grep", "--line-number", "-I", "--extended-regexp"])
        .args(PATTERNS.iter().flat_map(|pattern| ["-e", pattern]))
        .args(["--", "."])
        .args(EXCEPT);
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn hosts_and_home_folders_are_found() {
        let root = std::env::temp_dir().join(format!("girih-forbidden-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let git = |arguments: &[&str]| {
            process::capture(Command::new("git").current_dir(&root).args(arguments)).unwrap()
        };
        git(&["init", "--quiet"]);
        // Put together here, so that this file passes.
        let lines = [
            ["see pypi.", "org"].concat(),
            ["/ho", "me/someone/x"].concat(),
            "the path of https://example.org/home/page is fine".to_owned(),
        ];
        fs::write(root.join("page.md"), lines.join("\n")).unwrap();
        git(&["add", "page.md"]);
        let error = check(&root).unwrap_err().to_string();
        assert!(
            error.contains("page.md:1:") && error.contains("page.md:2:"),
            "{error}"
        );
        assert!(!error.contains("page.md:3:"), "{error}");
        fs::remove_dir_all(&root).unwrap();
    }
}
