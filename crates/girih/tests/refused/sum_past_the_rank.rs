//! A tile of one dimension has no dimension 1.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &[f32], out: &mut [f32]) {
    let cube = this_cube();
    let x = TileView::<f32, shape![4]>::of(x).load(&cube, 0);
    let sum = x.sum::<1>(&cube);
    TileViewMut::<f32, shape![1]>::of(out).store(&cube, sum, 0);
}

fn main() {}
