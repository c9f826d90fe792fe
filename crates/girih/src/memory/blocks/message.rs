//! [`Message`]: one cube hands another what it wrote.

use super::orders::{Ordered, Orders};
use super::{require, sync_units};
use crate::device;
use crate::error::Result;
use crate::memory::access::Operation;
use crate::memory::atomic::{AtomicExt, AtomicExtExpand, AtomicRef};
use crate::memory::order::{MemoryOrder, Relaxed};
use crate::memory::scope::{Cube, KnownScope};
use crate::memory::shared_memory::shared;
use core::marker::PhantomData;
use cubecl::prelude::*;

/// Numbered messages over one cell: publish with release, wait with acquire.
///
/// What a message says lies in memory of the sender's choice; the cell holds the number of the last one. Numbers count
/// up, by one or more at a time, from 1 (0 is "none yet"), and may wrap after 2^32: a message has arrived if a number up
/// to 2^31 ahead of it has.
///
/// # Promise
/// Who has found that message `n` [has arrived](Self::has_arrived) sees what its sender had written before it published
/// `n` or any message before it.
///
/// # Proof
/// The sender's writes are before its store of `n`, a release; a load that reads `n`, an acquire, synchronises with it.
/// A load that reads a later number reads from a later release of the same sender, which what it wrote before is before
/// just as well. With more than one sender each must have received the message before its own, which makes a chain of
/// such pairs.
///
/// # Using it again
/// The memory of message `n` must not be written again before its reader is done with it. Where there is one reader, let
/// it answer: a second `Message` the other way, numbered alike. The reader's loads are before its release, and the
/// sender's next writes after its acquire.
///
/// # Waiting
/// [`wait`](Self::wait) needs the sender to run: [when it does](super#waiting). A cube may wait for one that has begun
/// before it, by the ticket of a [`TicketCounter`](super::TicketCounter), on every device; for one that begins after it
/// only where both fit the device at once, and never on the CPU. Units of one plane must not wait for each other.
///
/// # Backends
/// CUDA: `st.release` and `ld.acquire` at the scope. CPU: `store atomic release`, `load atomic acquire`. Vulkan: the same
/// with memory semantics, what the message says in atomics ([why](super#what-the-others-see)). WGSL: refused.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::memory::blocks::{Message, TicketCounter};
/// use girih::prelude::*;
///
/// /// Running sums over the cubes, by one unit of each: a cube adds its value to what its predecessor hands it.
/// #[cube(launch_unchecked)]
/// fn running_sums(values: &[u32], tickets: &[Atomic<u32>], flags: &[Atomic<u32>], sums: &[Atomic<u32>]) {
///     if UNIT_POS == 0 {
///         let rank = TicketCounter::<Device>::new(&tickets[0]).take() as usize;
///         let mut sum = values[rank];
///         if rank > 0 {
///             Message::<Device>::new(&flags[rank - 1]).wait(1u32);
///             sum += sums[rank - 1].at::<Device>().load::<Relaxed>();
///         }
///         sums[rank].at::<Device>().store::<Relaxed>(sum);
///         Message::<Device>::new(&flags[rank]).publish(1u32);
///     }
/// }
/// # fn main() {}
/// ```
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct Message<S: KnownScope, O: Orders = Ordered> {
    number: AtomicRef<u32, S>,
    #[cube(comptime)]
    _orders: PhantomData<O>,
}

#[cube]
impl<S: KnownScope> Message<S, Ordered> {
    /// Over a cell, which holds the number of the last message: 0 before the first.
    pub fn new(cell: &Atomic<u32>) -> Self {
        Message::<S, Ordered>::with_orders(cell)
    }
}

#[cube]
impl<S: KnownScope, O: Orders> Message<S, O> {
    #[doc(hidden)]
    pub fn with_orders(cell: &Atomic<u32>) -> Self {
        Message::<S, O> {
            number: cell.at::<S>(),
            _orders: PhantomData,
        }
    }

    /// Publishes what this unit has written as message `number`.
    pub fn publish(&self, number: u32) {
        self.number.store::<O::Releasing>(number);
    }

    /// Publishes what the units of this cube have written as message `number`. All of them must call it.
    pub fn publish_from_cube(&self, number: u32) {
        sync_units();
        if UNIT_POS == 0 {
            self.publish(number);
        }
    }

    /// Whether message `number` is there, for this unit to read. It does not wait.
    pub fn has_arrived(&self, number: u32) -> bool {
        // The distance, modulo 2^32: negative where the message is still to come.
        self.number.load::<O::Acquiring>() - number < 0x8000_0000u32
    }

    /// Waits until message `number` is there, for this unit to read.
    pub fn wait(&self, number: u32) {
        let mut waiting = true;
        while waiting {
            waiting = !self.has_arrived(number);
        }
    }

    /// [`wait`](Message::wait), for `tries` looks at the most: whether the message is there.
    pub fn wait_at_most(&self, number: u32, tries: u32) -> bool {
        let mut arrived = self.has_arrived(number);
        let mut left = tries;
        while !arrived && left > 1u32 {
            arrived = self.has_arrived(number);
            left -= 1u32;
        }
        arrived
    }

    /// Waits until message `number` is there, for every unit of this cube to read. All of them must call it.
    pub fn wait_in_cube(&self, number: u32) {
        if UNIT_POS == 0 {
            self.wait(number);
        }
        sync_units();
    }

    /// [`wait_in_cube`](Message::wait_in_cube), for `tries` looks at the most: whether the message is there, the same in
    /// every unit of the cube.
    pub fn wait_in_cube_at_most(&self, number: u32, tries: u32) -> bool {
        let answer = shared::<Atomic<u32>>(1usize);
        // Whoever still reads the answer of the call before has read it.
        sync_units();
        if UNIT_POS == 0 {
            answer[0]
                .at::<Cube>()
                .store::<Relaxed>(u32::cast_from(self.wait_at_most(number, tries)));
        }
        sync_units();
        answer[0].at::<Cube>().load::<Relaxed>() == 1u32
    }
}

impl<S: KnownScope> Message<S, Ordered> {
    /// Whether the device can run it.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) with the access that the device lacks.
    pub fn require(device: &device::Device) -> Result<()> {
        let accesses = [
            (Operation::Load, MemoryOrder::Acquire),
            (Operation::Store, MemoryOrder::Release),
        ];
        require(device, "Message", S::SCOPE, &accesses)
    }
}
