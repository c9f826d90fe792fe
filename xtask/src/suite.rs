//! The program `girih-suite`, built for one device.

use std::path::PathBuf;
use std::process::Command;
use std::thread;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::process;
use crate::setup::{self, Component, Environment};

/// The suite for one device, with what it needs in its environment.
pub struct Suite {
    device: Device,
    program: PathBuf,
    environment: Environment,
}

impl Suite {
    /// Builds the suite that drives `device`.
    pub fn build(device: Device, environment: &Environment) -> Result<Self> {
        let environment = environment.clone();
        Ok(Self {
            device,
            program: device.build_set().suite()?,
            environment: match device {
                Device::Cuda => environment.on_gpu(),
                Device::Cpu | Device::Vulkan | Device::Wgsl => environment,
            },
        })
    }

    /// The suite for `device`, or why the device is not there, which takes no build where it shows without one.
    pub fn find(device: Device, environment: &Environment) -> Result<Result<Self, String>> {
        if let Some(reason) = device.absent_at_sight() {
            return Ok(Err(reason));
        }
        let suite = Self::build(device, environment)?;
        Ok(match suite.absence()? {
            Some(reason) => Err(reason),
            None => Ok(suite),
        })
    }

    /// `girih-suite SUBCOMMAND`.
    pub fn command(&self, subcommand: &str) -> Command {
        let mut command = Command::new(&self.program);
        self.environment.apply(command.arg(subcommand));
        command
    }

    /// How many processes share the suite's tests well, `most` at most.
    pub fn processes(&self, most: usize) -> usize {
        match self.device {
            Device::Cuda => 1,
            Device::Cpu | Device::Vulkan | Device::Wgsl => {
                thread::available_parallelism().map_or(1, |cores| cores.get().min(most))
            }
        }
    }

    /// Why the device is not there, as the suite says; `None` where it is.
    fn absence(&self) -> Result<Option<String>> {
        let mut command = self.command("devices");
        let listing = process::capture(&mut command)?;
        read_listing(&listing, self.device).ok_or_else(|| Error::Output {
            command: process::describe(&command),
            reason: format!("no line says whether {} is present or absent", self.device),
        })
    }
}

/// Devices to work on: those that `named` names, each of which has to be there, or the main build's.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    named: &'a [Device],
}

impl<'a> Choice<'a> {
    pub fn new(named: &'a [Device]) -> Self {
        Self { named }
    }

    /// The chosen devices, whether or not they are there, each once and in the order of reports.
    pub fn devices(self) -> impl Iterator<Item = Device> {
        Device::ALL
            .into_iter()
            .filter(move |device| match self.named {
                [] => Device::DEFAULT.contains(device),
                named => named.contains(device),
            })
    }

    /// Whether a person named them.
    pub fn is_named(self) -> bool {
        !self.named.is_empty()
    }

    /// Installs what the devices need.
    pub fn set_up(self, offline: bool) -> Result<Environment> {
        let needed = |component: &Component| {
            self.devices()
                .any(|device| device.components().contains(component))
        };
        let components: Vec<_> = Component::ALL.into_iter().filter(needed).collect();
        setup::ensure(&components, offline)
    }

    /// Accepts that `device` is absent, unless it was named.
    pub fn allow_absence(self, device: Device, reason: &str) -> Result<()> {
        if self.is_named() {
            return Err(Error::DeviceAbsent {
                device,
                reason: reason.to_owned(),
            });
        }
        Ok(())
    }
}

/// The line of `device` in the suite's listing: `NAME present` or `NAME absent: REASON`.
fn read_listing(listing: &str, device: Device) -> Option<Option<String>> {
    listing.lines().find_map(|line| {
        let mut words = line.trim().splitn(3, char::is_whitespace);
        if words.next()? != device.name() {
            return None;
        }
        match words.next()?.trim_end_matches(':') {
            "present" => Some(None),
            "absent" => Some(Some(words.next().unwrap_or("no reason given").to_owned())),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listing_says_who_is_there() {
        let listing =
            "cpu present\nvulkan present llvmpipe\nwgsl absent: not in this build\ncuda absent\n";
        let absent = |reason: &str| Some(Some(reason.to_owned()));
        assert_eq!(read_listing(listing, Device::Cpu), Some(None));
        assert_eq!(read_listing(listing, Device::Vulkan), Some(None));
        assert_eq!(
            read_listing(listing, Device::Wgsl),
            absent("not in this build")
        );
        assert_eq!(
            read_listing(listing, Device::Cuda),
            absent("no reason given")
        );
    }

    #[test]
    fn a_listing_without_the_device_says_nothing() {
        assert_eq!(read_listing("cpu present", Device::Cuda), None);
        assert_eq!(read_listing("cpu maybe", Device::Cpu), None);
        assert_eq!(read_listing("", Device::Cpu), None);
    }

    #[test]
    fn the_main_build_is_the_default() {
        let devices: Vec<_> = Choice::new(&[]).devices().collect();
        assert_eq!(devices, Device::DEFAULT);
        let named = [Device::Cuda, Device::Cpu, Device::Cuda];
        let devices: Vec<_> = Choice::new(&named).devices().collect();
        assert_eq!(devices, [Device::Cpu, Device::Cuda]);
    }

    #[test]
    fn only_a_named_device_has_to_be_there() {
        assert!(
            Choice::new(&[])
                .allow_absence(Device::Vulkan, "no adapter")
                .is_ok()
        );
        let error = Choice::new(&[Device::Vulkan]).allow_absence(Device::Vulkan, "no adapter");
        assert_eq!(
            error.unwrap_err().to_string(),
            "device vulkan is not there: no adapter"
        );
    }
}
