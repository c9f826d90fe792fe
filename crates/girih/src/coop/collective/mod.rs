//! Collectives: what the units of a group compute together.
//!
//! Within a plane values pass from lane to lane, above it through shared memory. One unit, as every plane of a CPU is, has
//! nothing to wait for.

mod cluster;
mod grid;
mod memory;
mod segment;
mod votes;

use super::Level;
use super::group::{Group, GroupExpand};
use super::levels::{self, cube_units};
use super::machine::Kernel;
use super::operators::Associative;
use super::reach::Reach;
use cubecl::prelude::*;
pub use grid::{grid_scratch_len, reduce_grid};
use segment::Segment;

/// The collectives of values.
///
/// All units of the group call one together, and all are told its result. A group that goes on from plane to plane, is
/// not the whole cube, and has no [barrier](Self::sync) of its own, works by that of the cube: then every unit of the cube
/// calls it together with the others, those in no group too, whose result says nothing. Groups of planes or cubes
/// give one value for each, the same on all its units. Of several cubes, a whole cluster works together, on devices with
/// clusters (sm_90 and later); parts of it are refused, and the grid has
/// [`reduce_grid`](reduce_grid()) alone.
///
/// A value is a number of any type that the device stores, a `bool`, or a vector of them.
impl Group {
    /// All values of the group combined in the order of ranks, on each of its units.
    ///
    /// ```
    /// use cubecl::prelude::*;
    /// use girih::coop::Sum;
    /// use girih::prelude::*;
    ///
    /// /// Each group of five adds its values.
    /// #[cube(launch_unchecked)]
    /// fn sums(values: &[f32], out: &mut [f32]) {
    ///     let five = this_plane().partition_non_exhaustive(group_by(5));
    ///     if five.is_valid() {
    ///         let sum = five.reduce::<f32, Sum>(values[UNIT_POS as usize]);
    ///         if five.elect() {
    ///             out[five.group_rank() as usize] = sum;
    ///         }
    ///     }
    /// }
    /// # fn main() {}
    /// ```
    #[allow(unused_variables)]
    pub fn reduce<E: CubePrimitive, O: Associative<E>>(&self, value: E) -> E {
        cubecl::unexpanded!()
    }

    /// The same, on the group's first unit alone: the others are told something else.
    #[allow(unused_variables)]
    pub fn reduce_to_first<E: CubePrimitive, O: Associative<E>>(&self, value: E) -> E {
        cubecl::unexpanded!()
    }

    /// The values of the units up to this one combined, in the order of ranks.
    #[allow(unused_variables)]
    pub fn inclusive_scan<E: CubePrimitive, O: Associative<E>>(&self, value: E) -> E {
        cubecl::unexpanded!()
    }

    /// `first`, and the values of the units before this one, combined in the order of ranks; `first` on the group's first
    /// unit.
    #[allow(unused_variables)]
    pub fn exclusive_scan<E: CubePrimitive, O: Associative<E>>(&self, value: E, first: E) -> E {
        cubecl::unexpanded!()
    }

    /// What the unit of the rank has, which is the same on all units and is below the group's size.
    #[allow(unused_variables)]
    pub fn broadcast<E: CubePrimitive>(&self, value: E, rank: u32) -> E {
        cubecl::unexpanded!()
    }

    /// What the unit of the rank has, and whether there is one; the unit's own value where there is none. Each unit names a
    /// rank of its own.
    #[allow(unused_variables)]
    pub fn shuffle<E: CubePrimitive>(&self, value: E, rank: u32) -> (E, bool) {
        cubecl::unexpanded!()
    }

    /// What the unit has that is `distance` ranks before this one, and whether there is one; the unit's own value where
    /// there is none.
    ///
    /// ```
    /// use cubecl::prelude::*;
    /// use girih::prelude::*;
    ///
    /// /// Differences of neighbours; the first value as it is.
    /// #[cube(launch_unchecked)]
    /// fn differences(values: &mut [i32]) {
    ///     let value = values[UNIT_POS as usize];
    ///     let (before, is_there) = this_cube().shuffle_up::<i32>(value, 1u32);
    ///     values[UNIT_POS as usize] = select(is_there, value - before, value);
    /// }
    /// # fn main() {}
    /// ```
    #[allow(unused_variables)]
    pub fn shuffle_up<E: CubePrimitive>(&self, value: E, distance: u32) -> (E, bool) {
        cubecl::unexpanded!()
    }

    /// What the unit has that is `distance` ranks after this one, and whether there is one; the unit's own value where
    /// there is none.
    #[allow(unused_variables)]
    pub fn shuffle_down<E: CubePrimitive>(&self, value: E, distance: u32) -> (E, bool) {
        cubecl::unexpanded!()
    }

    /// What the unit has whose rank differs in the bits of `bits`, and whether there is one; the unit's own value where
    /// there is none.
    #[allow(unused_variables)]
    pub fn shuffle_xor<E: CubePrimitive>(&self, value: E, bits: u32) -> (E, bool) {
        cubecl::unexpanded!()
    }
}

/// Marks a kernel that asks for a collective of several cubes.
fn refuse(kernel: &Kernel<'_>, group: &GroupExpand, call: &str) {
    kernel.refuse(format!(
        "girih: {call}: {} of several cubes; groups of one cube are allowed, and on sm_90 whole clusters; \
         `reduce_grid` combines what every cube has",
        group.members()
    ));
}

impl GroupExpand {
    /// Whether the group is a whole cluster, whose cubes reach each other's shared memory.
    fn is_cluster(&self, kernel: &Kernel<'_>) -> bool {
        self.origin.is_none() && kernel.is_ptx()
    }

    /// What `f` makes of the units of this cube; nothing where cubes are what is counted.
    fn of_this_cube<T>(&self, scope: &Scope, f: impl FnOnce(&Self) -> T) -> Option<T> {
        (self.unit == Level::Unit).then(|| f(&levels::of(scope, Level::Cube)))
    }

    /// Expansion of [`Group::reduce`].
    pub fn __expand_reduce_method<E: CubePrimitive, O: Associative<E>>(
        &self,
        scope: &Scope,
        value: NativeExpand<E>,
    ) -> NativeExpand<E> {
        self.reduced::<E, O>(scope, "Group::reduce", value, true)
    }
    /// Expansion of [`Group::reduce_to_first`].
    pub fn __expand_reduce_to_first_method<E: CubePrimitive, O: Associative<E>>(
        &self,
        scope: &Scope,
        value: NativeExpand<E>,
    ) -> NativeExpand<E> {
        self.reduced::<E, O>(scope, "Group::reduce_to_first", value, false)
    }

    fn reduced<E: CubePrimitive, O: Associative<E>>(
        &self,
        scope: &Scope,
        call: &'static str,
        value: NativeExpand<E>,
        everywhere: bool,
    ) -> NativeExpand<E> {
        let kernel = Kernel::of(scope);
        let value = now(scope, value);
        match self.reach(&kernel) {
            Reach::Unit => value,
            Reach::Lanes => {
                Segment::of_group(&kernel, call, self).reduce::<E, O>(value, everywhere)
            }
            Reach::Cube => memory::reduce_group::<E, O>(scope, self, value, everywhere, call),
            Reach::Cluster if self.is_cluster(&kernel) => {
                // The first unit speaks for its cube.
                let of_cube = self.of_this_cube(scope, |cube| {
                    memory::reduce_group::<E, O>(scope, cube, value, false, call)
                });
                cluster::reduce::expand::<E, O>(scope, of_cube.unwrap_or(value), call)
            }
            Reach::Cluster | Reach::Grid => {
                refuse(&kernel, self, call);
                value
            }
        }
    }

    /// Expansion of [`Group::inclusive_scan`].
    pub fn __expand_inclusive_scan_method<E: CubePrimitive, O: Associative<E>>(
        &self,
        scope: &Scope,
        value: NativeExpand<E>,
    ) -> NativeExpand<E> {
        let call = "Group::inclusive_scan";
        let kernel = Kernel::of(scope);
        let value = now(scope, value);
        match self.reach(&kernel) {
            Reach::Unit => value,
            Reach::Lanes => Segment::of_group(&kernel, call, self).scan::<E, O>(value),
            Reach::Cube => memory::inclusive_scan::expand::<E, O>(scope, self, value, call),
            Reach::Cluster if self.is_cluster(&kernel) => {
                let of_cube = self.of_this_cube(scope, |cube| {
                    let within = memory::inclusive_scan::expand::<E, O>(scope, cube, value, call);
                    cluster::after_cubes_before::expand::<E, O>(scope, within, call)
                });
                of_cube.unwrap_or_else(|| cluster::until::expand::<E, O>(scope, value, call))
            }
            Reach::Cluster | Reach::Grid => {
                refuse(&kernel, self, call);
                value
            }
        }
    }

    /// Expansion of [`Group::exclusive_scan`].
    pub fn __expand_exclusive_scan_method<E: CubePrimitive, O: Associative<E>>(
        &self,
        scope: &Scope,
        value: NativeExpand<E>,
        first: NativeExpand<E>,
    ) -> NativeExpand<E> {
        let call = "Group::exclusive_scan";
        let kernel = Kernel::of(scope);
        let (value, first) = (now(scope, value), now(scope, first));
        match self.reach(&kernel) {
            Reach::Unit => first,
            Reach::Lanes => {
                let segment = Segment::of_group(&kernel, call, self);
                let [_, before] = segment.scan_and_before::<E, O>(value);
                let both = O::__expand_combine(scope, first, before);
                if segment::has_differences::<E, O>(scope) {
                    return both;
                }
                let is_later = segment.rank.__expand_gt_method(scope, &0u32.into());
                select::expand::<E>(scope, is_later, both, first)
            }
            Reach::Cube => memory::exclusive_scan::expand::<E, O>(scope, self, value, first, call),
            Reach::Cluster if self.is_cluster(&kernel) => {
                let of_cube = self.of_this_cube(scope, |cube| {
                    let total = memory::reduce_group::<E, O>(scope, cube, value, false, call);
                    let before = cluster::before::expand::<E, O>(scope, total, first, call);
                    memory::exclusive_scan::expand::<E, O>(scope, cube, value, before, call)
                });
                of_cube
                    .unwrap_or_else(|| cluster::before::expand::<E, O>(scope, value, first, call))
            }
            Reach::Cluster | Reach::Grid => {
                refuse(&kernel, self, call);
                value
            }
        }
    }

    /// Expansion of [`Group::broadcast`].
    pub fn __expand_broadcast_method<E: CubePrimitive>(
        &self,
        scope: &Scope,
        value: NativeExpand<E>,
        rank: NativeExpand<u32>,
    ) -> NativeExpand<E> {
        let call = "Group::broadcast";
        match self.reach(&Kernel::of(scope)) {
            Reach::Cube => {
                let value = now(scope, value);
                memory::broadcast::expand::<E>(scope, self, value, rank, call)
            }
            _ => self.shuffled::<E>(scope, call, value, rank).0,
        }
    }
    /// Expansion of [`Group::shuffle`].
    pub fn __expand_shuffle_method<E: CubePrimitive>(
        &self,
        scope: &Scope,
        value: NativeExpand<E>,
        rank: NativeExpand<u32>,
    ) -> (NativeExpand<E>, NativeExpand<bool>) {
        self.shuffled::<E>(scope, "Group::shuffle", value, rank)
    }
    /// Expansion of [`Group::shuffle_up`].
    pub fn __expand_shuffle_up_method<E: CubePrimitive>(
        &self,
        scope: &Scope,
        value: NativeExpand<E>,
        distance: NativeExpand<u32>,
    ) -> (NativeExpand<E>, NativeExpand<bool>) {
        // Before rank 0 is past the end of every group.
        let own = self.result.unit_rank;
        let rank = own.__expand_sub_method(scope, distance);
        let is_before = own.__expand_lt_method(scope, &distance);
        let rank = select::expand::<u32>(scope, is_before, u32::MAX.into(), rank);
        self.shuffled::<E>(scope, "Group::shuffle_up", value, rank)
    }
    /// Expansion of [`Group::shuffle_down`].
    pub fn __expand_shuffle_down_method<E: CubePrimitive>(
        &self,
        scope: &Scope,
        value: NativeExpand<E>,
        distance: NativeExpand<u32>,
    ) -> (NativeExpand<E>, NativeExpand<bool>) {
        let own = self.result.unit_rank;
        let rank = own.__expand_add_method(scope, distance);
        // A distance that wraps is past the end too.
        let has_wrapped = rank.__expand_lt_method(scope, &own);
        let rank = select::expand::<u32>(scope, has_wrapped, u32::MAX.into(), rank);
        self.shuffled::<E>(scope, "Group::shuffle_down", value, rank)
    }
    /// Expansion of [`Group::shuffle_xor`].
    pub fn __expand_shuffle_xor_method<E: CubePrimitive>(
        &self,
        scope: &Scope,
        value: NativeExpand<E>,
        bits: NativeExpand<u32>,
    ) -> (NativeExpand<E>, NativeExpand<bool>) {
        let rank = self.result.unit_rank.__expand_bitxor_method(scope, bits);
        self.shuffled::<E>(scope, "Group::shuffle_xor", value, rank)
    }

    fn shuffled<E: CubePrimitive>(
        &self,
        scope: &Scope,
        call: &'static str,
        value: NativeExpand<E>,
        rank: NativeExpand<u32>,
    ) -> (NativeExpand<E>, NativeExpand<bool>) {
        let kernel = Kernel::of(scope);
        let value = now(scope, value);
        let is_there = rank.__expand_lt_method(scope, &self.result.unit_count);
        match self.reach(&kernel) {
            Reach::Unit => (value, is_there),
            Reach::Lanes => Segment::of_group(&kernel, call, self).shuffle::<E>(value, rank),
            Reach::Cube => {
                let value = memory::shuffle::expand::<E>(scope, self, value, rank, call);
                (value, is_there)
            }
            Reach::Cluster if self.is_cluster(&kernel) => {
                let units = match self.unit {
                    Level::Unit => cube_units(scope),
                    _ => 1,
                };
                let value = cluster::shuffle::expand::<E>(scope, value, rank, units, call);
                (value, is_there)
            }
            Reach::Cluster | Reach::Grid => {
                refuse(&kernel, self, call);
                (value, is_there)
            }
        }
    }
}

/// The value as it is now, whatever the kernel assigns to the variable that it came from.
fn now<E: CubePrimitive>(scope: &Scope, value: NativeExpand<E>) -> NativeExpand<E> {
    value.read_value(scope).into()
}
