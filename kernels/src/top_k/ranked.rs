//! A few keys of a row put in order by one cube.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::at_once::AtOnce;
use crate::sort::{Order, encode};
use cubecl::prelude::*;
use girih::prelude::*;

/// Most of those wanted that one cube puts in order by comparing each with each.
pub(super) const RANKED: usize = 512;

/// Puts those wanted in order, equal keys by their places: each goes where as many are as come before it.
#[cube]
pub(super) fn put_in_order<K: Int, W: Int, I: Int>(
    out: &mut [K],
    places: &mut [I],
    first: usize,
    k: u32,
    #[comptime] plan: AtOnce,
    #[comptime] order: Option<Order>,
) {
    let units = comptime!(plan.units as usize);
    let count = k as usize;
    let mut raws = shared::<K>(comptime!(plan.ranked as usize));
    let mut keys = shared::<W>(comptime!(plan.ranked as usize));
    let mut from = shared::<u32>(comptime!(plan.ranked as usize));
    let mut at = UNIT_POS as usize;
    while at < count {
        let raw = out[first + at];
        raws[at] = raw;
        keys[at] = encode::<W>(W::cast_from(raw), order);
        from[at] = u32::cast_from(places[first + at]);
        at += units;
    }
    sync_cube();
    let mut at = UNIT_POS as usize;
    while at < count {
        let (key, place) = (keys[at], from[at]);
        let mut rank = 0usize;
        for other in 0..count {
            let is_before = keys[other] < key || (keys[other] == key && from[other] < place);
            rank += usize::cast_from(is_before);
        }
        out[first + rank] = raws[at];
        places[first + rank] = I::cast_from(place);
        at += units;
    }
}
