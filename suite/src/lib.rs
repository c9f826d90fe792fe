//! Every device test, vector runner and benchmark as one program.
//!
//! [`cases`] lists the tests, [`trials`] names one trial for each case on each device, [`litmus`] tests memory orders by the
//! hundred million, [`cli`] is the command line.
#![deny(missing_docs)]

#[cfg(feature = "cuda")]
extern crate llvm_absent as _;

pub mod bench;
pub mod cases;
pub mod cli;
pub mod explain;
pub mod litmus;
pub mod oracle;
pub mod plot;
pub mod random;
pub mod shard;
pub mod stress;
pub mod trials;
