//! The text forms: `_4` and `4`, `(2,(3,4))`, `(2,(3,4)):(1,(2,6))`.
//!
//! `{}` writes what parses back to an equal value: static integers are marked `_4`. `{:#}` leaves the marks out.

mod error;
mod read;
mod write;

pub use error::ParseError;
