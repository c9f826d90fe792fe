//! A view of memory that is only read does not store.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &Tensor<f32>, indices: &[i32]) {
    let cube = this_cube();
    let list = TileView::<i32, shape![4]>::of(indices).load(&cube, 0);
    let tile = Tile::<f32, shape![4, 8]>::full(1.0);
    GatherScatterView::<f32, shape![4, 8], 0>::of(x).store(&cube, tile, (&list, 3));
}

fn main() {}
