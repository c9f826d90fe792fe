//! Products by the tensor cores that CubeCL's cooperative matrices reach.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::epilogue::{add, addend, places, store};
use super::form::{Form, Sizes, Strides};
use super::place::{Place, place};
use super::stage::{Part, stage};
use cubecl::cmma::{self, Matrix, MatrixIdent, MatrixLayout};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::memory::shared_aligned;

/// Extents of a fragment: rows, columns and positions of K.
pub const FRAGMENT: u32 = 16;
/// Bytes that fragments in shared memory are aligned to.
const ALIGNMENT: usize = 32;

/// As `matmul_kernel`, by planes that multiply fragments.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn matmul_tensor_kernel<
    E: Numeric,
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
    #[define(E, W, C, I)] _types: [ElemType; 4],
) {
    if CUBE_POS < sizes.tiles {
        let place = place::<I>(&sizes, &strides, &batch, &ends, form);
        let list = places::<I>(&place, &gather, &record, sizes.rows_a, form);
        let listed = comptime!(gather.is_some());
        let mut sums = fragments::<W>(form);
        multiply::<E, W, VA, VB, N>(
            a, b, &place, &sizes, &strides, &list, &mut sums, listed, form,
        );
        let mut room = room::<W, O>(form);
        #[unroll]
        for number in 0..comptime!(sums.len()) {
            let (first_row, first_column) = out_of_fragment::<W, O>(&sums, &mut room, number, form);
            let width = O::value();
            #[unroll]
            for step in 0..comptime!(FRAGMENT * FRAGMENT / form.plane / width as u32) {
                let (sum, row, column) = of_lane::<W, O>(&room, step, form);
                let column = place.column + (first_column + column) as usize;
                let addend = addend::<C, W, O>(&bias, &place, column, &sizes, &strides);
                let row = place.row + (first_row + row) as usize;
                store::<C, W, VC, O>(
                    c,
                    sum + addend,
                    row,
                    column,
                    &place,
                    &sizes,
                    &strides,
                    form.activation,
                );
            }
            sync_plane();
        }
    }
}

/// As `matmul_add_kernel`, by planes that multiply fragments.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn matmul_add_tensor_kernel<
    E: Numeric,
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
    #[define(E, W, C, I, F)] _types: [ElemType; 5],
) {
    if CUBE_POS < sizes.tiles {
        let place = place::<I>(&sizes, &strides, &batch, &ends, form);
        let list = places::<I>(&place, &gather, &gather_record, sizes.rows_a, form);
        let scattered = comptime!(scatter.is_some());
        let targets = places::<I>(&place, &scatter, &scatter_record, sizes.rows_c, form);
        let listed = comptime!(gather.is_some());
        let mut sums = fragments::<W>(form);
        multiply::<E, W, VA, VB, N>(
            a, b, &place, &sizes, &strides, &list, &mut sums, listed, form,
        );
        let mut room = room::<W, O>(form);
        #[unroll]
        for number in 0..comptime!(sums.len()) {
            let (first_row, first_column) = out_of_fragment::<W, O>(&sums, &mut room, number, form);
            let width = O::value();
            #[unroll]
            for step in 0..comptime!(FRAGMENT * FRAGMENT / form.plane / width as u32) {
                let (sum, row, column) = of_lane::<W, O>(&room, step, form);
                let column = place.column + (first_column + column) as usize;
                let addend = addend::<C, W, O>(&bias, &place, column, &sizes, &strides);
                let row = place.row + (first_row + row) as usize;
                add::<C, W, F, VC, O>(
                    c,
                    sum + addend,
                    row,
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
            sync_plane();
        }
    }
}

/// The plane's fragments of the result, row by row.
#[cube]
fn fragments<W: Numeric>(#[comptime] form: Form) -> Sequence<Matrix<W>> {
    let mut sums = Sequence::<Matrix<W>>::new();
    let count = comptime!(form.tile.unit_rows * form.tile.unit_columns / FRAGMENT / FRAGMENT);
    let extent = comptime!(FRAGMENT as usize);
    #[unroll]
    for _ in 0..count {
        sums.push(Matrix::<W>::from_value(
            MatrixIdent::Accumulator,
            extent,
            extent,
            extent,
            MatrixLayout::Undefined,
            W::from_int(0),
        ));
    }
    sums
}

/// Memory of a fragment for each plane.
#[cube]
fn room<W: Numeric, O: Size>(#[comptime] form: Form) -> Shared<[Vector<W, O>]> {
    let width = O::value();
    let planes = comptime!(form.units()[1] / form.plane);
    let len = comptime!((planes * FRAGMENT * FRAGMENT) as usize / width);
    shared_aligned::<Vector<W, O>>(len, ALIGNMENT)
}

/// Puts one of the plane's fragments in its room, and gives where in the cube's tile it begins.
#[cube]
fn out_of_fragment<W: Numeric, O: Size>(
    sums: &Sequence<Matrix<W>>,
    room: &mut Shared<[Vector<W, O>]>,
    #[comptime] number: usize,
    #[comptime] form: Form,
) -> (u32, u32) {
    let width = O::value();
    let vectors = comptime!((FRAGMENT * FRAGMENT) as usize / width);
    let first = (UNIT_POS / form.plane) as usize * vectors;
    cmma::store::<W, Vector<W, O>, cmma::Plane>(
        &mut room[first..first + vectors],
        sums.index(number),
        FRAGMENT,
        MatrixLayout::RowMajor,
    );
    sync_plane();
    let (row, column) = plane_of_tile(form);
    let across = comptime!((form.tile.unit_columns / FRAGMENT) as usize);
    (
        row + comptime!((number / across) as u32 * FRAGMENT),
        column + comptime!((number % across) as u32 * FRAGMENT),
    )
}

/// What a lane has of the fragment in its plane's room: a vector of a row, and where it is.
#[cube]
fn of_lane<W: Numeric, O: Size>(
    room: &Shared<[Vector<W, O>]>,
    #[comptime] step: u32,
    #[comptime] form: Form,
) -> (Vector<W, O>, u32, u32) {
    let width = O::value();
    let row = comptime!(FRAGMENT / width as u32);
    let vectors = comptime!(row * FRAGMENT);
    let number = comptime!(step * form.plane) + UNIT_POS % form.plane;
    let at = UNIT_POS / form.plane * vectors + number;
    (
        room[at as usize],
        number / row,
        number % row * comptime!(width as u32),
    )
}

/// Where the plane's part of the tile begins.
#[cube]
fn plane_of_tile(#[comptime] form: Form) -> (u32, u32) {
    let across = comptime!(form.tile.columns / form.tile.unit_columns);
    let plane = UNIT_POS / form.plane;
    (
        plane / across * form.tile.unit_rows,
        plane % across * form.tile.unit_columns,
    )
}

/// Adds the products of the tile's operands to the fragments.
#[cube]
fn multiply<E: Numeric, W: Numeric, VA: Size, VB: Size, N: Size>(
    a: &[Vector<E, VA>],
    b: &[Vector<E, VB>],
    place: &Place,
    sizes: &Sizes,
    strides: &Strides,
    list: &Shared<[u32]>,
    sums: &mut Sequence<Matrix<W>>,
    #[comptime] listed: bool,
    #[comptime] form: Form,
) {
    let tile = comptime!(form.tile);
    let [reading_a, reading_b] = comptime!(form.readings);
    let [by_line_a, by_line_b] = comptime!(form.by_line);
    let len_a = comptime!(form.staged(tile.rows, by_line_a));
    let len_b = comptime!(form.staged(tile.columns, by_line_b));
    let mut tile_a = shared_aligned::<Vector<E, N>>(len_a, ALIGNMENT);
    let mut tile_b = shared_aligned::<Vector<E, N>>(len_b, ALIGNMENT);
    let (first_row, first_column) = plane_of_tile(form);
    let down = comptime!(tile.unit_rows / FRAGMENT);
    let across = comptime!(tile.unit_columns / FRAGMENT);
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
        stage::<E, E, VA, N>(
            a,
            &mut tile_a,
            part_a,
            list,
            tile.rows,
            reading_a,
            by_line_a,
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
        stage::<E, E, VB, N>(
            b,
            &mut tile_b,
            part_b,
            list,
            tile.columns,
            reading_b,
            by_line_b,
            false,
            form,
        );
        sync_cube();
        #[unroll]
        for step in 0..comptime!(tile.depth / FRAGMENT) {
            let mut of_b = Sequence::<Matrix<E>>::new();
            #[unroll]
            for column in 0..across {
                let line = first_column + comptime!(column * FRAGMENT);
                let layout = comptime!(if by_line_b {
                    MatrixLayout::ColMajor
                } else {
                    MatrixLayout::RowMajor
                });
                of_b.push(fragment::<E, N>(
                    &tile_b,
                    line,
                    step,
                    tile.columns,
                    by_line_b,
                    MatrixIdent::B,
                    layout,
                    form,
                ));
            }
            #[unroll]
            for row in 0..down {
                let line = first_row + comptime!(row * FRAGMENT);
                let layout = comptime!(if by_line_a {
                    MatrixLayout::RowMajor
                } else {
                    MatrixLayout::ColMajor
                });
                let of_a = fragment::<E, N>(
                    &tile_a,
                    line,
                    step,
                    tile.rows,
                    by_line_a,
                    MatrixIdent::A,
                    layout,
                    form,
                );
                #[unroll]
                for column in 0..across {
                    let at = comptime!((row * across + column) as usize);
                    let sum = sums.index(at);
                    let right = of_b.index(comptime!(column as usize));
                    cmma::execute::<E, E, W, W, cmma::Plane>(&of_a, right, sum, sum);
                }
            }
        }
        sync_cube();
        inner += comptime!(tile.depth as usize);
    }
}

/// A fragment of a staged tile, from a line on, of a step along K.
#[cube]
fn fragment<E: Numeric, N: Size>(
    tile: &Shared<[Vector<E, N>]>,
    line: u32,
    #[comptime] step: u32,
    #[comptime] lines: u32,
    #[comptime] by_line: bool,
    #[comptime] ident: MatrixIdent,
    #[comptime] layout: MatrixLayout,
    #[comptime] form: Form,
) -> Matrix<E> {
    let width = comptime!(form.vector);
    let pitch = comptime!(if by_line {
        form.pitch(form.tile.depth)
    } else {
        form.pitch(lines)
    });
    let mut first = line * pitch + comptime!(step * FRAGMENT / width);
    if comptime!(!by_line) {
        first = comptime!(step * FRAGMENT * pitch) + line / width;
    }
    let extent = comptime!(FRAGMENT as usize);
    let last = first + comptime!((FRAGMENT - 1) * pitch + FRAGMENT / width);
    // SAFETY: it is loaded next.
    let mut fragment = unsafe { Matrix::<E>::uninitialized(ident, extent, extent, extent, layout) };
    cmma::load::<E, Vector<E, N>, cmma::Plane>(
        &mut fragment,
        &tile[first as usize..last as usize],
        comptime!(pitch * width),
    );
    fragment
}
