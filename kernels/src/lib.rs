//! Ready tile kernels for irregular memory access, with launchers that return `Result`.
//!
//! | launcher | computes |
//! |---|---|
//! | [`gather`], [`gather_into`] | `out[.., n, ..] = input[.., index[n], ..]` |
//! | [`scatter_into`] | `target[.., index[n], ..] =` or `+= updates[.., n, ..]` |
//!
//! Tensors are [`TensorHandle`](cubecl::std::tensor::TensorHandle)s with any strides. Every call is checked before
//! anything is launched; what an index out of range does is its [`Bounds`].
#![deny(missing_docs)]

mod check;
mod fold;
mod gather;
mod plan;
mod scatter;

pub use gather::{gather, gather_into, supports_gather};
pub use girih::{Bounds, Checked, Error, Result};
pub use scatter::{ScatterMode, scatter_into, supports_scatter};
