//! Collectives of truth values, and of equal values.

use super::super::group::{Group, GroupExpand};
use super::super::lanes::{self, LaneMask, LaneMaskExpand};
use super::super::lower::{self, Words};
use super::super::machine::{Kernel, Machine};
use super::super::operators::Sum;
use super::super::reach::Reach;
use super::super::words;
use cubecl::prelude::*;

/// The collectives of truth values. What is said of the others holds of these.
impl Group {
    /// The units of this plane that are in the group and say yes.
    #[allow(unused_variables)]
    pub fn ballot(&self, predicate: bool) -> LaneMask {
        cubecl::unexpanded!()
    }

    /// How many units of the group say yes.
    #[allow(unused_variables)]
    pub fn count(&self, predicate: bool) -> u32 {
        cubecl::unexpanded!()
    }

    /// Whether every unit of the group says yes.
    #[allow(unused_variables)]
    pub fn all(&self, predicate: bool) -> bool {
        cubecl::unexpanded!()
    }

    /// Whether some unit of the group says yes.
    #[allow(unused_variables)]
    pub fn any(&self, predicate: bool) -> bool {
        cubecl::unexpanded!()
    }

    /// Whether no unit of the group says yes.
    #[allow(unused_variables)]
    pub fn none(&self, predicate: bool) -> bool {
        cubecl::unexpanded!()
    }

    /// Whether this unit is the one of its group that speaks for it: the first. `if group.elect() { .. }` is done once.
    pub fn elect(&self) -> bool {
        cubecl::unexpanded!()
    }

    /// The units of the group, which is within one plane, that have the same value as this one, bit by bit.
    ///
    /// ```
    /// use cubecl::prelude::*;
    /// use girih::prelude::*;
    ///
    /// /// How often each value is there among those of the unit's plane.
    /// #[cube(launch_unchecked)]
    /// fn repeats(keys: &[u32], out: &mut [u32]) {
    ///     let unit = UNIT_POS as usize;
    ///     out[unit] = this_plane().match_any::<u32>(keys[unit]).count();
    /// }
    /// # fn main() {}
    /// ```
    #[allow(unused_variables)]
    pub fn match_any<E: CubePrimitive>(&self, value: E) -> LaneMask {
        cubecl::unexpanded!()
    }
}

impl GroupExpand {
    fn lanes(&self) -> Words {
        self.result.lane_mask.words()
    }

    fn votes(&self, kernel: &Kernel<'_>, predicate: NativeExpand<bool>) -> Words {
        let scope = kernel.scope();
        let lanes = self.lanes();
        if self.reach(kernel) == Reach::Unit {
            let vote = select::expand::<u32>(scope, predicate, u32::MAX.into(), 0u32.into());
            return lanes.map(|word| kernel.bitand(word, vote));
        }
        let votes = lower::ballot(kernel, predicate, lanes);
        lanes::each_word(kernel, |index| {
            let index = index as usize;
            kernel.bitand(votes[index], lanes[index])
        })
    }

    fn counted(
        &self,
        scope: &Scope,
        call: &'static str,
        predicate: NativeExpand<bool>,
    ) -> NativeExpand<u32> {
        let kernel = Kernel::of(scope);
        let vote = || select::expand::<u32>(scope, predicate, 1u32.into(), 0u32.into());
        match self.reach(&kernel) {
            Reach::Unit => vote(),
            Reach::Lanes => lanes::count(&kernel, self.votes(&kernel, predicate)),
            _ => self.reduced::<u32, Sum>(scope, call, vote(), true),
        }
    }

    /// Expansion of [`Group::ballot`].
    pub fn __expand_ballot_method(
        &self,
        scope: &Scope,
        predicate: NativeExpand<bool>,
    ) -> LaneMaskExpand {
        let kernel = Kernel::of(scope);
        LaneMaskExpand::new(self.votes(&kernel, predicate))
    }
    /// Expansion of [`Group::count`].
    pub fn __expand_count_method(
        &self,
        scope: &Scope,
        predicate: NativeExpand<bool>,
    ) -> NativeExpand<u32> {
        self.counted(scope, "Group::count", predicate)
    }
    /// Expansion of [`Group::all`].
    pub fn __expand_all_method(
        &self,
        scope: &Scope,
        predicate: NativeExpand<bool>,
    ) -> NativeExpand<bool> {
        let no = predicate.__expand_not_method(scope);
        self.counted(scope, "Group::all", no)
            .__expand_eq_method(scope, &0u32.into())
    }
    /// Expansion of [`Group::any`].
    pub fn __expand_any_method(
        &self,
        scope: &Scope,
        predicate: NativeExpand<bool>,
    ) -> NativeExpand<bool> {
        let count = self.counted(scope, "Group::any", predicate);
        count.__expand_gt_method(scope, &0u32.into())
    }
    /// Expansion of [`Group::none`].
    pub fn __expand_none_method(
        &self,
        scope: &Scope,
        predicate: NativeExpand<bool>,
    ) -> NativeExpand<bool> {
        let count = self.counted(scope, "Group::none", predicate);
        count.__expand_eq_method(scope, &0u32.into())
    }
    /// Expansion of [`Group::elect`].
    pub fn __expand_elect_method(&self, scope: &Scope) -> NativeExpand<bool> {
        self.result
            .unit_rank
            .__expand_eq_method(scope, &0u32.into())
    }
    /// Expansion of [`Group::match_any`].
    pub fn __expand_match_any_method<E: CubePrimitive>(
        &self,
        scope: &Scope,
        value: NativeExpand<E>,
    ) -> LaneMaskExpand {
        let call = "Group::match_any";
        let kernel = Kernel::of(scope);
        let lanes = self.lanes();
        match self.reach(&kernel) {
            Reach::Unit => LaneMaskExpand::new(lanes),
            Reach::Lanes => {
                // Those that have the same words, one after the other.
                let words = words::split::<E>(scope, call, value);
                let matching = words
                    .into_iter()
                    .map(|word| lower::matching(&kernel, word, lanes));
                let all = matching.fold(lanes, |all, matching| {
                    lanes::each_word(&kernel, |index| {
                        let index = index as usize;
                        kernel.bitand(all[index], matching[index])
                    })
                });
                LaneMaskExpand::new(all)
            }
            _ => {
                kernel.refuse(format!(
                    "girih: {call}: {} that may go on from plane to plane; a mask has the lanes of one plane",
                    self.members()
                ));
                LaneMaskExpand::new(lanes)
            }
        }
    }
}
