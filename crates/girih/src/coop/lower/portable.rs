//! Targets without operations of girih's own: CubeCL's for whole planes, of which a group takes its part.

use super::super::lanes::{WORDS, each_word};
use super::super::machine::{Kernel, Machine};
use cubecl::prelude::*;

/// The lanes that say yes, of those in `lanes`, which are all here.
pub(in crate::coop) fn ballot(
    kernel: &Kernel<'_>,
    predicate: NativeExpand<bool>,
    _lanes: [NativeExpand<u32>; WORDS],
) -> [NativeExpand<u32>; WORDS] {
    let scope = kernel.scope();
    if kernel.plane() == Some(1) {
        let vote = select::expand::<u32>(scope, predicate, 1u32.into(), 0u32.into());
        return each_word(kernel, |_| vote);
    }
    let votes = plane_ballot::expand(scope, predicate);
    each_word(kernel, |index| {
        votes.__expand_extract_method(scope, index as usize)
    })
}

/// The lanes of `lanes`, which are all here, that have this unit's number.
pub(in crate::coop) fn matching(
    kernel: &Kernel<'_>,
    number: NativeExpand<u32>,
    lanes: [NativeExpand<u32>; WORDS],
) -> [NativeExpand<u32>; WORDS] {
    let scope = kernel.scope();
    let Some(plane) = kernel.plane() else {
        panic!("girih: partition: planes of no one size; a mapping that reorders units needs one");
    };
    if plane == 1 {
        return lanes;
    }
    each_word(kernel, |index| {
        let first = 32 * index;
        let lanes_of_word = first..plane.min(first + 32);
        let same = lanes_of_word.fold(0u32.into(), |bits: NativeExpand<u32>, lane| {
            let other = plane_shuffle::expand::<u32>(scope, number, lane.into());
            let is_same = other.__expand_eq_method(scope, &number);
            let bit = (1u32 << (lane - first)).into();
            let bit = select::expand::<u32>(scope, is_same, bit, 0u32.into());
            bits.__expand_bitor_method(scope, bit)
        });
        kernel.bitand(same, lanes[index as usize])
    })
}
