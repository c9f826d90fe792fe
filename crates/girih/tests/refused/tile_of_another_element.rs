//! A tile of f32 does not go where i32 lies.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(out: &mut Tensor<i32>) {
    let cube = this_cube();
    let tile = Tile::<f32, shape![4]>::full(1.0);
    TileViewMut::<i32, shape![4]>::of(out).store(&cube, tile, 0);
}

fn main() {}
