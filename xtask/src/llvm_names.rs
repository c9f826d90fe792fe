//! `cargo xtask llvm-names`: the list of functions that the crate llvm-absent stands in for.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::build_set;
use crate::error::{Error, Result};
use crate::metadata;

/// The list, below the workspace's root.
const LIST: &str = "crates/llvm-absent/src/names.rs";

/// Longest line of the list.
const WIDTH: usize = 100;

/// Writes the list, or with `check` compares it.
pub fn run(check: bool) -> Result<()> {
    let path = build_set::root().join(LIST);
    let metadata = metadata::metadata(&["--all-features"])?;
    let (version, folder) =
        metadata::package(&metadata, "llvm-sys").ok_or_else(|| Error::Output {
            command: "cargo metadata".to_owned(),
            reason: "no package llvm-sys".to_owned(),
        })?;
    let list = render(&version, &names_under(&folder.join("src"))?);
    if !check {
        return fs::write(&path, list).map_err(Error::file(&path));
    }
    if fs::read_to_string(&path).map_err(Error::file(&path))? == list {
        Ok(())
    } else {
        Err(Error::StaleNames { path })
    }
}

/// The functions declared in the Rust files under `folder`.
fn names_under(folder: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(Error::file(folder))? {
        let path = entry.map_err(Error::file(folder))?.path();
        if path.is_dir() {
            names.append(&mut names_under(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).map_err(Error::file(&path))?;
            names.extend(source.lines().filter_map(declared).map(str::to_owned));
        }
    }
    Ok(names)
}

/// The name in a line such as `pub fn LLVMAddFunction(`.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start().strip_prefix("pub ")?;
    let line = line.strip_prefix("unsafe ").unwrap_or(line);
    let name = line.strip_prefix("fn ")?.split_once('(')?.0;
    name.starts_with("LLVM").then_some(name)
}

/// The Rust file that hands every name to the macro `absent`.
fn render(version: &str, names: &BTreeSet<String>) -> String {
    let mut text = format!(
        "// The functions that llvm-sys {version} declares. Written by `cargo xtask llvm-names`.\nabsent! {{\n"
    );
    let mut line = String::from("   ");
    for name in names {
        if line.len() + 1 + name.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line.truncate(3);
        }
        line.push(' ');
        line.push_str(name);
    }
    text.push_str(&line);
    text.push_str("\n}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_recognised() {
        assert_eq!(declared("    pub fn LLVMAddAlias2("), Some("LLVMAddAlias2"));
        assert_eq!(declared("pub unsafe fn LLVMX(a: i32) {"), Some("LLVMX"));
        assert_eq!(declared("    pub fn other("), None);
        assert_eq!(declared("// pub fn LLVMX("), None);
        assert_eq!(declared("fn LLVMX("), None);
    }

    #[test]
    fn long_lists_are_wrapped() {
        let names: BTreeSet<String> = (10..30).map(|i| format!("LLVMFunction{i}")).collect();
        let text = render("1.2.3", &names);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.lines().count() > 4, "{text}");
        let words: Vec<&str> = text
            .split_whitespace()
            .filter(|word| word.starts_with("LLVMF"))
            .collect();
        assert_eq!(words, names.iter().map(String::as_str).collect::<Vec<_>>());
    }
}
