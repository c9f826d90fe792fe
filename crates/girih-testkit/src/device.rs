//! The devices a test may run on: which of them this build and this machine have.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    str::FromStr,
    sync::OnceLock,
};

use cubecl::{
    Device,
    client::Client,
    device::{DeviceUnavailable, WgpuDeviceKind},
    prelude::{CubeCount, CubeDim},
};

use crate::Error;

/// Units of a cube where the device has them: a multiple of every plane size, small enough for every GPU.
const UNITS: u32 = 256;

/// A runtime and, for wgpu, the compiler it feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeviceKind {
    /// The host's own cores: planes of one unit, no more units in a cube than cores.
    Cpu,
    /// wgpu fed with SPIR-V.
    Vulkan,
    /// wgpu fed with WGSL.
    Wgsl,
    /// CUDA through NVRTC.
    Cuda,
}

impl DeviceKind {
    /// Every kind, in the order in which they are reported.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Vulkan, Self::Wgsl, Self::Cuda];

    /// The name a user types, and the first part of a test's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Vulkan => "vulkan",
            Self::Wgsl => "wgsl",
            Self::Cuda => "cuda",
        }
    }

    /// The cargo feature that brings it; `wgsl` is feature `wgpu` without `vulkan`.
    pub const fn feature(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Vulkan => "vulkan",
            Self::Wgsl => "wgpu",
            Self::Cuda => "cuda",
        }
    }

    /// Whether this build can drive it.
    pub const fn in_build(self) -> bool {
        match self {
            Self::Cpu => cfg!(feature = "cpu"),
            Self::Vulkan => cfg!(feature = "vulkan"),
            Self::Wgsl => cfg!(all(feature = "wgpu", not(feature = "vulkan"))),
            Self::Cuda => cfg!(feature = "cuda"),
        }
    }

    /// Every kind this build can drive, whether or not the machine has it.
    pub fn built() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| kind.in_build())
    }

    fn find(self) -> Result<Device, DeviceUnavailable> {
        match self {
            Self::Cpu => Device::cpu(),
            // Not pinned to a graphics API: a pinned device has a client of its own, and Burn's default is not pinned.
            Self::Vulkan | Self::Wgsl => Device::wgpu(WgpuDeviceKind::DefaultDevice),
            Self::Cuda => Device::cuda(0),
        }
    }

    /// What the runtime's client is called when it came up with the compiler this kind stands for.
    const fn client_name(self) -> Option<&'static str> {
        match self {
            Self::Vulkan => Some("wgpu<spirv>"),
            Self::Wgsl => Some("wgpu<wgsl>"),
            Self::Cpu | Self::Cuda => None,
        }
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DeviceKind {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == given)
            .ok_or_else(|| Error::UnknownDevice {
                given: given.to_owned(),
            })
    }
}

/// A device that is there, with the client that every test of this process shares.
#[derive(Clone)]
pub struct Rt {
    /// Which device it is.
    pub kind: DeviceKind,
    /// The same device, by CubeCL's name.
    pub device: Device,
    /// Where kernels are launched.
    pub client: Client,
    /// A cube size that suits the device: as many units as it allows, at most 256.
    pub units: u32,
}

impl fmt::Debug for Rt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rt")
            .field("kind", &self.kind)
            .field("device", &self.device)
            .field("units", &self.units)
            .finish_non_exhaustive()
    }
}

impl Rt {
    /// The device of `kind`, opened on the first call.
    ///
    /// # Errors
    /// [`Error::NotBuilt`] or [`Error::Absent`]; a driver that panics while it starts counts as absent.
    pub fn open(kind: DeviceKind) -> Result<&'static Self, Error> {
        static OPENED: [OnceLock<Result<Rt, Error>>; DeviceKind::ALL.len()] =
            [const { OnceLock::new() }; DeviceKind::ALL.len()];
        OPENED[kind as usize]
            .get_or_init(|| Self::start(kind))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Every device that this build and this machine have.
    pub fn present() -> impl Iterator<Item = &'static Self> {
        DeviceKind::ALL
            .into_iter()
            .filter_map(|kind| Self::open(kind).ok())
    }

    fn start(kind: DeviceKind) -> Result<Self, Error> {
        if !kind.in_build() {
            return Err(Error::NotBuilt { kind });
        }
        let absent = |reason: String| Error::Absent { kind, reason };
        let (device, client) = catch_unwind(AssertUnwindSafe(|| {
            kind.find().map(|device| {
                let client = device.client();
                (device, client)
            })
        }))
        .map_err(|panic| absent(panic_message(&*panic)))?
        .map_err(|unavailable| absent(unavailable.to_string()))?;

        if let Some(expected) = kind.client_name()
            && client.name() != expected
        {
            return Err(absent(format!(
                "the adapter came up as {}, not {expected}",
                client.name()
            )));
        }
        let units = client.properties().hardware.max_units_per_cube.min(UNITS);
        Ok(Self {
            kind,
            device,
            client,
            units,
        })
    }

    /// The device's name, as the user types it.
    pub const fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// A cube of [`units`](Self::units) units along x.
    pub fn cube_dim(&self) -> CubeDim {
        CubeDim::new_1d(self.units)
    }

    /// Enough cubes of [`cube_dim`](Self::cube_dim) along x for one unit to each of `items`, and one cube for none.
    ///
    /// # Panics
    /// If that is more than the device launches along x, which is at least 65,535 cubes.
    pub fn cubes_for(&self, items: usize) -> CubeCount {
        let cubes = items.div_ceil(self.units as usize).max(1);
        let most = self.client.properties().hardware.max_cube_count.0;
        match u32::try_from(cubes) {
            Ok(cubes) if cubes <= most => CubeCount::new_1d(cubes),
            _ => panic!(
                "{items} items take {cubes} cubes; {} launches {most}",
                self.name()
            ),
        }
    }
}

/// The text of a caught panic.
pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    payload
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| {
            payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
        })
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for kind in DeviceKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        let unknown = "metal".parse::<DeviceKind>().unwrap_err();
        assert!(unknown.to_string().contains("`metal`"), "{unknown}");
    }

    #[test]
    fn a_device_left_out_of_the_build_names_its_feature() {
        for kind in DeviceKind::ALL.into_iter().filter(|kind| !kind.in_build()) {
            let error = Rt::open(kind).unwrap_err();
            assert_eq!(error, Error::NotBuilt { kind });
            assert!(error.to_string().contains(kind.feature()), "{error}");
        }
    }

    #[test]
    fn a_cube_fits_the_device() {
        for rt in Rt::present() {
            let most = rt.client.properties().hardware.max_units_per_cube;
            assert!(
                (1..=most).contains(&rt.units),
                "{}: {} units of {most}",
                rt.name(),
                rt.units
            );
        }
    }
}
