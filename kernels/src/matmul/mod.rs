//! Products of matrices: in batches, by groups of rows, and with rows gathered and added to by lists.

pub(crate) mod activation;
mod batched;
mod beside;
mod epilogue;
mod form;
mod grouped;
mod hopper;
mod launch;
mod options;
mod place;
mod plan;
mod planes;
mod problem;
mod result;
mod routed;
mod stage;
mod tiled;
mod tune;
mod units;

pub use activation::Activation;
pub use batched::{explain_matmul, matmul, matmul_into, supports_matmul};
pub use grouped::{
    explain_grouped_inner_matmul, explain_grouped_matmul, grouped_inner_matmul, grouped_matmul,
    grouped_matmul_into,
};
pub use options::{MatmulOptions, MatmulPath, MatmulTile, Precision, Route};
pub use plan::MatmulPlan;
pub use problem::MOST_GROUPS;
pub use routed::{
    Routed, explain_gather_matmul, explain_gather_matmul_scatter, gather_matmul,
    gather_matmul_scatter_into,
};

/// For tests that compile the kernels without a device.
pub mod raw {
    /// Of NVIDIA's Hopper.
    pub mod hopper {
        pub use crate::matmul::hopper::*;
    }
    /// Those that stage tiles in shared memory.
    pub mod tiled {
        pub use crate::matmul::form::{
            Form, Grouping, Reading, Sizes, SizesCompilationArg, Strides, StridesCompilationArg,
        };
        pub use crate::matmul::tiled::{matmul_add_kernel, matmul_kernel};
    }
}

/// The book's chapter, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/matmul.md")]
struct Book;
