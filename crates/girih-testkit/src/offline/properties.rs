//! What `cubecl-cuda` finds out from a Hopper GPU, stated here for a machine without one.

use std::sync::{Arc, LazyLock};

use cubecl::{
    cmma::MatrixLayout,
    ir::{
        ContiguousElements, DeviceIdentity, DeviceProperties, ElemType, FloatKind,
        HardwareProperties, MemoryDeviceProperties, MmaProperties, OpaqueType, TargetProperties,
        Type, VectorSize,
        features::{AtomicUsage, Features, Plane, Tma},
    },
    prelude::{AddressType, CubeDim, ExecutionMode, KernelSettings},
    profile::TimingMethod,
};
use cubecl_cpp::{
    cuda::{
        arch::CudaArchitecture,
        mma::{CudaCmmaCompiler, manual::contiguous_elements_cuda},
        supported_mma_combinations,
    },
    register_supported_types,
    shared::{
        CompilationOptions, CppSupportedFeatures, register_mma_features, register_wmma_features,
    },
};

const ARCHITECTURE: CudaArchitecture = CudaArchitecture {
    version: 90,
    tensor_cores: true,
};

/// The settings of a launch of cubes of `units` units along x, with the bounds checks off.
pub fn settings(units: u32) -> KernelSettings {
    KernelSettings::new(
        *CubeDim::new_1d(units),
        ExecutionMode::Unchecked,
        AddressType::U32,
    )
}

/// How NVIDIA's matrix instructions spread a fragment over a plane.
pub fn target() -> Arc<TargetProperties> {
    Arc::new(TargetProperties {
        mma: MmaProperties {
            register_size_bits: 32,
            const_plane_size: 32,
            register_layout_a: MatrixLayout::RowMajor,
            register_layout_b: MatrixLayout::ColMajor,
            register_layout_acc: MatrixLayout::RowMajor,
            register_duplication_a: 1,
            register_duplication_b: 1,
            register_duplication_acc: 1,
            contiguous_elements: ContiguousElements::new(contiguous_elements_cuda),
        },
    })
}

/// An H200: its limits, element types, atomics, planes, clusters, TMA and matrix instructions.
pub fn hopper() -> Arc<DeviceProperties> {
    static HOPPER: LazyLock<Arc<DeviceProperties>> = LazyLock::new(|| Arc::new(describe_hopper()));
    HOPPER.clone()
}

/// How the C++ compiler is set on Hopper.
pub(super) fn options() -> CompilationOptions {
    CompilationOptions {
        warp_size: 32,
        supports_features: CppSupportedFeatures {
            grid_constants: true,
            clusters: true,
            fast_math: true,
            fast_tanh: true,
            elect_sync: true,
            dp4a: true,
        },
        amd_wmma: None,
    }
}

fn describe_hopper() -> DeviceProperties {
    let memory = 141 << 30;
    let mut properties = DeviceProperties::new(
        Features::default(),
        MemoryDeviceProperties::new(memory / 4, 512).with_max_memory(memory),
        hardware(),
        TimingMethod::Device,
        DeviceIdentity {
            name: "NVIDIA H200, offline".into(),
            fingerprint: format!("ptx_sm{ARCHITECTURE}"),
            physical: None,
        },
    );
    register_supported_types(&mut properties);
    register_atomics(&mut properties);
    properties.register_opaque_type(OpaqueType::Barrier);
    properties.register_opaque_type(OpaqueType::TensorMap);

    let features = &mut properties.features;
    features.plane.insert(Plane::Ops);
    features.plane.insert(Plane::Sync);
    features.plane.insert(Plane::NonUniformControlFlow);
    features.tma.insert(Tma::Base);
    features.copy_async = true;
    features.cube_cluster = true;
    features.memory_reinterpret = true;
    features.alignment = true;
    features.device_memory_scope = true;
    for kind in [FloatKind::F16, FloatKind::BF16] {
        features.matmul.ldmatrix.insert(ElemType::Float(kind));
        features.matmul.stmatrix.insert(ElemType::Float(kind));
    }
    register_wmma_features(
        CudaCmmaCompiler::Cpp.supported_cmma_combinations(&ARCHITECTURE),
        &mut properties,
    );
    register_mma_features(supported_mma_combinations(&ARCHITECTURE), &mut properties);
    properties
}

const fn hardware() -> HardwareProperties {
    HardwareProperties {
        load_width: 128,
        vector_register_count: None,
        plane_size_min: 32,
        plane_size_max: 32,
        max_bindings: 1024,
        max_shared_memory_size: 227 * 1024,
        max_cube_count: (i32::MAX as u32, u16::MAX as u32, u16::MAX as u32),
        max_units_per_cube: 1024,
        max_cube_dim: (1024, 1024, 64),
        num_streaming_multiprocessors: Some(132),
        num_tensor_cores: Some(4),
        min_tensor_cores_dim: Some(8),
        num_cpu_cores: None,
        last_level_cache_size: None,
        max_vector_size: VectorSize::MAX,
        cube_mma_reserved_shared_memory: 0,
    }
}

/// The atomics that compute capability 9.0 adds to those of every NVIDIA GPU.
fn register_atomics(properties: &mut DeviceProperties) {
    let cells = AtomicUsage::Add | AtomicUsage::LoadStore | AtomicUsage::Exchange;
    let vector = |kind, size| Type::atomic(Type::new(ElemType::Float(kind)).with_vector_size(size));
    let double = Type::atomic(Type::new(ElemType::Float(FloatKind::F64)));
    properties.register_atomic_type_usage(double, cells);
    let half = Type::atomic(Type::new(ElemType::Float(FloatKind::F16)));
    properties.register_atomic_type_usage(half, AtomicUsage::Add);
    for kind in [FloatKind::F16, FloatKind::BF16] {
        for size in [2, 4, 8] {
            properties.register_atomic_type_usage(vector(kind, size), cells);
        }
        for size in [4, 8] {
            properties.register_atomic_type_usage(vector(kind, size), AtomicUsage::MinMax);
        }
    }
    for size in [2, 4] {
        properties.register_atomic_type_usage(vector(FloatKind::F32, size), cells);
    }
}
