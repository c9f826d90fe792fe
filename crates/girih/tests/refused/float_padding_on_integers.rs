//! An integer has no infinity.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &Tensor<i32>, out: &mut Tensor<i32>) {
    let cube = this_cube();
    let tile = TileView::<i32, shape![4]>::of(x).load_masked(&cube, NegInf, 0);
    TileViewMut::<i32, shape![4]>::of(out).store(&cube, tile, 0);
}

fn main() {}
