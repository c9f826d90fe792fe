//! Gradients of few rows, and the steps of optimisers on them.

mod measurement;
mod prepared;
mod workload;

pub use measurement::Measurement;
pub use prepared::Prepared;
pub use workload::{Op, Plan, Workload, plans};
