//! What a mapping gives a unit: [`MappingResult`], and what is known of it at comptime.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use super::lanes::{LaneMask, LaneMaskExpand, WORDS};
use super::machine::{Host, Kernel, Machine};
use cubecl::prelude::*;

/// What is known of a mapping's result while the kernel is expanded; code can branch on it.
///
/// A property that is not promised may still hold of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Properties {
    /// How many groups there are, if that is known.
    pub group_count: Option<u32>,
    /// How many units each group has, if that is known and the same for all.
    pub unit_count: Option<u32>,
    /// The sizes of the smallest and of the largest group, if they are known.
    pub unit_count_range: Option<(u32, u32)>,
    /// Whether every unit of the parent is in a group.
    pub is_always_exhaustive: bool,
    /// Whether each group's units are neighbours, and ranked in that order.
    pub is_always_contiguous: bool,
    /// Whether ranks go up with the lanes of a plane, be they neighbours or not.
    pub is_always_ascending: bool,
    /// Whether each group's units are of one plane.
    pub is_always_within_planes: bool,
    /// The position of each group's first unit, in its plane or cube, is a multiple of this; 0 if it is 0.
    /// It says nothing where groups are not contiguous.
    pub alignment: u32,
}

impl Properties {
    /// The properties of one group of `units` units, or of a number that only the run knows.
    pub const fn of_one_group(units: Option<u32>) -> Self {
        Self {
            group_count: Some(1),
            unit_count: units,
            unit_count_range: match units {
                Some(units) => Some((units, units)),
                None => None,
            },
            is_always_exhaustive: true,
            is_always_contiguous: true,
            is_always_ascending: true,
            is_always_within_planes: false,
            alignment: 0,
        }
    }

    /// What is known of a parent's units before a mapping: they are one group.
    pub(super) const fn of_parent(self) -> Self {
        Self {
            group_count: Some(1),
            is_always_exhaustive: true,
            ..self
        }
    }

    /// The same, of units that another order of ranks was given to within their groups.
    pub const fn reordered(self) -> Self {
        Self {
            is_always_contiguous: false,
            is_always_ascending: false,
            ..self
        }
    }

    /// The same, with what follows from it: groups of neighbours are within planes of `plane` units where each starts at a
    /// block of them and is no longer.
    pub(super) fn settled(self, plane: Option<u32>) -> Self {
        let fits = match (self.unit_count, plane) {
            (Some(0 | 1), _) => true,
            (Some(units), Some(plane)) if self.is_always_contiguous => {
                units <= greatest_common_divisor(plane, self.alignment)
            }
            _ => false,
        };
        Self {
            is_always_within_planes: self.is_always_within_planes || fits,
            ..self
        }
    }
}

/// The largest number that divides both; of 0, which everything divides, the other.
pub(super) const fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    match b {
        0 => a,
        _ => greatest_common_divisor(b, a % b),
    }
}

/// What a mapping gives a unit: its group among the groups, its rank in the group.
///
/// A unit whose result is not [valid](Self::is_valid) is in no group, and the rest of it says nothing.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq)]
#[expand(derive(Clone))]
pub struct MappingResult {
    /// What is known of it at comptime.
    #[cube(comptime)]
    pub properties: Properties,
    /// How many groups there are.
    pub group_count: u32,
    /// The rank of this unit's group among them, from 0.
    pub group_rank: u32,
    /// How many units this unit's group has.
    pub unit_count: u32,
    /// The rank of this unit in its group, from 0.
    pub unit_rank: u32,
    /// Whether this unit is in a group.
    pub is_valid: bool,
    /// The lanes of this unit's plane that are in its group.
    pub lane_mask: LaneMask,
}

/// A [`MappingResult`] on any machine.
pub(super) struct Placement<M: Machine> {
    pub properties: Properties,
    pub group_count: M::Number,
    pub group_rank: M::Number,
    pub unit_count: M::Number,
    pub unit_rank: M::Number,
    pub is_valid: M::Flag,
    pub lanes: [M::Number; WORDS],
}

impl<M: Machine> Clone for Placement<M> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M: Machine> Copy for Placement<M> {}

impl From<MappingResult> for Placement<Host> {
    fn from(result: MappingResult) -> Self {
        Self {
            properties: result.properties,
            group_count: result.group_count,
            group_rank: result.group_rank,
            unit_count: result.unit_count,
            unit_rank: result.unit_rank,
            is_valid: result.is_valid,
            lanes: result.lane_mask.words(),
        }
    }
}

impl From<Placement<Host>> for MappingResult {
    fn from(place: Placement<Host>) -> Self {
        Self {
            properties: place.properties,
            group_count: place.group_count,
            group_rank: place.group_rank,
            unit_count: place.unit_count,
            unit_rank: place.unit_rank,
            is_valid: place.is_valid,
            lane_mask: LaneMask::new(place.lanes),
        }
    }
}

impl From<MappingResultExpand> for Placement<Kernel<'_>> {
    fn from(result: MappingResultExpand) -> Self {
        Self {
            properties: result.properties,
            group_count: result.group_count,
            group_rank: result.group_rank,
            unit_count: result.unit_count,
            unit_rank: result.unit_rank,
            is_valid: result.is_valid,
            lanes: result.lane_mask.words(),
        }
    }
}

impl From<Placement<Kernel<'_>>> for MappingResultExpand {
    fn from(place: Placement<Kernel<'_>>) -> Self {
        Self {
            properties: place.properties,
            group_count: place.group_count,
            group_rank: place.group_rank,
            unit_count: place.unit_count,
            unit_rank: place.unit_rank,
            is_valid: place.is_valid,
            lane_mask: LaneMaskExpand::new(place.lanes),
        }
    }
}
