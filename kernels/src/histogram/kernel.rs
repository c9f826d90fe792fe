//! The kernels of histograms.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

use crate::bins;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// Which bin a value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binning {
    /// That of its number.
    Value,
    /// That of the equal part of a range that it is in.
    Range,
}

/// How the kernel goes through the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Counting {
    /// Which bin a value is in.
    pub binning: Binning,
    /// Bins in shared memory, 0 for none.
    pub private: usize,
    /// Whether values have weights.
    pub is_weighted: bool,
    /// Units of the cube.
    pub units: u32,
}

/// Adds up the weights of the values of each bin, or counts them. `B` is the type that bins are found in.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn histogram_kernel<E: Numeric, A: Numeric, B: Numeric, N: Size>(
    values: &[Vector<E, N>],
    weights: &[Vector<A, N>],
    out: &[Atomic<A>],
    vectors: usize,
    count: u32,
    low: InputScalar,
    high: InputScalar,
    scale: InputScalar,
    #[comptime] counting: Counting,
    #[define(E, A, B)] _types: [ElemType; 3],
) {
    let private = shared::<Atomic<A>>(comptime!(counting.private.max(1)));
    let units = comptime!(counting.units as usize);
    if comptime!(counting.private > 0) {
        bins::clear::<A>(&private, counting.private, counting.units);
    }
    let mut at = CUBE_POS * units + UNIT_POS as usize;
    let step = CUBE_COUNT * units;
    // A buffer may go on behind the values.
    while at < vectors {
        let several = values[at];
        #[unroll]
        for lane in 0..N::value() {
            let (bin, is_in) = bin_of::<E, B>(
                several.extract(lane),
                count,
                low.get::<B>(),
                high.get::<B>(),
                scale.get::<B>(),
                counting.binning,
            );
            if is_in {
                let mut weight = A::from_int(1);
                if comptime!(counting.is_weighted) {
                    weight = weights[at].extract(lane);
                }
                if comptime!(counting.private > 0) {
                    private[bin as usize]
                        .at::<Cube>()
                        .fetch_add::<Relaxed>(weight);
                } else {
                    out[bin as usize]
                        .at::<Device>()
                        .fetch_add::<Relaxed>(weight);
                }
            }
        }
        at += step;
    }
    if comptime!(counting.private > 0) {
        bins::add_to::<A, A>(&private, out, 0usize, count as usize, counting.units);
    }
}

/// The bin of every value, -1 where it has none. `B` is the type that bins are found in.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn bins_kernel<E: Numeric, B: Numeric>(
    values: &[E],
    out: &mut [i32],
    count: usize,
    bins: u32,
    low: InputScalar,
    high: InputScalar,
    scale: InputScalar,
    #[comptime] binning: Binning,
    #[define(E, B)] _types: [ElemType; 2],
) {
    // A buffer may go on behind the values.
    if ABSOLUTE_POS < count {
        let (bin, is_in) = bin_of::<E, B>(
            values[ABSOLUTE_POS],
            bins,
            low.get::<B>(),
            high.get::<B>(),
            scale.get::<B>(),
            binning,
        );
        out[ABSOLUTE_POS] = select(is_in, i32::cast_from(bin), -1i32);
    }
}

/// A value's bin, and whether it has one.
#[cube]
fn bin_of<E: Numeric, B: Numeric>(
    value: E,
    bins: u32,
    low: B,
    high: B,
    scale: B,
    #[comptime] binning: Binning,
) -> (u32, bool) {
    let number = B::cast_from(value);
    if comptime!(binning == Binning::Value) {
        // A negative number became one that is larger than there are bins.
        (u32::cast_from(number), number < B::cast_from(bins))
    } else {
        let bin = u32::cast_from((number - low) * scale);
        // The last bin has its end.
        (
            bin.min(bins - 1u32),
            number >= low && number <= high && bins > 0u32,
        )
    }
}
