//! Atomics are not read plainly.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &Tensor<Atomic<f32>>) {
    let _view = TileView::<f32, shape![4]>::of(x);
}

fn main() {}
