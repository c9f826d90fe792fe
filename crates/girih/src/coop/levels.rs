//! The groups that the hardware has.

use super::Level;
use super::group::{Group, GroupExpand};
use super::lanes::{self, LaneMaskExpand};
use super::machine::{Kernel, Machine};
use super::result::{MappingResultExpand, Properties};
use cubecl::ir::attributes::EntrypointInterface as _;
use cubecl::prelude::*;

macro_rules! levels {
    ($($(#[$doc:meta])* $name:ident = $level:path;)*) => {$(
        $(#[$doc])*
        pub fn $name() -> Group {
            cubecl::unexpanded!()
        }
        #[doc = concat!("Expansion of [`", stringify!($name), "`](", stringify!($name), "()).")]
        pub mod $name {
            use super::*;
            /// See the [module](self).
            pub fn expand(scope: &Scope) -> GroupExpand {
                of(scope, $level)
            }
        }
    )*};
}
levels! {
    /// This unit alone.
    this_unit = Level::Unit;
    /// The units of this plane that are in the cube. Their number is known while the kernel is expanded where the device's
    /// planes have one size, and the cube is one plane or whole planes.
    this_plane = Level::Plane;
    /// The units of this cube. Their number is the launch's cube dimension, known while the kernel is expanded.
    this_cube = Level::Cube;
    /// The units of this cluster of cubes; of this cube, where the launch has no clusters.
    this_cluster = Level::Cluster;
    /// The units of the launch, of which 32 bits must hold the number.
    this_grid = Level::Grid;
}

/// The units of this unit's group of a level.
pub(super) fn of(scope: &Scope, level: Level) -> GroupExpand {
    let kernel = Kernel::of(scope);
    let (rank, units) = match level {
        Level::Unit => (0u32.into(), 1u32.into()),
        Level::Plane => (kernel.lane(), units_of_plane(&kernel)),
        Level::Cube => (UNIT_POS::expand(scope), cube_units(scope).into()),
        Level::Cluster | Level::Grid => {
            let (cube, cubes) = cubes_of(&kernel, level);
            let units = cube_units(scope).into();
            let first = kernel.mul(cube, units);
            let rank = kernel.add(first, UNIT_POS::expand(scope));
            (rank, kernel.mul(cubes, units))
        }
    };
    let lanes = match level {
        Level::Unit => lanes::run(&kernel, kernel.lane(), 1u32.into()),
        _ => lanes::below(&kernel, units_of_plane(&kernel)),
    };
    let known = Properties::of_one_group(kernel.constant(units));
    let properties = Properties {
        is_always_within_planes: level <= Level::Plane,
        // A unit is somewhere in its plane.
        alignment: u32::from(level == Level::Unit),
        ..known
    };
    let is_in_planes =
        |plane: &u32| level <= Level::Cube || cube_units(scope).is_multiple_of(*plane);
    let properties = properties.settled(kernel.plane().filter(is_in_planes));
    GroupExpand::of_level(level, Level::Unit, result(properties, (rank, units), lanes))
}

/// The planes of this cube.
pub(super) fn planes(scope: &Scope) -> GroupExpand {
    let kernel = Kernel::of(scope);
    let units = cube_units(scope);
    let (rank, count) = match kernel.plane() {
        Some(plane) => {
            let rank = kernel.div(UNIT_POS::expand(scope), plane.into());
            (rank, units.div_ceil(plane).into())
        }
        None => {
            let plane = kernel.plane_size();
            let rounded = kernel.add(units.into(), kernel.sub(plane, 1u32.into()));
            (PLANE_POS::expand(scope), kernel.div(rounded, plane))
        }
    };
    let lanes = lanes::below(&kernel, units_of_plane(&kernel));
    let properties = Properties::of_one_group(kernel.constant(count));
    let result = result(properties, (rank, count), lanes);
    GroupExpand::of_level(Level::Cube, Level::Plane, result)
}

/// The cubes of this cluster or grid.
pub(super) fn cubes(scope: &Scope, level: Level) -> GroupExpand {
    let kernel = Kernel::of(scope);
    let place = cubes_of(&kernel, level);
    let lanes = lanes::below(&kernel, units_of_plane(&kernel));
    let properties = Properties::of_one_group(kernel.constant(place.1));
    let result = result(properties, place, lanes);
    GroupExpand::of_level(level, Level::Cube, result)
}

/// One group, in which this unit has the rank `place.0` of `place.1`.
fn result(
    properties: Properties,
    place: (NativeExpand<u32>, NativeExpand<u32>),
    lanes: [NativeExpand<u32>; lanes::WORDS],
) -> MappingResultExpand {
    MappingResultExpand {
        properties,
        group_count: 1u32.into(),
        group_rank: 0u32.into(),
        unit_count: place.1,
        unit_rank: place.0,
        is_valid: true.into(),
        lane_mask: LaneMaskExpand::new(lanes),
    }
}

/// The rank of this cube in its cluster or grid, and how many cubes that has.
fn cubes_of(kernel: &Kernel<'_>, level: Level) -> (NativeExpand<u32>, NativeExpand<u32>) {
    let scope = kernel.scope();
    match level {
        Level::Cluster => match cluster_cubes(scope) {
            1 => (0u32.into(), 1u32.into()),
            cubes => (CUBE_POS_CLUSTER::expand(scope), cubes.into()),
        },
        _ => (
            u32::__expand_cast_from(scope, CUBE_POS::expand(scope)),
            u32::__expand_cast_from(scope, CUBE_COUNT::expand(scope)),
        ),
    }
}

/// How many units of the cube are in this plane: the last plane may be cut short.
fn units_of_plane(kernel: &Kernel<'_>) -> NativeExpand<u32> {
    let scope = kernel.scope();
    let units = cube_units(scope);
    let (plane, position) = match kernel.plane() {
        Some(plane) if units.is_multiple_of(plane) => return plane.into(),
        Some(plane) if units < plane => return units.into(),
        Some(plane) => {
            let position = kernel.div(UNIT_POS::expand(scope), plane.into());
            (plane.into(), position)
        }
        None => (kernel.plane_size(), PLANE_POS::expand(scope)),
    };
    let rest = kernel.sub(units.into(), kernel.mul(position, plane));
    let is_short = kernel.is_below(rest, plane);
    kernel.select(is_short, rest, plane)
}

/// The launch's cube dimension, from the kernel's entry point.
pub(super) fn cube_units(scope: &Scope) -> u32 {
    let entry = scope.state().entry_func.get_entrypoint_abi(scope.ctx());
    entry
        .expect("girih: a group: called outside a kernel")
        .cube_dim
        .num_elems()
}

/// How many cubes a cluster has.
pub(super) fn cluster_cubes(scope: &Scope) -> u32 {
    let entry = scope.state().entry_func.get_entrypoint_abi(scope.ctx());
    entry
        .expect("girih: a group: called outside a kernel")
        .cluster_dim
        .map_or(1, |cluster| cluster.num_elems())
}
