//! Floats have no bitwise operations to combine them by.
use cubecl::prelude::*;
use girih::coop::And;
use girih::prelude::*;

#[cube(launch_unchecked)]
fn masks(values: &mut [f32]) {
    let unit = UNIT_POS as usize;
    values[unit] = this_plane().reduce::<f32, And>(values[unit]);
}

fn main() {}
