//! A reduction of the whole grid, through global memory.
//!
//! No cube waits for another: the one that comes last finds what the others have left.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
// The expansions use them.
#![allow(clippy::extra_unused_type_parameters)]

use super::super::levels::this_cube;
use super::super::mapping::take;
use super::super::operators::Associative;
use super::super::words;
use crate::memory::{AcqRel, Acquire, AtomicExt, AtomicExtExpand, Device, Relaxed, fence};
use cubecl::prelude::*;

const CALL: &str = "reduce_grid";

/// Elements of the scratch memory of [`reduce_grid`](reduce_grid()) for a launch of `cubes` cubes and elements of `bytes`
/// bytes.
pub const fn grid_scratch_len(cubes: usize, bytes: usize) -> usize {
    1 + cubes * bytes.div_ceil(4)
}

#[cube]
fn words_of<E: CubePrimitive>() -> comptime_type!(usize) {
    intrinsic!(|scope| { words::count::<E>(scope, CALL) })
}

#[cube]
#[allow(unused_variables)]
fn word_of<E: CubePrimitive>(value: E, #[comptime] index: usize) -> u32 {
    intrinsic!(|scope| { words::split::<E>(scope, CALL, value)[index] })
}

/// What a cube has left.
#[cube]
fn left_by<E: CubePrimitive>(scratch: &[Atomic<u32>], cube: u32) -> E {
    let words = words_of::<E>();
    let first = cube as usize * words + 1;
    let mut held = Sequence::<u32>::new();
    #[unroll]
    for index in 0..words {
        held.push(scratch[first + index].at::<Device>().load::<Relaxed>());
    }
    joined::<E>(held)
}

#[cube]
#[allow(unused_variables)]
fn joined<E: CubePrimitive>(held: Sequence<u32>) -> E {
    intrinsic!(|scope| {
        let held: Vec<_> = held.into_iter().collect();
        words::join::<E>(scope, CALL, &held)
    })
}

/// The values of all units of the launch combined, in the order of cubes and of ranks in each, on the units of the cube that
/// comes last; the others are told `false`, and something else.
///
/// `scratch` has [`grid_scratch_len`] elements, of which the first is 0 when the kernel starts; it is 0 again at its end. All
/// units of the grid call it, once for each scratch memory. No cube waits for another, so that any number of them can be
/// launched. What they leave is written relaxed and handed on by an addition that acquires and releases at
/// [`Device`] scope: where a device does not keep that, the kernel fails by name.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::coop::{Sum, reduce_grid};
/// use girih::prelude::*;
///
/// #[cube(launch_unchecked)]
/// fn total(values: &[f32], scratch: &[Atomic<u32>], out: &mut [f32]) {
///     let (sum, is_last) = reduce_grid::<f32, Sum>(values[ABSOLUTE_POS], scratch);
///     if is_last && UNIT_POS == 0u32 {
///         out[0] = sum;
///     }
/// }
/// # fn main() {}
/// ```
#[cube]
pub fn reduce_grid<E: CubePrimitive, O: Associative<E>>(
    value: E,
    scratch: &[Atomic<u32>],
) -> (E, bool) {
    let cube = this_cube();
    let words = words_of::<E>();
    let part = cube.reduce::<E, O>(value);
    let cubes = CUBE_COUNT as u32;
    let mut ticket = 0u32;
    if UNIT_POS == 0u32 {
        let first = CUBE_POS * words + 1;
        #[unroll]
        for index in 0..words {
            let word = word_of::<E>(part, index);
            scratch[first + index].at::<Device>().store::<Relaxed>(word);
        }
        ticket = scratch[0].at::<Device>().fetch_add::<AcqRel>(1u32);
    }
    let is_last = cube.broadcast::<u32>(ticket, 0u32) + 1u32 == cubes;
    let mut total = part;
    if is_last {
        fence::<Acquire, Device>();
        // Each unit combines a run of what is left, as long as there is any.
        let share = cubes.div_ceil(CUBE_DIM);
        let sharers = cubes.div_ceil(share);
        let mut sum = part;
        if UNIT_POS < sharers {
            let first = UNIT_POS * share;
            sum = left_by::<E>(scratch, first);
            for next in first + 1u32..cubes.min(first + share) {
                sum = O::combine(sum, left_by::<E>(scratch, next));
            }
        }
        let sharing = cube.partition_non_exhaustive(take(sharers));
        let sum = sharing.reduce::<E, O>(sum);
        total = cube.broadcast::<E>(sum, 0u32);
        if UNIT_POS == 0u32 {
            scratch[0].at::<Device>().store::<Relaxed>(0u32);
        }
    }
    (total, is_last)
}
