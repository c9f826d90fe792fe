//! Which elements of a tile begin a segment.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::place::{Cuts, Row, is_below, search};
use super::tile::{TilePlan, position};
use cubecl::prelude::*;

/// Lists that say where segments begin.
#[derive(CubeType)]
pub(crate) struct Heads<F: Int> {
    /// Flags, or sorted positions.
    pub list: ComptimeOption<Box<[F]>>,
    /// How far apart segments begin.
    pub period: usize,
}

/// Bit `i`: the unit's element `i` begins a segment.
#[cube]
pub(super) fn heads<F: Int>(
    heads: &Heads<F>,
    row: Row,
    first: usize,
    #[comptime] plan: TilePlan,
) -> u32 {
    let mut bits = 0u32;
    if comptime!(plan.cuts.any()) {
        let width = comptime!(plan.width);
        #[unroll]
        for vector in 0..comptime!(plan.vectors) {
            let at = position(first, vector, plan);
            let shift = comptime!((vector * width) as u32);
            bits |= heads_of_vector::<F>(heads, row, at, plan) << shift;
        }
    }
    bits
}

#[cube]
fn heads_of_vector<F: Int>(
    heads: &Heads<F>,
    row: Row,
    at: usize,
    #[comptime] plan: TilePlan,
) -> u32 {
    let width = comptime!(plan.width);
    let mut bits = 0u32;
    if comptime!(plan.cuts == Cuts::Every) {
        let mut phase = at % heads.period;
        #[unroll]
        for lane in 0..width {
            bits |= u32::cast_from(phase == 0) << comptime!(lane as u32);
            phase = select(phase + 1 == heads.period, 0, phase + 1);
        }
    } else {
        #[comptime]
        match &heads.list {
            ComptimeOption::Some(list) => {
                if comptime!(plan.cuts == Cuts::Flags) {
                    #[unroll]
                    for lane in 0..width {
                        if at + lane < row.length {
                            let is_head =
                                list[row.flags + (at + lane) * row.flags_step] != F::from_int(0);
                            bits |= u32::cast_from(is_head) << comptime!(lane as u32);
                        }
                    }
                } else {
                    let mut next = search::<F>(list, 0usize, at);
                    #[unroll]
                    for lane in 0..width {
                        let place = at + lane;
                        if next < list.len() {
                            if is_below::<F>(list[next], place) {
                                next = search::<F>(list, next, place);
                            }
                        }
                        if next < list.len() {
                            let is_head = usize::cast_from(list[next]) == place;
                            bits |= u32::cast_from(is_head) << comptime!(lane as u32);
                        }
                    }
                }
            }
            ComptimeOption::None => {}
        }
    }
    bits
}
