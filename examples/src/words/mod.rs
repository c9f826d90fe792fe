//! Vectors of the words of girih's own book: skip-gram with negative sampling (Mikolov and others, 2013).
//!
//! [`Corpus`] is the text, [`train`] the training on a Burn device: two tables of vectors, of which each step reads the rows of its
//! words and changes those alone, by row-sparse gradients and Adam. [`plot`] draws how the loss fell.

mod plot;
mod text;
mod train;

pub use plot::plot;
pub use text::{Corpus, Pair};
pub use train::{Progress, Settings, Vectors, train};
