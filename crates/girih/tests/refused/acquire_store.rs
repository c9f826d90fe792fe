//! A store has nothing to acquire.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn publish(flag: &[Atomic<u32>]) {
    flag[0].at::<Device>().store::<Acquire>(1u32);
}

fn main() {}
