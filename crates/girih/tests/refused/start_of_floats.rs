//! A start is an integer.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &Tensor<f32>, indices: &[i32], start: f32, out: &mut Tensor<f32>) {
    let cube = this_cube();
    let tile = GatherScatterView::<f32, shape![4, 8], 0>::of(x).load(&cube, (indices, start));
    TileViewMut::<f32, shape![4, 8]>::of(out).store(&cube, tile, (0, 0));
}

fn main() {}
