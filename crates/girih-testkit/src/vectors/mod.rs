//! Vector files: one JSON object a line, each a question with its right answer.

use std::{
    collections::BTreeMap,
    fmt, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use serde_json::Value;

use crate::{Error, Rt, device::panic_message};

pub mod groups;
pub mod layout;
pub mod views;

/// What became of one vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The answer was right.
    Passed,
    /// The answer was wrong: what was asked, what came back, what was right.
    Failed(String),
    /// The vector could not be asked here: what the device, or the library, lacks.
    Skipped(String),
}

/// What became of the vectors of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many were answered right.
    pub passed: usize,
    /// Line, from 1, and message of each that was answered wrong.
    pub failed: Vec<(usize, String)>,
    /// How many were not asked, by what was lacking.
    pub skipped: BTreeMap<String, usize>,
}

impl Report {
    /// How many were not asked.
    pub fn skipped_count(&self) -> usize {
        self.skipped.values().sum()
    }

    /// Adds the figures of another file.
    pub fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed.extend_from_slice(&other.failed);
        for (reason, count) in &other.skipped {
            *self.skipped.entry(reason.clone()).or_default() += count;
        }
    }

    /// The three counts, as `N passed, N failed, N skipped`.
    pub fn counts(&self) -> impl fmt::Display {
        format!(
            "{} passed, {} failed, {} skipped",
            self.passed,
            self.failed.len(),
            self.skipped_count()
        )
    }

    fn record(&mut self, line: usize, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(message) => self.failed.push((line, message)),
            Outcome::Skipped(reason) => *self.skipped.entry(reason).or_default() += 1,
        }
    }
}

/// Asks every vector of a file; those that need a device are asked of `rt`, and skipped without one.
///
/// # Errors
/// [`Error::Vectors`] if the file cannot be read or a line is no vector of a kind that is known.
pub fn run_file(path: &Path, rt: Option<&Rt>) -> Result<Report, Error> {
    let unread = |(line, reason)| Error::Vectors {
        path: path.to_owned(),
        line,
        reason,
    };
    let text = fs::read_to_string(path).map_err(|error| unread((0, error.to_string())))?;
    run_lines(&text, rt).map_err(unread)
}

/// Asks the vector on every line of `text`, as [`run_file`] does.
///
/// # Errors
/// The line, from 1, that is no vector of a kind that is known, and why.
pub fn run_lines(text: &str, rt: Option<&Rt>) -> Result<Report, (usize, String)> {
    let mut report = Report::default();
    for (index, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
    {
        let question = serde_json::from_str(line)
            .map_err(|error| error.to_string())
            .and_then(|value| Question::new(&value, line))
            .map_err(|reason| (index + 1, reason))?;
        report.record(index + 1, question.ask(rt));
    }
    Ok(report)
}

/// A vector, by the kind of answer it wants.
enum Question {
    Layout(Value),
    View(views::ViewVector),
    Group(groups::GroupVector),
}

impl Question {
    /// The vector, and the line that it was read from: its numbers may be longer than those of a `Value`.
    fn new(vector: &Value, line: &str) -> Result<Self, String> {
        if vector.get("chain").is_some() {
            return serde_json::from_str(line)
                .map(Self::Group)
                .map_err(|error| error.to_string());
        }
        let op = vector.get("op").and_then(Value::as_str);
        let op = op.ok_or("neither `op` nor `chain` is there: not a vector")?;
        if layout::OPS.contains(&op) {
            return Ok(Self::Layout(vector.clone()));
        }
        if views::OPS.contains(&op) {
            return serde_json::from_value(vector.clone())
                .map(Self::View)
                .map_err(|error| error.to_string());
        }
        Err(format!("no vectors of op `{op}` are known"))
    }

    fn ask(&self, rt: Option<&Rt>) -> Outcome {
        catch_unwind(AssertUnwindSafe(|| match (self, rt) {
            (Self::Layout(vector), _) => layout::run(vector),
            (Self::View(vector), Some(rt)) => views::ask(vector, rt),
            (Self::View(_), None) => Outcome::Skipped("views need a device".to_owned()),
            (Self::Group(vector), rt) => groups::ask(vector, rt),
        }))
        .unwrap_or_else(|panic| Outcome::Failed(panic_message(&*panic)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: &str = r#"{"op": "gather_load", "extents": [3], "strides": [1], "gather_dim": 0, "tile_shape": [2],
        "start": [0], "idx": [2, 5], "padding": "neg_inf", "result": [2, "-inf"]}"#;
    const GROUP: &str = r#"{"level": "plane", "units": 2, "plane": 2, "chain": [["group_by", 1]], "tag": "exhaustive",
        "runtime": false, "static": {"group_count": 2, "unit_count": 1, "exhaustive": true, "contiguous": true},
        "result": [[true, 2, 0, 1, 0, 1], [true, 2, 1, 1, 0, 2]]}"#;

    fn one_line(text: &str) -> String {
        text.replace('\n', " ")
    }

    #[test]
    fn a_report_counts_and_names() {
        let wrong = GROUP.replace("[true, 2, 1, 1, 0, 2]", "[true, 2, 1, 1, 0, 1]");
        let text = [LOAD, GROUP, &wrong].map(one_line).join("\n");
        let report = run_lines(&text, None).unwrap();
        assert_eq!(report.counts().to_string(), "1 passed, 1 failed, 1 skipped");
        assert_eq!(report.skipped["views need a device"], 1);
        assert_eq!(report.failed[0].0, 3);
        let mut total = report.clone();
        total.add(&report);
        assert_eq!(total.skipped_count(), 2);
    }

    #[test]
    fn every_vector_of_groups_is_right_on_the_host() {
        let text = include_str!("../../vectors/group_mappings.jsonl");
        let report = run_lines(text, None).unwrap();
        assert_eq!(
            report.counts().to_string(),
            "600 passed, 0 failed, 0 skipped",
            "{report:?}"
        );
    }

    #[test]
    fn a_device_is_asked_and_a_wrong_expectation_fails() {
        for rt in Rt::present() {
            let wrong = one_line(LOAD).replace(r#"[2, "-inf"]"#, r#"[2, "inf"]"#);
            let text = [one_line(LOAD), wrong].join("\n");
            let report = run_lines(&text, Some(rt)).unwrap();
            assert_eq!(report.passed, 1, "{}: {report:?}", rt.name());
            let [(2, message)] = report.failed.as_slice() else {
                panic!("{}: {report:?}", rt.name());
            };
            assert!(message.contains("element 1 is -inf, not inf"), "{message}");
        }
    }

    #[test]
    fn what_is_no_vector_is_an_error_with_its_line() {
        let unknown =
            run_lines(&format!("{}\n{{\"op\": \"fold\"}}", one_line(GROUP)), None).unwrap_err();
        assert_eq!(unknown, (2, "no vectors of op `fold` are known".to_owned()));
        assert_eq!(run_lines("{}", None).unwrap_err().0, 1);
        assert_eq!(run_lines("not JSON", None).unwrap_err().0, 1);
        let absent = run_file(Path::new("/nowhere.jsonl"), None).unwrap_err();
        assert!(
            absent.to_string().starts_with("/nowhere.jsonl, line 0"),
            "{absent}"
        );
    }
}
