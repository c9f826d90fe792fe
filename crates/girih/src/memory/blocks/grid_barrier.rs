//! [`GridBarrier`]: every cube of a launch between two phases.

use super::orders::{Ordered, Orders};
use super::{require, sync_units};
use crate::device::{self, Target};
use crate::error::{Error, Result};
use crate::memory::access::Operation;
use crate::memory::atomic::{AtomicExt, AtomicExtExpand, AtomicRef};
use crate::memory::order::{MemoryOrder, Relaxed};
use crate::memory::scope::{Cube, Device, MemoryScope};
use crate::memory::shared_memory::shared;
use core::marker::PhantomData;
use cubecl::prelude::*;

const CALL: &str = "GridBarrier";

/// A barrier of all units of all cubes of a launch.
///
/// # Promise
/// No unit goes past the `n`-th [`sync`](Self::sync) before every unit of every cube has come to it, and it then sees
/// what each of them wrote before. The cells are ready for the next `sync`, and for the next launch of any grid.
///
/// # Proof
/// The cubes that arrive add to one cell, the last of them moves a generation on in another, the rest wait for it to
/// move. *Not before*: the generation moves when the number of cubes has been counted, and each counts once a generation.
/// A cube reads the generation before it arrives, hence before the last cube, which its arrival synchronises with, moves
/// it: it reads the present one. *Seen*: a write is before its cube's barrier, which is before its addition, a release;
/// by the chain of additions, each of them an acquire as well, that synchronises with the last cube's. Its store of the
/// generation, a release, is after that, and synchronises with the loads that the others end their wait by, acquires,
/// which come before their cubes' second barriers. *Again*: the last cube sets the count to 0 before that release, so that
/// who adds in the next generation adds to 0.
///
/// # All cubes at once
/// A cube that waits keeps its place on the device, so that the launch hangs unless every cube has one. CUDA has
/// cooperative launches, which check that; CubeCL has none. [`require`](Self::require) checks what CubeCL knows:
///
/// | | [`most_cubes`](Self::most_cubes) |
/// |---|---|
/// | CUDA, HIP | the number of multiprocessors: each has room for one cube of any kernel that launches at all |
/// | CPU | 1: its cubes run one after another |
/// | Vulkan, Metal, WGSL | 1: nothing says how many run at once, or that those that began go on |
///
/// Two launches with a barrier at once, on two streams, could each hold what the other waits for: do not.
///
/// # Backends
/// CUDA: `atom.acq_rel.gpu.add`, `st.release.gpu`, `ld.acquire.gpu` by one unit of each cube, between two `bar.sync`. CPU:
/// the same of LLVM. Vulkan: the same with memory semantics, what the phases hand on in atomics
/// ([why](super#what-the-others-see)). WGSL: refused.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::memory::blocks::GridBarrier;
/// use girih::prelude::*;
///
/// /// Each cube adds to the sum of all, then divides by it: two phases in one launch.
/// #[cube(launch_unchecked)]
/// fn shares(weights: &[u32], sum: &[Atomic<u32>], cells: &[Atomic<u32>], shares: &mut [f32]) {
///     sum[0].at::<Device>().fetch_add::<Relaxed>(weights[ABSOLUTE_POS]);
///     GridBarrier::new(&cells[0], &cells[1]).sync();
///     let total = sum[0].at::<Device>().load::<Relaxed>();
///     shares[ABSOLUTE_POS] = f32::cast_from(weights[ABSOLUTE_POS]) / f32::cast_from(total);
/// }
/// # fn main() {}
/// ```
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct GridBarrier<O: Orders = Ordered> {
    arrived: AtomicRef<u32, Device>,
    generation: AtomicRef<u32, Device>,
    #[cube(comptime)]
    _orders: PhantomData<O>,
}

#[cube]
impl GridBarrier<Ordered> {
    /// Over two cells of a buffer: the cubes that have arrived, 0 between launches, and the generation, any number.
    pub fn new(arrived: &Atomic<u32>, generation: &Atomic<u32>) -> Self {
        GridBarrier::<Ordered>::with_orders(arrived, generation)
    }
}

#[cube]
impl<O: Orders> GridBarrier<O> {
    #[doc(hidden)]
    pub fn with_orders(arrived: &Atomic<u32>, generation: &Atomic<u32>) -> Self {
        GridBarrier::<O> {
            arrived: arrived.at::<Device>(),
            generation: generation.at::<Device>(),
            _orders: PhantomData,
        }
    }

    /// Waits for every unit of every cube. All of them must call it.
    pub fn sync(&self) {
        sync_units();
        if UNIT_POS == 0 {
            let generation = self.generation.load::<Relaxed>();
            let mut waiting = !self.arrive(generation);
            while waiting {
                waiting = self.generation.load::<O::Acquiring>() == generation;
            }
        }
        sync_units();
    }

    /// [`sync`](GridBarrier::sync), for `tries` looks at the most: whether every cube has come, the same in every unit of this
    /// cube. Once it gave false, the cells must be set anew before they are used again.
    pub fn sync_at_most(&self, tries: u32) -> bool {
        let answer = shared::<Atomic<u32>>(1usize);
        sync_units();
        if UNIT_POS == 0 {
            let generation = self.generation.load::<Relaxed>();
            let mut complete = self.arrive(generation);
            let mut left = tries;
            while !complete && left > 0u32 {
                complete = self.generation.load::<O::Acquiring>() != generation;
                left -= 1u32;
            }
            answer[0]
                .at::<Cube>()
                .store::<Relaxed>(u32::cast_from(complete));
        }
        sync_units();
        answer[0].at::<Cube>().load::<Relaxed>() == 1u32
    }

    /// Counts this cube in; the last one ends the generation, and is told true.
    fn arrive(&self, generation: u32) -> bool {
        let others = self.arrived.fetch_add::<O::Both>(1u32);
        let is_last = others + 1u32 == CUBE_COUNT as u32;
        if is_last {
            self.arrived.store::<Relaxed>(0u32);
            self.generation.store::<O::Releasing>(generation + 1u32);
        }
        is_last
    }
}

impl GridBarrier<Ordered> {
    /// The cubes that the device certainly runs at once, whatever the kernel.
    pub fn most_cubes(device: &device::Device) -> u32 {
        let hardware = &device.client().properties().hardware;
        match device.target() {
            // Not `processors()`, which may be assumed.
            Target::Cuda | Target::Hip => hardware.num_streaming_multiprocessors.unwrap_or(1),
            _ => 1,
        }
    }

    /// Whether the device can run it, with that many cubes in the launch.
    ///
    /// # Errors
    /// [`Error::Device`] with the access that the device lacks, [`Error::Size`] with the
    /// [most cubes](Self::most_cubes) that it runs at once.
    pub fn require(device: &device::Device, cubes: u32) -> Result<()> {
        let accesses = [
            (Operation::Add, MemoryOrder::AcqRel),
            (Operation::Load, MemoryOrder::Acquire),
            (Operation::Store, MemoryOrder::Release),
        ];
        require(device, CALL, MemoryScope::Device, &accesses)?;
        let most = Self::most_cubes(device);
        if cubes > most {
            return Err(Error::Size {
                call: CALL,
                argument: "cubes",
                given: cubes.into(),
                allowed: most.into(),
            });
        }
        Ok(())
    }
}
