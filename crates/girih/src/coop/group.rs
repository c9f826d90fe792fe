//! [`Group`] and the groups that the hardware has.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use cubecl::prelude::*;

/// The levels of CubeCL's hierarchy that a kernel's units form by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// One unit (CUDA: thread).
    Unit,
    /// The units that run in lockstep (CUDA: warp).
    Plane,
    /// The units that share memory and a barrier (CUDA: block).
    Cube,
}

/// A group of units that hold a tile together; this unit is one of them.
#[derive(CubeType, Clone)]
#[expand(derive(Clone))]
pub struct Group {
    /// Rank of this unit in the group, from 0.
    pub rank: u32,
    /// How many units the group has.
    #[cube(comptime)]
    pub units: u32,
    /// The level that the group is.
    #[cube(comptime)]
    pub level: Level,
}

/// The units of this cube. Their number is the launch's cube dimension, known when the kernel is expanded.
#[cube]
pub fn this_cube() -> Group {
    let units = cube_units();
    Group {
        rank: UNIT_POS,
        units,
        level: comptime!(Level::Cube),
    }
}

/// The units of this plane.
///
/// Fails while the kernel is expanded on a device whose planes have no one size.
#[cube]
pub fn this_plane() -> Group {
    let units = plane_units();
    Group {
        rank: UNIT_POS_PLANE,
        units,
        level: comptime!(Level::Plane),
    }
}

/// This unit alone.
#[cube]
pub fn this_unit() -> Group {
    Group {
        rank: 0u32,
        units: comptime!(1u32),
        level: comptime!(Level::Unit),
    }
}

/// The launch's cube dimension, from the kernel's entry point.
#[cube]
fn cube_units() -> comptime_type!(u32) {
    intrinsic!(|scope| {
        use cubecl::ir::attributes::EntrypointInterface as _;
        let entry = scope.state().entry_func.get_entrypoint_abi(scope.ctx());
        entry
            .expect("girih: this_cube: called outside a kernel")
            .cube_dim
            .num_elems()
    })
}

#[cube]
fn plane_units() -> comptime_type!(u32) {
    intrinsic!(|_scope| {
        let properties = cubecl::frontend::comptime::device_properties();
        let (min, max) = (
            properties.hardware.plane_size_min,
            properties.hardware.plane_size_max,
        );
        assert!(
            min == max,
            "girih: this_plane: the device's planes have {min} to {max} units; one size is needed"
        );
        min
    })
}
