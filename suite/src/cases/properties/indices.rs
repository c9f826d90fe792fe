//! Random indices: mostly in range or near its ends, now and then at the ends of their type.

use super::element::range;
use cubecl::ir::ElemType;
use proptest::{prelude::*, sample::select};

/// Numbers at which a narrower type, a sign or an offset of 32 bits would wrap around.
const TURNS: [i128; 8] = [
    1 << 7,
    1 << 8,
    1 << 15,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    1 << 32,
    (1 << 32) + 1,
];

/// An index of that type along an axis; where it is not checked, one in range.
pub fn index(extent: usize, index_type: ElemType, checked: bool) -> BoxedStrategy<i128> {
    let (least, most) = range(index_type);
    let extent = extent as i128;
    let within = (0..extent.max(1)).prop_map(move |index| index.clamp(least, most));
    if !checked {
        return within.boxed();
    }
    let ends = [-extent - 1, -extent, -1, 0, extent - 1, extent];
    let near = prop_oneof![select(ends.to_vec()), -extent - 2..extent + 3];
    let turns = TURNS.into_iter().flat_map(|turn| [turn, -turn]);
    let ends = turns.chain([least, least + 1, most - 1, most]);
    let far = select(ends.collect::<Vec<_>>());
    let any = prop_oneof![6 => within, 3 => near, 1 => far];
    any.prop_map(move |index| index.clamp(least, most)).boxed()
}

/// Where a run of `run` elements starts along an axis; where it is not checked, all of it is in range.
pub fn start(extent: usize, run: usize, checked: bool) -> BoxedStrategy<i32> {
    let (extent, run) = (extent as i32, run as i32);
    if !checked {
        return (0..=extent - run).boxed();
    }
    let near = (-run - 1)..(extent + 2);
    let ends = [i32::MIN, i32::MIN + 1, i32::MAX - 1, i32::MAX];
    prop_oneof![14 => 0..extent.max(1), 3 => near, 1 => select(ends.to_vec())].boxed()
}
