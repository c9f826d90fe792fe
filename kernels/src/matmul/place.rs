//! Where a cube's tile is.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]

use super::form::{Form, Grouping, PER_AXIS, Sizes, Strides};
use cubecl::prelude::*;

/// A cube's tile: where its operands begin, in elements, and what of it is there.
#[derive(CubeType, Clone, Copy)]
pub(crate) struct Place {
    pub a: usize,
    pub b: usize,
    pub c: usize,
    pub bias: usize,
    /// Whether the rows are in a group.
    pub is_grouped: bool,
    pub row: usize,
    pub row_end: usize,
    pub column: usize,
    pub inner: usize,
    pub inner_end: usize,
}

/// Tiles along the rows that are done before the next along the columns: what is loaded for one is then in the cache for
/// others.
const BAND: usize = 8;

/// The end of a group, put within the rows.
#[cube]
fn end_of<I: Int>(ends: &[I], group: usize, rows: usize) -> usize {
    let end = ends[group];
    let end = select(end < I::from_int(0), 0usize, usize::cast_from(end));
    select(end < rows, end, rows)
}

/// The tile of this cube.
#[cube]
pub(crate) fn place<I: Int>(
    sizes: &Sizes,
    strides: &Strides,
    batch: &Sequence<usize>,
    ends: &ComptimeOption<Box<[I]>>,
    #[comptime] form: Form,
) -> Place {
    let (rows, columns) = comptime!((form.tile.rows as usize, form.tile.columns as usize));
    let per_matrix = sizes.row_tiles * sizes.column_tiles;
    let number = CUBE_POS / per_matrix;
    let local = CUBE_POS % per_matrix;
    let of_band = BAND * sizes.column_tiles;
    let first = local / of_band * BAND;
    let inside = local % of_band;
    let left = sizes.row_tiles - first;
    let here = select(left < BAND, left, BAND.runtime());
    let row_tile = first + inside % here;
    let column = inside / here * columns;

    let mut a = 0usize;
    let mut b = 0usize;
    let mut c = 0usize;
    let mut bias = 0usize;
    let axes = comptime!(batch.len() / PER_AXIS);
    let mut rest = number;
    #[unroll]
    for step in 0..axes {
        let at = comptime!((axes - 1 - step) * PER_AXIS);
        let coordinate = rest % batch[at];
        rest /= batch[at];
        a += coordinate * batch[comptime!(at + 1)];
        b += coordinate * batch[comptime!(at + 2)];
        c += coordinate * batch[comptime!(at + 3)];
        bias += coordinate * batch[comptime!(at + 4)];
    }

    let mut is_grouped = true.runtime();
    let mut row = row_tile * rows;
    let mut row_end = sizes.rows;
    let mut inner = 0usize;
    let mut inner_end = sizes.inner;
    #[comptime]
    match ends {
        ComptimeOption::Some(ends) => {
            if comptime!(form.grouping == Grouping::Inner) {
                if number > 0 {
                    inner = end_of::<I>(ends, number - 1, sizes.inner);
                }
                inner_end = end_of::<I>(ends, number, sizes.inner);
                c += number * strides.c_group;
            } else {
                // The group whose tiles this is one of; last come the rows that are in none.
                let mut group = 0usize;
                let mut begin = 0usize;
                let mut before = 0usize;
                let mut found = sizes.groups + 1;
                row_end = 0usize;
                while group <= sizes.groups && found > sizes.groups {
                    let mut end = sizes.rows;
                    if group < sizes.groups {
                        end = end_of::<I>(ends, group, sizes.rows);
                    }
                    end = select(end < begin, begin, end);
                    let tiles = (end - begin).div_ceil(rows);
                    if row_tile < before + tiles {
                        found = group;
                        row = begin + (row_tile - before) * rows;
                        row_end = end;
                    }
                    before += tiles;
                    begin = end;
                    group += 1;
                }
                is_grouped = found < sizes.groups;
                let matrix = select(is_grouped, found, 0usize);
                b = matrix * strides.b_group;
                bias = matrix * strides.bias_group;
                inner_end = select(is_grouped, sizes.inner, 0usize);
            }
        }
        ComptimeOption::None => {}
    }
    Place {
        a,
        b,
        c,
        bias,
        is_grouped,
        row,
        row_end,
        column,
        inner,
        inner_end,
    }
}
