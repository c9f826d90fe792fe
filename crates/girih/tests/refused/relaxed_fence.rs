//! A fence without an order is none.
use cubecl::prelude::*;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn order(out: &mut [u32]) {
    out[0] = 1u32;
    fence::<Relaxed, Device>();
}

fn main() {}
