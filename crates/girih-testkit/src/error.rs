//! What can go wrong between a test and its answer.

use std::path::PathBuf;

use crate::device::DeviceKind;

/// Why the testkit has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// This build has no such runtime.
    #[error("{kind} is not in this build: it needs the feature `{}`", kind.feature())]
    NotBuilt {
        /// The device that was asked for.
        kind: DeviceKind,
    },
    /// The runtime is there and the machine has nothing for it to run on.
    #[error("{kind} is not on this machine: {reason}")]
    Absent {
        /// The device that was asked for.
        kind: DeviceKind,
        /// What the runtime said.
        reason: String,
    },
    /// No device goes by this name.
    #[error("no device is called `{given}`: cpu, vulkan, wgsl and cuda are")]
    UnknownDevice {
        /// The name that was given.
        given: String,
    },
    /// A kernel that writes the buffer did not compile or did not run.
    #[error("{kind}: a kernel that writes this buffer failed: {reason}")]
    Kernel {
        /// Where it was launched.
        kind: DeviceKind,
        /// CubeCL's own message.
        reason: String,
    },
    /// A kernel wrote outside the buffer it was given.
    #[error("{kind}: a kernel wrote {offset} bytes {side} its buffer of {bytes} bytes")]
    Guard {
        /// Where it was launched.
        kind: DeviceKind,
        /// `before` or `after`.
        side: &'static str,
        /// Distance in bytes of the nearest overwritten byte from the buffer's edge, from 1.
        offset: usize,
        /// The size of the buffer, without its guard rows.
        bytes: usize,
    },
    /// A kernel wrote between the elements of a strided tensor.
    #[error(
        "{kind}: a kernel wrote at element {position} of the storage, which no index of shape {shape:?} with strides \
         {strides:?} reaches"
    )]
    Hole {
        /// Where it was launched.
        kind: DeviceKind,
        /// Position in the storage, in elements.
        position: usize,
        /// The tensor's extents.
        shape: Vec<usize>,
        /// The tensor's strides, in elements.
        strides: Vec<usize>,
    },
    /// A vector file, or a line of it, could not be read.
    #[error("{}, line {line}: {reason}", path.display())]
    Vectors {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 for the file itself.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The CUDA compilers are not all there.
    #[error(
        "no {missing} in {}: run `cargo xtask setup`, or set CUDA_PATH to a CUDA 13 toolkit",
        root.display()
    )]
    Toolkit {
        /// What was looked for.
        missing: String,
        /// Where.
        root: PathBuf,
    },
    /// A compiler refused a kernel.
    #[error("{stage} refused the kernel: {log}")]
    Compile {
        /// `CubeCL`, `NVRTC`, `ptxas` or `nvdisasm`.
        stage: &'static str,
        /// What it said.
        log: String,
    },
    /// A temporary file could not be written.
    #[error("{}: {reason}", path.display())]
    Temporary {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
}
