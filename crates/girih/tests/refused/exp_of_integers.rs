//! Functions of real numbers are for floats.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &[i32], out: &mut [i32]) {
    let cube = this_cube();
    let x = TileView::<i32, shape![4]>::of(x).load(&cube, 0);
    TileViewMut::<i32, shape![4]>::of(out).store(&cube, x.exp(), 0);
}

fn main() {}
