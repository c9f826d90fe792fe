//! A coordinate is made of integers.
use cubecl::prelude::*;
use girih::layout::KernelLayout;

#[cube(launch_unchecked)]
fn half_way(layout: KernelLayout, out: &mut [u32]) {
    out[0] = layout.offset((0, 1.5f32)) as u32;
}

fn main() {}
