//! Collectives of groups: a reduction or a scan that each group does again and again, each round on what the last one gave.

pub mod kernels;
mod measurement;
mod model;
mod options;
mod prepared;
mod workload;

pub use measurement::Measurement;
pub use options::{Plan, plans};
pub use prepared::Prepared;
pub use workload::{Element, Members, Op, Workload};
