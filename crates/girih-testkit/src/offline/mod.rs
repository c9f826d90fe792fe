//! Kernels to CUDA C++, PTX and SASS with no GPU: what an NVIDIA GPU would run, and at what cost.
//!
//! `#[cube(launch)] fn copy<E: Numeric>(..)` makes a module `copy` with a struct `Copy`. Its `new` takes what a launch would
//! know of the device, then for each argument in order [`buffer`], [`tensor`], [`optional`], [`none`] or [`scalars`], `()` for a scalar or the value of a
//! `#[comptime]` one, and last the sizes (`N: Size`):
//!
//! ```no_run
//! use cubecl::prelude::*;
//! use girih_testkit::offline::{self, Toolkit};
//!
//! #[cube(launch)]
//! fn increment(out: &mut [u32]) {
//!     out[ABSOLUTE_POS] += 1u32;
//! }
//!
//! # fn main() -> Result<(), girih_testkit::Error> {
//! let kernel = increment::Increment::new(
//!     offline::settings(256), offline::hopper(), offline::target(), offline::buffer(),
//! );
//! let compiled = Toolkit::find()?.compile(kernel)?;
//! compiled.assert_ptx("ld.global.u32");
//! compiled.assert_no_local_memory();
//! # Ok(())
//! # }
//! ```

mod arguments;
mod compiled;
mod languages;
mod properties;
mod resources;
mod toolkit;
pub mod types;

pub use arguments::{buffer, none, optional, scalars, tensor};
pub use compiled::Compiled;
pub use languages::Language;
pub use properties::{hopper, settings, target};
pub use resources::Resources;
pub use toolkit::Toolkit;

/// The architecture that kernels are compiled for: Hopper, with what only it has.
pub const HOPPER: &str = "sm_90a";
