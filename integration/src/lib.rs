//! Gather and scatter as ops on Burn tensors, with gradients, under autodiff and fusion.
//!
//! ```
//! use burn::tensor::{Device, Int, Tensor};
//! use girih_burn::{Bounds, gather};
//!
//! # #[cfg(feature = "cpu")]
//! fn rows(device: &Device) -> Result<(), girih_burn::Error> {
//!     let table = Tensor::<2>::from_floats([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], device);
//!     let index = Tensor::<1, Int>::from_ints([2, 0, 2], device);
//!     let rows = gather(table, 0, index, Bounds::Report)?; // on the device, nothing is read back
//!     let rows = rows.check()?; // an index out of range is an error that names it
//!     assert_eq!(rows.to_data().try_to_vec::<f32>().unwrap(), [4.0, 5.0, 0.0, 1.0, 4.0, 5.0]);
//!     Ok(())
//! }
//! # #[cfg(feature = "cpu")]
//! # rows(&Device::cpu()).unwrap();
//! ```
//!
//! | op | result | gradient |
//! |---|---|---|
//! | [`gather`] | `out[.., n, ..] = table[.., index[n], ..]` | table: sums of the gradients of each slice's copies |
//! | [`scatter`] with [`Scatter::Add`] | `target[.., index[n], ..] += updates[.., n, ..]` | target: itself; updates: [`gather`] |
//! | [`scatter`] with [`Scatter::Set`] | `target[.., index[n], ..] = updates[.., n, ..]` | target: zero where written; updates: [`gather`] |
//! | [`scatter`] with [`Scatter::Mul`] | `target[.., index[n], ..] *= updates[.., n, ..]` | that of factors |
//! | [`scatter`] with [`Scatter::Min`], [`Scatter::Max`] | the smaller or larger of both | to what is equal to it, in equal parts |
//! | [`take_along_axis`] | `out[.., j, ..] = table[.., index[.., j, ..], ..]` | table: [`sum_along_axis`] of the result's gradient |
//! | [`sum_along_axis`] | `out[.., index[.., j, ..], ..] += updates[.., j, ..]` into zeros | updates: [`take_along_axis`] |
//! | [`paged_gather`] | the rows of sequences that lie in pages | pages: sums of the gradients of the copies of each row |
//! | [`sort`](sort()), [`sort_with_indices`], [`argsort`] | elements along an axis in order, and where they were | that of the new place |
//! | [`top_k`] | the largest or smallest along an axis, and their places | that of the new place; the others: zero |
//! | [`bincount`], [`search_sorted`] | how often numbers are there; where values go in sorted rows | |
//! | [`histogram`](histogram()) | how many values there are in each part of a range | |
//! | [`weighted_histogram`], [`weighted_bincount`] | the weight of the values of each bin | weights: that of the bin |
//! | [`unique`](unique()), [`unique_all`] | the values, each once, in order; how often, and which each element has | none |
//! | [`scatter_sum`] | [`scatter`] with [`Scatter::Add`] into zeros | updates: [`gather`] |
//! | [`scan`](fn@scan): [`cumsum`], [`cumprod`], [`cummin`], [`cummax`] | `out[.., n, ..]` is all of `tensor[.., 0..=n, ..]` combined | yes |
//! | [`segment_reduce`] | the rows of each segment combined | yes |
//! | [`embedding_bag`] | rows of a table that indices name, combined bag by bag | table and weights; not of a product |
//! | [`mask_select`] | the elements where a mask is true | the result's, at their places |
//! | [`nonzero`], [`argwhere`] | the coordinates where a mask is true | none |
//! | [`matmul`](matmul()), [`grouped_matmul`], [`gather_matmul`] | products of matrices, of rows in groups, of rows that an index names | both operands |
//! | [`matmul_scatter`] | products of rows in groups, weighted and added up | rows, matrices, factors |
//!
//! [`MoeLayer`] is a mixture of experts.
//!
//! The `..` stand for the other axes, which keep their extents; an axis below 0 counts from the end. The index is a tensor of rank 1 of any
//! integer type. Tensors of integers go through the same ops, without gradients. [`IndexOps`] has the
//! ops as methods. What an index out of range means is the caller's choice of [`Bounds`]: it never
//! touches memory outside the tensor, except under `Assume`, which is a promise. The gradient treats an
//! index as the op did: what was masked passes no gradient, what was clamped or wrapped passes it to
//! the row that was used.
//!
//! Everything that can be known before launch is an [`Error`] from the call: a wrong axis or shape,
//! tensors on two devices, a type that the device does not have.
#![deny(missing_docs)]

mod autodiff;
mod backend;
mod bag;
mod checked;
mod cube;
mod error;
mod gradients;
mod histogram;
mod kind;
mod lookup;
mod matmul;
mod methods;
mod moe;
pub mod nn;
mod ops;
mod scan;
mod sort;
mod sparse;
mod unique;
mod validate;

pub use backend::IndexBackend;
pub use bag::{
    Bag, BagBackend, BagOptions, Grouping, Listed, SegmentKind, embedding_bag, segment_reduce,
};
pub use burn_cubecl::CubeBackend;
pub use checked::Checked;
pub use error::Error;
pub use girih::{Bounds, view::Offence};
pub use girih_kernels::{
    BagBackwardOptions, Determinism, Duplicates, GatherOptions, Reduction, ScanOperation,
    ScatterMode as Scatter, ScatterOptions, ScatterPath, Side, SparseStep,
};
pub use histogram::{HistogramBackend, histogram, weighted_bincount, weighted_histogram};
pub use kind::Kind;
pub use lookup::{LookupBackend, LookupKind, paged_gather, sum_along_axis, take_along_axis};
pub use matmul::{MatmulBackend, gather_matmul, grouped_matmul, matmul, matmul_scatter};
pub use methods::IndexOps;
pub use moe::{
    MoeActivation, MoeBackend, MoeExperts, MoeGradients, MoeKept, MoeLayer, MoeLayerConfig,
    MoePassed, MoeRoutes, Wanted,
};
pub use ops::{gather, scatter, scatter_sum};
pub use scan::{
    ScanBackend, argwhere, cummax, cummin, cumprod, cumsum, mask_select, nonzero, scan,
};
pub use sort::{
    SortBackend, SortKind, argsort, bincount, search_sorted, sort, sort_with_indices, top_k,
};
pub use sparse::{
    SparseAdaGrad, SparseAdaGradConfig, SparseAdam, SparseAdamConfig, SparseBackend, SparseGrad,
    SparseSgd, SparseSgdConfig,
};
pub use unique::{Unique, UniqueBackend, unique, unique_all};

/// The book's chapters, whose examples run as tests.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../docs/src/embeddings.md")]
    struct Embeddings;
    #[doc = include_str!("../../docs/src/burn.md")]
    struct Ops;
}
