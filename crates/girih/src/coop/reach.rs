//! How far a group goes, and so by what its units work together.

use super::Level;
use super::group::GroupExpand;
use super::levels::{cluster_cubes, cube_units};
use super::machine::{Kernel, Machine};

/// How far a group goes, as far as that is known while the kernel is expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// One unit.
    Unit,
    /// Lanes of one plane.
    Lanes,
    /// Units of one cube.
    Cube,
    /// Cubes of one cluster.
    Cluster,
    /// Cubes of the grid.
    Grid,
}

impl GroupExpand {
    /// How far the group goes.
    pub(super) fn reach(&self, kernel: &Kernel<'_>) -> Reach {
        let properties = self.result.properties;
        let is_one = properties.unit_count == Some(1) || kernel.plane() == Some(1);
        match (self.unit, self.level) {
            (Level::Unit, _) if properties.is_always_within_planes => match is_one {
                true => Reach::Unit,
                false => Reach::Lanes,
            },
            (_, Level::Unit | Level::Plane | Level::Cube) => Reach::Cube,
            (_, Level::Cluster) if cluster_cubes(kernel.scope()) == 1 => Reach::Cube,
            (_, Level::Cluster) => Reach::Cluster,
            (_, Level::Grid) => Reach::Grid,
        }
    }

    /// Whether the group is known to be all units of its level.
    pub(super) fn is_whole(&self, kernel: &Kernel<'_>) -> bool {
        let properties = self.result.properties;
        let units = cube_units(kernel.scope());
        let all = match (self.unit, self.level) {
            (Level::Unit, Level::Cube) => Some(units),
            (Level::Plane, Level::Cube) => kernel.plane().map(|plane| units.div_ceil(plane)),
            _ => None,
        };
        self.origin.is_none() || (all.is_some() && properties.unit_count == all)
    }

    /// Whether each group is known to be whole planes of a cube.
    pub(super) fn is_whole_planes(&self, kernel: &Kernel<'_>) -> bool {
        let properties = self.result.properties;
        let Some(plane) = kernel.plane() else {
            return self.unit == Level::Plane;
        };
        let of_units = || {
            properties.is_always_contiguous
                && properties.alignment.is_multiple_of(plane)
                && properties
                    .unit_count
                    .is_some_and(|units| units.is_multiple_of(plane))
        };
        self.unit == Level::Plane || of_units()
    }
}
