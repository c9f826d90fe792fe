//! What a device can do, asked once, in one place.
//!
//! CubeCL's own answers are corrected here where they are known to be wrong.

use crate::error::{Error, Result};
use cubecl::client::Client;
use cubecl::ir::features::{AtomicUsage, TypeUsage};
use cubecl::ir::{ElemType, FloatKind, Type, UIntKind};

/// The compiler behind a client: it decides what a kernel's instructions become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// LLVM, for the host's processor.
    Cpu,
    /// CUDA C++, for NVIDIA GPUs.
    Cuda,
    /// SPIR-V, through Vulkan.
    Vulkan,
    /// WGSL, through WebGPU.
    Wgsl,
    /// A target without lowerings of girih's own: what CubeCL offers on every target works.
    Other,
}

/// What one device can do.
#[derive(Clone)]
pub struct Device {
    client: Client,
    target: Target,
}

impl core::fmt::Debug for Device {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.name())
            .field("target", &self.target)
            .finish()
    }
}

impl Device {
    /// The device behind a client.
    pub fn of(client: &Client) -> Self {
        Self {
            client: client.clone(),
            target: target(client),
        }
    }

    /// The compiler that kernels go through.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The name that errors use.
    pub fn name(&self) -> String {
        let properties = self.client.properties();
        format!("{} ({})", self.client.name(), properties.identity.name)
    }

    /// Whether elements of this type can be stored, read and moved.
    pub fn stores(&self, elem: ElemType) -> bool {
        let usage = self.client.features().type_usage(elem);
        // CubeCL's CPU runtime claims bf16, but its conversions call a routine that is not there: the kernel does not
        // link, and reads give what the memory held before.
        let broken = self.target == Target::Cpu && elem == ElemType::Float(FloatKind::BF16);
        usage.contains(TypeUsage::Buffer) && !broken
    }

    /// Whether memory of this type (a scalar, or a vector of `width`) can be added to atomically.
    pub fn adds_atomically(&self, elem: ElemType, width: usize) -> bool {
        let ty = match width {
            1 => Type::new(elem),
            _ => Type::new(elem).with_vector_size(width),
        };
        self.stores(elem)
            && self
                .client
                .properties()
                .atomic_type_usage(Type::atomic(ty))
                .contains(AtomicUsage::Add)
    }

    /// Whether 32-bit unsigned integers have an atomic minimum, which keeps the first offence under
    /// [`Bounds::Report`](crate::view::Bounds::Report).
    pub fn reports(&self) -> bool {
        let ty = Type::atomic(ElemType::UInt(UIntKind::U32));
        // WGSL has it by its specification, though CubeCL lists only what every atomic type has.
        self.target == Target::Wgsl
            || self
                .client
                .properties()
                .atomic_type_usage(ty)
                .contains(AtomicUsage::MinMax)
    }

    /// The vector widths that one access moves at once, widest first, for elements of this size in bytes.
    pub fn vector_widths(&self, size: usize) -> Vec<usize> {
        let mut widths: Vec<_> = self.client.io_optimized_vector_sizes(size).collect();
        widths.sort_unstable_by(|a, b| b.cmp(a));
        widths
    }

    /// An error that names the device and what it lacks, unless `has`.
    pub fn require(&self, has: bool, call: &'static str, feature: impl Into<String>) -> Result<()> {
        match has {
            true => Ok(()),
            false => Err(Error::Device {
                call,
                device: self.name(),
                feature: feature.into(),
            }),
        }
    }
}

/// The name and fingerprint that each runtime gives itself.
fn target(client: &Client) -> Target {
    let fingerprint = client.properties().identity.fingerprint.as_str();
    match fingerprint {
        f if f.starts_with("ptx_sm") => Target::Cuda,
        f if f.starts_with("cpu_") => Target::Cpu,
        _ if client.name() == "wgpu<spirv>" => Target::Vulkan,
        _ if client.name() == "wgpu<wgsl>" => Target::Wgsl,
        _ => Target::Other,
    }
}
