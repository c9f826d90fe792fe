//! What lies beside a result, element by element: the sums before their activation, or those that its slope is taken at.
//!
//! Both are of the result's type, and are moved as it is: 16 bytes a unit, once a plane has brought them into order. What is
//! computed is computed of rounded sums, as a pass of its own would.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]

use super::activation::{activate, slope};
use super::form::{Form, Groups};
use super::schedule::{Problem, Tile};
use super::store::{Finish, target_of};
use cubecl::prelude::*;
use girih::cuda::global;

/// What lies beside a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Beside {
    /// Nothing: the activation is applied to the accumulators.
    Nothing,
    /// The sums go there before the activation.
    Before,
    /// The sums are multiplied with the activation's slope at what is there.
    SlopeAt,
}

/// The activation of rounded sums.
#[cube]
pub(super) fn activated<O: Float, N: Size>(
    sums: Vector<O, N>,
    #[comptime] form: Form,
) -> Vector<O, N> {
    let mut made = sums;
    #[unroll]
    for lane in 0..N::value() {
        let sum = f32::cast_from(sums.extract(lane));
        made.insert(lane, O::cast_from(activate(sum, form.activation)));
    }
    made
}

/// Rounded sums times the activation's slope at others.
#[cube]
pub(super) fn sloped<O: Float, N: Size>(
    sums: Vector<O, N>,
    at: Vector<O, N>,
    #[comptime] form: Form,
) -> Vector<O, N> {
    let mut made = sums;
    #[unroll]
    for lane in 0..N::value() {
        let factor = slope(f32::cast_from(at.extract(lane)), form.activation);
        let sum = f32::cast_from(sums.extract(lane));
        made.insert(lane, O::cast_from(sum * factor));
    }
    made
}

/// Asks for what slopes will be taken at in a plane's 16 rows of a tile, while the tile is being multiplied: lines of 128 bytes, that
/// later come from the cache.
#[cube]
pub(super) fn ask_ahead<O: Float, P: Float, I: Int, N: Size>(
    beside: &[Vector<O, N>],
    lane: u32,
    first: u32,
    tile: &Tile,
    problem: &Problem,
    finish: &Finish<O, P, I>,
    #[comptime] form: Form,
) {
    let size = O::size();
    let of_line = comptime!(128 / size as u32);
    let lines = comptime!(form.columns / of_line);
    let mut product = 0usize;
    if comptime!(form.groups != Groups::Rows) {
        product = tile.number as usize * finish.product_step;
    }
    #[unroll]
    for step in 0..comptime!((lines as usize * 16).div_ceil(32)) {
        let index = lane + comptime!(32 * step as u32);
        let row = index / lines;
        let column = tile.column + index % lines * of_line;
        let target = target_of::<O, P, I>(finish, first + row, tile, form);
        if row < 16u32 && target < finish.rows && column < problem.columns {
            let at = product + target as usize * finish.row_step + column as usize;
            let place = at / N::value();
            global::prefetch::<Vector<O, N>>(beside[place..place + 1].as_ptr());
        }
    }
}
