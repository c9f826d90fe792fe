//! Products of matrices.

mod activation;
mod hopper;

pub use activation::Activation;

/// For tests that compile the kernels without a device.
pub mod raw {
    pub use super::hopper::{
        Form, ProblemCompilationArg, Routing, Share, UNITS, Writing, hopper_kernel,
    };
}
