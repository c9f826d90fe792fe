//! What the example programs are made of, kept in a library so that tests reach it.
//!
//! `cargo run --example karate -- --help` runs the first of them; `top_p` and `moe` are others.
#![deny(missing_docs)]

pub mod device;
pub mod karate;
pub mod moe;
pub mod top_p;
pub mod words;
