//! [`TicketCounter`]: a number of its own for everyone who asks.

use super::require;
use crate::device;
use crate::error::Result;
use crate::memory::access::Operation;
use crate::memory::atomic::{AtomicExt, AtomicExtExpand, AtomicRef};
use crate::memory::order::{MemoryOrder, Relaxed};
use crate::memory::scope::KnownScope;
use cubecl::prelude::*;

/// Numbers from 0 on, each given once.
///
/// # Promise
/// No two calls at the scope `S` get the same number, and none is left out. After 2^32 of them they begin again.
///
/// It orders nothing: who has ticket 5 has not thereby seen what the holder of ticket 4 wrote. It does not wait.
///
/// # Proof
/// All read-modify-writes of one atomic have one order, and each reads what the one before it wrote. That holds of
/// relaxed ones on every backend, so that this block runs on WGSL as well.
///
/// # Use
/// Ranks in an output whose size is not known; work that is taken by who is free; and an order of cubes in which each has
/// begun before its successors: a cube that takes a ticket may wait for the holders of smaller ones, since they took
/// theirs while running.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::memory::blocks::TicketCounter;
/// use girih::prelude::*;
///
/// /// Collects the positions of the elements that are not 0, in any order.
/// #[cube(launch_unchecked)]
/// fn nonzero(values: &[u32], positions: &mut [u32], count: &[Atomic<u32>]) {
///     let ranks = TicketCounter::<Device>::new(&count[0]);
///     if ABSOLUTE_POS < values.len() {
///         if values[ABSOLUTE_POS] != 0u32 {
///             let rank = ranks.take();
///             positions[rank as usize] = ABSOLUTE_POS as u32;
///         }
///     }
/// }
/// # fn main() {}
/// ```
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct TicketCounter<S: KnownScope> {
    next: AtomicRef<u32, S>,
}

#[cube]
impl<S: KnownScope> TicketCounter<S> {
    /// A counter over a cell, which holds the next ticket: 0 at first.
    pub fn new(cell: &Atomic<u32>) -> Self {
        TicketCounter::<S> {
            next: cell.at::<S>(),
        }
    }

    /// The next ticket.
    pub fn take(&self) -> u32 {
        self.next.fetch_add::<Relaxed>(1u32)
    }

    /// The next `count` tickets: the first of them.
    pub fn take_many(&self, count: u32) -> u32 {
        self.next.fetch_add::<Relaxed>(count)
    }
}

impl<S: KnownScope> TicketCounter<S> {
    /// Whether the device can run it.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) with the access that the device lacks.
    pub fn require(device: &device::Device) -> Result<()> {
        let accesses = [(Operation::Add, MemoryOrder::Relaxed)];
        require(device, "TicketCounter", S::SCOPE, &accesses)
    }
}
