//! What cargo knows about the workspace and its dependencies.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::build_set;
use crate::error::{Error, Result};
use crate::process;

/// `cargo metadata` with `arguments`.
pub fn metadata(arguments: &[&str]) -> Result<Value> {
    let mut command = build_set::cargo();
    command
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(arguments);
    let text = process::capture(&mut command)?;
    serde_json::from_str(&text).map_err(|error| Error::Output {
        command: process::describe(&command),
        reason: error.to_string(),
    })
}

/// The version of a package, and its folder.
pub fn package(metadata: &Value, name: &str) -> Option<(String, PathBuf)> {
    let package = packages(metadata).find(|package| package["name"] == name)?;
    let manifest = Path::new(package["manifest_path"].as_str()?);
    let version = package["version"].as_str()?;
    Some((version.to_owned(), manifest.parent()?.to_owned()))
}

/// The names of the workspace's integration tests but the one called `without`, sorted.
pub fn integration_tests(metadata: &Value, without: &str) -> Vec<String> {
    let mut names: Vec<String> = packages(metadata)
        .flat_map(|package| elements(&package["targets"]))
        .filter(|target| elements(&target["kind"]).any(|kind| kind == "test"))
        .filter_map(|target| target["name"].as_str().map(str::to_owned))
        .filter(|name| name != without)
        .collect();
    names.sort();
    names.dedup();
    names
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    elements(&metadata["packages"])
}

/// The elements of an array; none of anything else.
fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn example() -> Value {
        json!({"packages": [
            {"name": "a", "version": "1.2.3", "manifest_path": "/registry/a/Cargo.toml", "targets": [
                {"name": "a", "kind": ["lib"]},
                {"name": "second", "kind": ["test"]},
            ]},
            {"name": "b", "version": "1.0.0", "manifest_path": "/b/Cargo.toml", "targets": [
                {"name": "device", "kind": ["test"]},
            ]},
            {"name": "c", "version": "1.0.0", "manifest_path": "/c/Cargo.toml", "targets": [
                {"name": "first", "kind": ["test"]},
            ]},
        ]})
    }

    #[test]
    fn a_package_has_a_version_and_a_folder() {
        let expected = ("1.2.3".to_owned(), PathBuf::from("/registry/a"));
        assert_eq!(package(&example(), "a"), Some(expected));
        assert_eq!(package(&example(), "z"), None);
    }

    #[test]
    fn integration_tests_are_listed_but_for_one() {
        assert_eq!(integration_tests(&example(), "device"), ["first", "second"]);
        assert_eq!(integration_tests(&json!({}), "device"), [""; 0]);
    }

    #[test]
    fn this_workspace_has_a_device_suite_to_leave_out() {
        let metadata = metadata(&["--no-deps"]).unwrap();
        let all = integration_tests(&metadata, "");
        assert!(all.iter().any(|name| name == "device"), "{all:?}");
    }
}
