//! What the example programs are made of, kept in a library so that tests reach it.
//!
//! `cargo run --example karate -- --help` runs the first of them, and `cargo run --example top_p -- --help` the second.
#![deny(missing_docs)]

pub mod device;
pub mod karate;
pub mod top_p;
