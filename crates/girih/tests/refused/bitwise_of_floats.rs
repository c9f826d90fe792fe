//! Floats have no bitwise operations.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn mask(cells: &[Atomic<f32>]) {
    cells[0].at::<Device>().fetch_and::<Relaxed>(1.0f32);
}

fn main() {}
