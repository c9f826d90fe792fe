//! What can be wrong with a call.

use burn::tensor::{DType, ExecutionError};

/// Why an op was refused, or what [`check`](crate::Checked::check) found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What the kernels refuse: an axis, a shape, a type, or a device without what they need. After
    /// [`check`](crate::Checked::check), an index out of range.
    #[error(transparent)]
    Kernel(#[from] girih::Error),
    /// Tensors on two devices.
    #[error("{argument} is on {given}; {call} needs it on {allowed}, where its first tensor is")]
    Device {
        /// The call.
        call: &'static str,
        /// The argument.
        argument: &'static str,
        /// The device it is on.
        given: String,
        /// The device of the first tensor.
        allowed: String,
    },
    /// A device that the kernels do not run on.
    #[error(
        "a tensor is on {given}; {call} runs on CubeCL's devices that this build has: {allowed}"
    )]
    Backend {
        /// The call.
        call: &'static str,
        /// The device.
        given: String,
        /// The runtimes that the build has.
        allowed: String,
    },
    /// A quantized tensor.
    #[error("{argument} has elements of type {given:?}; {call} needs floats or integers")]
    Quantized {
        /// The call.
        call: &'static str,
        /// The argument.
        argument: &'static str,
        /// Its element type.
        given: DType,
    },
    /// The record of indices out of range could not be read back: the device failed before.
    #[error("the device failed: {0}")]
    Read(#[from] ExecutionError),
}
