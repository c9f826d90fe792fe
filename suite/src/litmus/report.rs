//! What was observed, as a table and as JSON.

use std::fmt;

use serde_json::{Value, json};

use super::harness::Played;
use super::model::Kind;
use super::program::Outcome;
use super::{Space, Test};

/// How a test ended on a device.
#[derive(Clone, Debug)]
pub enum Line {
    /// It was played.
    Played(Test, Box<Played>),
    /// The device cannot keep one of its orders: the refusal.
    Refused(Test, String),
    /// The harness failed.
    Failed(Test, String),
}

impl Line {
    /// Whether it says that something is wrong: an outcome that is forbidden, or a sequentially consistent one that was
    /// not seen.
    pub fn is_wrong(&self) -> bool {
        match self {
            Self::Played(_, played) => {
                !played.seen(Kind::Forbidden).is_empty() || !played.unseen().is_empty()
            }
            Self::Refused(..) => false,
            Self::Failed(..) => true,
        }
    }

    fn test(&self) -> &Test {
        match self {
            Self::Played(test, _) | Self::Refused(test, _) | Self::Failed(test, _) => test,
        }
    }

    /// The line as JSON.
    pub fn json(&self) -> Value {
        let Test {
            shape,
            orders,
            scope,
            space,
        } = self.test();
        let mut line = json!({
            "test": self.test().to_string(),
            "shape": shape.name(),
            "orders": orders.name(),
            "scope": format!("{scope:?}").to_lowercase(),
            "space": match space { Space::Global => "global", Space::Shared => "shared" },
            "program": self.test().program().to_string(),
        });
        match self {
            Self::Refused(_, reason) => line["refused"] = json!(reason),
            Self::Failed(_, reason) => line["failed"] = json!(reason),
            Self::Played(_, played) => {
                line["trials"] = json!(played.trials());
                line["trials_per_s"] = json!(played.rate());
                line["outcomes"] = outcomes(played)
                    .into_iter()
                    .map(|(outcome, kind)| {
                        json!({
                            "outcome": played.program.describe(outcome),
                            "kind": label(kind),
                            "count": played.count(outcome),
                            "rate": rate(played, outcome),
                        })
                    })
                    .collect();
            }
        }
        line
    }
}

/// The outcomes worth a row: those that sequential consistency gives or the orders allow, seen or not, and all others
/// that were seen.
fn outcomes(played: &Played) -> Vec<(Outcome, Kind)> {
    let codes = (0..=u8::MAX).map(Outcome);
    let judged = codes.map(|outcome| (outcome, played.verdicts.kind(outcome)));
    judged
        .filter(|&(outcome, kind)| kind != Kind::Forbidden || played.count(outcome) > 0)
        .collect()
}

fn label(kind: Kind) -> &'static str {
    match kind {
        Kind::Sc => "sc",
        Kind::Weak => "allowed-weak",
        Kind::Forbidden => "FORBIDDEN",
    }
}

fn rate(played: &Played, outcome: Outcome) -> f64 {
    played.count(outcome) as f64 / played.trials() as f64
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.test().to_string();
        match self {
            Self::Refused(_, reason) => write!(f, "{name:<44} refused: {reason}"),
            Self::Failed(_, reason) => write!(f, "{name:<44} FAILED: {reason}"),
            Self::Played(_, played) => {
                write!(f, "{name:<44} {:>13} trials", played.trials())?;
                if let Some(rate) = played.rate() {
                    write!(f, " {rate:>9.2e}/s")?;
                }
                for (outcome, kind) in outcomes(played) {
                    let words = played.program.describe(outcome);
                    let (count, rate) = (played.count(outcome), rate(played, outcome));
                    let missing = if kind == Kind::Sc && count == 0 {
                        "  NOT SEEN"
                    } else {
                        ""
                    };
                    write!(
                        f,
                        "\n    {words:<22} {:<12} {count:>13} {rate:>9.2e}{missing}",
                        label(kind)
                    )?;
                }
                Ok(())
            }
        }
    }
}

/// Everything that a run found, with what was run and where.
#[derive(Clone, Debug)]
pub struct Record {
    /// The command line.
    pub command: String,
    /// The kind of device.
    pub kind: &'static str,
    /// The device's own name.
    pub device: String,
    /// The tests.
    pub lines: Vec<Line>,
}

impl Record {
    /// The record as JSON.
    pub fn json(&self) -> Value {
        let tests: Vec<Value> = self.lines.iter().map(Line::json).collect();
        json!({
            "command": self.command,
            "kind": self.kind,
            "device": self.device,
            "tests": tests,
        })
    }

    /// How the run ended, in a sentence.
    pub fn summary(&self) -> String {
        let count = |fits: fn(&Line) -> bool| self.lines.iter().filter(|line| fits(line)).count();
        let played = count(|line| matches!(line, Line::Played(..)));
        let refused = count(|line| matches!(line, Line::Refused(..)));
        let wrong = count(Line::is_wrong);
        format!("{played} tests played, {refused} refused by name, {wrong} wrong")
    }
}
