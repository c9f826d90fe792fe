//! From accumulators to memory.
//!
//! A plane holds 16 rows of its warpgroup's 64. It brings them into order in shared memory of its own, 128 bytes of each row
//! at a time, with their 16-byte parts exchanged so that neither side waits for a bank, and stores them from there 16 bytes
//! a unit, whole lines of four rows at once.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]

use super::activation::activate;
use super::beside::{Beside, activated, sloped};
use super::form::{Form, Groups, Writing};
use super::schedule::{Problem, Tile, listed};
use cubecl::prelude::*;
use girih::cuda::{global, registers};

/// What becomes of a product on its way to memory.
#[derive(CubeType, Clone)]
pub struct Finish<O: Float, P: Float, I: Int> {
    /// An addend for each column, one after another for each product or group.
    pub bias: ComptimeOption<Box<[O]>>,
    /// From the addends of a product to the next; 0 where all have the same.
    pub bias_step: usize,
    /// A factor for each row.
    pub weights: ComptimeOption<Box<[P]>>,
    /// Where each row goes.
    pub targets: ComptimeOption<Box<[I]>>,
    /// The first row that goes out of range.
    pub record: ComptimeOption<Box<[Atomic<u32>]>>,
    /// Rows of the memory that is written.
    pub rows: u32,
    /// From a row of it to the next, in elements.
    pub row_step: usize,
    /// From a product to the next, in elements.
    pub product_step: usize,
}

/// What the elements of two rows of a unit have in common.
#[derive(CubeType, Clone, Copy)]
struct Rows {
    /// The factor of the upper row.
    upper: f32,
    /// The factor of the lower row, eight further down.
    lower: f32,
    /// Whether the tile has a product at all.
    is_live: bool,
    /// The first column of the unit in the tile.
    column: u32,
}

#[cube]
fn weight_of<O: Float, P: Float, I: Int>(finish: &Finish<O, P, I>, row: u32, tile: &Tile) -> f32 {
    #[comptime]
    match &finish.weights {
        ComptimeOption::Some(weights) => {
            let mut weight = 0.0f32;
            if row < tile.end {
                weight = f32::cast_from(weights[row as usize]);
            }
            weight
        }
        ComptimeOption::None => 1.0f32.runtime(),
    }
}

#[cube]
fn bias_of<O: Float, P: Float, I: Int>(
    finish: &Finish<O, P, I>,
    column: u32,
    tile: &Tile,
    problem: &Problem,
) -> f32 {
    #[comptime]
    match &finish.bias {
        ComptimeOption::Some(bias) => {
            let mut value = 0.0f32;
            if column < problem.columns {
                let product = select(tile.number < problem.count, tile.number, 0u32);
                let at = product as usize * finish.bias_step + column as usize;
                value = f32::cast_from(bias[at]);
            }
            value
        }
        ComptimeOption::None => 0.0f32.runtime(),
    }
}

#[cube]
fn finished(value: f32, bias: f32, weight: f32, rows: &Rows, #[comptime] form: Form) -> f32 {
    let mut value = value;
    // Without a product the accumulators have another's.
    if comptime!(form.groups == Groups::Inner) {
        value = select(rows.is_live, value, 0.0f32);
    }
    if comptime!(form.biased) {
        value += bias;
    }
    value = activate(value, comptime!(form.in_registers()));
    if comptime!(form.weighted) {
        value *= weight;
    }
    if comptime!(form.groups == Groups::Rows) {
        value = select(rows.is_live, value, 0.0f32);
    }
    value
}

/// Brings 128 bytes of each of the plane's 16 rows into order: the `chunk`-th part of the tile's columns.
#[cube]
fn stage<O: Float, P: Float, I: Int>(
    acc: &Array<f32>,
    staging: u32,
    lane: u32,
    rows: &Rows,
    finish: &Finish<O, P, I>,
    tile: &Tile,
    problem: &Problem,
    #[comptime] chunk: usize,
    #[comptime] form: Form,
) {
    let size = O::size();
    if comptime!(size == 2) {
        // The row of a matrix that this lane gives the address of: matrices are above, below, and the same to the right.
        let row = lane % 8u32 + (lane / 8u32 % 2u32) * 8u32;
        #[unroll]
        for pair in 0..4usize {
            let at = comptime!((chunk * 8 + pair * 2) * 4);
            let column = tile.column + rows.column + comptime!((chunk * 64 + pair * 16) as u32);
            let b0 = bias_of::<O, P, I>(finish, column, tile, problem);
            let b1 = bias_of::<O, P, I>(finish, column + 1u32, tile, problem);
            let b8 = bias_of::<O, P, I>(finish, column + 8u32, tile, problem);
            let b9 = bias_of::<O, P, I>(finish, column + 9u32, tile, problem);
            let first = registers::pack::<O>(
                finished(acc[at], b0, rows.upper, rows, form),
                finished(acc[comptime!(at + 1)], b1, rows.upper, rows, form),
            );
            let second = registers::pack::<O>(
                finished(acc[comptime!(at + 2)], b0, rows.lower, rows, form),
                finished(acc[comptime!(at + 3)], b1, rows.lower, rows, form),
            );
            let third = registers::pack::<O>(
                finished(acc[comptime!(at + 4)], b8, rows.upper, rows, form),
                finished(acc[comptime!(at + 5)], b9, rows.upper, rows, form),
            );
            let fourth = registers::pack::<O>(
                finished(acc[comptime!(at + 6)], b8, rows.lower, rows, form),
                finished(acc[comptime!(at + 7)], b9, rows.lower, rows, form),
            );
            let part = comptime!(pair as u32 * 2) + lane / 16u32;
            let to = staging + row * 128u32 + (part ^ (lane % 8u32)) * 16u32;
            registers::store_matrices(to, first, second, third, fourth);
        }
    } else {
        let row = lane / 4u32;
        #[unroll]
        for group in 0..4usize {
            let at = comptime!((chunk * 4 + group) * 4);
            let column = tile.column + rows.column + comptime!((chunk * 32 + group * 8) as u32);
            let b0 = bias_of::<O, P, I>(finish, column, tile, problem);
            let b1 = bias_of::<O, P, I>(finish, column + 1u32, tile, problem);
            let part = comptime!(group as u32 * 2) + lane % 4u32 / 2u32;
            let to = staging + row * 128u32 + (part ^ row) * 16u32 + lane % 2u32 * 8u32;
            registers::store_pair(
                to,
                finished(acc[at], b0, rows.upper, rows, form),
                finished(acc[comptime!(at + 1)], b1, rows.upper, rows, form),
            );
            registers::store_pair(
                to + 1024u32,
                finished(acc[comptime!(at + 2)], b0, rows.lower, rows, form),
                finished(acc[comptime!(at + 3)], b1, rows.lower, rows, form),
            );
        }
    }
}

/// The row of memory that a row of the result goes to, or as many as there are where it goes nowhere.
#[cube]
pub(super) fn target_of<O: Float, P: Float, I: Int>(
    finish: &Finish<O, P, I>,
    row: u32,
    tile: &Tile,
    #[comptime] form: Form,
) -> u32 {
    let nowhere = finish.rows;
    let mut target = nowhere;
    if row < tile.end {
        target = #[comptime]
        match &finish.targets {
            ComptimeOption::Some(targets) => {
                listed::<I>(targets, row, nowhere, &finish.record, form.bounds)
            }
            ComptimeOption::None => row,
        };
    }
    target
}

/// Stores the 64 x `columns` elements of a warpgroup, of which this plane holds the rows from `first` on.
#[cube]
pub fn store_tile<O: Float, P: Float, I: Int, N: Size, W: Size>(
    acc: &Array<f32>,
    out: &mut [Vector<O, N>],
    beside: &mut [Vector<O, N>],
    staging: u32,
    lane: u32,
    first: u32,
    tile: &Tile,
    problem: &Problem,
    finish: &Finish<O, P, I>,
    #[comptime] form: Form,
) {
    let width = W::value();
    let upper = first + lane / 4u32;
    let rows = Rows {
        upper: weight_of::<O, P, I>(finish, upper, tile),
        lower: weight_of::<O, P, I>(finish, upper + 8u32, tile),
        is_live: tile.steps > 0u32,
        column: lane % 4u32 * 2u32,
    };
    let mut product = 0usize;
    if comptime!(form.groups != Groups::Rows) {
        product = tile.number as usize * finish.product_step;
    }
    let per_chunk = comptime!(8 * width as u32);
    #[unroll]
    for chunk in 0..comptime!((form.columns / per_chunk) as usize) {
        let column = tile.column + comptime!(chunk as u32 * per_chunk) + lane % 8u32 * width as u32;
        // They are on their way while the sums are brought into order.
        let mut slopes = Array::<Vector<O, N>>::new(comptime!(match form.beside {
            Beside::SlopeAt => 4usize,
            _ => 1usize,
        }));
        if comptime!(form.beside == Beside::SlopeAt) {
            #[unroll]
            for part in 0..4usize {
                let row = comptime!(part as u32 * 4) + lane / 8u32;
                let target = target_of::<O, P, I>(finish, first + row, tile, form);
                let at = product + target as usize * finish.row_step + column as usize;
                let is_here = target < finish.rows && column < problem.columns;
                slopes[part] = Vector::<O, N>::new(O::from_int(0));
                if is_here {
                    slopes[part] = beside[at / width];
                }
            }
        }
        stage::<O, P, I>(
            acc, staging, lane, &rows, finish, tile, problem, chunk, form,
        );
        sync_plane();
        #[unroll]
        for part in 0..4usize {
            let row = comptime!(part as u32 * 4) + lane / 8u32;
            let from = staging + row * 128u32 + ((lane ^ row) % 8u32) * 16u32;
            let target = target_of::<O, P, I>(finish, first + row, tile, form);
            let at = product + target as usize * finish.row_step + column as usize;
            if comptime!(form.vectors) {
                let value = registers::load_16::<Vector<O, N>>(from);
                let is_here = target < finish.rows && column < problem.columns;
                if comptime!(form.writing == Writing::Add) {
                    if is_here && rows.is_live {
                        let place = at / width;
                        global::add_16::<Vector<O, N>>(out[place..place + 1].as_ptr(), value);
                    }
                } else if is_here {
                    let mut made = value;
                    if comptime!(form.beside == Beside::Before) {
                        beside[at / width] = value;
                        made = activated::<O, N>(value, form);
                    }
                    if comptime!(form.beside == Beside::SlopeAt) {
                        made = sloped::<O, N>(value, slopes[part], form);
                    }
                    out[at / width] = made;
                }
            } else {
                let value = registers::load_16::<Vector<O, W>>(from);
                #[unroll]
                for element in 0..width {
                    let one = Vector::<O, N>::cast_from(value.extract(element));
                    if target < finish.rows && column + (element as u32) < problem.columns {
                        out[at + element] = one;
                    }
                }
            }
        }
        sync_plane();
    }
}
