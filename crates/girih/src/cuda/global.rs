//! Accesses to global memory that are one instruction: copies to shared memory 16 bytes at a time (`cp.async`),
//! additions of 16 bytes at once (`red`), and loads and stores at an address that is a number.
//!
//! Copies are plain stores to shared memory that happen later: [`wait_copies()`], then
//! [`fence_async`](super::fence_async()) before tensor cores read them.

use super::emit::{Instruction, Since};
use cubecl::ir::interfaces::TypedExt;
use cubecl::prelude::*;

/// Starts a copy of `bytes` bytes, up to 16, to an address of shared memory that is a multiple of 16; the rest of the 16 is 0.
#[cube]
pub fn copy_16<V: CubePrimitive>(to: u32, from: *const V, bytes: u32) {
    intrinsic!(|scope| {
        // SAFETY: the pointer is an expression of the kernel, which lives as long as its scope.
        let from = unsafe { *from }.value(scope);
        Instruction {
            call: "global::copy_16",
            since: Since::Sm(80),
            text: "cp.async.cg.shared.global [$0], [$1], 16, $2;",
            memory: true,
        }
        .run(
            scope,
            vec![to.read_value(scope), from, bytes.read_value(scope)],
        );
    })
}

/// Where a place of global memory is, in bytes. A kernel that chooses between buffers while it runs chooses between their addresses, and
/// has what reads or writes them once, rather than once for each buffer: [`load_at()`] and [`store_at()`].
///
/// ```
/// use cubecl::prelude::*;
/// use girih::cuda::global::{address, further, load_at};
///
/// /// The list that is asked for.
/// #[cube(launch_unchecked)]
/// fn choose(first: &[u32], second: &[u32], out: &mut [u32], takes_second: u32) {
///     let from = select(
///         takes_second == 1u32,
///         address::<u32>(second[0usize..1usize].as_ptr()),
///         address::<u32>(first[0usize..1usize].as_ptr()),
///     );
///     out[UNIT_POS as usize] = load_at::<u32>(further::<u32>(from, UNIT_POS as usize), 0usize);
/// }
/// # fn main() {}
/// ```
#[cube]
pub fn address<V: CubePrimitive>(place: *const V) -> u64 {
    intrinsic!(|scope| {
        // SAFETY: the pointer is an expression of the kernel, which lives as long as its scope.
        let place = unsafe { *place }.value(scope);
        let ty = u64::__expand_as_type(scope);
        // A generic address of global memory is the address in it. Any buffer may be read and written by it.
        let address = Instruction {
            call: "global::address",
            since: Since::Sm(80),
            text: "mov.b64 $0, $1;",
            memory: true,
        }
        .value(scope, ty, vec![place]);
        address.into()
    })
}

/// The address so many elements further.
#[cube]
pub fn further<V: CubePrimitive>(address: u64, elements: usize) -> u64 {
    let element = elem_type_of::<V>();
    address + u64::cast_from(elements) * comptime!(element.size() as u64)
}

/// The element `beyond` elements beyond an address of global memory; of 8 to 64 bits, at a multiple of its size. Others may have
/// written it before in the same launch, if what they did and this are in order.
#[cube]
pub fn load_at<V: Int>(address: u64, #[comptime] beyond: usize) -> V {
    intrinsic!(|scope| {
        let ty = V::__expand_as_type(scope);
        let bits = ty.size_bits(scope.ctx());
        let load = Instruction {
            call: "global::load_at",
            since: Since::Sm(80),
            text: &format!("ld.global.b{bits} $0, [$1+{}];", beyond * bits / 8),
            memory: false,
        };
        let address = vec![address.read_value(scope)];
        match bits {
            // No register is as narrow.
            8 => {
                let ty = u16::__expand_as_type(scope);
                let wide: NativeExpand<u16> = load.value(scope, ty, address).into();
                V::__expand_cast_from(scope, wide)
            }
            _ => load.value(scope, ty, address).into(),
        }
    })
}

/// Writes a number of 8 to 64 bits to an address of global memory that is a multiple of its size.
#[cube]
pub fn store_at<V: Int>(address: u64, value: V) {
    intrinsic!(|scope| {
        let bits = V::__expand_as_type(scope).size_bits(scope.ctx());
        let value = match bits {
            // No register is as narrow.
            8 => u16::__expand_cast_from(scope, value).read_value(scope),
            _ => value.read_value(scope),
        };
        Instruction {
            call: "global::store_at",
            since: Since::Sm(80),
            text: &format!("st.global.b{bits} [$0], $1;"),
            memory: true,
        }
        .run(scope, vec![address.read_value(scope), value]);
    })
}

/// Asks for a place of global memory, and the 128 bytes that it is in, to be brought to the cache that all processors share; nobody
/// waits for it.
#[cube]
pub fn prefetch<V: CubePrimitive>(from: *const V) {
    intrinsic!(|scope| {
        // SAFETY: the pointer is an expression of the kernel, which lives as long as its scope.
        let from = unsafe { *from }.value(scope);
        Instruction {
            call: "global::prefetch",
            since: Since::Sm(80),
            text: "prefetch.global.L2 [$0];",
            memory: true,
        }
        .run(scope, vec![from]);
    })
}

/// Ends a group of this unit's copies.
#[cube]
pub fn commit_copies() {
    intrinsic!(|scope| {
        Instruction {
            call: "global::commit_copies",
            since: Since::Sm(80),
            text: "cp.async.commit_group;",
            memory: true,
        }
        .run(scope, vec![]);
    })
}

/// Waits until at most `pending` of the groups of copies that this unit ended are under way.
#[cube]
pub fn wait_copies(#[comptime] pending: u32) {
    intrinsic!(|scope| {
        Instruction {
            call: "global::wait_copies",
            since: Since::Sm(80),
            text: &format!("cp.async.wait_group {pending};"),
            memory: true,
        }
        .run(scope, vec![]);
    })
}

/// Adds a vector of 16 bytes, of f16, bf16 or f32, to the one in a place of global memory, each element atomically.
#[cube]
pub fn add_16<V: CubePrimitive>(to: *const V, value: V) {
    intrinsic!(|scope| {
        scope.register_size::<Word>(4);
        let element = V::__expand_as_type(scope).scalar_ty(scope.ctx());
        let text = match (
            element.size_bits(scope.ctx()),
            element.is_bfloat16(scope.ctx()),
        ) {
            (32, _) => "red.relaxed.gpu.global.add.v4.f32 [$0], $1;",
            (_, true) => "red.relaxed.gpu.global.add.noftz.v4.bf16x2 [$0], $1;",
            _ => "red.relaxed.gpu.global.add.noftz.v4.f16x2 [$0], $1;",
        };
        // SAFETY: the pointer is an expression of the kernel, which lives as long as its scope.
        let to = unsafe { *to }.value(scope);
        let value = match element.size_bits(scope.ctx()) {
            32 => value.read_value(scope),
            _ => {
                let words = Vector::<u32, Word>::__expand_reinterpret::<V>(scope, value);
                words.read_value(scope)
            }
        };
        Instruction {
            call: "global::add_16",
            since: Since::Sm(90),
            text,
            memory: true,
        }
        .run(scope, vec![to, value]);
    })
}

define_size!(Word);
