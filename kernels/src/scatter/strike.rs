//! One atomic combination with what memory holds.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]

use super::ScatterMode;
use cubecl::prelude::*;
use girih::prelude::*;

/// Combines the packet at `at`, in packets, with `value`, by as many atomics of `W` elements as it has.
#[cube]
pub(crate) fn strike<E: Numeric, W: Size, N: Size>(
    target: &Tensor<Atomic<Vector<E, W>>>,
    at: usize,
    value: Vector<E, N>,
    #[comptime] mode: ScatterMode,
) {
    let whole = N::value();
    let width = W::value();
    let parts = comptime!(whole / width);
    #[unroll]
    for part in 0..parts {
        let mut packet = Vector::<E, W>::empty();
        #[unroll]
        for lane in 0..width {
            packet.insert(lane, value.extract(comptime!(part * width + lane)));
        }
        let cell = target[at * parts + part].at::<Device>();
        match comptime!(mode) {
            ScatterMode::Set => cell.store::<Relaxed>(packet),
            ScatterMode::Add => {
                cell.fetch_add::<Relaxed>(packet);
            }
            ScatterMode::Mul => {
                cell.fetch_mul::<Relaxed>(packet);
            }
            ScatterMode::Min => {
                cell.fetch_min::<Relaxed>(packet);
            }
            ScatterMode::Max => {
                cell.fetch_max::<Relaxed>(packet);
            }
        }
    }
}
