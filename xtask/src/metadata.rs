//! What cargo knows about the workspace and its dependencies.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// The names of the integration tests that need no feature, sorted.
pub fn integration_tests(metadata: &Value) -> Vec<String> {
    let mut names: Vec<String> = packages(metadata)
        .flat_map(|package| elements(&package["targets"]))
        .filter(|target| is_kind(target, "test") && !is_gated(target))
        .filter_map(|target| target["name"].as_str().map(str::to_owned))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// A package with programs or tests that need a feature, which a build of the main set passes over.
#[derive(Debug, PartialEq, Eq)]
pub struct Gated {
    pub package: String,
    /// The features that those targets need, separated by commas.
    pub features: String,
    /// Cargo's arguments that select them.
    pub targets: Vec<String>,
}

impl Gated {
    /// `cargo SUBCOMMAND` on the package with those features.
    pub fn cargo(&self, subcommand: &str) -> Command {
        let mut command = build_set::cargo();
        command
            .args([subcommand, "--package", &self.package])
            .args(["--features", &self.features]);
        command
    }
}

/// The packages that have such targets.
pub fn gated(metadata: &Value) -> Vec<Gated> {
    packages(metadata).filter_map(gated_in).collect()
}

fn gated_in(package: &Value) -> Option<Gated> {
    let mut features = BTreeSet::new();
    let mut targets = Vec::new();
    for target in elements(&package["targets"]).filter(|target| is_gated(target)) {
        for kind in ["bin", "test"] {
            if is_kind(target, kind) {
                features.extend(elements(&target["required-features"]).filter_map(Value::as_str));
                targets.push(format!("--{kind}"));
                targets.push(target["name"].as_str()?.to_owned());
            }
        }
    }
    (!targets.is_empty()).then(|| Gated {
        package: package["name"].as_str().unwrap_or_default().to_owned(),
        features: Vec::from_iter(features).join(","),
        targets,
    })
}

fn is_gated(target: &Value) -> bool {
    elements(&target["required-features"]).next().is_some()
}

fn is_kind(target: &Value, kind: &str) -> bool {
    elements(&target["kind"]).any(|found| found == kind)
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
                {"name": "draw", "kind": ["bin"], "required-features": ["cli"]},
                {"name": "text", "kind": ["test"], "required-features": ["serde", "cli"]},
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
    fn integration_tests_are_listed_but_for_those_that_need_a_feature() {
        assert_eq!(integration_tests(&example()), ["device", "first", "second"]);
        assert_eq!(integration_tests(&json!({})), [""; 0]);
    }

    #[test]
    fn those_that_need_a_feature_are_listed_with_it() {
        let expected = Gated {
            package: "b".to_owned(),
            features: "cli,serde".to_owned(),
            targets: ["--bin", "draw", "--test", "text"]
                .map(str::to_owned)
                .to_vec(),
        };
        assert_eq!(gated(&example()), [expected]);
    }

    #[test]
    fn this_workspace_has_a_device_suite() {
        let tests = integration_tests(&metadata(&["--no-deps"]).unwrap());
        assert!(tests.iter().any(|name| name == "device"), "{tests:?}");
    }
}
