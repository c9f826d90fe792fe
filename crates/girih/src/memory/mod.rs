//! Orders and scopes: when other units see a write.
//!
//! An [`AtomicRef`] is an atomic at a scope; each of its operations names its order. Both are types, so that an acquire
//! store does not compile, and a scope that a device cannot keep is refused before a launch
//! ([`Device::require_atomic`](crate::device::Device::require_atomic)).
//!
//! What is kept, by an operation of the target's own or by an equal sequence:
//!
//! | | CUDA | CPU | Vulkan | WGSL |
//! |---|---|---|---|---|
//! | weak, [`Relaxed`] | yes | yes | yes | yes |
//! | [`Acquire`], [`Release`], [`AcqRel`] | yes | yes | yes | no |
//! | [`SeqCst`] | `fence.sc` before the access | yes | no | no |
//! | [`Unit`], [`Cube`], [`Device`] | yes (a unit as a cube) | yes | yes | yes |
//! | [`Cluster`] | sm_90 and later | yes | as [`Device`] | as [`Device`] |
//! | [`System`] | yes | yes | no | no |
//!
//! [`blocks`] holds what most programs want orders for: a lock, a barrier of the grid, a queue and more.
//!
//! `lower` holds one file per target, with the same names of operations in each.

mod access;
mod atomic;
pub mod blocks;
mod cell;
mod combine;
mod emit;
mod lower;
mod ops;
mod order;
mod scope;
mod shared_memory;

pub(crate) use access::path;
pub use access::{AtomicAccess, Operation};
pub use atomic::{AtomicExt, AtomicExtExpand, AtomicRef, AtomicRefExpand, fence};
pub(crate) use cell::{CellExpand, Strength};
pub use order::{
    AcqRel, Acquire, FenceOrder, KnownOrder, LoadOrder, MemoryOrder, Relaxed, Release, SeqCst,
    StoreOrder, UpdateOrder,
};
pub use scope::{Cluster, Cube, Device, KnownScope, MemoryScope, System, Unit};
pub use shared_memory::{shared, shared_aligned};

/// The book's chapter, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/src/memory.md")]
struct Book;
