//! From girih's memory operations to each target's: one file per target, the same operations in each.

pub(super) mod portable;

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "hip")]
mod hip;
#[cfg(feature = "metal")]
mod metal;
#[cfg(feature = "vulkan")]
mod vulkan;
#[cfg(feature = "vulkan")]
pub(super) mod vulkan_shared_memory;
