//! Nucleus sampling: text written byte by byte, each drawn on the device from those that are likely after the one before.
//!
//! [`Bigrams`] counts which byte follows which in a text, [`Sampler`] draws from that on a Burn device with girih's sort, cumulative sum and
//! search, and [`host`] does the same in plain Rust, which the tests hold it to.

mod bigrams;
pub mod host;
mod sampler;
mod uniforms;

pub use bigrams::{BOOK, BYTES, Bigrams, Refused};
pub use sampler::{Sampler, Settings};
pub use uniforms::Uniforms;
