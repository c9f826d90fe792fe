//! What groups ask of a target: one file per target, the same names in each.

mod portable;

pub(super) use portable::{ballot, matching};
