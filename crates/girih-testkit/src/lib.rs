//! Runs one test case on every runtime, runs vector files, and compiles kernels to PTX and SASS without a GPU.
//!
//! - [`Rt`] is a device that is there: its client, typed buffers with poison and guard rows, reads that return errors.
//! - [`Case`](case::Case) and [`cases!`] turn functions of an `Rt` into tests of every device.
//! - [`check`] compares what a kernel wrote with what the host expects.
//! - [`vectors`] asks the questions of a vector file and counts the right answers.
//!
//! A kernel that fails can be silent: CubeCL reports it when a buffer it writes is read, and not always then. So every
//! output starts [poisoned](buffer::poison), every read is a `Result`, and expectations come from the host.
#![deny(missing_docs)]

pub mod buffer;
pub mod case;
pub mod check;
pub mod device;
mod error;
#[cfg(feature = "offline")]
pub mod offline;
pub mod vectors;

pub use buffer::{Buffer, Tensor, poison};
pub use case::needs;
pub use device::{DeviceKind, Rt};
pub use error::Error;
