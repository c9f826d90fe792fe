//! Products of matrices.

mod activation;
mod hopper;

pub use activation::Activation;

/// For tests that compile the kernels without a device.
pub mod raw {
    /// Of NVIDIA's Hopper.
    pub mod hopper {
        pub use crate::matmul::hopper::*;
    }
}
