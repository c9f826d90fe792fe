//! A view that stores wants `&mut`.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &Tensor<f32>) {
    let cube = this_cube();
    let tile = Tile::<f32, shape![4, 8]>::full(1.0);
    TileViewMut::<f32, shape![4, 8]>::of(x).store(&cube, tile, (0, 0));
}

fn main() {}
