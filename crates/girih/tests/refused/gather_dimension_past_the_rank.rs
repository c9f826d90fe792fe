//! Dimension 2 is none of a tile of rank 2.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &Tensor<f32>) {
    let _view = GatherScatterView::<f32, shape![4, 4], 2>::of(x);
}

fn main() {}
