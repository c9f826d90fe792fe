//! A tile is repeated along the dimensions that it has.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &[f32], out: &mut Tensor<f32>) {
    let cube = this_cube();
    let row = TileView::<f32, shape![4]>::of(x).load(&cube, 0);
    let tile = row.broadcast_to::<shape![8, 4]>();
    TileViewMut::<f32, shape![8, 4]>::of(out).store(&cube, tile, (0, 0));
}

fn main() {}
