//! Runs one test case on every runtime, runs vector files, and compiles kernels to PTX and SASS without a GPU.
#![deny(missing_docs)]

pub mod vectors;
