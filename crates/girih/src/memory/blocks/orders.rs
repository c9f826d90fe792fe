//! The orders of the blocks' accesses, as one type: the ones that they need, and none for the tests that show the need.

use crate::memory::order::{
    AcqRel, Acquire, KnownOrder, LoadOrder, Relaxed, Release, StoreOrder, UpdateOrder,
};

/// Which orders a block's accesses have.
pub trait Orders: 'static + Send + Sync + Copy + core::fmt::Debug {
    /// Of an access that sees what others released.
    type Acquiring: KnownOrder + LoadOrder + UpdateOrder;
    /// Of an access that hands on what came before it.
    type Releasing: KnownOrder + StoreOrder + UpdateOrder;
    /// Of an access that does both.
    type Both: KnownOrder + UpdateOrder;
    /// Whether what is handed on is written before the word that says so. Without a release nothing holds a device to that:
    /// a mutant does what any device may.
    const WRITES_FIRST: bool;
}

/// The orders that the blocks' proofs rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordered;

impl Orders for Ordered {
    type Acquiring = Acquire;
    type Releasing = Release;
    type Both = AcqRel;
    const WRITES_FIRST: bool = true;
}

/// No order at all, which breaks every block that has one: what a stress test must be able to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unordered;

impl Orders for Unordered {
    type Acquiring = Relaxed;
    type Releasing = Relaxed;
    type Both = Relaxed;
    const WRITES_FIRST: bool = false;
}
