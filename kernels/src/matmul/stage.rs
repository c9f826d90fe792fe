//! Tiles of operands in shared memory.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::form::{Form, Reading};
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

/// Puts a tile of `lines` lines in shared memory: for each position of K the lines one after another, or `by_line` the positions
/// of each line. What is past an end is 0. With `listed`, the lines are those of a list, from the tile's first on.
#[cube]
pub(crate) fn stage<E: Numeric, W: Numeric, V: Size, N: Size>(
    from: &[Vector<E, V>],
    to: &mut Shared<[Vector<W, N>]>,
    part: Part,
    list: &Shared<[u32]>,
    #[comptime] lines: u32,
    #[comptime] reading: Reading,
    #[comptime] by_line: bool,
    #[comptime] listed: bool,
    #[comptime] form: Form,
) {
    match comptime!(reading) {
        Reading::AcrossLines => across::<E, W, V, N>(from, to, part, lines, form),
        Reading::AlongLines => {
            if comptime!(by_line) {
                kept::<E, W, V, N>(from, to, part, list, lines, listed, false, form);
            } else {
                along::<E, W, V, N>(from, to, part, list, lines, listed, form);
            }
        }
        Reading::Elements { along_lines } => {
            if comptime!(by_line) {
                kept::<E, W, V, N>(from, to, part, list, lines, listed, true, form);
            } else {
                elements::<E, W, V, N>(from, to, part, list, lines, along_lines, listed, form);
            }
        }
    }
}

/// Whether a line of the tile is there, and where it begins.
#[cube]
fn line_at(
    line: u32,
    part: &Part,
    list: &Shared<[u32]>,
    #[comptime] listed: bool,
) -> (bool, usize) {
    let number = part.line + line as usize;
    let mut is_there = number < part.line_end;
    let mut begin = part.base;
    if comptime!(listed) {
        let place = list[line as usize];
        is_there = is_there && place != NOWHERE;
        begin += place as usize * part.line_stride;
    } else {
        begin += number * part.line_stride;
    }
    (is_there, begin)
}

#[cube]
fn across<E: Numeric, W: Numeric, V: Size, N: Size>(
    from: &[Vector<E, V>],
    to: &mut Shared<[Vector<W, N>]>,
    part: Part,
    #[comptime] lines: u32,
    #[comptime] form: Form,
) {
    let units = comptime!(form.units()[1]);
    let width = comptime!(form.vector);
    let row = comptime!(lines / width);
    let all = comptime!(row * form.tile.depth);
    let pitch = comptime!(form.pitch(lines));
    let steps = comptime!(all.div_ceil(units));
    #[unroll(comptime!(steps <= 4))]
    for step in 0..steps {
        let number = step * units + UNIT_POS;
        if number < all {
            let inner = part.inner + (number / row) as usize;
            let line = part.line + (number % row * width) as usize;
            let mut value = Vector::<W, N>::zeroed();
            if inner < part.inner_end && line < part.line_end {
                let at = part.base + inner * part.inner_stride + line;
                value = Vector::<W, N>::cast_from(from[at / width as usize]);
            }
            to[(number / row * pitch + number % row) as usize] = value;
        }
    }
}

#[cube]
fn along<E: Numeric, W: Numeric, V: Size, N: Size>(
    from: &[Vector<E, V>],
    to: &mut Shared<[Vector<W, N>]>,
    part: Part,
    list: &Shared<[u32]>,
    #[comptime] lines: u32,
    #[comptime] listed: bool,
    #[comptime] form: Form,
) {
    let units = comptime!(form.units()[1]);
    let width = comptime!(form.vector);
    let deep = comptime!(form.tile.depth / width);
    let all = comptime!(lines / width * deep);
    let pitch = comptime!(form.pitch(lines));
    let steps = comptime!(all.div_ceil(units));
    #[unroll(comptime!(steps <= 1))]
    for step in 0..steps {
        let number = step * units + UNIT_POS;
        if number < all {
            let inner = part.inner + (number % deep * width) as usize;
            let first = number / deep * width;
            let mut read = Array::<Vector<W, N>>::new(comptime!(width as usize));
            #[unroll]
            for index in 0..width {
                let (is_there, begin) = line_at(first + index, &part, list, listed);
                let mut value = Vector::<W, N>::zeroed();
                if is_there && inner < part.inner_end {
                    value = Vector::<W, N>::cast_from(from[(begin + inner) / width as usize]);
                }
                read[index as usize] = value;
            }
            #[unroll]
            for position in 0..width {
                let mut value = Vector::<W, N>::zeroed();
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

#[cube]
fn elements<E: Numeric, W: Numeric, V: Size, N: Size>(
    from: &[Vector<E, V>],
    to: &mut Shared<[Vector<W, N>]>,
    part: Part,
    list: &Shared<[u32]>,
    #[comptime] lines: u32,
    #[comptime] along_lines: bool,
    #[comptime] listed: bool,
    #[comptime] form: Form,
) {
    let units = comptime!(form.units()[1]);
    let width = comptime!(form.vector);
    let row = comptime!(lines / width);
    let depth = comptime!(form.tile.depth);
    let all = comptime!(row * depth);
    let pitch = comptime!(form.pitch(lines));
    let steps = comptime!(all.div_ceil(units));
    for step in 0..steps {
        let number = step * units + UNIT_POS;
        if number < all {
            let mut position = number / row;
            let mut vector = number % row;
            if comptime!(along_lines) {
                position = number % depth;
                vector = number / depth;
            }
            let inner = part.inner + position as usize;
            let mut value = Vector::<W, N>::zeroed();
            #[unroll]
            for index in 0..width {
                let (is_there, begin) = line_at(vector * width + index, &part, list, listed);
                let mut element = W::from_int(0);
                if is_there && inner < part.inner_end {
                    let at = begin + inner * part.inner_stride;
                    element = W::cast_from(from[at].extract(0usize));
                }
                value.insert(comptime!(index as usize), element);
            }
            to[(position * pitch + vector) as usize] = value;
        }
    }
}

/// The positions of each line one after another: vectors as they are, or with `by_element` gathered one element at a time.
#[cube]
fn kept<E: Numeric, W: Numeric, V: Size, N: Size>(
    from: &[Vector<E, V>],
    to: &mut Shared<[Vector<W, N>]>,
    part: Part,
    list: &Shared<[u32]>,
    #[comptime] lines: u32,
    #[comptime] listed: bool,
    #[comptime] by_element: bool,
    #[comptime] form: Form,
) {
    let units = comptime!(form.units()[1]);
    let width = comptime!(form.vector);
    let deep = comptime!(form.tile.depth / width);
    let all = comptime!(lines * deep);
    let pitch = comptime!(form.pitch(form.tile.depth));
    let steps = comptime!(all.div_ceil(units));
    #[unroll(comptime!(steps <= 4 && !by_element))]
    for step in 0..steps {
        let number = step * units + UNIT_POS;
        if number < all {
            let (line, vector) = (number / deep, number % deep);
            let first = part.inner + (vector * width) as usize;
            let (is_there, begin) = line_at(line, &part, list, listed);
            let mut value = Vector::<W, N>::zeroed();
            if comptime!(by_element) {
                #[unroll]
                for index in 0..width {
                    let inner = first + index as usize;
                    let mut element = W::from_int(0);
                    if is_there && inner < part.inner_end {
                        let at = begin + inner * part.inner_stride;
                        element = W::cast_from(from[at].extract(0usize));
                    }
                    value.insert(comptime!(index as usize), element);
                }
            } else if is_there && first < part.inner_end {
                value = Vector::<W, N>::cast_from(from[(begin + first) / width as usize]);
            }
            to[(line * pitch + vector) as usize] = value;
        }
    }
}
