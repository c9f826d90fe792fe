//! Ready tile kernels for irregular memory access, with launchers that return `Result`.
//!
//! | launcher | computes |
//! |---|---|
//! | [`gather`], [`gather_into`] | `out[.., n, ..] = input[.., index[n], ..]` |
//! | [`gather_backward`] | `out[.., i, ..]` the sum of all `gradient[.., n, ..]` with `index[n] = i` |
//! | [`scatter_into`] | `target[.., index[n], ..] = updates[.., n, ..]`, or `+=`, `*=`, the smaller or the larger |
//! | [`take_along_axis`], [`take_along_axis_into`] | `out[.., j, ..] = table[.., index[.., j, ..], ..]` |
//! | [`add_along_axis`] | `table[.., index[.., j, ..], ..] += updates[.., j, ..]` |
//! | [`paged_gather`], [`page_rows`] | rows that lie in the pages of a table, by sequence |
//! | [`sort`], [`sort_pairs`], [`argsort`], [`sort_with_indices`] | keys along an axis in order, and what goes with them |
//! | [`sort_by`], [`sort_pairs_by`], [`argsort_by`] | the same by an order of the caller's own |
//! | [`top_k`] | the largest or smallest along an axis, and their places |
//! | [`search_sorted`] | where values would go in sorted rows |
//! | [`bincount`], [`histogram`], [`bins_of`] | how often each number is there, or values of each part of a range; where each value is counted |
//! | [`scan`](fn@scan), [`scan_into`], [`scan_with`] | `out[.., n, ..] =` all of `input[.., 0..=n, ..]` combined |
//! | [`select`], [`select_by`], [`partition`] | the elements that a mask or a predicate keeps |
//! | [`segment_reduce`] | the rows of each segment combined |
//! | [`embedding_bag`] | rows of a table that indices name, combined bag by bag |
//! | [`combine_rows`], [`sparse_step`] | a gradient's rows each once, and an optimiser's step on them alone |
//! | [`nonzero`] | the coordinates of elements that are not 0 |
//! | [`unique_consecutive`], [`run_length`] | runs of equal elements |
//! | [`matmul`](matmul()), [`matmul_into`] | `out[.., m, n] =` the sum over `k` of `a[.., m, k] b[.., k, n]` |
//! | [`grouped_matmul`], [`grouped_inner_matmul`] | the same for rows, or positions of `k`, in groups |
//! | [`gather_matmul`], [`gather_matmul_scatter_into`] | the same with rows that lists name |
//! | [`route_experts`], [`combine_experts`] | which tokens go to which experts, in whose order; what they made of a token added up |
//! | [`unique`] | the values that are there, in order, how often, and which each element has |
//!
//! Tensors are [`TensorHandle`](cubecl::std::tensor::TensorHandle)s with any strides. Every call is checked before
//! anything is launched; what an index out of range does is its [`Bounds`].
//!
//! ```
//! use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
//! use girih_kernels::{Bounds, Result, gather};
//!
//! fn rows(client: &Client) -> Result<()> {
//!     let tensor = |values: &[f32], shape: Vec<usize>| {
//!         let handle = client.create_from_slice(f32::as_bytes(values));
//!         TensorHandle::new_contiguous(shape, handle, f32::elem_type_native())
//!     };
//!     let table = tensor(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], vec![3, 2]);
//!     let indices = client.create_from_slice(i32::as_bytes(&[2, 0, 7]));
//!     let index = TensorHandle::new_contiguous(vec![3], indices, i32::elem_type_native());
//!
//!     let rows = gather(client, &table, &index, 0, Bounds::Mask)?.into_inner();
//!     let bytes = client.read_one(rows.handle)?;
//!     assert_eq!(f32::from_bytes(&bytes), [4.0, 5.0, 0.0, 1.0, 0.0, 0.0]);
//!
//!     let refused = gather(client, &table, &index, 0, Bounds::Report)?.check().unwrap_err();
//!     assert_eq!(
//!         refused.to_string(),
//!         "index 7 at position 2 is out of range of axis 0, which has extent 3; 0..3 is allowed"
//!     );
//!     Ok(())
//! }
//! # #[cfg(feature = "cpu")]
//! # rows(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
//! ```
#![deny(missing_docs)]

mod along;
mod bins;
mod check;
mod compact;
mod experts;
mod explain;
mod fold;
mod gather;
mod histogram;
mod matmul;
mod paged;
mod plan;
mod scan;
mod scatter;
mod search;
mod segment;
mod sort;
mod sparse;
mod top_k;
mod widths;

/// The kernels themselves, for tests that compile them without a device.
#[doc(hidden)]
pub mod raw {
    pub use crate::gather::bulk::{gather_bulk, gather_bulk_kernel, supports_bulk};
    pub use crate::gather::{gather_kernel, gather_strided_kernel};
    pub use crate::plan::Cut;
    /// Of elements along an axis.
    pub mod along {
        pub use crate::along::raw::*;
    }
    /// Of pages.
    pub mod paged {
        pub use crate::paged::page_rows_kernel;
    }
    /// Of compactions.
    pub mod compact {
        pub use crate::compact::raw::*;
    }
    /// Of mixtures of experts.
    pub mod experts {
        pub use crate::experts::raw::*;
    }
    /// Of products.
    pub mod matmul {
        pub use crate::matmul::raw::*;
    }
    /// Of scans.
    pub mod scan {
        pub use crate::scan::raw::*;
    }
    /// Of scatters.
    pub mod scatter {
        pub use crate::scatter::direct::{
            combine_kernel, combine_strided_kernel, set_kernel, set_strided_kernel,
        };
        pub use crate::scatter::private::{PrivatePlan, private_kernel};
        pub use crate::scatter::sorted::{Level, keys_kernel, pick_kernel, reduce_kernel};
        pub use crate::scatter::tile::{TilePlan, tile_kernel};
        pub use crate::scatter::vote::{elect_kernel, vote_kernel};
    }
    pub use crate::sort::raw as sort;
    /// Of row-sparse gradients.
    pub mod sparse {
        pub use crate::sparse::raw::*;
    }
    /// Of segments.
    pub mod segment {
        pub use crate::segment::raw::*;
    }
    pub use crate::top_k::raw as top_k;
    /// Of histograms.
    pub mod histogram {
        pub use crate::histogram::raw::*;
    }
}

pub use along::{add_along_axis, supports_add_along_axis, take_along_axis, take_along_axis_into};
pub use check::supports_shape;
pub use compact::{
    CompactOptions, Compacted, NonZero, Partition, Predicate, Runs, Unique, UniqueOptions, nonzero,
    partition, run_length, select, select_by, unique, unique_consecutive,
};
pub use experts::{
    CombineGradients, ExpertRoutes, ExpertsPass, ExpertsPlan, ExpertsSize, activate,
    combine_experts, combine_experts_backward, explain_experts, route_experts,
    route_experts_backward, supports_route_experts,
};
pub use explain::{
    Plan, explain_gather, explain_paged_gather, explain_scatter, explain_take_along_axis,
};
pub use gather::{gather, gather_into, supports_gather};
pub use girih::{Bounds, Checked, Error, Result};
pub use histogram::{Weights, bincount, bins_of, histogram, supports_histogram};
pub use matmul::{
    Activation, MOST_GROUPS, MatmulOptions, MatmulPath, MatmulPlan, MatmulTile, Precision, Route,
    Routed, explain_gather_matmul, explain_gather_matmul_scatter, explain_grouped_inner_matmul,
    explain_grouped_matmul, explain_matmul, gather_matmul, gather_matmul_scatter_into,
    grouped_inner_matmul, grouped_matmul, grouped_matmul_into, matmul, matmul_into,
    supports_matmul,
};
pub use paged::{page_rows, page_rows_type, paged_gather};
pub use scan::{
    Determinism, ScanOperation, ScanOperator, ScanOptions, ScanPath, Segments, scan, scan_into,
    scan_with, supports_scan,
};
pub use scatter::{
    Duplicates, ScatterMode, ScatterOptions, ScatterPath, scatter_into, supports_scatter,
    supports_scatter_options,
};
pub use search::{Side, search_sorted};
pub use segment::{
    BagBackwardOptions, BagGradients, BagOptions, Bags, GatherOptions, Grouping, Reduction,
    SegmentPlan, SegmentReduced, embedding_bag, embedding_bag_backward, explain_segment_reduce,
    gather_backward, segment_reduce, segment_reduce_backward, segment_reduce_with_args,
    supports_embedding_bag, supports_embedding_bag_backward, supports_gather_backward,
    supports_segment_reduce,
};
pub use sort::by::{SortOrder, argsort_by, sort_by, sort_pairs_by};
pub use sort::{SortOptions, SortPath, argsort, sort, sort_pairs, sort_path, sort_with_indices};
pub use sparse::{SparseRows, SparseStep, combine_rows, sparse_step, supports_sparse};
pub use top_k::{TopKPath, top_k, top_k_path};
