//! Which device an example runs on.

use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;

/// What a person asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The best there is: an NVIDIA GPU through CUDA, else any GPU through Vulkan, else a software Vulkan
    /// driver, whose launches cost less than those of the CPU runtime, else that.
    Auto,
    /// CubeCL's CPU runtime.
    Cpu,
    /// Vulkan: the best GPU, or a software driver where there is none.
    Vulkan,
    /// CUDA.
    Cuda,
}

impl Wanted {
    /// Every choice.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Cpu, Self::Vulkan, Self::Cuda];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Vulkan => "vulkan",
            Self::Cuda => "cuda",
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let all = Self::ALL;
        all.into_iter()
            .find(|wanted| wanted.name() == word)
            .ok_or_else(|| format!("`{word}` is not one of {}", all.map(Self::name).join(", ")))
    }
}

/// No device of the wanted sort.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoDevice {
    /// The machine has none that this program reaches.
    #[error("no {0} device was found on this machine")]
    Absent(Wanted),
    /// The program was built without the runtime.
    #[error("this program was built without {0}; build it with `--features {0}`")]
    NotBuilt(Wanted),
}

/// A device and what to call it.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The device.
    pub device: Device,
    /// The runtime and the device's own name.
    pub name: String,
}

impl Choice {
    fn new(runtime: &str, device: Device) -> Self {
        let part = device.identity().map(|identity| identity.name);
        let name = match part.filter(|part| !part.is_empty()) {
            Some(part) => format!("{runtime}: {part}"),
            None => runtime.to_owned(),
        };
        Self { device, name }
    }
}

/// The best device of the wanted sort.
///
/// # Errors
/// [`NoDevice`] where the machine has none, or this build cannot reach it.
pub fn choose(wanted: Wanted) -> Result<Choice, NoDevice> {
    match wanted {
        Wanted::Cpu => cpu(),
        Wanted::Cuda => cuda(),
        Wanted::Vulkan => vulkan_gpu().or_else(|_| vulkan_software()),
        Wanted::Auto => cuda()
            .or_else(|_| vulkan_gpu())
            .or_else(|_| vulkan_software())
            .or_else(|_| cpu())
            .map_err(|_| NoDevice::Absent(Wanted::Auto)),
    }
}

#[cfg(feature = "cpu")]
fn cpu() -> Result<Choice, NoDevice> {
    Ok(Choice::new("cpu", Device::cpu()))
}

#[cfg(not(feature = "cpu"))]
fn cpu() -> Result<Choice, NoDevice> {
    Err(NoDevice::NotBuilt(Wanted::Cpu))
}

#[cfg(feature = "cuda")]
fn cuda() -> Result<Choice, NoDevice> {
    let found = Device::enumerate(burn::tensor::DeviceType::Cuda);
    let first = found.into_iter().next();
    first
        .map(|device| Choice::new("cuda", device))
        .ok_or(NoDevice::Absent(Wanted::Cuda))
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Result<Choice, NoDevice> {
    Err(NoDevice::NotBuilt(Wanted::Cuda))
}

/// A Vulkan device that is hardware, a discrete GPU before an integrated one.
fn vulkan_gpu() -> Result<Choice, NoDevice> {
    #[cfg(feature = "vulkan")]
    use burn::tensor::DeviceKind::{DiscreteGpu, IntegratedGpu, VirtualGpu};
    #[cfg(feature = "vulkan")]
    return vulkan_of(&[DiscreteGpu(0), IntegratedGpu(0), VirtualGpu(0)]);
    #[cfg(not(feature = "vulkan"))]
    Err(NoDevice::NotBuilt(Wanted::Vulkan))
}

/// A Vulkan driver that runs on the CPU, such as lavapipe.
fn vulkan_software() -> Result<Choice, NoDevice> {
    #[cfg(feature = "vulkan")]
    return vulkan_of(&[burn::tensor::DeviceKind::Cpu]);
    #[cfg(not(feature = "vulkan"))]
    Err(NoDevice::NotBuilt(Wanted::Vulkan))
}

/// The first of `kinds` that the machine has.
#[cfg(feature = "vulkan")]
fn vulkan_of(kinds: &[burn::tensor::DeviceKind]) -> Result<Choice, NoDevice> {
    let found = Device::enumerate(burn::tensor::DeviceType::Vulkan);
    kinds
        .iter()
        .map(|kind| Device::vulkan(kind.clone()))
        .find(|device| found.contains(device))
        .map(|device| Choice::new("vulkan", device))
        .ok_or(NoDevice::Absent(Wanted::Vulkan))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_command_line_round_trip() {
        for wanted in Wanted::ALL {
            assert_eq!(wanted.name().parse(), Ok(wanted));
        }
        assert_eq!(
            "gpu".parse::<Wanted>(),
            Err("`gpu` is not one of auto, cpu, vulkan, cuda".to_owned())
        );
    }
}
