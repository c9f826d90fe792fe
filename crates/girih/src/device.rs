//! What a device can do, asked once, in one place.
//!
//! CubeCL's own answers are corrected here where they are known to be wrong.

use crate::error::{Error, Result};
use crate::layout::WarpMatrix;
use crate::memory::{self, AtomicAccess, Operation};
use cubecl::client::Client;
use cubecl::ir::features::{Tma, TypeUsage};
use cubecl::ir::{DeviceProperties, ElemType, FloatKind, IntKind, Scope, UIntKind};
use std::rc::Rc;

/// The compiler behind a client: it decides what a kernel's instructions become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// LLVM, for the host's processor.
    Cpu,
    /// CUDA C++, for NVIDIA GPUs.
    Cuda,
    /// HIP C++, for AMD GPUs.
    Hip,
    /// Metal's shading language, for Apple GPUs.
    Metal,
    /// SPIR-V, through Vulkan.
    Vulkan,
    /// WGSL, through WebGPU.
    Wgsl,
    /// A target without lowerings of girih's own: what CubeCL offers on every target works.
    Other,
}

impl Target {
    /// The target of a device with these properties: its fingerprint says for what its runtime compiles.
    pub fn of(properties: &DeviceProperties) -> Self {
        let fingerprint = properties.identity.fingerprint.as_str();
        let starts = |with: &str| fingerprint.starts_with(with);
        match properties.features.device_memory_scope {
            _ if starts("ptx_sm") => Self::Cuda,
            _ if starts("cpu_") => Self::Cpu,
            _ if starts("hip") => Self::Hip,
            _ if starts("msl") => Self::Metal,
            // Both languages of wgpu have one fingerprint; a memory scope of the device is what WGSL has not.
            true if starts("spirv_") => Self::Vulkan,
            false if starts("spirv_") => Self::Wgsl,
            _ => Self::Other,
        }
    }

    /// Whether girih was built with its own lowerings for the target: the feature of that name.
    pub(crate) fn is_lowered(self) -> bool {
        match self {
            Self::Cpu => cfg!(feature = "cpu"),
            Self::Cuda => cfg!(feature = "cuda"),
            Self::Hip => cfg!(feature = "hip"),
            Self::Metal => cfg!(feature = "metal"),
            Self::Vulkan => cfg!(feature = "vulkan"),
            Self::Wgsl | Self::Other => false,
        }
    }
}

/// The device that a kernel is being expanded for; `None` outside of a launch or a compile check.
pub(crate) fn expanded_for(scope: &Scope) -> Option<(Target, Rc<DeviceProperties>)> {
    let properties = scope.state().device_properties.clone()?;
    Some((Target::of(&properties), properties))
}

/// The architecture of an NVIDIA GPU, 90 for `sm_90`; `None` of any other device.
pub(crate) fn architecture(properties: &DeviceProperties) -> Option<u32> {
    let version = properties.identity.fingerprint.strip_prefix("ptx_sm")?;
    let digits = version.trim_end_matches(char::is_alphabetic);
    digits.parse().ok()
}

/// Processors of a GPU that does not say how many it has: no more than small ones have, so that each has work.
const FEW_PROCESSORS: u32 = 16;

/// The instruction by which a plane multiplies matrices of these elements, whose threads hold fragments as [`WarpMatrix`] says: of
/// those that add at most so many products to a sum, the one that adds the most.
pub(crate) fn warp_matrix(
    properties: &DeviceProperties,
    factors: [ElemType; 2],
    sum: ElemType,
    products: u64,
) -> Option<WarpMatrix> {
    // Other vendors' planes have another size, or hold fragments otherwise.
    let hardware = &properties.hardware;
    let planes = [hardware.plane_size_min, hardware.plane_size_max];
    let is_of_warps = planes.map(u64::from) == [WarpMatrix::THREADS; 2];
    if Target::of(properties) != Target::Cuda || !is_of_warps || !factors.iter().all(is_factor) {
        return None;
    }
    let forms = properties.features.matmul.mma.iter().filter(|form| {
        let extents = [form.m, form.n].map(u64::from);
        [form.a_type, form.b_type] == factors
            && form.cd_type == sum
            && extents == [WarpMatrix::ROWS, WarpMatrix::COLUMNS]
            && u64::from(form.k) <= products
    });
    let bits = factors[0].size_bits() as u64;
    forms
        .filter_map(|form| WarpMatrix::new(form.k.into(), bits))
        .max_by_key(WarpMatrix::inner)
}

/// Whether there is one, of some number of products.
pub(crate) fn has_warp_matrix(
    properties: &DeviceProperties,
    factors: [ElemType; 2],
    sum: ElemType,
) -> bool {
    warp_matrix(properties, factors, sum, u64::MAX).is_some()
}

/// Whether products of such elements are exact in the sums of matrix instructions.
fn is_factor(element: &ElemType) -> bool {
    matches!(
        element,
        ElemType::Float(FloatKind::F16 | FloatKind::BF16 | FloatKind::TF32)
            | ElemType::Int(IntKind::I8)
            | ElemType::UInt(UIntKind::U8)
    )
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
            target: Target::of(client.properties()),
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
        // Some devices claim bool as well, which has no size in memory: kernels over buffers of it are not expanded. The type of
        // indices has one for each kernel.
        let broken = broken || matches!(elem, ElemType::Bool | ElemType::Index);
        usage.contains(TypeUsage::Buffer) && !broken
    }

    /// Whether the device keeps an atomic access: its operation on its elements, with its order at its scope.
    pub fn has_atomic(&self, access: &AtomicAccess) -> bool {
        let ElemType::Float(FloatKind::BF16) = access.element else {
            return self.keeps(access);
        };
        self.stores(access.element) && self.keeps(access)
    }

    fn keeps(&self, access: &AtomicAccess) -> bool {
        memory::path(self.target, self.client.properties(), access).is_some()
    }

    /// An error that names the access and the device, unless the device [has it](Self::has_atomic).
    ///
    /// ```
    /// use cubecl::ir::{ElemType, UIntKind};
    /// use girih::device::Device;
    /// use girih::memory::{AtomicAccess, MemoryOrder, MemoryScope, Operation};
    ///
    /// /// What a kernel needs whose cubes hand each other data.
    /// fn require_messages(device: &Device) -> girih::Result<()> {
    ///     let flag = AtomicAccess::new(Operation::Load, ElemType::UInt(UIntKind::U32));
    ///     device.require_atomic("relay", &flag.ordered(MemoryOrder::Acquire, MemoryScope::Device))
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::Device`] with the operation, the element, the order and the scope.
    pub fn require_atomic(&self, call: &'static str, access: &AtomicAccess) -> Result<()> {
        match self.has_atomic(access) {
            true => Ok(()),
            false => self.require(false, call, access.to_string()),
        }
    }

    /// Whether memory of this type (a scalar, or a vector of `width`) can be added to atomically, relaxed, at device
    /// scope.
    pub fn adds_atomically(&self, elem: ElemType, width: usize) -> bool {
        self.stores(elem)
            && self.has_atomic(&AtomicAccess::new(Operation::Add, elem).vectors(width))
    }

    /// Whether 32-bit unsigned integers have an atomic minimum, which keeps the first offence under
    /// [`Bounds::Report`](crate::view::Bounds::Report).
    pub fn reports(&self) -> bool {
        self.has_atomic(&AtomicAccess::new(
            Operation::Min,
            ElemType::UInt(UIntKind::U32),
        ))
    }

    /// Whether 64-bit unsigned integers have an atomic minimum, which keeps the first offence along every axis
    /// ([`Report::axes`](crate::view::Report::axes)).
    pub fn reports_axes(&self) -> bool {
        let element = ElemType::UInt(UIntKind::U64);
        self.stores(element) && self.has_atomic(&AtomicAccess::new(Operation::Min, element))
    }

    /// Whether four planes multiply matrices together, fed by bulk copies ([`wgmma`](crate::cuda::wgmma)): NVIDIA's Hopper.
    pub fn has_warpgroup_mma(&self) -> bool {
        let properties = self.client.properties();
        self.target == Target::Cuda
            && self.target.is_lowered()
            && architecture(properties) == Some(90)
            && properties.features.tma.contains(Tma::Base)
            && properties.features.cube_cluster
    }

    /// Whether a unit copies bytes between global and shared memory without registers ([`bulk`](crate::cuda::bulk)), and others wait
    /// for the bytes ([`mbarrier`](crate::cuda::mbarrier)): NVIDIA GPUs from `sm_90` on.
    ///
    /// ```
    /// use girih::device::Device;
    ///
    /// /// What a kernel needs that fetches its tiles in bulk.
    /// fn require_copies(device: &Device) -> girih::Result<()> {
    ///     device.require(device.copies_in_bulk(), "stream", "bulk copies to shared memory")
    /// }
    ///
    /// let cpu = Device::of(&cubecl::Device::Cpu(Default::default()).client());
    /// let refused = require_copies(&cpu).unwrap_err().to_string();
    /// assert!(refused.contains("bulk copies"), "{refused}");
    /// ```
    pub fn copies_in_bulk(&self) -> bool {
        self.target == Target::Cuda
            && self.target.is_lowered()
            && architecture(self.client.properties()) >= Some(90)
    }

    /// How many processors the device has that run cubes side by side: what a launch is cut by whose cubes share the work evenly, or
    /// stay and take it in turn. Never 0.
    ///
    /// | backend | processors |
    /// |---|---|
    /// | CUDA | the GPU's streaming multiprocessors |
    /// | HIP | the GPU's compute units |
    /// | CPU | 1: its cubes run one after another |
    /// | Vulkan, WebGPU, Metal, and HIP where the driver is silent | 16: nobody says, and small GPUs have as many |
    ///
    /// Where 16 stands for a number that nobody knows, it is no promise that so many cubes run at once; cubes that wait for each other
    /// ask [`GridBarrier::most_cubes`](crate::memory::blocks::GridBarrier::most_cubes).
    ///
    /// ```
    /// use girih::device::Device;
    ///
    /// /// Cubes that take so many tiles in turn: two for each processor, and none without a tile.
    /// fn cubes(device: &Device, tiles: usize) -> usize {
    ///     tiles.min(2 * device.processors())
    /// }
    ///
    /// let cpu = Device::of(&cubecl::Device::Cpu(Default::default()).client());
    /// assert_eq!((cubes(&cpu, 1), cubes(&cpu, 1000)), (1, 2));
    /// ```
    pub fn processors(&self) -> usize {
        let hardware = &self.client.properties().hardware;
        let assumed = match self.target {
            Target::Cpu => 1,
            _ => FEW_PROCESSORS,
        };
        let counted = hardware.num_streaming_multiprocessors;
        counted.unwrap_or(assumed).max(1) as usize
    }

    /// Whether a plane multiplies matrices whose elements are `factor`, and adds in `sum`, by instructions that
    /// [`Tile::mma`](crate::tile::Tile#impl-Tile<'_,+E,+(M,+N)>) uses; without them it multiplies with each unit alone.
    ///
    /// ```
    /// use cubecl::ir::{ElemType, FloatKind};
    /// use girih::device::Device;
    ///
    /// /// The extents of a tile of sums: wider where there is something to multiply it with.
    /// fn extents(device: &Device) -> [usize; 2] {
    ///     let [factor, sum] = [FloatKind::BF16, FloatKind::F32].map(ElemType::Float);
    ///     match device.multiplies_matrices(factor, sum) {
    ///         true => [128, 128],
    ///         false => [32, 32],
    ///     }
    /// }
    /// ```
    pub fn multiplies_matrices(&self, factor: ElemType, sum: ElemType) -> bool {
        has_warp_matrix(self.client.properties(), [factor; 2], sum)
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
