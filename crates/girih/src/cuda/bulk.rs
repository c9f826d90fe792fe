//! Copies of bytes that lie side by side between global and shared memory, started by one unit (`cp.async.bulk`).
//!
//! Both addresses and the number of bytes are multiples of 16.

use super::emit::{Instruction, Since};
use cubecl::prelude::*;

const SINCE: Since = Since::Sm(90);

/// Starts a copy of `bytes` bytes of global memory to `to`, and counts them at `barrier`, which has to
/// [expect](crate::cuda::mbarrier::expect()) them. Where `to` was read or written by plain accesses before, these are waited for,
/// and then [fenced](crate::cuda::fence_async()).
#[cube]
pub fn load<V: CubePrimitive>(to: u32, from: *const V, bytes: u32, barrier: u32) {
    intrinsic!(|scope| {
        // SAFETY: the pointer is an expression of the kernel, which lives as long as its scope.
        let from = unsafe { *from }.value(scope);
        Instruction {
            call: "bulk::load",
            since: SINCE,
            text: "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];",
            memory: true,
        }
        .run(
            scope,
            vec![
                to.read_value(scope),
                from,
                bytes.read_value(scope),
                barrier.read_value(scope),
            ],
        );
    })
}

/// Starts a copy of `bytes` bytes of shared memory to global memory. What plain stores wrote there is to be
/// [made visible](crate::cuda::fence_async()) first, by those who wrote it.
#[cube]
pub fn store<V: CubePrimitive>(to: *const V, from: u32, bytes: u32) {
    intrinsic!(|scope| {
        // SAFETY: the pointer is an expression of the kernel, which lives as long as its scope.
        let to = unsafe { *to }.value(scope);
        Instruction {
            call: "bulk::store",
            since: SINCE,
            text: "cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2;",
            memory: true,
        }
        .run(
            scope,
            vec![to, from.read_value(scope), bytes.read_value(scope)],
        );
    })
}

/// Waits until the stores that this unit started have read shared memory, which a cube may not leave before.
#[cube]
pub fn wait_read() {
    intrinsic!(|scope| {
        Instruction {
            call: "bulk::wait_read",
            since: SINCE,
            text: "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;",
            memory: true,
        }
        .run(scope, vec![]);
    })
}
