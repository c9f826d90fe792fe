//! What tiles ask of a group that keeps them in memory.

use super::Level;
use super::group::GroupExpand;
use super::levels::cube_units;
use super::machine::{Kernel, Machine};
use super::reach::Reach;
use cubecl::prelude::*;

impl GroupExpand {
    /// Waits for the units of this group; of a group without a barrier of its own, for all of the cube.
    pub(crate) fn meet(&self, scope: &Scope, call: &str) {
        self.wait_together(&Kernel::of(scope), call);
    }

    /// The rank of this group among those like it in the cube, and how many of them there are at most.
    pub(crate) fn seat(&self, scope: &Scope, call: &str) -> (NativeExpand<u32>, u32) {
        let kernel = Kernel::of(scope);
        let reach = self.reach(&kernel);
        assert!(
            matches!(reach, Reach::Unit | Reach::Lanes | Reach::Cube),
            "girih: {call}: {} of several cubes, which share no memory; a group of one cube is needed",
            self.members()
        );
        let is_partial = reach == Reach::Cube && !self.is_whole(&kernel);
        let properties = self.result.properties;
        assert!(
            !is_partial || properties.is_always_exhaustive,
            "girih: {call}: {} that leaves units over and goes on from plane to plane, so that all units of the cube are \
             waited for; one that leaves none over, or is within a plane, is needed",
            self.members()
        );
        let cube = cube_units(scope);
        let units = self.holders(call);
        if units == cube {
            return (0u32.into(), 1);
        }
        if properties.is_always_contiguous {
            // Two groups that do not overlap start at least a group apart.
            let first = kernel.sub(UNIT_POS::expand(scope), self.result.unit_rank);
            return (kernel.div(first, units.into()), cube / units);
        }
        let (index, count) = match (self.level, kernel.plane()) {
            (Level::Cube, _) => (0u32.into(), 1),
            (Level::Plane, Some(plane)) => {
                let index = kernel.div(UNIT_POS::expand(scope), plane.into());
                (index, cube.div_ceil(plane))
            }
            _ => panic!(
                "girih: {call}: {} whose units are no neighbours; one of neighbours is needed, or one made of a cube, or of \
                 a plane of a known size",
                self.members()
            ),
        };
        let Some(peers) = self.peers else {
            panic!(
                "girih: {call}: {}, of which there is a number that only the run knows, whose units are no neighbours; one \
                 or the other is needed",
                self.members()
            );
        };
        let before = kernel.mul(index, peers.into());
        (kernel.add(before, self.peer_rank), count * peers)
    }

    /// How many units the group has, where it is known to be whole planes, whose lanes have ranks in their order.
    pub(crate) fn units_of_whole_planes(&self, scope: &Scope) -> Option<u32> {
        let kernel = Kernel::of(scope);
        let is_whole = self.unit == Level::Unit && self.is_whole_planes(&kernel);
        self.result
            .properties
            .unit_count
            .filter(|units| *units > 0 && is_whole)
    }

    /// The largest power of two of units that groups by it are neighbours in one plane with ranks that start at its
    /// multiples, and whose number divides the group.
    pub(crate) fn largest_team(&self, scope: &Scope) -> u32 {
        let kernel = Kernel::of(scope);
        let properties = self.result.properties;
        let (Some(units), Some(plane)) = (properties.unit_count, kernel.plane()) else {
            return 1;
        };
        if self.unit != Level::Unit || !properties.is_always_contiguous {
            return 1;
        }
        // A number and all of its multiples share the factors of two of 0, which are all.
        let factors = units | plane | properties.alignment;
        1 << factors.trailing_zeros()
    }
}
