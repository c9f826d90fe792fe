//! Targets without operations of girih's own: CubeCL's for whole planes, of which a group takes its part.

use super::super::lanes::each_word;
use super::super::machine::{Kernel, Machine};
use super::super::operators::Known;
use super::{WordType, Words};
use cubecl::prelude::*;
use pliron::value::Value;

pub(in crate::coop) fn ballot(
    kernel: &Kernel<'_>,
    predicate: NativeExpand<bool>,
    _lanes: Words,
) -> Words {
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

pub(in crate::coop) fn matching(
    kernel: &Kernel<'_>,
    number: NativeExpand<u32>,
    lanes: Words,
) -> Words {
    let scope = kernel.scope();
    if kernel.plane() == Some(1) {
        return lanes;
    }
    let widest = kernel.widest_plane();
    each_word(kernel, |index| {
        let first = 32 * index;
        let lanes_of_word = first..widest.min(first + 32);
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

pub(in crate::coop) fn shuffle(
    kernel: &Kernel<'_>,
    value: NativeExpand<u32>,
    from: NativeExpand<u32>,
    _lanes: Words,
) -> NativeExpand<u32> {
    match kernel.plane() {
        Some(1) => value,
        _ => plane_shuffle::expand::<u32>(kernel.scope(), value, from),
    }
}

pub(in crate::coop) fn exchange(
    kernel: &Kernel<'_>,
    value: NativeExpand<u32>,
    bits: u32,
    _lanes: Words,
) -> NativeExpand<u32> {
    plane_shuffle_xor::expand::<u32>(kernel.scope(), value, bits.into())
}

pub(in crate::coop) fn reduces(_kernel: &Kernel<'_>, _operation: Known) -> bool {
    false
}

pub(in crate::coop) fn sums_of_neighbours(
    _kernel: &Kernel<'_>,
    _value: NativeExpand<u32>,
    _ty: WordType,
    _strides: &[u32],
    _first: NativeExpand<u32>,
    _lanes: Words,
) -> Option<NativeExpand<u32>> {
    None
}

pub(in crate::coop) fn sums_and_before(
    _kernel: &Kernel<'_>,
    _value: NativeExpand<u32>,
    _strides: &[u32],
    _first: NativeExpand<u32>,
    _lanes: Words,
) -> Option<[NativeExpand<u32>; 2]> {
    None
}

pub(in crate::coop) fn reduce(
    _kernel: &Kernel<'_>,
    _value: NativeExpand<u32>,
    _operation: Known,
    _is_signed: bool,
    _lanes: Words,
) -> Option<NativeExpand<u32>> {
    None
}

/// A plane's barrier is for those of its units that came here together.
pub(in crate::coop) fn sync_lanes(kernel: &Kernel<'_>, _lanes: Words) {
    if kernel.plane() != Some(1) {
        sync_plane::expand(kernel.scope());
    }
}

pub(in crate::coop) fn sync_named(
    _kernel: &Kernel<'_>,
    _id: NativeExpand<u32>,
    _units: NativeExpand<u32>,
) -> bool {
    false
}

pub(in crate::coop) fn sync_cluster(_kernel: &Kernel<'_>) -> bool {
    false
}

pub(in crate::coop) fn shared_address(
    _kernel: &Kernel<'_>,
    _place: Value,
) -> Option<NativeExpand<u32>> {
    None
}

pub(in crate::coop) fn load_of_cube(
    _kernel: &Kernel<'_>,
    _address: NativeExpand<u32>,
    _cube: NativeExpand<u32>,
) -> Option<NativeExpand<u32>> {
    None
}
