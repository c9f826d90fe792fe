//! [`LastCube`]: the last cube of a launch finishes what the others began.

use super::orders::{Ordered, Orders};
use super::{require, sync_units};
use crate::device;
use crate::error::Result;
use crate::memory::access::Operation;
use crate::memory::atomic::{AtomicExt, AtomicExtExpand, AtomicRef};
use crate::memory::order::{MemoryOrder, Relaxed};
use crate::memory::scope::{Cube, Device, MemoryScope};
use crate::memory::shared_memory::shared;
use core::marker::PhantomData;
use cubecl::prelude::*;

/// Tells the cube that arrives last, which then sees what every cube wrote before it arrived.
///
/// It makes a second launch unnecessary: each cube leaves its partial result, and whichever is last combines them.
///
/// # Promise
/// Of the cubes of a launch exactly one is told true, in all of its units, and those see whatever any unit of any cube
/// wrote before [`arrive`](Self::arrive). Nobody waits for another cube. The cell is 0 again afterwards, for the next
/// launch.
///
/// # Proof
/// *One*: the read-modify-writes of the counter have one order, so that each count below the number of cubes is read by
/// one cube, and one reads the last. *Seen*: a write of any unit is before the cube's first barrier, which is before its
/// first unit's addition, a release. The last cube's addition is an acquire, and reads from the one before it, which is
/// an acquire of the one before that: every addition synchronises with the last one. Its second barrier hands what it
/// acquired to the other units. *Reset*: the last cube stores 0 when every cube has added, and the next launch begins
/// when this one has ended.
///
/// # Use
/// One cell serves one call in a launch: a cube that came again before the reset would be miscounted. Every unit of every
/// cube must call `arrive`.
///
/// # Backends
/// CUDA: `atom.acq_rel.gpu.add`; the fences that it implies act for the cube, since `bar.sync` goes before and after.
/// CPU: `atomicrmw add acq_rel`; the last cube is that of the highest position. Vulkan: the same with memory semantics,
/// the partial results in atomics ([why](super#what-the-others-see)). WGSL: refused.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::memory::blocks::LastCube;
/// use girih::prelude::*;
///
/// /// Adds up `values`, a launch of any number of cubes: a partial sum for each, then the sum of those.
/// #[cube(launch_unchecked)]
/// fn sum(values: &[u32], partial: &[Atomic<u32>], cells: &[Atomic<u32>], total: &mut [u32]) {
///     if ABSOLUTE_POS < values.len() {
///         partial[CUBE_POS].at::<Device>().fetch_add::<Relaxed>(values[ABSOLUTE_POS]);
///     }
///     if LastCube::new(&cells[0]).arrive() {
///         if UNIT_POS == 0 {
///             let mut sum = 0u32;
///             for cube in 0..CUBE_COUNT {
///                 sum += partial[cube].at::<Device>().load::<Relaxed>();
///             }
///             total[0] = sum;
///         }
///     }
/// }
/// # fn main() {}
/// ```
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct LastCube<O: Orders = Ordered> {
    arrived: AtomicRef<u32, Device>,
    #[cube(comptime)]
    _orders: PhantomData<O>,
}

#[cube]
impl LastCube<Ordered> {
    /// Over a cell of a buffer, which counts the cubes that have arrived: 0 before and after a launch.
    pub fn new(cell: &Atomic<u32>) -> Self {
        LastCube::<Ordered>::with_orders(cell)
    }
}

#[cube]
impl<O: Orders> LastCube<O> {
    #[doc(hidden)]
    pub fn with_orders(cell: &Atomic<u32>) -> Self {
        LastCube::<O> {
            arrived: cell.at::<Device>(),
            _orders: PhantomData,
        }
    }

    /// Whether every other cube of the launch has arrived; the same in every unit of the cube, all of which must call it.
    pub fn arrive(&self) -> bool {
        let answer = shared::<Atomic<u32>>(1usize);
        sync_units();
        if UNIT_POS == 0 {
            let others = self.arrived.fetch_add::<O::Both>(1u32);
            let is_last = others + 1u32 == CUBE_COUNT as u32;
            if is_last {
                self.arrived.store::<Relaxed>(0u32);
            }
            answer[0]
                .at::<Cube>()
                .store::<Relaxed>(u32::cast_from(is_last));
        }
        sync_units();
        answer[0].at::<Cube>().load::<Relaxed>() == 1u32
    }
}

impl LastCube<Ordered> {
    /// Whether the device can run it.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) with the access that the device lacks.
    pub fn require(device: &device::Device) -> Result<()> {
        let accesses = [
            (Operation::Add, MemoryOrder::AcqRel),
            (Operation::Store, MemoryOrder::Relaxed),
        ];
        require(device, "LastCube", MemoryScope::Device, &accesses)
    }
}
