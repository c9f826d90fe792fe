//! The devices that tests, vectors and benchmarks run on.

use std::fmt;

use clap::ValueEnum;

use crate::build_set::BuildSet;
use crate::setup::{Component, cuda};

/// A device, by the name that the suite gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Device {
    /// The host's cores, through LLVM.
    Cpu,
    /// wgpu fed with SPIR-V: a GPU, or Mesa's lavapipe.
    Vulkan,
    /// wgpu fed with WGSL; a second, smaller build.
    Wgsl,
    /// An NVIDIA GPU through NVRTC; a third build, optimised.
    Cuda,
}

impl Device {
    /// Every device, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Vulkan, Self::Wgsl, Self::Cuda];

    /// Those that the main build drives, and that are taken where none is named.
    pub const DEFAULT: [Self; 2] = [Self::Cpu, Self::Vulkan];

    /// The name as typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Vulkan => "vulkan",
            Self::Wgsl => "wgsl",
            Self::Cuda => "cuda",
        }
    }

    /// The build that drives it.
    pub fn build_set(self) -> BuildSet {
        match self {
            Self::Cpu | Self::Vulkan => BuildSet::Main,
            Self::Wgsl => BuildSet::Wgsl,
            Self::Cuda => BuildSet::Cuda,
        }
    }

    /// What has to be installed before that build runs here.
    pub fn components(self) -> &'static [Component] {
        match self {
            Self::Cpu | Self::Vulkan => &[
                Component::Compiler,
                Component::Llvm,
                Component::Vulkan,
                Component::Cuda,
            ],
            Self::Wgsl => &[Component::Compiler, Component::Vulkan],
            Self::Cuda => &[Component::Compiler, Component::Cuda],
        }
    }

    /// Why the device cannot be used, where that shows without building anything.
    pub fn absent_at_sight(self) -> Option<String> {
        (self == Self::Cuda && !cuda::driver_answers())
            .then(|| "no NVIDIA driver answers".to_owned())
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for device in Device::ALL {
            assert_eq!(Device::from_str(device.name(), false), Ok(device));
        }
    }
}
