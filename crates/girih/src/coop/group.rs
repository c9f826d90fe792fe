//! [`Group`]: units that work together.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use super::evaluate::{Site, apply};
use super::lanes::{LaneMask, LaneMaskExpand};
use super::machine::{Kernel, Machine};
use super::mapping::{KernelStep, Mapping, MappingExpand, Tag};
use super::result::{MappingResult, MappingResultExpand, Properties};
use super::sync::Barriers;
use super::{Level, levels};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use cubecl::prelude::*;

/// A group of units that this unit is one of, and the groups beside it.
///
/// The groups that the hardware has come from [`this_unit`](super::this_unit()), [`this_plane`](super::this_plane()),
/// [`this_cube`](super::this_cube()), [`this_cluster`](super::this_cluster()) and [`this_grid`](super::this_grid()). A
/// [`Mapping`] makes groups of a group, and those are groups as well:
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
///
/// /// Each group of four units writes its rank.
/// #[cube(launch_unchecked)]
/// fn ranks(out: &mut [u32]) {
///     let quad = this_cube().partition(group_by(4));
///     if quad.unit_rank() == 0 {
///         out[quad.group_rank() as usize] = quad.group_rank();
///     }
/// }
/// # fn main() {}
/// ```
///
/// A unit that a non-exhaustive mapping left over is in no group: it may ask [`is_valid`](Self::is_valid), and nothing else.
#[derive(CubeType, Clone, Debug)]
#[expand(derive(Clone))]
#[allow(dead_code, reason = "kernels read the expanded fields")]
pub struct Group {
    /// The level that the units are of.
    #[cube(comptime)]
    pub(super) level: Level,
    /// What is counted as one unit.
    #[cube(comptime)]
    pub(super) unit: Level,
    /// Which mapping made it, if one did.
    #[cube(comptime)]
    pub(super) origin: Option<u64>,
    /// How many groups like it the level has, if that is known.
    #[cube(comptime)]
    pub(super) peers: Option<u32>,
    /// The rank of this unit's group among them.
    pub(super) peer_rank: u32,
    #[cube(comptime)]
    pub(super) barriers: Barriers,
    /// Whether a mapping of one's own is among those that made it.
    #[cube(comptime)]
    pub(super) has_own: bool,
    pub(super) result: MappingResult,
}

/// Which units a group is, as far as that is known while the kernel is expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Members {
    level: Level,
    origin: Option<u64>,
}

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.origin {
            None => write!(f, "a {:?}", self.level),
            Some(_) => write!(f, "a group of a {:?}", self.level),
        }
    }
}

macro_rules! queries {
    ($($(#[$doc:meta])* $name:ident $expand:ident: $ty:ty, $expand_ty:ty, |$result:ident| $value:expr;)*) => {
        impl Group {
            $(
                $(#[$doc])*
                pub fn $name(&self) -> $ty {
                    let $result = &self.result;
                    $value
                }
            )*
        }
        impl GroupExpand {
            $(
                #[doc = concat!("Expansion of [`Group::", stringify!($name), "`].")]
                pub fn $expand(&self, _scope: &Scope) -> $expand_ty {
                    let $result = &self.result;
                    $value
                }
            )*
        }
    };
}
queries! {
    /// How many groups there are; 1 for those that the hardware has.
    group_count __expand_group_count_method: u32, NativeExpand<u32>, |result| result.group_count;
    /// The rank of this unit's group among them, from 0.
    group_rank __expand_group_rank_method: u32, NativeExpand<u32>, |result| result.group_rank;
    /// How many units this unit's group has.
    unit_count __expand_unit_count_method: u32, NativeExpand<u32>, |result| result.unit_count;
    /// The rank of this unit in its group, from 0.
    unit_rank __expand_unit_rank_method: u32, NativeExpand<u32>, |result| result.unit_rank;
    /// Whether this unit is in a group.
    is_valid __expand_is_valid_method: bool, NativeExpand<bool>, |result| result.is_valid;
    /// The lanes of this unit's plane that are in its group.
    lane_mask __expand_lane_mask_method: LaneMask, LaneMaskExpand, |result| result.lane_mask;
    /// What is known of the groups at comptime.
    properties __expand_properties_method: Properties, Properties, |result| result.properties;
    /// How many groups there are, a comptime value, if it is known.
    static_group_count __expand_static_group_count_method: Option<u32>, Option<u32>,
        |result| result.properties.group_count;
    /// How many units each group has, a comptime value, if it is known and the same for all.
    static_unit_count __expand_static_unit_count_method: Option<u32>, Option<u32>,
        |result| result.properties.unit_count;
    /// Whether every unit of the parent is in a group, a comptime value; `false` promises nothing.
    is_always_exhaustive __expand_is_always_exhaustive_method: bool, bool,
        |result| result.properties.is_always_exhaustive;
    /// Whether each group's units are neighbours, ranked in that order, a comptime value; `false` promises nothing.
    is_always_contiguous __expand_is_always_contiguous_method: bool, bool,
        |result| result.properties.is_always_contiguous;
}

impl Group {
    /// The whole result of the mapping that made the group, as a mapping of one's own is given it.
    pub fn result(&self) -> MappingResult {
        self.result
    }

    /// The groups that the mapping makes of this one; every unit must be in one of them.
    ///
    /// What is known of the sizes is checked while the kernel is expanded. Of a size or count that only the run knows, the
    /// mapping's condition is the caller's promise; [`HostGroup::partition`](super::HostGroup::partition) checks the same
    /// chain for the numbers of a launch. Only units of this group may call it.
    #[allow(unused_variables)]
    pub fn partition(&self, mapping: Mapping) -> Group {
        cubecl::unexpanded!()
    }

    /// The groups that the mapping makes of this one; units may be left over, which then are in no group.
    ///
    /// See [`partition`](Self::partition).
    ///
    /// ```
    /// use cubecl::prelude::*;
    /// use girih::prelude::*;
    ///
    /// #[cube(launch_unchecked)]
    /// fn thirds(out: &mut [u32]) {
    ///     let three = this_cube().partition_non_exhaustive(group_by(3));
    ///     if three.is_valid() {
    ///         out[UNIT_POS as usize] = three.group_rank();
    ///     }
    /// }
    /// # fn main() {}
    /// ```
    #[allow(unused_variables)]
    pub fn partition_non_exhaustive(&self, mapping: Mapping) -> Group {
        cubecl::unexpanded!()
    }

    /// The same cube as a group of planes, which mappings then tell apart as wholes. A plane may be cut short by the end
    /// of the cube.
    ///
    /// ```
    /// use cubecl::prelude::*;
    /// use girih::prelude::*;
    ///
    /// #[cube(launch_unchecked)]
    /// fn halves(out: &mut [u32]) {
    ///     let pairs = this_cube().planes().partition_non_exhaustive(group_by(2));
    ///     if pairs.is_valid() {
    ///         out[UNIT_POS as usize] = pairs.group_rank();
    ///     }
    /// }
    /// # fn main() {}
    /// ```
    pub fn planes(&self) -> Group {
        cubecl::unexpanded!()
    }

    /// The same cluster, or grid, as a group of cubes, which mappings then tell apart as wholes.
    pub fn cubes(&self) -> Group {
        cubecl::unexpanded!()
    }
}

impl GroupExpand {
    /// A group that the hardware has.
    pub(super) fn of_level(level: Level, unit: Level, result: MappingResultExpand) -> Self {
        Self {
            level,
            unit,
            origin: None,
            peers: Some(1),
            peer_rank: 0u32.into(),
            barriers: Barriers::default(),
            has_own: false,
            result,
        }
    }

    /// Which units it is.
    pub(crate) fn members(&self) -> Members {
        Members {
            level: self.level,
            origin: self.origin,
        }
    }

    /// The rank of this unit.
    pub(crate) fn rank(&self) -> NativeExpand<u32> {
        self.result.unit_rank
    }

    /// How many units hold a tile, which a kernel must know while it is expanded.
    pub(crate) fn holders(&self, call: &str) -> u32 {
        assert!(
            self.unit == Level::Unit,
            "girih: {call}: a tile held by a group that counts a {:?} as one; a group of units is needed",
            self.unit
        );
        match self.result.properties.unit_count {
            Some(units @ 1..) => units,
            Some(0) => {
                panic!("girih: {call}: a tile held by a group of no units; at least one is needed")
            }
            None => panic!(
                "girih: {call}: a tile held by a group whose size is not known while the kernel is expanded; one of a \
                 known size is needed, as `group_by` with a literal or a comptime count makes"
            ),
        }
    }

    /// Expansion of [`Group::result`].
    pub fn __expand_result_method(&self, _scope: &Scope) -> MappingResultExpand {
        self.result.clone()
    }
    /// Expansion of [`Group::partition`].
    pub fn __expand_partition_method(&self, scope: &Scope, mapping: MappingExpand) -> Self {
        self.split(scope, "Group::partition", &mapping, Tag::Exhaustive)
    }
    /// Expansion of [`Group::partition_non_exhaustive`].
    pub fn __expand_partition_non_exhaustive_method(
        &self,
        scope: &Scope,
        mapping: MappingExpand,
    ) -> Self {
        let call = "Group::partition_non_exhaustive";
        self.split(scope, call, &mapping, Tag::NonExhaustive)
    }
    /// Expansion of [`Group::planes`].
    pub fn __expand_planes_method(&self, scope: &Scope) -> Self {
        let is_cube = self.level == Level::Cube && self.unit == Level::Unit;
        assert!(
            is_cube && self.origin.is_none(),
            "girih: Group::planes: {}; planes are counted of `this_cube()`",
            self.members()
        );
        levels::planes(scope)
    }
    /// Expansion of [`Group::cubes`].
    pub fn __expand_cubes_method(&self, scope: &Scope) -> Self {
        let has_cubes = matches!(self.level, Level::Cluster | Level::Grid);
        assert!(
            has_cubes && self.unit == Level::Unit && self.origin.is_none(),
            "girih: Group::cubes: {}; cubes are counted of `this_cluster()` or `this_grid()`",
            self.members()
        );
        levels::cubes(scope, self.level)
    }

    fn split(&self, scope: &Scope, call: &str, mapping: &MappingExpand, tag: Tag) -> Self {
        static ORIGINS: AtomicU64 = AtomicU64::new(0);
        let kernel = Kernel::of(scope);
        let is_in_planes = |plane: &u32| {
            let is_whole = levels::cube_units(scope).is_multiple_of(*plane);
            self.unit == Level::Unit && (self.level <= Level::Cube || is_whole)
        };
        let site = Site {
            unit: self.unit,
            tag,
            plane: kernel.plane().filter(is_in_planes),
        };
        let first = MappingResultExpand {
            properties: self.result.properties.of_parent(),
            group_count: 1u32.into(),
            group_rank: 0u32.into(),
            ..self.result.clone()
        };
        let result = mapping.steps.iter().fold(first, |result, step| match step {
            KernelStep::Own(own) => own.0(scope, self.unit, self, result, tag),
            step => match apply(&kernel, step, site, result.into()) {
                Ok(place) => place.into(),
                Err(error) => panic!("girih: {call}: {error}"),
            },
        });
        let before = kernel.mul(self.peer_rank, result.group_count);
        let is_own = |step: &KernelStep| matches!(step, KernelStep::Own(_));
        Self {
            level: self.level,
            unit: self.unit,
            origin: Some(ORIGINS.fetch_add(1, Ordering::Relaxed)),
            peers: self
                .peers
                .zip(result.properties.group_count)
                .map(|(outer, inner)| outer * inner),
            peer_rank: kernel.add(before, result.group_rank),
            barriers: Barriers::default(),
            has_own: self.has_own || mapping.steps.iter().any(is_own),
            result,
        }
    }
}
