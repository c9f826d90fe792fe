//! Products on NVIDIA's Hopper, by tensor cores that warpgroups feed from shared memory.

mod activation;
mod beside;
mod choice;
mod form;
mod gather;
mod kernel;
mod launch;
mod load;
mod multiply;
mod product;
mod ring;
mod schedule;
mod store;

pub use beside::Beside;
pub use choice::{form, form_of, supports};
pub use form::{DEPTH, Form, Groups, Operand, ROWS, Routing, Share, UNITS, Writing};
pub use kernel::hopper_kernel;
pub use launch::{launch, launch_beside};
pub use product::Product;
pub use schedule::{Problem, ProblemCompilationArg, ProblemLaunch, Tile, find_tile, tiles_of};
