//! Vectors of views, one of each kind, and those of group mappings; `girih-suite oracle` asks them all.

use std::collections::BTreeSet;

use girih_testkit::{
    Rt, cases,
    vectors::{Report, run_lines},
};
use serde_json::Value;

cases! {
    views_of_each_kind,
    group_mappings_of_planes_like_the_device_s,
}

const VIEWS: &str = include_str!("../../../crates/girih-testkit/vectors/views.jsonl");

/// The first vector of each operation, rank of memory and of the tile, and gather dimension; with a mask and without.
fn one_of_each_kind() -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    let kind = |line: &str| {
        let vector: Value = serde_json::from_str(line).expect("a vector");
        let rank = |of: &str| vector[of].as_array().map(Vec::len);
        (
            vector["op"].to_string(),
            rank("extents"),
            rank("tile_shape"),
            vector["gather_dim"].as_u64(),
            vector["mask"].is_array(),
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
        None if !skipped.is_empty() => Err(format!("skipped: {skipped:?}")),
        // 10 pairs of a rank up to 4 and a dimension of it, 3 ranks of partitions, and 6 pairs of ranks of flat tiles, each
        // loaded and stored; the flat loads with a mask and without.
        None if passed != 44 => Err(format!("{passed} vectors were asked, not 44")),
        None => Ok(()),
    }
}

const GROUPS: &str = include_str!("../../../crates/girih-testkit/vectors/group_mappings.jsonl");

fn group_mappings_of_planes_like_the_device_s(rt: &Rt) -> Result<(), String> {
    let plane = rt.client.properties().hardware.plane_size_max;
    let alike = |line: &&str| {
        let vector: Value = serde_json::from_str(line).expect("a vector");
        vector["plane"].as_u64() == Some(plane.into())
    };
    let lines: Vec<_> = GROUPS.lines().filter(alike).collect();
    assert!(!lines.is_empty(), "no vector is of planes of {plane}");
    let report = run_lines(&lines.join("\n"), Some(rt))
        .map_err(|(line, reason)| format!("{line}: {reason}"))?;
    // One in ten breaks a promise that only the run knows.
    match report.failed.first() {
        Some((line, message)) => Err(format!("{message} in {}", lines[line - 1])),
        None if report.passed * 10 < lines.len() * 9 => Err(format!("{}", report.counts())),
        None => Ok(()),
    }
}
