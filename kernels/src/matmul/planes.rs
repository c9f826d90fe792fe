//! Products by the tensor cores that CubeCL's cooperative matrices reach: planes multiply fragments.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]

use super::form::{FRAGMENT, Form, Side};
use cubecl::cmma::{self, Matrix, MatrixIdent, MatrixLayout};
use cubecl::prelude::*;
use girih::memory::{shared, shared_aligned};

/// Bytes that fragments in shared memory are aligned to.
pub(crate) const ALIGNMENT: usize = 32;

/// The plane's fragments of the result, row by row; none where units multiply by themselves.
#[cube]
pub(crate) fn zeros<W: Numeric>(#[comptime] form: Form) -> Sequence<Matrix<W>> {
    let mut sums = Sequence::<Matrix<W>>::new();
    let extent = comptime!(FRAGMENT as usize);
    let count = comptime!(if form.plane == 0 { 0 } else { form.parts() });
    #[unroll]
    for _ in 0..count {
        sums.push(Matrix::<W>::from_value(
            MatrixIdent::Accumulator,
            extent,
            extent,
            comptime!(form.fragment as usize),
            MatrixLayout::Undefined,
            W::from_int(0),
        ));
    }
    sums
}

/// Where the plane's part of the tile begins.
#[cube]
fn plane_of_tile(#[comptime] form: Form) -> (u32, u32) {
    let across = comptime!(form.units()[0]);
    let plane = UNIT_POS / form.plane;
    (
        plane / across * form.tile.unit_rows,
        plane % across * form.tile.unit_columns,
    )
}

/// Adds the products of two tiles in shared memory, which begin at these vectors.
#[cube]
pub(crate) fn multiply<S: Numeric, W: Numeric, N: Size>(
    tile_a: &Shared<[Vector<S, N>]>,
    tile_b: &Shared<[Vector<S, N>]>,
    first_a: u32,
    first_b: u32,
    sums: &Sequence<Matrix<W>>,
    #[comptime] form: Form,
) {
    let tile = comptime!(form.tile);
    let [side_a, side_b] = comptime!([form.side_a(false), form.side_b()]);
    let (first_row, first_column) = plane_of_tile(form);
    let down = comptime!(tile.unit_rows / FRAGMENT);
    let across = comptime!(tile.unit_columns / FRAGMENT);
    #[unroll]
    for step in 0..comptime!(tile.depth / form.fragment) {
        let mut of_b = Sequence::<Matrix<S>>::new();
        #[unroll]
        for column in 0..across {
            let line = first_column + comptime!(column * FRAGMENT);
            of_b.push(fragment::<S, N>(
                tile_b,
                first_b,
                line,
                step,
                side_b,
                MatrixIdent::B,
                form,
            ));
        }
        #[unroll]
        for row in 0..down {
            let line = first_row + comptime!(row * FRAGMENT);
            let of_a = fragment::<S, N>(tile_a, first_a, line, step, side_a, MatrixIdent::A, form);
            #[unroll]
            for column in 0..across {
                let sum = sums.index(comptime!((row * across + column) as usize));
                let right = of_b.index(comptime!(column as usize));
                cmma::execute::<S, S, W, W, cmma::Plane>(&of_a, right, sum, sum);
            }
        }
    }
}

/// A fragment of a tile in shared memory, from a line on, of a step along K.
#[cube]
fn fragment<S: Numeric, N: Size>(
    tile: &Shared<[Vector<S, N>]>,
    first: u32,
    line: u32,
    #[comptime] step: u32,
    #[comptime] side: Side,
    #[comptime] ident: MatrixIdent,
    #[comptime] form: Form,
) -> Matrix<S> {
    let width = comptime!(form.vector);
    let pitch = comptime!(form.pitch(side));
    let depth = comptime!(form.fragment);
    let mut at = first + line * pitch + comptime!(step * depth / width);
    if comptime!(!side.by_line) {
        at = first + comptime!(step * depth * pitch) + line / width;
    }
    // Rows in shared memory, and vectors of each.
    let [rows, row] = comptime!(match side.by_line {
        true => [FRAGMENT, depth.div_ceil(width)],
        false => [depth, FRAGMENT.div_ceil(width)],
    });
    let last = at + comptime!((rows - 1) * pitch + row);
    // Lines are rows of A, and columns of B.
    let layout = comptime!(match side.by_line == matches!(ident, MatrixIdent::A) {
        true => MatrixLayout::RowMajor,
        false => MatrixLayout::ColMajor,
    });
    let extent = comptime!(FRAGMENT as usize);
    // SAFETY: it is loaded next.
    let mut fragment = unsafe {
        Matrix::<S>::uninitialized(ident, extent, extent, comptime!(depth as usize), layout)
    };
    cmma::load::<S, Vector<S, N>, cmma::Plane>(
        &mut fragment,
        &tile[at as usize..last as usize],
        comptime!(pitch * width),
    );
    fragment
}

/// Memory of a fragment for each plane; where there are none, of an element that nothing uses.
#[cube]
pub(crate) fn room<W: Numeric, O: Size>(#[comptime] form: Form) -> Shared<[Vector<W, O>]> {
    let width = O::value();
    if comptime!(form.plane == 0) {
        shared::<Vector<W, O>>(1usize)
    } else {
        let planes = comptime!(form.units()[1] / form.plane);
        let len = comptime!((planes * FRAGMENT * FRAGMENT) as usize / width);
        shared_aligned::<Vector<W, O>>(len, ALIGNMENT)
    }
}

/// Puts one of the plane's fragments in its room.
#[cube]
pub(crate) fn bring<W: Numeric, O: Size>(
    sums: &Sequence<Matrix<W>>,
    room: &mut Shared<[Vector<W, O>]>,
    #[comptime] number: u32,
    #[comptime] form: Form,
) {
    let width = O::value();
    let vectors = comptime!((FRAGMENT * FRAGMENT) as usize / width);
    let first = (UNIT_POS / form.plane) as usize * vectors;
    cmma::store::<W, Vector<W, O>, cmma::Plane>(
        &mut room[first..first + vectors],
        sums.index(comptime!(number as usize)),
        FRAGMENT,
        MatrixLayout::RowMajor,
    );
    sync_plane();
}

/// The column of the cube's tile that a unit writes of a fragment from.
#[cube]
pub(crate) fn column_of<O: Size>(#[comptime] number: u32, #[comptime] form: Form) -> u32 {
    let width = O::value();
    let row = comptime!(FRAGMENT / width as u32);
    let across = comptime!(form.tile.unit_columns / FRAGMENT);
    let (_, column) = plane_of_tile(form);
    column + comptime!(number % across * FRAGMENT) + UNIT_POS % row * comptime!(width as u32)
}

/// What a unit has of the fragment in its plane's room: a vector, and its row in the cube's tile.
#[cube]
pub(crate) fn sum_of<W: Numeric, O: Size>(
    room: &Shared<[Vector<W, O>]>,
    #[comptime] number: u32,
    #[comptime] step: u32,
    #[comptime] form: Form,
) -> (Vector<W, O>, u32) {
    let width = O::value();
    let row = comptime!(FRAGMENT / width as u32);
    let across = comptime!(form.tile.unit_columns / FRAGMENT);
    let vector = comptime!(step * form.plane) + UNIT_POS % form.plane;
    let at = UNIT_POS / form.plane * comptime!(row * FRAGMENT) + vector;
    let (first, _) = plane_of_tile(form);
    (
        room[at as usize],
        first + comptime!(number / across * FRAGMENT) + vector / row,
    )
}
