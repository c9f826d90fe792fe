//! Shared memory that a call uses again in the next round of a loop: when its units wait for each other.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use super::super::super::group::{Group, GroupExpand};
use super::super::super::machine::Kernel;
use super::teams::is_of_planes;
use cubecl::ir::OpInserter;
use cubecl::prelude::*;

/// How a call keeps what it puts down from what it put down the last time, which slower units may still read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reuse {
    /// There is no last time.
    Never,
    /// Two halves in turn: whoever writes a half again has been through the barrier of the other one, behind all who read.
    InTurn,
    /// By waiting again at the end.
    AfterWaiting,
}

fn reuse(group: &GroupExpand, scope: &Scope, is_large: bool) -> Reuse {
    // A loop, and nothing else, gives its body a flag to leave it by.
    let is_in_loop = scope.expand_state().inv_break_flag.is_some();
    match is_in_loop {
        false => Reuse::Never,
        // A mapping of one's own may tell the units apart in another way each round.
        true if is_large || group.has_own || !is_of_planes(&Kernel::of(scope), group) => {
            Reuse::AfterWaiting
        }
        true => Reuse::InTurn,
    }
}

/// How many halves the call's memory has.
#[cube]
#[allow(unused_variables)]
pub(super) fn halves(group: &Group, #[comptime] is_large: bool) -> comptime_type!(usize) {
    intrinsic!(|scope| {
        match reuse(group, scope, is_large) {
            Reuse::InTurn => 2,
            Reuse::Never | Reuse::AfterWaiting => 1,
        }
    })
}

/// Where the half starts that this round uses, of halves of `len` elements.
#[cube]
#[allow(unused_variables)]
pub(super) fn half(group: &Group, #[comptime] len: usize, #[comptime] is_large: bool) -> u32 {
    intrinsic!(|scope| {
        match reuse(group, scope, is_large) {
            Reuse::InTurn => take_turn(scope, len as u32),
            Reuse::Never | Reuse::AfterWaiting => 0u32.into(),
        }
    })
}

/// 0 and `len` in turn, in a register that outlives the rounds.
fn take_turn(scope: &Scope, len: u32) -> NativeExpand<u32> {
    let entry = scope.state().entry_func.get_entry_block(scope.ctx());
    let start = scope.child(OpInserter::new_at_block_start(entry));
    let mut turn = NativeExpand::<u32>::from(0u32).into_mut(&start);
    let now: NativeExpand<u32> = turn.read_value(scope).into();
    let next = now.__expand_bitxor_method(scope, len.into());
    turn.__expand_assign_method(scope, next);
    // It is no other bits, from which a compiler sees what is aligned.
    now.__expand_bitand_method(scope, len.into())
}

/// Waits for those who still read, where the next round would write over it.
#[cube]
#[allow(unused_variables)]
pub(super) fn wait_for_readers(
    group: &Group,
    #[comptime] call: &'static str,
    #[comptime] is_large: bool,
) {
    intrinsic!(|scope| {
        if reuse(group, scope, is_large) == Reuse::AfterWaiting {
            group.wait_together(&Kernel::of(scope), call);
        }
    })
}
