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

/// The kernels themselves, for tests that compile them without a device.
#[doc(hidden)]
pub mod raw {
    pub use crate::gather::{gather_kernel, gather_strided_kernel};
    pub use crate::plan::Cut;
    pub use crate::scatter::{add_kernel, add_strided_kernel, set_kernel, set_strided_kernel};
}

pub use gather::{gather, gather_into, supports_gather};
pub use girih::{Bounds, Checked, Error, Result};
pub use scatter::{ScatterMode, scatter_into, supports_scatter};
