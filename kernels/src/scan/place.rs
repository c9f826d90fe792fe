//! Where rows and segments lie.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]

use cubecl::prelude::*;

/// What begins a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cuts {
    /// The first element of a row alone.
    Rows,
    /// Every so many elements.
    Every,
    /// A flag that is not 0.
    Flags,
    /// A place on a sorted list.
    Offsets,
}

impl Cuts {
    /// Whether a segment may begin anywhere in a row.
    pub(crate) fn any(self) -> bool {
        self != Self::Rows
    }
}

/// Numbers of an axis in a kernel's list: its extent, and its strides in the input, the output and the flags. The last axis
/// of a list is the one along which rows are scanned.
pub(crate) const PER_AXIS: usize = 4;

/// Where a row begins, how long it is, and how far its elements are from each other.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Row {
    pub length: usize,
    pub input: usize,
    pub output: usize,
    pub flags: usize,
    pub input_step: usize,
    pub output_step: usize,
    pub flags_step: usize,
}

/// How many axes hold rows.
#[cube]
#[allow(unused_variables)]
fn axes_of(axes: &Sequence<usize>) -> comptime_type!(usize) {
    intrinsic!(|_| { axes.len() / PER_AXIS - 1 })
}

/// The row of this number.
#[cube]
pub(crate) fn row_of(number: usize, axes: &Sequence<usize>) -> Row {
    let count = axes_of(axes);
    let mut rest = number;
    let mut input = 0usize;
    let mut output = 0usize;
    let mut flags = 0usize;
    #[unroll]
    for step in 0..count {
        let at = comptime!(PER_AXIS * (count - 1 - step));
        let mut index = rest;
        if comptime!(step + 1 < count) {
            index = rest % axes[at];
            rest /= axes[at];
        }
        input += index * axes[comptime!(at + 1)];
        output += index * axes[comptime!(at + 2)];
        flags += index * axes[comptime!(at + 3)];
    }
    let own = comptime!(PER_AXIS * count);
    Row {
        length: axes[own],
        input,
        output,
        flags,
        input_step: axes[comptime!(own + 1)],
        output_step: axes[comptime!(own + 2)],
        flags_step: axes[comptime!(own + 3)],
    }
}

/// Whether an entry is below a position; one below 0 is below every position.
#[cube]
pub(crate) fn is_below<F: Int>(entry: F, position: usize) -> bool {
    entry < F::from_int(0) || usize::cast_from(entry) < position
}

/// The first entry of a sorted list, from `from` on, that is not below `position`; the list's length where none is.
#[cube]
pub(crate) fn search<F: Int>(list: &[F], from: usize, position: usize) -> usize {
    let mut low = from;
    let mut high = list.len();
    while low < high {
        let middle = low + (high - low) / 2;
        if is_below::<F>(list[middle], position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
