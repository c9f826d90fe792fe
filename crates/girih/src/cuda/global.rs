//! Accesses to global memory that are one instruction: copies to shared memory 16 bytes at a time (`cp.async`), and
//! additions of 16 bytes at once (`red`).
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
