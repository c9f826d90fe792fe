//! An order is no scope.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn look(flag: &[Atomic<u32>], out: &mut [u32]) {
    out[0] = flag[0].at::<Acquire>().load::<Acquire>();
}

fn main() {}
