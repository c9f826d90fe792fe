//! Shared memory.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use cubecl::prelude::*;

/// Memory of `len` elements that the units of this cube share, uninitialised.
///
/// It is CubeCL's `Shared::new_slice`, and works also on Vulkan devices without `VK_KHR_workgroup_memory_explicit_layout`,
/// for which CubeCL 0.11.3 alone writes SPIR-V that no driver takes (Mesa's lavapipe crashes on it).
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
///
/// /// Each unit gives what its neighbour has.
/// #[cube(launch_unchecked)]
/// fn rotate(values: &mut [u32]) {
///     let mut shared = shared::<u32>(256usize);
///     shared[UNIT_POS as usize] = values[UNIT_POS as usize];
///     sync_cube();
///     values[UNIT_POS as usize] = shared[((UNIT_POS + 1) % CUBE_DIM) as usize];
/// }
/// # fn main() {}
/// ```
#[cube]
pub fn shared<E: CubePrimitive>(#[comptime] len: usize) -> Shared<[E]> {
    declare();
    Shared::<[E]>::new_slice(len)
}

/// The same, from a multiple of `alignment` bytes on: a power of two.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::memory::shared_aligned;
///
/// /// Each unit gives the four numbers that its neighbour has, in accesses of 16 bytes.
/// #[cube(launch_unchecked)]
/// fn rotate(values: &mut [Vector<u32, Const<4>>]) {
///     let mut shared = shared_aligned::<Vector<u32, Const<4>>>(256usize, 16usize);
///     shared[UNIT_POS as usize] = values[UNIT_POS as usize];
///     sync_cube();
///     values[UNIT_POS as usize] = shared[((UNIT_POS + 1) % CUBE_DIM) as usize];
/// }
/// # fn main() {}
/// ```
#[cube]
pub fn shared_aligned<E: CubePrimitive>(
    #[comptime] len: usize,
    #[comptime] alignment: usize,
) -> Shared<[E]> {
    declare();
    Shared::<[E]>::new_aligned_slice(len, alignment)
}

/// What a target needs beside CubeCL's declaration of shared memory.
#[cube]
#[allow(unused_variables)]
fn declare() {
    intrinsic!(|scope| {
        #[cfg(feature = "vulkan")]
        crate::memory::lower::vulkan_shared_memory::register(scope);
    })
}
