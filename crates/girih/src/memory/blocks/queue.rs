//! [`BoundedQueue`]: units hand each other work, in order.

use super::orders::{Ordered, Orders};
use super::require;
use crate::device;
use crate::error::{Error, Result};
use crate::memory::access::Operation;
use crate::memory::atomic::{AtomicExt, AtomicExtExpand, AtomicRef};
use crate::memory::order::{MemoryOrder, Relaxed};
use crate::memory::scope::{Device, MemoryScope};
use core::marker::PhantomData;
use cubecl::prelude::*;

const CALL: &str = "BoundedQueue";

/// Cells of a cache line: the two ends of the queue lie on lines of their own, away from the slots.
const LINE: usize = 32;

/// The fewest slots: the push of the next round and the pop of this one are due at different sequences.
const LEAST: u32 = 2;

/// The most slots: positions are compared by their distance modulo 2^32, which must tell ahead from behind.
const MOST: u32 = 1 << 30;

/// A queue of 32-bit values in a ring of slots, for any number of units that push and pop.
///
/// # Promise
/// A value that was pushed is popped once at the most, and once exactly if units pop until nothing is left. Pushes and
/// pops that succeed do so in one order, first in, first out. Who pops a value sees what its pusher wrote before the push:
/// so a value is often the index of a record. Nobody waits: a push gives false where the queue is full, a pop where it is
/// empty, and either where the slot that is due is still being filled or emptied by another unit.
///
/// # Proof
/// Positions count up, and position `p` lies in slot `p` modulo the capacity. A slot's *sequence* says what is due: `p`,
/// the push of position `p`; `p + 1`, its pop; `p + capacity`, the push of the next round. *Once*: a unit moves an end
/// from `p` to `p + 1` by a compare-exchange, so that each position is pushed by one unit and popped by one. *Seen*: the
/// pusher's writes, of the value and of whatever came before, are before its store of `p + 1`, a release; the popper moved
/// its end only after it had read that, an acquire. *Again*: the popper's load of the value is before its store of
/// `p + capacity`, a release, which the next pusher has read, an acquire, before it stores another. The ends have no order,
/// and need none: a stale one makes the compare-exchange fail. A unit that was asleep while the others did 2^32 pushes
/// could mistake one position for another.
///
/// A unit tries again only where another unit has moved the end meanwhile; so no unit of a plane can keep another from
/// going on, and the queue is safe where planes run in lockstep.
///
/// # Memory
/// One buffer of [`cells`](Self::cells) cells, all 0 at first: an empty queue. Whatever is left in it is there for the
/// next launch.
///
/// # Backends
/// CUDA: `atom.relaxed.gpu.cas` on the ends, `ld.acquire.gpu` and `st.release.gpu` on the sequences. CPU: the same of
/// LLVM. Vulkan: the same with memory semantics; what the values point at belongs in atomics
/// ([why](super#what-the-others-see)). WGSL: refused.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::memory::blocks::BoundedQueue;
/// use girih::prelude::*;
///
/// /// Queues the positions of elements that are not 0; counts those for which there is no room.
/// #[cube(launch_unchecked)]
/// fn find(values: &[u32], cells: &[Atomic<u32>], capacity: u32, left_out: &[Atomic<u32>]) {
///     if values[ABSOLUTE_POS] != 0u32 {
///         if !BoundedQueue::new(cells, capacity).try_push(ABSOLUTE_POS as u32) {
///             left_out[0].at::<Device>().fetch_add::<Relaxed>(1u32);
///         }
///     }
/// }
///
/// /// Units take what is queued until nothing is left, each as much as it comes to.
/// #[cube(launch_unchecked)]
/// fn square(values: &mut [u32], cells: &[Atomic<u32>], capacity: u32) {
///     let queue = BoundedQueue::new(cells, capacity);
///     let mut more = true;
///     while more {
///         let popped = queue.try_pop();
///         more = popped.is_some;
///         if more {
///             let value = values[popped.value as usize];
///             values[popped.value as usize] = value * value;
///         }
///     }
/// }
/// # fn main() {}
/// ```
#[derive(CubeType)]
pub struct BoundedQueue<'a, O: Orders = Ordered> {
    cells: &'a [Atomic<u32>],
    capacity: u32,
    #[cube(comptime)]
    _orders: PhantomData<O>,
}

/// What [`BoundedQueue::try_pop`] gives.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct Popped {
    /// Whether a value was popped.
    pub is_some: bool,
    /// The value; 0 if there was none.
    pub value: u32,
}

#[cube]
impl<'a> BoundedQueue<'a, Ordered> {
    /// Over a buffer of [`cells`](Self::cells)`(capacity)` cells; the capacity is a power of two, from 2 on.
    pub fn new(cells: &'a [Atomic<u32>], capacity: u32) -> Self {
        BoundedQueue::<Ordered>::with_orders(cells, capacity)
    }
}

#[cube]
impl<'a, O: Orders> BoundedQueue<'a, O> {
    #[doc(hidden)]
    pub fn with_orders(cells: &'a [Atomic<u32>], capacity: u32) -> Self {
        BoundedQueue::<'a, O> {
            cells,
            capacity,
            _orders: PhantomData,
        }
    }

    /// Pushes a value; false where the queue is full.
    pub fn try_push(&self, value: u32) -> bool {
        let end = self.cells[0].at::<Device>();
        let mut position = end.load::<Relaxed>();
        let mut pushed = false;
        let mut trying = true;
        while trying {
            let slot = self.slot(position);
            let distance = self.sequence(slot) - position;
            if distance == 0u32 {
                let seen = end.compare_exchange::<Relaxed>(position, position + 1u32);
                if seen == position {
                    self.value(slot).store::<Relaxed>(value);
                    self.set_sequence(slot, position + 1u32);
                    pushed = true;
                    trying = false;
                }
                position = seen;
            } else if distance < 0x8000_0000u32 {
                // Another unit has pushed here since the end was read.
                position = end.load::<Relaxed>();
            } else {
                trying = false;
            }
        }
        pushed
    }

    /// Pops the value that was pushed first, where there is one.
    pub fn try_pop(&self) -> Popped {
        let end = self.cells[comptime!(LINE)].at::<Device>();
        let mut position = end.load::<Relaxed>();
        let mut value = 0u32;
        let mut popped = false;
        let mut trying = true;
        while trying {
            let slot = self.slot(position);
            let distance = self.sequence(slot) - (position + 1u32);
            if distance == 0u32 {
                let seen = end.compare_exchange::<Relaxed>(position, position + 1u32);
                if seen == position {
                    value = self.value(slot).load::<Relaxed>();
                    self.set_sequence(slot, position + self.capacity);
                    popped = true;
                    trying = false;
                }
                position = seen;
            } else if distance < 0x8000_0000u32 {
                // Another unit has popped here since the end was read.
                position = end.load::<Relaxed>();
            } else {
                trying = false;
            }
        }
        Popped {
            is_some: popped,
            value,
        }
    }

    fn slot(&self, position: u32) -> u32 {
        position & (self.capacity - 1u32)
    }

    /// What is due at the slot. Its number is left out of what the cell holds, so that a ring of zeros is empty.
    fn sequence(&self, slot: u32) -> u32 {
        let cell = self.cells[comptime!(2 * LINE) + 2 * slot as usize].at::<Device>();
        cell.load::<O::Acquiring>() + slot
    }

    fn set_sequence(&self, slot: u32, sequence: u32) {
        let cell = self.cells[comptime!(2 * LINE) + 2 * slot as usize].at::<Device>();
        cell.store::<O::Releasing>(sequence - slot);
    }

    fn value(&self, slot: u32) -> AtomicRef<u32, Device> {
        self.cells[comptime!(2 * LINE + 1) + 2 * slot as usize].at::<Device>()
    }
}

impl BoundedQueue<'_, Ordered> {
    /// The cells that a queue of that many slots lies over.
    ///
    /// ```
    /// use girih::memory::blocks::BoundedQueue;
    ///
    /// let cells = BoundedQueue::cells(1024)?;
    /// let empty = vec![0u32; cells];
    /// assert!(BoundedQueue::cells(1000).is_err());
    /// # assert_eq!(empty.len(), 2 * 32 + 2 * 1024);
    /// # Ok::<(), girih::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Size`] where the capacity is no power of two from 2 to 2^30, with the nearest such power below it. (Of a
    /// single slot a sequence could not tell a push from a pop.)
    pub fn cells(capacity: u32) -> Result<usize> {
        if !capacity.is_power_of_two() || !(LEAST..=MOST).contains(&capacity) {
            let below = capacity.checked_ilog2().map_or(0, |log| 1u32 << log);
            return Err(Error::Size {
                call: CALL,
                argument: "capacity, a power of two,",
                given: capacity.into(),
                allowed: u64::from(below.clamp(LEAST, MOST)),
            });
        }
        Ok(2 * LINE + 2 * capacity as usize)
    }

    /// Whether the device can run it.
    ///
    /// # Errors
    /// [`Error::Device`] with the access that the device lacks.
    pub fn require(device: &device::Device) -> Result<()> {
        let accesses = [
            (Operation::Load, MemoryOrder::Acquire),
            (Operation::Store, MemoryOrder::Release),
            (Operation::CompareExchange, MemoryOrder::Relaxed),
        ];
        require(device, CALL, MemoryScope::Device, &accesses)
    }
}
