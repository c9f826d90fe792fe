//! Waiting for the units of a group.

use super::Level;
use super::group::{Group, GroupExpand};
use super::lower;
use super::machine::{Kernel, Machine};
use super::reach::Reach;
use super::result::Placement;
use core::cell::Cell;
use cubecl::prelude::*;
use std::rc::Rc;

/// Barriers of a cube that hardware names: 0 is the cube's own.
const NAMED: u32 = 16;

/// The first of the named barriers that groups made by one mapping have, once they need any.
#[derive(Clone, Debug, Default)]
pub(super) struct Barriers(Rc<Cell<Option<u32>>>);

/// Stands for the number of named barriers that a kernel has used, which is kept where CubeCL keeps a kernel's sizes.
struct UsedBarriers;

impl Barriers {
    /// The first of `count` barriers, or as many as are left.
    fn first(&self, scope: &Scope, count: u32) -> Result<u32, u32> {
        if let Some(first) = self.0.get() {
            return Ok(first);
        }
        let used = scope.resolve_size::<UsedBarriers>().unwrap_or(1) as u32;
        if used + count > NAMED {
            return Err(NAMED - used);
        }
        scope.register_size::<UsedBarriers>((used + count) as usize);
        self.0.set(Some(used));
        Ok(used)
    }
}

impl Group {
    /// Waits for the units of this group; what they wrote before to memory that they share is seen after.
    ///
    /// All units of the group call it, and no others. What waits:
    ///
    /// | group | CUDA | Vulkan | CPU |
    /// |---|---|---|---|
    /// | one unit | nothing | nothing | nothing |
    /// | lanes of a plane | `bar.warp.sync` of its lanes | the plane's barrier, for units that come together | |
    /// | whole planes, not all of the cube | `bar.sync` of a named barrier; a kernel has 15 | refused | refused |
    /// | other parts of a cube | refused | refused | refused |
    /// | the cube | the cube's barrier | the same | the same |
    /// | the cluster | `barrier.cluster` | refused where it has several cubes | the same |
    /// | the grid, parts of a cluster | refused | refused | refused |
    ///
    /// What is refused fails the kernel: `girih: Group::sync: ..` at the first read of what it writes.
    ///
    /// ```
    /// use cubecl::prelude::*;
    /// use girih::prelude::*;
    ///
    /// /// Each quad reverses four values.
    /// #[cube(launch_unchecked)]
    /// fn reverse(values: &mut [u32]) {
    ///     let quad = this_cube().partition(group_by(4));
    ///     let mut held = shared::<u32>(256usize);
    ///     held[UNIT_POS as usize] = values[UNIT_POS as usize];
    ///     quad.sync();
    ///     let first = UNIT_POS - quad.unit_rank();
    ///     values[UNIT_POS as usize] = held[(first + 3 - quad.unit_rank()) as usize];
    /// }
    /// # fn main() {}
    /// ```
    pub fn sync(&self) {
        cubecl::unexpanded!()
    }
}

impl GroupExpand {
    /// Expansion of [`Group::sync`].
    pub fn __expand_sync_method(&self, scope: &Scope) {
        let kernel = Kernel::of(scope);
        if let Err(reason) = self.wait(&kernel) {
            kernel.refuse(format!("girih: Group::sync: {reason}"));
        }
    }

    /// Waits, or says why there is nothing to wait by.
    pub(super) fn wait(&self, kernel: &Kernel<'_>) -> Result<(), String> {
        let place = Placement::<Kernel<'_>>::from(self.result.clone());
        match self.reach(kernel) {
            Reach::Unit => Ok(()),
            Reach::Lanes => {
                lower::sync_lanes(kernel, place.lanes);
                Ok(())
            }
            Reach::Cube if self.is_whole(kernel) => {
                sync_cube::expand(kernel.scope());
                Ok(())
            }
            Reach::Cube => self.wait_at_name(kernel),
            Reach::Cluster if self.origin.is_none() && lower::sync_cluster(kernel) => Ok(()),
            Reach::Cluster => Err(format!(
                "{}; a whole cluster is needed, and a device with clusters",
                self.members()
            )),
            Reach::Grid => Err(format!(
                "{}; CubeCL launches no cubes that are sure to run together: end the kernel, and launch another",
                self.members()
            )),
        }
    }

    /// Waits at a named barrier.
    fn wait_at_name(&self, kernel: &Kernel<'_>) -> Result<(), String> {
        if !kernel.is_ptx() || !self.is_whole_planes(kernel) {
            return Err(format!(
                "{} that is neither within a plane nor the whole cube; lanes of a plane and cubes are waited for, and \
                 on CUDA groups of whole planes",
                self.members()
            ));
        }
        let Some(count) = self.peers else {
            return Err(format!(
                "{}, of which there is a number that only the run knows; named barriers need it known",
                self.members()
            ));
        };
        let first = self.barriers.first(kernel.scope(), count).map_err(|left| {
            format!(
                "{count} groups of a cube; of the 15 named barriers {left} are left in this kernel"
            )
        })?;
        let units = match self.unit {
            Level::Plane => kernel.mul(self.result.unit_count, kernel.plane_size()),
            _ => self.result.unit_count,
        };
        let id = kernel.add(first.into(), self.peer_rank);
        lower::sync_named(kernel, id, units);
        Ok(())
    }

    /// Waits for the group by what waits for more, if it must: then every unit of the cube calls it.
    pub(super) fn wait_together(&self, kernel: &Kernel<'_>, call: &str) {
        if self.reach(kernel) != Reach::Cube {
            if let Err(reason) = self.wait(kernel) {
                kernel.refuse(format!("girih: {call}: {reason}"));
            }
            return;
        }
        if !self.waits_alone(kernel) || self.wait(kernel).is_err() {
            sync_cube::expand(kernel.scope());
        }
    }

    /// Whether a named barrier waits for each group alone.
    fn waits_alone(&self, kernel: &Kernel<'_>) -> bool {
        let is_exhaustive = self.result.properties.is_always_exhaustive;
        is_exhaustive && kernel.is_ptx() && self.is_whole_planes(kernel) && self.peers.is_some()
    }
}
