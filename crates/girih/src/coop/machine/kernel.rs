//! A kernel that is being expanded: what is known then is computed then, the rest becomes instructions.

use super::super::lanes::WORDS;
use super::super::levels::cube_units;
use super::super::lower;
use super::Machine;
use crate::device::{Target, architecture, expanded_for};
use cubecl::prelude::*;
use pliron::op::Op as _;

/// A scope of a kernel, and the planes of the device that it is expanded for.
pub(in crate::coop) struct Kernel<'a> {
    scope: &'a Scope,
    plane: Option<u32>,
    words: usize,
    target: Target,
    /// Of an NVIDIA GPU, as in `sm_90`; 0 of others. What CUDA alone asks for is there without its lowerings too, unused.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    architecture: u32,
}

impl<'a> Kernel<'a> {
    /// The kernel that the scope belongs to.
    pub(in crate::coop) fn of(scope: &'a Scope) -> Self {
        let Some((target, properties)) = expanded_for(scope) else {
            panic!("girih: a kernel with groups is expanded for no device");
        };
        let hardware = &properties.hardware;
        let (min, max) = (hardware.plane_size_min, hardware.plane_size_max);
        Self {
            scope,
            plane: (min == max).then_some(max.max(1)),
            words: max.clamp(1, 128).div_ceil(32) as usize,
            target,
            architecture: architecture(&properties).unwrap_or(0),
        }
    }

    /// Whether the kernel becomes PTX, with girih's own operations.
    pub(in crate::coop) fn is_ptx(&self) -> bool {
        self.target == Target::Cuda && self.target.is_lowered()
    }

    /// Whether all units of this plane are known to be here together: the cube is whole planes, and nothing that was
    /// branched on leads here.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(in crate::coop) fn is_converged(&self) -> bool {
        let scope = self.scope;
        let is_whole = self
            .plane
            .is_some_and(|plane| cube_units(scope).is_multiple_of(plane));
        if !is_whole || scope.expand_state().may_return {
            return false;
        }
        let ctx = scope.ctx();
        let block = scope.inserter().get_insertion_block(ctx);
        let function = block.and_then(|block| block.deref(ctx).get_parent_op(ctx));
        function == Some(scope.state().entry_func.get_operation())
    }

    /// The architecture of an NVIDIA GPU, 90 for `sm_90`; 0 of others.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(in crate::coop) fn architecture(&self) -> u32 {
        self.architecture
    }

    /// The most units that a plane has.
    pub(in crate::coop) fn widest_plane(&self) -> u32 {
        self.plane.unwrap_or(32 * self.words as u32)
    }

    /// Fails the kernel at the first read of what it writes.
    pub(in crate::coop) fn refuse(&self, message: String) {
        self.scope.push_error(message);
    }

    /// The scope.
    pub(in crate::coop) fn scope(&self) -> &'a Scope {
        self.scope
    }

    /// How many units a plane has.
    pub(in crate::coop) fn plane_size(&self) -> NativeExpand<u32> {
        match self.plane {
            Some(plane) => plane.into(),
            None => PLANE_DIM::expand(self.scope),
        }
    }

    fn fold(
        &self,
        [a, b]: [NativeExpand<u32>; 2],
        known: impl Fn(u32, u32) -> u32,
        computed: impl Fn(&Scope, NativeExpand<u32>, NativeExpand<u32>) -> NativeExpand<u32>,
    ) -> NativeExpand<u32> {
        match (self.constant(a), self.constant(b)) {
            (Some(a), Some(b)) => known(a, b).into(),
            _ => computed(self.scope, a, b),
        }
    }

    /// What to divide by: a count of the run may be 0, and a division by 0 ends the process on a CPU.
    fn divisor(&self, number: NativeExpand<u32>) -> NativeExpand<u32> {
        match self.constant(number) {
            Some(known) => known.max(1).into(),
            None => number.__expand_max_method(self.scope, 1u32.into()),
        }
    }
}

fn known_flag(flag: NativeExpand<bool>) -> Option<bool> {
    flag.constant().map(|constant| constant.as_bool())
}

impl Machine for Kernel<'_> {
    type Number = NativeExpand<u32>;
    type Flag = NativeExpand<bool>;
    type Predicate = NativeExpand<bool>;

    fn known(&self, value: u32) -> NativeExpand<u32> {
        value.into()
    }
    fn constant(&self, number: NativeExpand<u32>) -> Option<u32> {
        number.constant().map(|constant| constant.as_u64() as u32)
    }
    fn add(&self, a: NativeExpand<u32>, b: NativeExpand<u32>) -> NativeExpand<u32> {
        match (self.constant(a), self.constant(b)) {
            (_, Some(0)) => a,
            (Some(0), _) => b,
            _ => self.fold([a, b], u32::wrapping_add, |scope, a, b| {
                a.__expand_add_method(scope, b)
            }),
        }
    }
    fn sub(&self, a: NativeExpand<u32>, b: NativeExpand<u32>) -> NativeExpand<u32> {
        match self.constant(b) {
            Some(0) => a,
            _ => self.fold([a, b], u32::wrapping_sub, |scope, a, b| {
                a.__expand_sub_method(scope, b)
            }),
        }
    }
    fn mul(&self, a: NativeExpand<u32>, b: NativeExpand<u32>) -> NativeExpand<u32> {
        match (self.constant(a), self.constant(b)) {
            (Some(0), _) | (_, Some(0)) => 0u32.into(),
            (_, Some(1)) => a,
            (Some(1), _) => b,
            _ => self.fold([a, b], u32::wrapping_mul, |scope, a, b| {
                a.__expand_mul_method(scope, b)
            }),
        }
    }
    fn div(&self, a: NativeExpand<u32>, b: NativeExpand<u32>) -> NativeExpand<u32> {
        match (self.constant(a), self.constant(b)) {
            (Some(0), _) => a,
            (_, Some(1)) => a,
            _ => self.fold(
                [a, self.divisor(b)],
                |a, b| a / b,
                |scope, a, b| a.__expand_div_method(scope, b),
            ),
        }
    }
    fn rem(&self, a: NativeExpand<u32>, b: NativeExpand<u32>) -> NativeExpand<u32> {
        match (self.constant(a), self.constant(b)) {
            (Some(0), _) | (_, Some(1)) => 0u32.into(),
            _ => self.fold(
                [a, self.divisor(b)],
                |a, b| a % b,
                |scope, a, b| a.__expand_rem_method(scope, b),
            ),
        }
    }
    fn bitand(&self, a: NativeExpand<u32>, b: NativeExpand<u32>) -> NativeExpand<u32> {
        match (self.constant(a), self.constant(b)) {
            (Some(0), _) | (_, Some(0)) => 0u32.into(),
            (_, Some(u32::MAX)) => a,
            (Some(u32::MAX), _) => b,
            _ => self.fold(
                [a, b],
                |a, b| a & b,
                |scope, a, b| a.__expand_bitand_method(scope, b),
            ),
        }
    }
    fn bitxor(&self, a: NativeExpand<u32>, b: NativeExpand<u32>) -> NativeExpand<u32> {
        self.fold(
            [a, b],
            |a, b| a ^ b,
            |scope, a, b| a.__expand_bitxor_method(scope, b),
        )
    }
    fn shl(&self, a: NativeExpand<u32>, b: NativeExpand<u32>) -> NativeExpand<u32> {
        match self.constant(b) {
            Some(0) => a,
            _ => self.fold(
                [a, b],
                |a, b| a << b,
                |scope, a, b| a.__expand_shl_method(scope, b),
            ),
        }
    }
    fn shr(&self, a: NativeExpand<u32>, b: NativeExpand<u32>) -> NativeExpand<u32> {
        match self.constant(b) {
            Some(0) => a,
            _ => self.fold(
                [a, b],
                |a, b| a >> b,
                |scope, a, b| a.__expand_shr_method(scope, b),
            ),
        }
    }
    fn count_ones(&self, a: NativeExpand<u32>) -> NativeExpand<u32> {
        match self.constant(a) {
            Some(known) => known.count_ones().into(),
            None => a.__expand_count_ones_method(self.scope),
        }
    }
    fn is_below(&self, a: NativeExpand<u32>, b: NativeExpand<u32>) -> NativeExpand<bool> {
        match (self.constant(a), self.constant(b)) {
            (Some(a), Some(b)) => (a < b).into(),
            (_, Some(0)) => false.into(),
            _ => a.__expand_lt_method(self.scope, &b),
        }
    }
    fn both(&self, a: NativeExpand<bool>, b: NativeExpand<bool>) -> NativeExpand<bool> {
        match (known_flag(a), known_flag(b)) {
            (Some(true), _) | (_, Some(false)) => b,
            (_, Some(true)) | (Some(false), _) => a,
            _ => a.__expand_and_method(self.scope, b),
        }
    }
    fn select(
        &self,
        flag: NativeExpand<bool>,
        a: NativeExpand<u32>,
        b: NativeExpand<u32>,
    ) -> NativeExpand<u32> {
        match (self.constant(a), self.constant(b)) {
            (Some(known), Some(other)) if known == other => a,
            _ => select::expand::<u32>(self.scope, flag, a, b),
        }
    }
    fn lane(&self) -> NativeExpand<u32> {
        match self.plane {
            Some(1) => 0u32.into(),
            // CubeCL divides by a size that the compiler of PTX learns too late to fold it.
            Some(plane) if self.is_ptx() => self.rem(UNIT_POS::expand(self.scope), plane.into()),
            _ => UNIT_POS_PLANE::expand(self.scope),
        }
    }
    fn plane(&self) -> Option<u32> {
        self.plane
    }
    fn words(&self) -> usize {
        self.words
    }
    fn vote(
        &self,
        predicate: &NativeExpand<bool>,
        lanes: [NativeExpand<u32>; WORDS],
    ) -> (NativeExpand<bool>, [NativeExpand<u32>; WORDS]) {
        let votes = match known_flag(*predicate) {
            Some(true) => [u32::MAX.into(); WORDS],
            Some(false) => [0u32.into(); WORDS],
            None => lower::ballot(self, *predicate, lanes),
        };
        (*predicate, votes)
    }
    fn matching(
        &self,
        number: NativeExpand<u32>,
        lanes: [NativeExpand<u32>; WORDS],
    ) -> [NativeExpand<u32>; WORDS] {
        match self.constant(number) {
            Some(_) => lanes,
            None => lower::matching(self, number, lanes),
        }
    }
}
