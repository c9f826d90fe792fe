//! A view's store has nothing to acquire either.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn publish(flags: &Tensor<Atomic<u32>>) {
    let cube = this_cube();
    let view = AtomicGatherScatterView::<u32, shape![8], 0>::of(flags);
    let ones = Tile::<u32, shape![8]>::full(1u32);
    view.atomic_store_masked::<Acquire>(&cube, ones, (&Tile::<u32, shape![8]>::iota(),));
}

fn main() {}
