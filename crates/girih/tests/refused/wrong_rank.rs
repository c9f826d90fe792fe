//! A tile of rank 3 wants three entries.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &Tensor<f32>, indices: &[i32], out: &mut Tensor<f32>) {
    let cube = this_cube();
    let list = TileView::<i32, shape![4]>::of(indices).load(&cube, 0);
    let view = GatherScatterView::<f32, shape![4, 4, 4], 0>::of(x);
    let tile = view.load(&cube, (&list, 3));
    TileViewMut::<f32, shape![4, 4, 4]>::of(out).store(&cube, tile, (0, 0, 0));
}

fn main() {}
