//! Vulkan: SPIR-V's atomics with memory semantics and a scope, under the Vulkan memory model.
//!
//! A release makes what the unit wrote available and an acquire makes what others released visible, in buffers and in
//! shared memory. By the letter of the model that covers accesses that are atomic, or marked non-private; CubeCL marks
//! its plain ones as private, so that what one cube hands to another belongs in atomics, relaxed ones at the least.

use super::super::ops::{
    AtScope, CompareExchangeOp, FenceOp, LoadOp, Number, Order, StoreOp, Update, UpdateOp,
};
use cubecl::ir::prelude::*;
use cubecl_spirv::ops::to_spirv_dialect::ToSpirvDialectOp;
use cubecl_spirv::types::ty_to_spirv_dialect;
use pliron::value::Value;
use pliron_spirv::ops;
use pliron_spirv::spirv::{Capability, MemorySemantics, Scope, StorageClass};
use pliron_spirv::types::PointerType;

/// The scope, no wider than the memory: shared memory is seen by one cube.
fn memory_scope(ctx: &Context, ptr: Value, scope: AtScope) -> Scope {
    let ty = ptr.get_type(ctx).deref(ctx);
    let shared = ty
        .downcast_ref::<PointerType>()
        .is_some_and(|ptr| ptr.storage_class == StorageClass::Workgroup);
    match scope {
        AtScope::Unit => Scope::Invocation,
        AtScope::Cube => Scope::Workgroup,
        _ if shared => Scope::Workgroup,
        // Vulkan has no scope of a cluster: the next wider one keeps the promise.
        AtScope::Cluster | AtScope::Device => Scope::Device,
        AtScope::System => unreachable!("refused when the kernel was expanded"),
    }
}

/// The order, over the memories that units share.
fn semantics(order: Order) -> MemorySemantics {
    let shared = MemorySemantics::UNIFORM_MEMORY | MemorySemantics::WORKGROUP_MEMORY;
    let (available, visible) = (
        MemorySemantics::MAKE_AVAILABLE,
        MemorySemantics::MAKE_VISIBLE,
    );
    match order {
        Order::Weak | Order::Relaxed => MemorySemantics::empty(),
        Order::Acquire => MemorySemantics::ACQUIRE | shared | visible,
        Order::Release => MemorySemantics::RELEASE | shared | available,
        Order::AcqRel => MemorySemantics::ACQUIRE_RELEASE | shared | available | visible,
        Order::SeqCst => unreachable!("refused when the kernel was expanded"),
    }
}

#[op_interface_impl]
impl ToSpirvDialectOp for LoadOp {
    fn to_spirv_dialect(
        &self,
        ctx: &mut Context,
        rewriter: &mut DialectConversionRewriter,
        _operands: &OperandsInfo,
    ) -> Result<()> {
        let ptr = self.ptr(ctx);
        let (order, scope) = (*self.order(ctx), *self.scope(ctx));
        let ty = ty_to_spirv_dialect(ctx, self.get_result(ctx).get_type(ctx));
        let scope = memory_scope(ctx, ptr, scope);
        let op = ops::AtomicLoadOp::new(ctx, ty, ptr, scope, semantics(order));
        rewriter.append_op(ctx, &op);
        rewriter.replace_operation(ctx, self.get_operation(), op.get_operation());
        Ok(())
    }
}

#[op_interface_impl]
impl ToSpirvDialectOp for StoreOp {
    fn to_spirv_dialect(
        &self,
        ctx: &mut Context,
        rewriter: &mut DialectConversionRewriter,
        _operands: &OperandsInfo,
    ) -> Result<()> {
        let (ptr, value) = (self.ptr(ctx), self.value(ctx));
        let (order, scope) = (*self.order(ctx), *self.scope(ctx));
        let scope = memory_scope(ctx, ptr, scope);
        let op = ops::AtomicStoreOp::new(ctx, ptr, scope, semantics(order), value);
        rewriter.append_op(ctx, &op);
        rewriter.replace_operation(ctx, self.get_operation(), op.get_operation());
        Ok(())
    }
}

#[op_interface_impl]
impl ToSpirvDialectOp for UpdateOp {
    fn to_spirv_dialect(
        &self,
        ctx: &mut Context,
        rewriter: &mut DialectConversionRewriter,
        _operands: &OperandsInfo,
    ) -> Result<()> {
        let (ptr, mut value) = (self.ptr(ctx), self.value(ctx));
        let (update, number) = (*self.update(ctx), *self.number(ctx));
        let (order, scope) = (*self.order(ctx), *self.scope(ctx));
        let ty = ty_to_spirv_dialect(ctx, self.get_result(ctx).get_type(ctx));
        let scope = memory_scope(ctx, ptr, scope);
        if (update, number) == (Update::Sub, Number::Float) {
            // SPIR-V adds floats and does not subtract them.
            let negated = ops::FNegateOp::new(ctx, ty, value);
            rewriter.append_op(ctx, &negated);
            value = negated.get_result(ctx);
        }
        macro_rules! replace_with {
            ($op:path) => {{
                let op = <$op>::new(ctx, ty, ptr, scope, semantics(order), value);
                rewriter.append_op(ctx, &op);
                rewriter.replace_operation(ctx, self.get_operation(), op.get_operation());
            }};
        }
        match (update, number) {
            (Update::Exchange, _) => replace_with!(ops::AtomicExchangeOp),
            (Update::Add | Update::Sub, Number::Float) => replace_with!(ops::ext::AtomicFAddOp),
            (Update::Add, _) => replace_with!(ops::AtomicIAddOp),
            (Update::Sub, _) => replace_with!(ops::AtomicISubOp),
            (Update::Min, Number::Float) => replace_with!(ops::ext::AtomicFMinOp),
            (Update::Min, Number::Signed) => replace_with!(ops::AtomicSMinOp),
            (Update::Min, Number::Unsigned) => replace_with!(ops::AtomicUMinOp),
            (Update::Max, Number::Float) => replace_with!(ops::ext::AtomicFMaxOp),
            (Update::Max, Number::Signed) => replace_with!(ops::AtomicSMaxOp),
            (Update::Max, Number::Unsigned) => replace_with!(ops::AtomicUMaxOp),
            (Update::And, _) => replace_with!(ops::AtomicAndOp),
            (Update::Or, _) => replace_with!(ops::AtomicOrOp),
            (Update::Xor, _) => replace_with!(ops::AtomicXorOp),
        }
        Ok(())
    }
}

#[op_interface_impl]
impl ToSpirvDialectOp for CompareExchangeOp {
    fn to_spirv_dialect(
        &self,
        ctx: &mut Context,
        rewriter: &mut DialectConversionRewriter,
        _operands: &OperandsInfo,
    ) -> Result<()> {
        let (ptr, expected, value) = (self.ptr(ctx), self.expected(ctx), self.value(ctx));
        let (order, scope) = (*self.order(ctx), *self.scope(ctx));
        let ty = ty_to_spirv_dialect(ctx, self.get_result(ctx).get_type(ctx));
        let scope = memory_scope(ctx, ptr, scope);
        let (equal, unequal) = (semantics(order), semantics(order.of_failure()));
        let op =
            ops::AtomicCompareExchangeOp::new(ctx, ty, ptr, scope, equal, unequal, value, expected);
        rewriter.append_op(ctx, &op);
        rewriter.replace_operation(ctx, self.get_operation(), op.get_operation());
        Ok(())
    }
}

#[op_interface_impl]
impl ToSpirvDialectOp for FenceOp {
    fn to_spirv_dialect(
        &self,
        ctx: &mut Context,
        rewriter: &mut DialectConversionRewriter,
        _operands: &OperandsInfo,
    ) -> Result<()> {
        let (order, scope) = (*self.order(ctx), *self.scope(ctx));
        let scope = match scope {
            AtScope::Unit => Scope::Invocation,
            AtScope::Cube => Scope::Workgroup,
            _ => Scope::Device,
        };
        if scope == Scope::Device {
            require_device_scope(ctx, self.get_operation());
        }
        let op = ops::MemoryBarrierOp::new(ctx, scope, semantics(order));
        rewriter.append_op(ctx, &op);
        rewriter.erase_operation(ctx, self.get_operation());
        Ok(())
    }
}

/// Declares what the Vulkan memory model asks of a module that orders at the device's scope. CubeCL does so for atomics
/// and for barriers of execution, but has no fence.
fn require_device_scope(ctx: &Context, op: Ptr<Operation>) {
    let mut parent = { op.deref(ctx).get_parent_op(ctx) };
    while let Some(op) = parent {
        if let Some(module) = Operation::get_op::<ops::SpirvModuleOp>(op, ctx) {
            return module.insert_capability(ctx, Capability::VulkanMemoryModelDeviceScopeKHR);
        }
        parent = op.deref(ctx).get_parent_op(ctx);
    }
}
