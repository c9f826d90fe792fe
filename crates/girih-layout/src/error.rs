//! What can be wrong with an input.

use crate::ParseError;
use alloc::string::String;

/// Why an input has no result: each names what was given and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A text is not what it should be.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A result needs more than 64 bits.
    #[error("{left} {operation} {right} does not fit in 64 bits")]
    Overflow {
        /// The left operand.
        left: u64,
        /// The operation's sign.
        operation: &'static str,
        /// The right operand.
        right: u64,
    },
    /// A division by 0.
    #[error("{dividend} / 0: the divisor must be at least 1")]
    DivisionByZero {
        /// What was to be divided.
        dividend: u64,
    },
    /// Two tuples differ in how they nest.
    #[error("{left_name} {left} and {right_name} {right} must nest in the same way")]
    NotCongruent {
        /// What the left tuple is.
        left_name: &'static str,
        /// The left tuple.
        left: String,
        /// What the right tuple is.
        right_name: &'static str,
        /// The right tuple.
        right: String,
    },
    /// A path leads to no mode.
    #[error("{tuple} has no mode at path {path:?}: mode {index} is asked of a rank of {rank}")]
    NoMode {
        /// The whole tuple or layout.
        tuple: String,
        /// The path asked for.
        path: alloc::vec::Vec<usize>,
        /// The index in the path that is too large.
        index: usize,
        /// The rank there.
        rank: usize,
    },
    /// A coordinate nests deeper than its shape, or has another rank.
    #[error(
        "coordinate {coord} does not fit shape {shape}: at each level it is one integer or has the shape's rank"
    )]
    CoordProfile {
        /// The coordinate.
        coord: String,
        /// The shape.
        shape: String,
    },
    /// A coordinate is past its extent.
    #[error("coordinate {coord} is outside shape {shape}: {value} must be below {extent}")]
    CoordOutOfRange {
        /// The whole coordinate.
        coord: String,
        /// The whole shape.
        shape: String,
        /// The part that is too large.
        value: u64,
        /// Its extent.
        extent: u64,
    },
    /// Two shapes must hold the same number of elements.
    #[error(
        "shape {left} holds {left_size} elements and shape {right} {right_size}: the sizes must be equal"
    )]
    SizeMismatch {
        /// The left shape.
        left: String,
        /// Its size.
        left_size: u64,
        /// The right shape.
        right: String,
        /// Its size.
        right_size: u64,
    },
    /// A profile was given another number of values than it has dynamic integers.
    #[error("profile {profile} takes {expected} dynamic values, {given} were given")]
    DynamicCount {
        /// The profile.
        profile: String,
        /// How many values it takes.
        expected: usize,
        /// How many were given.
        given: usize,
    },
}
