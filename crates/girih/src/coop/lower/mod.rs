//! What groups ask of a target: one file per target, the same names in each.

#[cfg(feature = "cuda")]
mod cuda;
mod portable;

use super::lanes::WORDS;
use super::machine::Kernel;
use super::operators::Known;
use cubecl::prelude::*;
use pliron::value::Value;

/// The lanes of a plane, and a number of each.
pub(super) type Words = [NativeExpand<u32>; WORDS];

/// What a word is, to an instruction that computes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordType {
    Signed,
    Unsigned,
    Float,
}

macro_rules! lowered {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $ty:ty),*) $(-> $out:ty)?;)*) => {$(
        $(#[$doc])*
        pub(super) fn $name(kernel: &Kernel<'_>, $($argument: $ty),*) $(-> $out)? {
            #[cfg(feature = "cuda")]
            if kernel.is_ptx() {
                return cuda::$name(kernel, $($argument),*);
            }
            portable::$name(kernel, $($argument),*)
        }
    )*};
}
lowered! {
    /// The lanes that say yes, of those in `lanes`, which are all here.
    fn ballot(predicate: NativeExpand<bool>, lanes: Words) -> Words;
    /// The lanes of `lanes`, which are all here, that have this unit's number.
    fn matching(number: NativeExpand<u32>, lanes: Words) -> Words;
    /// What the unit of lane `from` has, which is one of `lanes`, as this one is.
    fn shuffle(value: NativeExpand<u32>, from: NativeExpand<u32>, lanes: Words) -> NativeExpand<u32>;
    /// What the unit has whose lane differs in the bits of `bits`, which is one of `lanes`, as this one is.
    fn exchange(value: NativeExpand<u32>, bits: u32, lanes: Words) -> NativeExpand<u32>;
    /// Whether the target has an instruction that combines integers of all lanes.
    fn reduces(operation: Known) -> bool;
    /// The sum of what the lanes from `first` up to this unit's have, in steps of these strides, which double from 1 on; if
    /// the target adds what it passes on to those alone that have such a lane.
    fn sums_of_neighbours(value: NativeExpand<u32>, ty: WordType, strides: &[u32], first: NativeExpand<u32>, lanes: Words) -> Option<NativeExpand<u32>>;
    /// The same of floats, and the sum without this unit's own, on the first anything; there are strides.
    fn sums_and_before(value: NativeExpand<u32>, strides: &[u32], first: NativeExpand<u32>, lanes: Words) -> Option<[NativeExpand<u32>; 2]>;
    /// All values of `lanes` combined, if the target has an instruction for it.
    fn reduce(value: NativeExpand<u32>, operation: Known, is_signed: bool, lanes: Words) -> Option<NativeExpand<u32>>;
    /// Waits for the units of `lanes`, and sees what they wrote.
    fn sync_lanes(lanes: Words);
    /// Waits at barrier `id` for `units` units, and sees what they wrote, if the target has such barriers.
    fn sync_named(id: NativeExpand<u32>, units: NativeExpand<u32>) -> bool;
    /// Waits for the cubes of the cluster, and sees what they wrote, if the target has clusters.
    fn sync_cluster() -> bool;
    /// The address of shared memory that cubes of a cluster know it by, if the target has clusters.
    fn shared_address(place: Value) -> Option<NativeExpand<u32>>;
    /// The word that a cube of the cluster has at an address of its shared memory, if the target has clusters.
    fn load_of_cube(address: NativeExpand<u32>, cube: NativeExpand<u32>) -> Option<NativeExpand<u32>>;
}
