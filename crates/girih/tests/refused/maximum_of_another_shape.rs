//! Tiles are combined with tiles of their shape.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &[f32], out: &mut [f32]) {
    let cube = this_cube();
    let a = TileView::<f32, shape![4]>::of(x).load(&cube, 0);
    let b = TileView::<f32, shape![8]>::of(x).load(&cube, 0);
    TileViewMut::<f32, shape![4]>::of(out).store(&cube, a.maximum(&b), 0);
}

fn main() {}
