//! A tile still to be read from memory keeps that memory borrowed.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &mut Tensor<f32>) {
    let cube = this_cube();
    let tile = TileView::<f32, shape![4]>::of(&*x).load(&cube, 0);
    TileViewMut::<f32, shape![4]>::of(x).store(&cube, tile, 1);
}

fn main() {}
