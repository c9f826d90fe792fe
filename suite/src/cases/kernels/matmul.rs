//! Products of matrices, of groups of rows, and of gathered rows.

#[cfg(feature = "offline")]
pub mod compiled;
