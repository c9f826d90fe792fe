//! Tiles of operands in shared memory.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::form::{Form, Reading, Side};
use cubecl::prelude::*;

/// What of an operand a cube takes next.
#[derive(CubeType, Clone, Copy)]
pub(crate) struct Part {
    /// The element of position 0 of K in line 0.
    pub base: usize,
    /// From one position of K to the next.
    pub inner_stride: usize,
    /// From one line to the next.
    pub line_stride: usize,
    /// The tile's first position of K, and the end.
    pub inner: usize,
    pub inner_end: usize,
    /// Its first line, and the end.
    pub line: usize,
    pub line_end: usize,
}

/// A line that a list has nowhere to point to.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Steps of a loop that are written one after another: more would be much code for little.
const UNROLLED: u32 = 4;

/// Puts a tile in shared memory: for each position of K the lines one after another, or the positions of each line. What is past
/// an end is 0. Where lines are listed, they are those of the list, from the tile's first on.
#[cube]
pub(crate) fn stage<E: Numeric, S: Numeric, V: Size, N: Size>(
    from: &[Vector<E, V>],
    to: &mut Shared<[Vector<S, N>]>,
    part: Part,
    list: &Shared<[u32]>,
    #[comptime] side: Side,
    #[comptime] form: Form,
) {
    if comptime!(side.reading == Reading::AlongLines && !side.by_line) {
        transpose::<E, S, V, N>(from, to, part, list, side, form);
    } else {
        let units = comptime!(form.units()[1]);
        let [row, rows] = comptime!(form.rows_of(side));
        let steps = comptime!(form.steps(side));
        #[unroll(comptime!(steps <= UNROLLED && !side.is_by_element()))]
        for step in 0..steps {
            let number = step * units + UNIT_POS;
            if number < comptime!(row * rows) {
                let value = vector_of::<E, S, V, N>(from, &part, list, number, side, form);
                to[place_of(number, side, form) as usize] = value;
            }
        }
    }
}

/// Reads what this unit brings to shared memory of a tile, into registers.
#[cube]
pub(crate) fn read_ahead<E: Numeric, S: Numeric, V: Size, N: Size>(
    from: &[Vector<E, V>],
    ahead: &mut Array<Vector<S, N>>,
    part: Part,
    list: &Shared<[u32]>,
    #[comptime] side: Side,
    #[comptime] form: Form,
) {
    let units = comptime!(form.units()[1]);
    let [row, rows] = comptime!(form.rows_of(side));
    #[unroll]
    for step in 0..comptime!(form.steps(side)) {
        let number = comptime!(step * units) + UNIT_POS;
        let mut value = Vector::<S, N>::zeroed();
        if number < comptime!(row * rows) {
            value = vector_of::<E, S, V, N>(from, &part, list, number, side, form);
        }
        ahead[step as usize] = value;
    }
}

/// Puts what was [read ahead](read_ahead) in shared memory, from a vector on.
#[cube]
pub(crate) fn put<S: Numeric, N: Size>(
    ahead: &Array<Vector<S, N>>,
    to: &mut Shared<[Vector<S, N>]>,
    first: u32,
    #[comptime] side: Side,
    #[comptime] form: Form,
) {
    let units = comptime!(form.units()[1]);
    let [row, rows] = comptime!(form.rows_of(side));
    #[unroll]
    for step in 0..comptime!(form.steps(side)) {
        let number = comptime!(step * units) + UNIT_POS;
        if number < comptime!(row * rows) {
            to[(first + place_of(number, side, form)) as usize] = ahead[step as usize];
        }
    }
}

/// The row of shared memory that a tile's vector of that number is in, and which of the row it is: neighbouring units take what
/// lies side by side in global memory.
#[cube]
fn row_and_vector(number: u32, #[comptime] side: Side, #[comptime] form: Form) -> (u32, u32) {
    let [row, rows] = comptime!(form.rows_of(side));
    let along_lines = comptime!(side.reading == Reading::Elements { along_lines: true });
    if comptime!(along_lines && !side.by_line) {
        (number % rows, number / rows)
    } else {
        (number / row, number % row)
    }
}

/// Where in shared memory that vector lies.
#[cube]
fn place_of(number: u32, #[comptime] side: Side, #[comptime] form: Form) -> u32 {
    let pitch = comptime!(form.pitch(side));
    let (row, vector) = row_and_vector(number, side, form);
    row * pitch + vector
}

/// A tile's vector of that number, with 0 for what is past an end.
#[cube]
fn vector_of<E: Numeric, S: Numeric, V: Size, N: Size>(
    from: &[Vector<E, V>],
    part: &Part,
    list: &Shared<[u32]>,
    number: u32,
    #[comptime] side: Side,
    #[comptime] form: Form,
) -> Vector<S, N> {
    let width = comptime!(form.vector);
    let (row, vector) = row_and_vector(number, side, form);
    let mut value = Vector::<S, N>::zeroed();
    if comptime!(side.is_by_element()) {
        #[unroll]
        for index in 0..width {
            let mut line = row;
            let mut position = vector * width + index;
            if comptime!(!side.by_line) {
                line = vector * width + index;
                position = row;
            }
            let (is_there, begin) = line_at(line, part, list, side);
            let inner = part.inner + position as usize;
            let mut element = S::from_int(0);
            if is_there && inner < part.inner_end {
                let at = begin + inner * part.inner_stride;
                element = S::cast_from(from[at].extract(0usize));
            }
            value.insert(comptime!(index as usize), element);
        }
    } else if comptime!(side.by_line) {
        let inner = part.inner + (vector * width) as usize;
        let (is_there, begin) = line_at(row, part, list, side);
        if is_there && inner < part.inner_end {
            value = Vector::<S, N>::cast_from(from[(begin + inner) / width as usize]);
        }
    } else {
        let inner = part.inner + row as usize;
        let line = part.line + (vector * width) as usize;
        if inner < part.inner_end && line < part.line_end {
            let at = part.base + inner * part.inner_stride + line;
            value = Vector::<S, N>::cast_from(from[at / width as usize]);
        }
    }
    value
}

/// Whether a line of the tile is there, and where it begins.
#[cube]
fn line_at(line: u32, part: &Part, list: &Shared<[u32]>, #[comptime] side: Side) -> (bool, usize) {
    let number = part.line + line as usize;
    let mut is_there = number < part.line_end;
    let mut begin = part.base;
    if comptime!(side.listed) {
        let place = list[line as usize];
        is_there = is_there && place != NOWHERE;
        begin += place as usize * part.line_stride;
    } else {
        begin += number * part.line_stride;
    }
    (is_there, begin)
}

/// Vectors along lines, of as many lines as a vector has elements, to as many positions of K.
#[cube]
fn transpose<E: Numeric, S: Numeric, V: Size, N: Size>(
    from: &[Vector<E, V>],
    to: &mut Shared<[Vector<S, N>]>,
    part: Part,
    list: &Shared<[u32]>,
    #[comptime] side: Side,
    #[comptime] form: Form,
) {
    let units = comptime!(form.units()[1]);
    let width = comptime!(form.vector);
    let deep = comptime!(form.tile.depth / width);
    let all = comptime!(side.lines / width * deep);
    let pitch = comptime!(form.pitch(side));
    let steps = comptime!(all.div_ceil(units));
    #[unroll(comptime!(steps <= 1))]
    for step in 0..steps {
        let number = step * units + UNIT_POS;
        if number < all {
            let inner = part.inner + (number % deep * width) as usize;
            let first = number / deep * width;
            let mut read = Array::<Vector<S, N>>::new(comptime!(width as usize));
            #[unroll]
            for index in 0..width {
                let (is_there, begin) = line_at(first + index, &part, list, side);
                let mut value = Vector::<S, N>::zeroed();
                if is_there && inner < part.inner_end {
                    value = Vector::<S, N>::cast_from(from[(begin + inner) / width as usize]);
                }
                read[index as usize] = value;
            }
            #[unroll]
            for position in 0..width {
                let mut value = Vector::<S, N>::zeroed();
                #[unroll]
                for index in 0..width {
                    value.insert(
                        comptime!(index as usize),
                        read[index as usize].extract(comptime!(position as usize)),
                    );
                }
                let at = (number % deep * width + position) * pitch + number / deep;
                to[at as usize] = value;
            }
        }
    }
}
