//! Products on NVIDIA's Hopper, by tensor cores that warpgroups feed from shared memory.

mod form;
mod kernel;
mod launch;
mod schedule;
mod store;

pub use form::{DEPTH, Form, Groups, ROWS, Routing, Share, UNITS, Writing};
pub use kernel::hopper_kernel;
pub use launch::{Product, form, launch, supports};
pub use schedule::ProblemCompilationArg;
