//! [`Level`].

/// A level of the hierarchy that a launch's units form by themselves, smallest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// One unit (CUDA: thread).
    Unit,
    /// The units that run in lockstep (CUDA: warp).
    Plane,
    /// The units that share memory and a barrier (CUDA: block).
    Cube,
    /// The cubes that reach each other's shared memory.
    Cluster,
    /// Every cube of a launch.
    Grid,
}
