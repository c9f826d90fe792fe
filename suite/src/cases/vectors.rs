//! Vectors of views, one of each kind; `girih-suite oracle` asks them all.

use std::collections::BTreeSet;

use girih_testkit::{
    Rt, cases,
    vectors::{Report, run_lines},
};
use serde_json::Value;

cases! {
    views_of_each_kind,
}

const VIEWS: &str = include_str!("../../../crates/girih-testkit/vectors/views.jsonl");

/// The first vector of each operation, rank and gather dimension.
fn one_of_each_kind() -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    let kind = |line: &str| {
        let vector: Value = serde_json::from_str(line).expect("a vector");
        let rank = vector["tile_shape"].as_array().map(Vec::len);
        (
            vector["op"].to_string(),
            rank,
            vector["gather_dim"].as_u64(),
        )
    };
    VIEWS
        .lines()
        .filter(|line| seen.insert(kind(line)))
        .collect()
}

fn views_of_each_kind(rt: &Rt) -> Result<(), String> {
    let lines = one_of_each_kind();
    let Report {
        passed,
        failed,
        skipped,
    } = run_lines(&lines.join("\n"), Some(rt))
        .map_err(|(line, reason)| format!("{line}: {reason}"))?;
    match failed.first() {
        Some((line, message)) => Err(format!("{message} in {}", lines[line - 1])),
        None if skipped.keys().any(|reason| !reason.starts_with("flat ")) => {
            Err(format!("skipped: {skipped:?}"))
        }
        // 10 pairs of a rank up to 4 and a dimension of it, and 3 ranks of partitions, each loaded and stored.
        None if passed < 26 => Err(format!("{passed} vectors were asked, not 26")),
        None => Ok(()),
    }
}
