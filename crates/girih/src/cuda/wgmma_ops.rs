//! The instructions of [`wgmma`](super::wgmma) as operations that write their own CUDA C++.
//!
//! Inline PTX of CubeCL's has one result and no argument that is both read and written, and a multiplication has up to 128
//! of these. Here the accumulators are an array of the kernel's, and the text ties each of its elements to the instruction:
//! all their indices are constants, so that NVRTC keeps the array in registers.

use super::wgmma::Major;
use cubecl::ir::{
    AddressSpace, CanMaterialize, HasSideEffects, Scope,
    attributes::{BoolAttr, IndexAttr},
    interfaces::{
        TypedExt,
        side_effects::{MemoryEffect, MemoryEffectsOp},
    },
    prelude::*,
};
use cubecl_cpp::{
    shared::{CppValue, OpToCPP},
    target::Cuda,
};
use pliron::value::Value;

/// `wgmma.mma_async.sync.aligned.m64n{n}k16.f32`, both operands in shared memory.
#[cube_op(name = "girih.wgmma")]
#[result_ty(none)]
#[op_traits(CanMaterialize, HasSideEffects)]
pub(crate) struct WgmmaOp {
    acc: Value,
    a: Value,
    b: Value,
    keep: Value,
    n: IndexAttr,
    brain: BoolAttr,
    transpose_a: BoolAttr,
    transpose_b: BoolAttr,
}

/// `wgmma.fence.sync.aligned`, with the accumulators tied to it.
#[cube_op(name = "girih.wgmma_fence")]
#[result_ty(none)]
#[op_traits(CanMaterialize, HasSideEffects)]
pub(crate) struct WgmmaFenceOp {
    acc: Value,
    n: IndexAttr,
}

/// No instruction: what the accumulators are is hidden from the compiler.
#[cube_op(name = "girih.wgmma_tie")]
#[result_ty(none)]
#[op_traits(CanMaterialize, HasSideEffects)]
pub(crate) struct WgmmaTieOp {
    acc: Value,
    n: IndexAttr,
}

/// `wgmma.commit_group.sync.aligned`.
#[cube_op(name = "girih.wgmma_commit")]
#[result_ty(none)]
#[op_traits(CanMaterialize, HasSideEffects)]
pub(crate) struct WgmmaCommitOp {}

/// `wgmma.wait_group.sync.aligned`, with the accumulators tied to it: a read of one could else move above it.
#[cube_op(name = "girih.wgmma_wait")]
#[result_ty(none)]
#[op_traits(CanMaterialize, HasSideEffects)]
pub(crate) struct WgmmaWaitOp {
    acc: Value,
    n: IndexAttr,
    pending: IndexAttr,
}

pub(super) fn multiply(
    scope: &Scope,
    acc: Value,
    [a, b, keep]: [Value; 3],
    n: usize,
    majors: [Major; 2],
    element: TypeHandle,
) {
    let brain = BoolAttr(element.is_bfloat16(scope.ctx()));
    let [transpose_a, transpose_b] = majors.map(|major| BoolAttr(major == Major::Mn));
    let op = WgmmaOp::new(
        scope.ctx_mut(),
        acc,
        a,
        b,
        keep,
        IndexAttr(n),
        brain,
        transpose_a,
        transpose_b,
    );
    scope.register(&op);
}

pub(super) fn fence(scope: &Scope, acc: Value, n: usize) {
    scope.register(&WgmmaFenceOp::new(scope.ctx_mut(), acc, IndexAttr(n)));
}

pub(super) fn tie(scope: &Scope, acc: Value, n: usize) {
    scope.register(&WgmmaTieOp::new(scope.ctx_mut(), acc, IndexAttr(n)));
}

pub(super) fn commit(scope: &Scope) {
    scope.register(&WgmmaCommitOp::new(scope.ctx_mut()));
}

pub(super) fn wait(scope: &Scope, acc: Value, n: usize, pending: usize) {
    let op = WgmmaWaitOp::new(scope.ctx_mut(), acc, IndexAttr(n), IndexAttr(pending));
    scope.register(&op);
}

/// Shared memory may be read, and its copies may be waited for.
fn shared() -> Vec<MemoryEffect> {
    vec![
        MemoryEffect::ReadAllInSpace(AddressSpace::Shared),
        MemoryEffect::WriteAllInSpace(AddressSpace::Shared),
    ]
}

macro_rules! effects {
    ($($op:ident)*) => {$(
        #[op_interface_impl]
        impl MemoryEffectsOp for $op {
            fn memory_effects(&self, ctx: &Context) -> Vec<MemoryEffect> {
                let acc = self.acc(ctx);
                [vec![MemoryEffect::Read(acc), MemoryEffect::Write(acc)], shared()].concat()
            }
        }
    )*};
}
effects!(WgmmaOp WgmmaFenceOp WgmmaTieOp WgmmaWaitOp);

#[op_interface_impl]
impl MemoryEffectsOp for WgmmaCommitOp {
    fn memory_effects(&self, _: &Context) -> Vec<MemoryEffect> {
        shared()
    }
}

/// The accumulators of `n` columns as operands that are read and written.
fn tied(ctx: &Context, acc: Value, n: usize) -> String {
    let acc = acc.name(ctx);
    let each = (0..n / 2).map(|i| format!("\"+f\"((*{acc})[{i}])"));
    each.collect::<Vec<_>>().join(", ")
}

#[op_interface_impl]
impl OpToCPP<Cuda> for WgmmaOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let n = self.n(ctx).0;
        let count = n / 2;
        let acc = tied(ctx, self.acc(ctx), n);
        let registers: Vec<_> = (0..count).map(|i| format!("%{i}")).collect();
        let registers = registers.join(", ");
        let (a, b, keep) = (count, count + 1, count + 2);
        let element = if self.brain(ctx).0 { "bf16" } else { "f16" };
        let [transpose_a, transpose_b] =
            [self.transpose_a(ctx).0, self.transpose_b(ctx).0].map(u32::from);
        let inputs = format!(
            "\"l\"({}), \"l\"({}), \"r\"({})",
            self.a(ctx).name(ctx),
            self.b(ctx).name(ctx),
            self.keep(ctx).name(ctx)
        );
        // After the predicate: neither operand is negated; which of them are transposed.
        format!(
            "asm volatile(\"{{\\n.reg .pred keep;\\nsetp.ne.b32 keep, %{keep}, 0;\\n\
             wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{element}.{element} {{{registers}}}, %{a}, %{b}, keep, \
             1, 1, {transpose_a}, {transpose_b};\\n}}\\n\" : {acc} : {inputs});\n"
        )
    }
}

#[op_interface_impl]
impl OpToCPP<Cuda> for WgmmaFenceOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let acc = tied(ctx, self.acc(ctx), self.n(ctx).0);
        format!("asm volatile(\"wgmma.fence.sync.aligned;\" : {acc} :: \"memory\");\n")
    }
}

#[op_interface_impl]
impl OpToCPP<Cuda> for WgmmaTieOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let acc = tied(ctx, self.acc(ctx), self.n(ctx).0);
        format!("asm volatile(\"\" : {acc});\n")
    }
}

#[op_interface_impl]
impl OpToCPP<Cuda> for WgmmaCommitOp {
    fn to_cpp(&self, _: &Context) -> String {
        "asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n".into()
    }
}

#[op_interface_impl]
impl OpToCPP<Cuda> for WgmmaWaitOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let acc = tied(ctx, self.acc(ctx), self.n(ctx).0);
        let pending = self.pending(ctx).0;
        format!(
            "asm volatile(\"wgmma.wait_group.sync.aligned {pending};\" : {acc} :: \"memory\");\n"
        )
    }
}
