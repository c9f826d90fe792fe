//! Products on NVIDIA's Hopper, by tensor cores that warpgroups feed from shared memory.

mod beside;
mod form;
mod kernel;
mod launch;
mod schedule;
mod store;

pub use beside::Beside;
pub use form::{DEPTH, Form, Groups, ROWS, Routing, Share, UNITS, Writing};
pub use kernel::hopper_kernel;
pub use launch::{Product, form, launch, launch_beside, supports};
pub use schedule::ProblemCompilationArg;
