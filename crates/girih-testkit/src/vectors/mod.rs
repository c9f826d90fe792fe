//! Vector files: one JSON object a line, each a question with its right answer.

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
