//! Tiles of floats have no bits.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &[f32], out: &mut [f32]) {
    let cube = this_cube();
    let x = TileView::<f32, shape![4]>::of(x).load(&cube, 0);
    TileViewMut::<f32, shape![4]>::of(out).store(&cube, &x & &x, 0);
}

fn main() {}
