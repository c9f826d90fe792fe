//! What the example programs are made of, kept in a library so that tests reach it.
//!
//! `cargo run --example karate -- --help` runs the first of them, `--example moe` the second.
#![deny(missing_docs)]

pub mod karate;
pub mod moe;
