//! Products of tiles in shared memory, on any device: by units, each for itself, or by planes that multiply fragments.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::epilogue::{add, addend, places, store};
use super::form::{FRAGMENT, Form, Sizes, Strides};
use super::place::{Place, place};
use super::stage::{Part, put, read_ahead, stage};
use super::{planes, units};
use cubecl::cmma::Matrix;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::memory::{shared, shared_aligned};

/// `c = activation(a b + bias)`, rows of `a` by a list or in order. Elements `E` are multiplied as `S`, and summed in `W`.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn matmul_kernel<
    E: Numeric,
    S: Numeric,
    W: Numeric,
    C: Numeric,
    I: Int,
    VA: Size,
    VB: Size,
    VC: Size,
    N: Size,
    O: Size,
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
    #[define(E, S, W, C, I)] _types: [ElemType; 5],
) {
    if CUBE_POS < sizes.tiles {
        let place = place::<I>(&sizes, &strides, &batch, &ends, form);
        let list = places::<I>(&place, &gather, &record, sizes.rows_a, form);
        let listed = comptime!(gather.is_some());
        let sums =
            product::<E, S, W, VA, VB, N>(a, b, &place, &sizes, &strides, &list, listed, form);
        let mut room = planes::room::<W, O>(form);
        let steps = steps::<O>(form);
        #[unroll]
        for part in 0..comptime!(form.parts()) {
            let column = begin::<W, N, O>(&sums, &mut room, part, form);
            let column = place.column + column as usize;
            let addend = addend::<C, W, O>(&bias, &place, column, &sizes, &strides);
            #[unroll]
            for step in 0..steps {
                let (sum, row) = sum_of::<W, N, O>(&sums, &room, part, step, form);
                store::<C, W, VC, O>(
                    c,
                    sum + addend,
                    place.row + row as usize,
                    column,
                    &place,
                    &sizes,
                    &strides,
                    form.activation,
                );
            }
            end(form);
        }
    }
}

/// `c[scatter[r], :] += weight[r] * activation(a[gather[r], :] b + bias)`.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn matmul_add_kernel<
    E: Numeric,
    S: Numeric,
    W: Numeric,
    C: Numeric,
    I: Int,
    F: Numeric,
    VA: Size,
    VB: Size,
    VC: Size,
    N: Size,
    O: Size,
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
    #[define(E, S, W, C, I, F)] _types: [ElemType; 6],
) {
    if CUBE_POS < sizes.tiles {
        let place = place::<I>(&sizes, &strides, &batch, &ends, form);
        let list = places::<I>(&place, &gather, &gather_record, sizes.rows_a, form);
        let scattered = comptime!(scatter.is_some());
        let targets = places::<I>(&place, &scatter, &scatter_record, sizes.rows_c, form);
        let listed = comptime!(gather.is_some());
        let sums =
            product::<E, S, W, VA, VB, N>(a, b, &place, &sizes, &strides, &list, listed, form);
        let mut room = planes::room::<W, O>(form);
        let steps = steps::<O>(form);
        #[unroll]
        for part in 0..comptime!(form.parts()) {
            let column = begin::<W, N, O>(&sums, &mut room, part, form);
            let column = place.column + column as usize;
            let addend = addend::<C, W, O>(&bias, &place, column, &sizes, &strides);
            #[unroll]
            for step in 0..steps {
                let (sum, row) = sum_of::<W, N, O>(&sums, &room, part, step, form);
                add::<C, W, F, VC, O>(
                    c,
                    sum + addend,
                    place.row + row as usize,
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
            end(form);
        }
    }
}

/// The sums of a cube's tile: each unit's own, or fragments of each plane.
#[derive(CubeType)]
struct Sums<W: Numeric, N: Size> {
    of_unit: Array<Vector<W, N>>,
    of_plane: Sequence<Matrix<W>>,
}

/// What of A a cube takes from a position of K on.
#[cube]
fn part_a(place: &Place, strides: &Strides, inner: usize) -> Part {
    Part {
        base: place.a,
        inner_stride: strides.a_inner,
        line_stride: strides.a_row,
        inner,
        inner_end: place.inner_end,
        line: place.row,
        line_end: place.row_end,
    }
}

/// What of B it does.
#[cube]
fn part_b(place: &Place, sizes: &Sizes, strides: &Strides, inner: usize) -> Part {
    Part {
        base: place.b,
        inner_stride: strides.b_inner,
        line_stride: strides.b_column,
        inner,
        inner_end: place.inner_end,
        line: place.column,
        line_end: sizes.columns,
    }
}

/// Shared memory for an operand's tiles.
#[cube]
fn tiles<S: Numeric, N: Size>(
    #[comptime] vectors: u32,
    #[comptime] form: Form,
) -> Shared<[Vector<S, N>]> {
    let len = comptime!((vectors * form.buffers) as usize);
    if comptime!(form.plane == 0) {
        shared::<Vector<S, N>>(len)
    } else {
        shared_aligned::<Vector<S, N>>(len, planes::ALIGNMENT)
    }
}

/// Sums the products of a cube's tile.
#[cube]
fn product<E: Numeric, S: Numeric, W: Numeric, VA: Size, VB: Size, N: Size>(
    a: &[Vector<E, VA>],
    b: &[Vector<E, VB>],
    place: &Place,
    sizes: &Sizes,
    strides: &Strides,
    list: &Shared<[u32]>,
    #[comptime] listed: bool,
    #[comptime] form: Form,
) -> Sums<W, N> {
    let side_a = comptime!(form.side_a(listed));
    let side_b = comptime!(form.side_b());
    let [len_a, len_b] = comptime!([form.staged(side_a), form.staged(side_b)]);
    let depth = comptime!(form.tile.depth as usize);
    let mut sums = Sums::<W, N> {
        of_unit: units::zeros::<W, N>(form),
        of_plane: planes::zeros::<W>(form),
    };
    let mut tiles_a = tiles::<S, N>(len_a, form);
    let mut tiles_b = tiles::<S, N>(len_b, form);
    let mut inner = place.inner;
    if comptime!(form.buffers == 1) {
        while inner < place.inner_end {
            let (of_a, of_b) = (
                part_a(place, strides, inner),
                part_b(place, sizes, strides, inner),
            );
            stage::<E, S, VA, N>(a, &mut tiles_a, of_a, list, side_a, form);
            stage::<E, S, VB, N>(b, &mut tiles_b, of_b, list, side_b, form);
            sync_cube();
            multiply::<S, W, N>(&tiles_a, &tiles_b, 0u32, 0u32, &mut sums, form);
            sync_cube();
            inner += depth;
        }
    } else {
        // The next tiles are read before these are multiplied, and come to the other buffers behind it: nobody reads those
        // since the last wait, and nobody reads them before the next.
        let mut ahead_a = Array::<Vector<S, N>>::new(comptime!(form.steps(side_a) as usize));
        let mut ahead_b = Array::<Vector<S, N>>::new(comptime!(form.steps(side_b) as usize));
        let (of_a, of_b) = (
            part_a(place, strides, inner),
            part_b(place, sizes, strides, inner),
        );
        read_ahead::<E, S, VA, N>(a, &mut ahead_a, of_a, list, side_a, form);
        read_ahead::<E, S, VB, N>(b, &mut ahead_b, of_b, list, side_b, form);
        put::<S, N>(&ahead_a, &mut tiles_a, 0u32, side_a, form);
        put::<S, N>(&ahead_b, &mut tiles_b, 0u32, side_b, form);
        sync_cube();
        let mut buffer = 0u32;
        while inner < place.inner_end {
            inner += depth;
            let (of_a, of_b) = (
                part_a(place, strides, inner),
                part_b(place, sizes, strides, inner),
            );
            read_ahead::<E, S, VA, N>(a, &mut ahead_a, of_a, list, side_a, form);
            read_ahead::<E, S, VB, N>(b, &mut ahead_b, of_b, list, side_b, form);
            multiply::<S, W, N>(
                &tiles_a,
                &tiles_b,
                buffer * len_a,
                buffer * len_b,
                &mut sums,
                form,
            );
            buffer = 1u32 - buffer;
            put::<S, N>(&ahead_a, &mut tiles_a, buffer * len_a, side_a, form);
            put::<S, N>(&ahead_b, &mut tiles_b, buffer * len_b, side_b, form);
            sync_cube();
        }
    }
    sums
}

/// Adds the products of two tiles in shared memory, which begin at these vectors.
#[cube]
fn multiply<S: Numeric, W: Numeric, N: Size>(
    tile_a: &Shared<[Vector<S, N>]>,
    tile_b: &Shared<[Vector<S, N>]>,
    first_a: u32,
    first_b: u32,
    sums: &mut Sums<W, N>,
    #[comptime] form: Form,
) {
    if comptime!(form.plane == 0) {
        units::multiply::<S, W, N>(tile_a, tile_b, &mut sums.of_unit, form);
    } else {
        planes::multiply::<S, W, N>(tile_a, tile_b, first_a, first_b, &sums.of_plane, form);
    }
}

/// Vectors that a unit writes of a part of the sums.
#[cube]
fn steps<O: Size>(#[comptime] form: Form) -> comptime_type!(u32) {
    let width = O::value();
    comptime!(match form.plane {
        0 => form.tile.unit_rows,
        plane => FRAGMENT * FRAGMENT / plane / width as u32,
    })
}

/// Makes a part of the sums ready to be written, and gives its column in the cube's tile.
#[cube]
fn begin<W: Numeric, N: Size, O: Size>(
    sums: &Sums<W, N>,
    room: &mut Shared<[Vector<W, O>]>,
    #[comptime] part: u32,
    #[comptime] form: Form,
) -> u32 {
    if comptime!(form.plane == 0) {
        units::column_of(part, form)
    } else {
        planes::bring::<W, O>(&sums.of_plane, room, part, form);
        planes::column_of::<O>(part, form)
    }
}

/// A sum of the part, and its row in the cube's tile.
#[cube]
fn sum_of<W: Numeric, N: Size, O: Size>(
    sums: &Sums<W, N>,
    room: &Shared<[Vector<W, O>]>,
    #[comptime] part: u32,
    #[comptime] step: u32,
    #[comptime] form: Form,
) -> (Vector<W, O>, u32) {
    if comptime!(form.plane == 0) {
        units::sum_of::<W, N, O>(&sums.of_unit, part, step, form)
    } else {
        planes::sum_of::<W, O>(room, part, step, form)
    }
}

/// Leaves a part of the sums: the next takes its room.
#[cube]
fn end(#[comptime] form: Form) {
    if comptime!(form.plane > 0) {
        sync_plane();
    }
}
