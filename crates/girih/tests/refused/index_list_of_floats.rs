//! Indices are integers.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &Tensor<f32>, indices: &[f32], out: &mut Tensor<f32>) {
    let cube = this_cube();
    let list = TileView::<f32, shape![4]>::of(indices).load(&cube, 0);
    let tile = GatherScatterView::<f32, shape![4, 8], 0>::of(x).load(&cube, (&list, 3));
    TileViewMut::<f32, shape![4, 8]>::of(out).store(&cube, tile, (0, 0));
}

fn main() {}
