//! What can go wrong between a workload and its number.

use cubecl::server::{ProfileError, ServerError};

/// A workload has no number, because of this.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A launcher refused its arguments.
    #[error(transparent)]
    Launch(#[from] girih::Error),
    /// A call failed: its name, and how.
    #[error("{0}: {1}")]
    Call(String, String),
    /// The device failed.
    #[error("the device failed: {0}")]
    Server(#[from] ServerError),
    /// The device did not time the launches.
    #[error("the launches were not timed: {0}")]
    Profile(String),
    /// An output is wrong.
    #[error("{workload}: element {column} of row {row} is {found}, not {expected}")]
    Wrong {
        /// The workload's name.
        workload: String,
        /// The row.
        row: usize,
        /// The element of the row.
        column: usize,
        /// What the device wrote.
        found: f32,
        /// What is right; where several are, one of them.
        expected: f32,
    },
}

impl From<ProfileError> for Error {
    fn from(error: ProfileError) -> Self {
        Self::Profile(error.to_string())
    }
}

/// A result of a benchmark.
pub type Result<T> = std::result::Result<T, Error>;
