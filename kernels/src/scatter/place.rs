//! Where updates go, and where their elements lie.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// What a kernel decides at compile time stays apart from what it decides as it runs.
#![allow(clippy::collapsible_if, clippy::collapsible_else_if)]

use cubecl::prelude::*;
use girih::prelude::*;
use girih::view::resolve;

/// No place: what an index out of range is given. Every extent is at most this.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The first offset, in vectors, of a packet of a slice: `packet` counts the vectors of one slice, the last axis first.
///
/// Five axes: outer, outer, indexed, inner, inner. `is_flat` says that a slice is one row.
#[cube]
pub(crate) fn packet_offset<T: CubePrimitive>(
    tensor: &Tensor<T>,
    packet: usize,
    #[comptime] width: usize,
    #[comptime] is_flat: bool,
) -> usize {
    if comptime!(is_flat && width > 1) {
        // Vectors are of neighbours.
        packet
    } else if comptime!(is_flat) {
        packet * tensor.stride(4)
    } else {
        let columns = tensor.shape(4) / width;
        let (column, rest) = (packet % columns, packet / columns);
        let (head, rest) = (rest % tensor.shape(3), rest / tensor.shape(3));
        let (slab, outer) = (rest % tensor.shape(1), rest / tensor.shape(1));
        let elements = outer * tensor.stride(0)
            + slab * tensor.stride(1)
            + head * tensor.stride(3)
            + column * width * tensor.stride(4);
        elements / width
    }
}

/// From one slice to the next, in vectors.
#[cube]
pub(crate) fn slice_step<T: CubePrimitive>(tensor: &Tensor<T>, #[comptime] width: usize) -> usize {
    tensor.stride(2) / width
}

/// The slice of the target that update `at` goes to, or [`NOWHERE`].
#[cube]
pub(crate) fn destination<I: Int>(
    index: &Tensor<I>,
    at: usize,
    extent: usize,
    #[comptime] bounds: Bounds,
) -> u32 {
    let (place, is_one) = resolve::<I>(index[at * index.stride(0)], extent, bounds);
    select(is_one, u32::cast_from(place), NOWHERE.runtime())
}

/// Keeps the position of an index that has no place.
#[cube]
pub(crate) fn report(
    record: &ComptimeOption<Box<[Atomic<u32>]>>,
    place: u32,
    at: usize,
    #[comptime] bounds: Bounds,
) {
    if comptime!(bounds == Bounds::Report) {
        #[comptime]
        match record {
            ComptimeOption::Some(record) => {
                if place == NOWHERE {
                    record[0].at::<Device>().fetch_min::<Relaxed>(at as u32);
                }
            }
            ComptimeOption::None => {}
        }
    }
}

/// The number of this unit among all.
#[cube]
pub(crate) fn unit_of_grid() -> usize {
    CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize
}

/// How many units the grid has.
#[cube]
pub(crate) fn units_of_grid() -> usize {
    CUBE_COUNT * CUBE_DIM as usize
}
