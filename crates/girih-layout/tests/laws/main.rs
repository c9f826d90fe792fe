//! The laws of the algebra, each on 10,000 random inputs: nested shapes, static and dynamic leaves, strides of 0,
//! extents of 1.
//!
//! What is right is computed by the models in [`model`], which share no code with the library.

mod algebra;
mod basics;
mod composition;
mod extreme;
mod inputs;
mod inverse;
mod model;
mod product;
mod recast;
mod swizzle;
mod text;
mod thread_value;
mod tiling;
mod vector;

/// Cases per law.
fn config() -> proptest::prelude::ProptestConfig {
    proptest::prelude::ProptestConfig {
        cases: 10_000,
        // A failure prints its smallest input, which becomes a test by name.
        failure_persistence: None,
        ..Default::default()
    }
}
