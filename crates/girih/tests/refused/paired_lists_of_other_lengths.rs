//! Lists for one dimension are as long as it is.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(x: &Tensor<f32>, indices: &[i32], out: &mut Tensor<f32>) {
    let cube = this_cube();
    let i = TileView::<i32, shape![4]>::of(indices).load(&cube, 0);
    let j = TileView::<i32, shape![5]>::of(indices).load(&cube, 0);
    let tile = GatherScatterView::<f32, shape![4, 8], 0>::of(x).load(&cube, ((&i, &j), 3));
    TileViewMut::<f32, shape![4, 8]>::of(out).store(&cube, tile, (0, 0));
}

fn main() {}
