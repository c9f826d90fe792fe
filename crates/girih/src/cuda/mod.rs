//! What only NVIDIA hardware has: tensor cores fed from shared memory, bulk copies, and the barriers between them.
//!
//! | module | what | from |
//! |---|---|---|
//! | [`mbarrier`] | barriers in shared memory that count arrivals and bytes | sm_90 |
//! | [`tma`] | copies of tiles of a tensor into shared memory, by one unit, to one cube or several | sm_90 |
//! | [`bulk`] | copies of bytes between global and shared memory, by one unit | sm_90 |
//! | [`wgmma`] | matrix multiply-accumulate by four planes together, operands in shared memory | sm_90a alone |
//! | [`global`] | copies and additions of 16 bytes, and accesses at an address | sm_80, sm_90 |
//! | [`registers`] | registers that change hands between planes, and those of a tile's fragments | sm_90 |
//! | [`approximate`] | functions of few instructions | sm_80 |
//!
//! Each is one instruction, written as PTX. Elsewhere a kernel with one of them fails by name at the first read of what it
//! writes; [`Device::has_warpgroup_mma`](crate::device::Device::has_warpgroup_mma) and
//! [`Device::copies_in_bulk`](crate::device::Device::copies_in_bulk) say so before a launch.
//!
//! Addresses of shared memory are numbers of 32 bits here, as the instructions take them ([`shared_address()`]).
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

pub mod approximate;
pub mod bulk;
mod emit;
pub mod global;
pub mod mbarrier;
pub mod registers;
pub mod tma;
pub mod wgmma;
#[cfg(feature = "cuda")]
mod wgmma_ops;

pub use emit::{cluster_barrier, fence_async, shared_address, units_barrier};

/// The book's chapter, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/src/tensor-cores.md")]
struct Book;
