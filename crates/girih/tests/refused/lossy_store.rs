//! i32 has values that f32 has not: such a tile is converted first.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &Tensor<i32>, out: &mut Tensor<f32>) {
    let cube = this_cube();
    let tile = TileView::<i32, shape![4]>::of(x).load(&cube, 0);
    TileViewMut::<f32, shape![4]>::of(out).store(&cube, tile, 0);
}

fn main() {}
