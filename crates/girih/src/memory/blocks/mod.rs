//! Building blocks made of ordered atomics: a lock, a counter, a flag, a message, a barrier, a queue.
//!
//! | block | what it is for | who waits |
//! |---|---|---|
//! | [`SpinLock`] | one unit at a time in a critical section | a unit, for another |
//! | [`TicketCounter`] | a number of its own for everyone who asks | nobody |
//! | [`LastCube`] | the last cube of a launch finishes what the others began | nobody |
//! | [`Message`] | one cube hands another what it wrote | a cube, for another |
//! | [`GridBarrier`] | every cube of a launch between two phases | every cube, for every other |
//! | [`BoundedQueue`] | units hand each other work, in order | nobody |
//!
//! Each lies over atomics of the caller's, all of them 0 at first; a launch leaves them as the next one needs them. Each
//! has a `require` that says before a launch whether a device keeps its orders. All but the counter need acquire and
//! release, which WGSL has not.
//!
//! # What the others see
//!
//! A block's proof is a chain of *happens before*: what a unit did before its release, another sees after the acquire
//! that reads from it. On CUDA and on the CPU that holds for all that the unit wrote, plain stores included. Vulkan's
//! memory model leaves out what a shader marks as private, and CubeCL marks its plain accesses so: there, data that
//! units hand to each other belongs in atomics, [`Relaxed`](super::Relaxed) ones at the least. A kernel that is to run
//! everywhere keeps it there everywhere. The price is the cache next to the units, which accesses at device scope pass by.
//!
//! A block that a whole cube calls begins and ends with a barrier of the cube, so that what *any* of its units wrote
//! before is handed on by the one unit that touches the block. That works because happens-before is transitive: a write,
//! the cube's barrier, the release, the acquire, the other cube's barrier, a read. PTX and LLVM order every memory at
//! their barrier. In SPIR-V CubeCL's `sync_cube` orders shared memory alone, so that the blocks use its `sync_storage`
//! there, which makes the units' writes to buffers available to the device.
//!
//! # Waiting
//!
//! A unit that waits needs the other to run. No device promises that in general:
//!
//! | | units of a plane | planes of a cube | cubes of a launch |
//! |---|---|---|---|
//! | CUDA, sm_70 and later | run independently | all run | as many as fit at once, the rest in turn |
//! | CPU | planes have one unit | all run if the kernel has shared memory or `sync_cube` | one after another |
//! | Vulkan | may run in lockstep | promised at barriers only | promised nothing |
//!
//! Mesa 22.3's software driver for Vulkan keeps less: it ends any loop after 65,536 rounds, and it takes an ordered access
//! for a barrier of the cube, so that a cube of several planes may only do them together. Blocks that do not wait run
//! there in cubes of one plane.
//!
//! So: wait for a cube only if it has certainly begun, which a [`TicketCounter`] can arrange, or if the whole grid fits
//! the device, which [`GridBarrier::require`] checks. Between the units of a cube use its own barriers.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

mod grid_barrier;
mod last_cube;
mod message;
mod orders;
mod queue;
mod spin_lock;
mod ticket;

pub use grid_barrier::{GridBarrier, GridBarrierExpand};
pub use last_cube::{LastCube, LastCubeExpand};
pub use message::{Message, MessageExpand};
#[doc(hidden)]
pub use orders::{Ordered, Orders, Unordered};
pub use queue::{BoundedQueue, BoundedQueueExpand, Popped, PoppedExpand};
pub use spin_lock::{SpinLock, SpinLockExpand};
pub use ticket::{TicketCounter, TicketCounterExpand};

use super::access::{AtomicAccess, Operation};
use super::order::MemoryOrder;
use super::scope::MemoryScope;
use crate::device::{self, Target, expanded_for};
use crate::error::Result;
use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;

/// An error that names the first of the accesses to cells of 32 bits that the device has not.
fn require(
    device: &device::Device,
    call: &'static str,
    scope: MemoryScope,
    accesses: &[(Operation, MemoryOrder)],
) -> Result<()> {
    for &(operation, order) in accesses {
        let access = AtomicAccess::new(operation, ElemType::UInt(UIntKind::U32));
        device.require_atomic(call, &access.ordered(order, scope))?;
    }
    Ok(())
}

/// A barrier of the cube, after which each of its units sees what the others wrote before it, in shared memory and in
/// buffers, and hands it on with a release of its own.
#[cube]
fn sync_units() {
    let target = target();
    if comptime!(target == Target::Vulkan) {
        sync_storage();
    } else {
        sync_cube();
    }
}

/// The compiler that the kernel is expanded for.
#[cube]
fn target() -> comptime_type!(Target) {
    intrinsic!(|scope| {
        let (target, _) = expanded_for(scope).expect("girih: a block is expanded for no device");
        target
    })
}
