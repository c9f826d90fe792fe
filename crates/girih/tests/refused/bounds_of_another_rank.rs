//! One rule for each dimension of the tile.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    let cube = this_cube();
    let view = TileView::<f32, shape![4, 4]>::of(x).bounds([Bounds::Clamp, Bounds::Mask, Bounds::Mask]);
    let tile = view.load_masked(&cube, Zero, (0, 0));
    TileViewMut::<f32, shape![4, 4]>::of(out).store(&cube, tile, (0, 0));
}

fn main() {}
