//! A Vulkan adapter: a GPU with its driver, or Mesa's lavapipe, which runs on the host's cores.

use super::{packages, python};
use crate::error::Result;

/// Exits with 0 where the loader finds an adapter.
const FIND_ADAPTER: &str = include_str!("vulkan_adapter.py");

/// Whether there is an adapter.
pub fn present() -> bool {
    python::agrees(FIND_ADAPTER)
}

/// Installs the loader and Mesa's drivers from the distribution.
pub fn install() -> Result<()> {
    packages::install(
        "mesa-vulkan-drivers and libvulkan1",
        &["mesa-vulkan-drivers", "libvulkan1"],
    )
}
