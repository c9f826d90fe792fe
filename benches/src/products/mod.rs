//! Products of matrices: one, of rows in groups, and of gathered rows in groups.

mod data;
mod measurement;
mod prepared;
mod workload;

pub use measurement::Measurement;
pub use prepared::Prepared;
pub use workload::{Element, LAYERS, Op, Plan, Workload, plans};
