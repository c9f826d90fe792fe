//! Floats have no bitwise or.
use cubecl::prelude::*;
use girih::coop::Or;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn kernel(indices: &[i32], out: &mut Tensor<f32>) {
    let cube = this_cube();
    let tile = Tile::<f32, shape![4]>::full(1.0);
    let mut view = GatherScatterViewMut::<f32, shape![4], 0>::of(out);
    let list = TileView::<i32, shape![4]>::of(indices).load(&cube, 0);
    view.combine::<Or>(&cube, tile, &list);
}

fn main() {}
