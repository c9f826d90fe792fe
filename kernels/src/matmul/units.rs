//! Products by units, each for itself: a block of the result in its registers.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
// Elements of lists and vectors have no assigning operators in a kernel.
#![allow(clippy::assign_op_pattern)]

use super::form::Form;
use cubecl::prelude::*;

/// The unit's sums, row by row; where planes multiply, one that nothing uses.
#[cube]
pub(crate) fn zeros<W: Numeric, N: Size>(#[comptime] form: Form) -> Array<Vector<W, N>> {
    let count = comptime!(match form.plane {
        0 => (form.tile.unit_rows * form.tile.unit_columns / form.vector) as usize,
        _ => 1,
    });
    let mut sums = Array::<Vector<W, N>>::new(count);
    #[unroll]
    for index in 0..count {
        sums[index] = Vector::<W, N>::zeroed();
    }
    sums
}

/// Adds the products of two tiles in shared memory.
#[cube]
pub(crate) fn multiply<S: Numeric, W: Numeric, N: Size>(
    tile_a: &Shared<[Vector<S, N>]>,
    tile_b: &Shared<[Vector<S, N>]>,
    sums: &mut Array<Vector<W, N>>,
    #[comptime] form: Form,
) {
    let tile = comptime!(form.tile);
    let width = comptime!(form.vector);
    let [across, units] = comptime!(form.units());
    let down = comptime!(units / across);
    let [pitch_a, pitch_b] =
        comptime!([form.side_a(false), form.side_b()].map(|side| form.pitch(side)));
    let rows = comptime!(tile.unit_rows / width);
    let columns = comptime!(tile.unit_columns / width);
    let (unit_row, unit_column) = (UNIT_POS / across, UNIT_POS % across);
    for position in 0..tile.depth {
        let mut of_a = Array::<Vector<W, N>>::new(comptime!(rows as usize));
        let mut of_b = Array::<Vector<W, N>>::new(comptime!(columns as usize));
        #[unroll]
        for index in 0..rows {
            let at = position * pitch_a + comptime!(index * down) + unit_row;
            of_a[index as usize] = Vector::<W, N>::cast_from(tile_a[at as usize]);
        }
        #[unroll]
        for index in 0..columns {
            let at = position * pitch_b + comptime!(index * across) + unit_column;
            of_b[index as usize] = Vector::<W, N>::cast_from(tile_b[at as usize]);
        }
        #[unroll]
        for row in 0..tile.unit_rows {
            let lane =
                of_a[comptime!((row / width) as usize)].extract(comptime!((row % width) as usize));
            let factor = Vector::<W, N>::new(lane);
            #[unroll]
            for column in 0..columns {
                let at = comptime!((row * columns + column) as usize);
                sums[at] = sums[at] + factor * of_b[column as usize];
            }
        }
    }
}

/// The column of the cube's tile that a part of the unit's sums begins at.
#[cube]
pub(crate) fn column_of(#[comptime] part: u32, #[comptime] form: Form) -> u32 {
    let across = comptime!(form.units()[0]);
    let width = comptime!(form.vector);
    (comptime!(part * across) + UNIT_POS % across) * width
}

/// A part's sum of that number, and its row in the cube's tile.
#[cube]
pub(crate) fn sum_of<W: Numeric, N: Size, O: Size>(
    sums: &Array<Vector<W, N>>,
    #[comptime] part: u32,
    #[comptime] row: u32,
    #[comptime] form: Form,
) -> (Vector<W, O>, u32) {
    let width = comptime!(form.vector);
    let [across, units] = comptime!(form.units());
    let vector = comptime!(row / width * (units / across)) + UNIT_POS / across;
    let at = comptime!((row * form.parts() + part) as usize);
    (
        Vector::<W, O>::cast_from(sums[at]),
        vector * width + comptime!(row % width),
    )
}
