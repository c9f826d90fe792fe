//! Matrix multiply-accumulate by a warpgroup, four planes whose first is a multiple of four (`wgmma`).
//!
//! The accumulators of a product of 64 x `n` are `n / 2` registers of each unit, in an [`Array`] of
//! `f32` that the caller holds. Of unit `t` of the warpgroup's plane `w`, accumulator `i` is element
//! `(16 w + t % 32 / 4 + 8 (i / 2 % 2), 8 (i / 4) + 2 (t % 4) + i % 2)`.
//!
//! The operands are in shared memory, in rows of 128 bytes with their 16-byte parts exchanged as [`tma`](super::tma) leaves
//! them ([`descriptor()`]).
//!
//! All 128 units make every call, together:
//!
//! 1. [`fence()`] before the first multiplication after anything else touched the accumulators;
//! 2. any number of [`multiply()`], and [`commit()`];
//! 3. [`wait()`] before the accumulators are touched, or the operands overwritten.
//!
//! The accumulators are touched in unrolled loops alone: an index that is only known when the kernel runs moves all of
//! them to local memory, and has the compiler finish each multiplication before the next.

use super::emit::{Since, allowed};
use cubecl::prelude::*;

/// How an operand lies in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Major {
    /// A row of 128 bytes holds 64 elements along the axis that is summed over.
    K,
    /// A row holds 64 elements along the other axis, for one position of the axis that is summed over.
    Mn,
}

/// Registers of a unit's `n / 2` accumulators: 0, in a way that keeps the compiler from making them anew where branches
/// meet, which would have it finish each multiplication before the next.
#[cube]
pub fn zeros(#[comptime] n: usize) -> Array<f32> {
    let mut acc = Array::<f32>::new(comptime!(n / 2));
    #[unroll]
    for i in 0..comptime!(n / 2) {
        acc[i] = 0.0f32;
    }
    tie(&mut acc, n);
    acc
}

const SINCE: Since = Since::Only(90);

#[cube]
#[allow(unused_variables)]
fn tie(acc: &mut Array<f32>, #[comptime] n: usize) {
    intrinsic!(|scope| {
        if allowed(scope, "wgmma::zeros", SINCE) {
            let acc = acc.__extract_list(scope);
            #[cfg(feature = "cuda")]
            crate::cuda::wgmma_ops::tie(scope, acc, n);
        }
    })
}

/// Orders what touched the accumulators, and the operands, before the multiplications that follow.
#[cube]
#[allow(unused_variables)]
pub fn fence(acc: &mut Array<f32>, #[comptime] n: usize) {
    intrinsic!(|scope| {
        if allowed(scope, "wgmma::fence", SINCE) {
            let acc = acc.__extract_list(scope);
            #[cfg(feature = "cuda")]
            crate::cuda::wgmma_ops::fence(scope, acc, n);
        }
    })
}

/// Starts `acc = a b + acc`, or `a b` where `keep` is 0: `a` is 64 x 16, `b` 16 x `n`, of `E`, which is f16 or bf16.
#[cube]
#[allow(unused_variables)]
pub fn multiply<E: Float>(
    acc: &mut Array<f32>,
    a: u64,
    b: u64,
    keep: u32,
    #[comptime] n: usize,
    #[comptime] majors: [Major; 2],
) {
    intrinsic!(|scope| {
        if allowed(scope, "wgmma::multiply", SINCE) {
            let acc = acc.__extract_list(scope);
            let (a, b, keep) = (
                a.read_value(scope),
                b.read_value(scope),
                keep.read_value(scope),
            );
            #[cfg(feature = "cuda")]
            crate::cuda::wgmma_ops::multiply(
                scope,
                acc,
                [a, b, keep],
                n,
                majors,
                E::__expand_as_type(scope),
            );
        }
    })
}

/// Ends a group of multiplications.
#[cube]
pub fn commit() {
    intrinsic!(|scope| {
        if allowed(scope, "wgmma::commit", SINCE) {
            #[cfg(feature = "cuda")]
            crate::cuda::wgmma_ops::commit(scope);
        }
    })
}

/// Waits until at most `pending` of the groups that were ended are under way.
#[cube]
#[allow(unused_variables)]
pub fn wait(acc: &mut Array<f32>, #[comptime] n: usize, #[comptime] pending: usize) {
    intrinsic!(|scope| {
        if allowed(scope, "wgmma::wait", SINCE) {
            let acc = acc.__extract_list(scope);
            #[cfg(feature = "cuda")]
            crate::cuda::wgmma_ops::wait(scope, acc, n, pending);
        }
    })
}

/// Describes an operand that begins at an address, a multiple of 1024, in rows of 128 bytes exchanged by eights.
///
/// With [`Major::K`], row `r` is at `128 r`; the next 16 positions of K are 32 bytes further ([`next`]). With [`Major::Mn`],
/// position `k` of the 64 first elements is at `128 k`, those of the next 64 elements `block` bytes further; the next 16
/// positions of K are 2048 bytes further.
#[cube]
pub fn descriptor(address: u32, #[comptime] block: u32, #[comptime] major: Major) -> u64 {
    // Bits 0 to 13: the address in 16 bytes. 16 to 29: from 64 elements to the next, where a row does not hold K. 32 to 45:
    // from eight rows to the next. 62 and 63: rows of 128 bytes are exchanged.
    let leading = comptime!(match major {
        Major::K => 1u64,
        Major::Mn => block as u64 >> 4,
    });
    let rest = comptime!((1u64 << 62) | ((1024u64 >> 4) << 32) | (leading << 16));
    u64::cast_from((address & 0x3ffffu32) >> 4u32) | rest
}

/// What to add to a descriptor for the next 16 positions of K.
pub const fn next(major: Major) -> u64 {
    match major {
        Major::K => 32 >> 4,
        Major::Mn => 2048 >> 4,
    }
}
