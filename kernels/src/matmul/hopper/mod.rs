//! Products on NVIDIA's Hopper, by its tensor cores.

mod form;
mod kernel;
mod schedule;
mod store;

pub use form::{DEPTH, Form, MOST_GROUPS, ROWS, Routing, Share, UNITS, Writing};
pub use kernel::hopper_kernel;
pub use schedule::{ProblemCompilationArg, ProblemLaunch};
