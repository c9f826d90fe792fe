//! Products on any device: tiles of both operands in shared memory, a block of the result in the registers of each unit.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
// Elements of lists and vectors have no assigning operators in a kernel.
#![allow(clippy::assign_op_pattern)]
#![allow(clippy::too_many_arguments)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::epilogue::{add, addend, places, store};
use super::form::{Form, Sizes, Strides};
use super::place::{Place, place};
use super::stage::{Part, stage};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::memory::shared;

/// `c = activation(a b + bias)`, rows of `a` and of `c` by lists or in order.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn matmul_kernel<
    E: Numeric,
    W: Numeric,
    C: Numeric,
    I: Int,
    VA: Size,
    VB: Size,
    VC: Size,
    N: Size,
>(
    a: &[Vector<E, VA>],
    b: &[Vector<E, VB>],
    c: &mut [Vector<C, VC>],
    bias: ComptimeOption<Box<[C]>>,
    ends: ComptimeOption<Box<[I]>>,
    gather: ComptimeOption<Box<[I]>>,
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    batch: Sequence<usize>,
    sizes: Sizes,
    strides: Strides,
    #[comptime] form: Form,
    #[define(E, W, C, I)] _types: [ElemType; 4],
) {
    if CUBE_POS < sizes.tiles {
        let place = place::<I>(&sizes, &strides, &batch, &ends, form);
        let list = places::<I>(&place, &gather, &record, sizes.rows_a, form);
        let listed = comptime!(gather.is_some());
        let mut sums = zeros::<W, N>(form);
        multiply::<E, W, VA, VB, N>(
            a, b, &place, &sizes, &strides, &list, &mut sums, listed, form,
        );
        let [across, units] = comptime!(form.units());
        let width = comptime!(form.vector);
        let vectors = comptime!(form.tile.unit_columns / width);
        #[unroll]
        for vector in 0..vectors {
            let column = place.column + ((vector * across + UNIT_POS % across) * width) as usize;
            let addend = addend::<C, W, N>(&bias, &place, column, &sizes, &strides);
            #[unroll]
            for row in 0..comptime!(form.tile.unit_rows) {
                let at = row_of(&place, row, comptime!(units / across), form);
                let sum = sums[comptime!((row * vectors + vector) as usize)] + addend;
                store::<C, W, VC, N>(
                    c,
                    sum,
                    at,
                    column,
                    &place,
                    &sizes,
                    &strides,
                    form.activation,
                );
            }
        }
    }
}

/// `c[scatter[r], :] += weight[r] * activation(a[gather[r], :] b + bias)`.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn matmul_add_kernel<
    E: Numeric,
    W: Numeric,
    C: Numeric,
    I: Int,
    F: Numeric,
    VA: Size,
    VB: Size,
    VC: Size,
    N: Size,
>(
    a: &[Vector<E, VA>],
    b: &[Vector<E, VB>],
    c: &[Atomic<Vector<C, VC>>],
    bias: ComptimeOption<Box<[C]>>,
    ends: ComptimeOption<Box<[I]>>,
    gather: ComptimeOption<Box<[I]>>,
    scatter: ComptimeOption<Box<[I]>>,
    weights: ComptimeOption<Box<[F]>>,
    gather_record: ComptimeOption<Box<[Atomic<u32>]>>,
    scatter_record: ComptimeOption<Box<[Atomic<u32>]>>,
    batch: Sequence<usize>,
    sizes: Sizes,
    strides: Strides,
    #[comptime] form: Form,
    #[define(E, W, C, I, F)] _types: [ElemType; 5],
) {
    if CUBE_POS < sizes.tiles {
        let place = place::<I>(&sizes, &strides, &batch, &ends, form);
        let list = places::<I>(&place, &gather, &gather_record, sizes.rows_a, form);
        let scattered = comptime!(scatter.is_some());
        let targets = places::<I>(&place, &scatter, &scatter_record, sizes.rows_c, form);
        let listed = comptime!(gather.is_some());
        let mut sums = zeros::<W, N>(form);
        multiply::<E, W, VA, VB, N>(
            a, b, &place, &sizes, &strides, &list, &mut sums, listed, form,
        );
        let [across, units] = comptime!(form.units());
        let width = comptime!(form.vector);
        let vectors = comptime!(form.tile.unit_columns / width);
        #[unroll]
        for vector in 0..vectors {
            let column = place.column + ((vector * across + UNIT_POS % across) * width) as usize;
            let addend = addend::<C, W, N>(&bias, &place, column, &sizes, &strides);
            #[unroll]
            for row in 0..comptime!(form.tile.unit_rows) {
                let at = row_of(&place, row, comptime!(units / across), form);
                let sum = sums[comptime!((row * vectors + vector) as usize)] + addend;
                add::<C, W, F, VC, N>(
                    c,
                    sum,
                    at,
                    column,
                    &targets,
                    &weights,
                    &place,
                    &sizes,
                    &strides,
                    scattered,
                    form.activation,
                );
            }
        }
    }
}

#[cube]
fn zeros<W: Numeric, N: Size>(#[comptime] form: Form) -> Array<Vector<W, N>> {
    let count = comptime!((form.tile.unit_rows * form.tile.unit_columns / form.vector) as usize);
    let mut sums = Array::<Vector<W, N>>::new(count);
    #[unroll]
    for index in 0..count {
        sums[index] = Vector::<W, N>::zeroed();
    }
    sums
}

/// The number of a unit's row.
#[cube]
fn row_of(
    place: &Place,
    #[comptime] row: u32,
    #[comptime] down: u32,
    #[comptime] form: Form,
) -> usize {
    let width = comptime!(form.vector);
    let across = comptime!(form.units()[0]);
    let vector = comptime!(row / width * down) + UNIT_POS / across;
    place.row + (vector * width + comptime!(row % width)) as usize
}

/// Adds the products of the tile's operands to the sums.
#[cube]
fn multiply<E: Numeric, W: Numeric, VA: Size, VB: Size, N: Size>(
    a: &[Vector<E, VA>],
    b: &[Vector<E, VB>],
    place: &Place,
    sizes: &Sizes,
    strides: &Strides,
    list: &Shared<[u32]>,
    sums: &mut Array<Vector<W, N>>,
    #[comptime] listed: bool,
    #[comptime] form: Form,
) {
    let tile = comptime!(form.tile);
    let width = comptime!(form.vector);
    let [across, units] = comptime!(form.units());
    let down = comptime!(units / across);
    let [pitch_a, pitch_b] = comptime!([form.pitch(tile.rows), form.pitch(tile.columns)]);
    let mut tile_a = shared::<Vector<W, N>>(comptime!((pitch_a * tile.depth) as usize));
    let mut tile_b = shared::<Vector<W, N>>(comptime!((pitch_b * tile.depth) as usize));
    let rows = comptime!(tile.unit_rows / width);
    let columns = comptime!(tile.unit_columns / width);
    let (unit_row, unit_column) = (UNIT_POS / across, UNIT_POS % across);
    let [reading_a, reading_b] = comptime!(form.readings);

    let mut inner = place.inner;
    while inner < place.inner_end {
        let part_a = Part {
            base: place.a,
            inner_stride: strides.a_inner,
            line_stride: strides.a_row,
            inner,
            inner_end: place.inner_end,
            line: place.row,
            line_end: place.row_end,
        };
        stage::<E, W, VA, N>(
            a,
            &mut tile_a,
            part_a,
            list,
            tile.rows,
            reading_a,
            false,
            listed,
            form,
        );
        let part_b = Part {
            base: place.b,
            inner_stride: strides.b_inner,
            line_stride: strides.b_column,
            inner,
            inner_end: place.inner_end,
            line: place.column,
            line_end: sizes.columns,
        };
        stage::<E, W, VB, N>(
            b,
            &mut tile_b,
            part_b,
            list,
            tile.columns,
            reading_b,
            false,
            false,
            form,
        );
        sync_cube();
        for position in 0..tile.depth {
            let mut of_a = Array::<Vector<W, N>>::new(comptime!(rows as usize));
            let mut of_b = Array::<Vector<W, N>>::new(comptime!(columns as usize));
            #[unroll]
            for index in 0..rows {
                let at = position * pitch_a + comptime!(index * down) + unit_row;
                of_a[index as usize] = tile_a[at as usize];
            }
            #[unroll]
            for index in 0..columns {
                let at = position * pitch_b + comptime!(index * across) + unit_column;
                of_b[index as usize] = tile_b[at as usize];
            }
            #[unroll]
            for row in 0..tile.unit_rows {
                let lane = of_a[comptime!((row / width) as usize)]
                    .extract(comptime!((row % width) as usize));
                let factor = Vector::<W, N>::new(lane);
                #[unroll]
                for column in 0..columns {
                    let at = comptime!((row * columns + column) as usize);
                    sums[at] = sums[at] + factor * of_b[column as usize];
                }
            }
        }
        sync_cube();
        inner += comptime!(tile.depth as usize);
    }
}
