//! HIP: Clang's atomic builtins, with an order and a scope of their own.

use super::super::ops::{
    AtScope, CompareExchangeOp, FenceOp, LoadOp, Number, Order, StoreOp, Update, UpdateOp,
};
use cubecl::ir::prelude::*;
use cubecl_cpp::shared::{CppValue, OpToCPP, ty::TypeExtCPP};
use cubecl_cpp::target::Hip;
use pliron::value::Value;

fn order_name(order: Order) -> &'static str {
    match order {
        Order::Weak | Order::Relaxed => "__ATOMIC_RELAXED",
        Order::Acquire => "__ATOMIC_ACQUIRE",
        Order::Release => "__ATOMIC_RELEASE",
        Order::AcqRel => "__ATOMIC_ACQ_REL",
        Order::SeqCst => "__ATOMIC_SEQ_CST",
    }
}

fn scope_name(scope: AtScope) -> &'static str {
    match scope {
        AtScope::Unit => "__HIP_MEMORY_SCOPE_SINGLETHREAD",
        AtScope::Cube => "__HIP_MEMORY_SCOPE_WORKGROUP",
        // HIP has no scope of a cluster: the next wider one keeps the promise.
        AtScope::Cluster | AtScope::Device => "__HIP_MEMORY_SCOPE_AGENT",
        AtScope::System => "__HIP_MEMORY_SCOPE_SYSTEM",
    }
}

/// The names that `__builtin_amdgcn_fence` has for scopes.
fn fence_scope(scope: AtScope) -> &'static str {
    match scope {
        AtScope::Unit => "singlethread",
        AtScope::Cube => "workgroup",
        AtScope::Cluster | AtScope::Device => "agent",
        AtScope::System => "",
    }
}

/// The pointer, as one to values of the type: the bits of a float may be exchanged as an integer.
fn pointer(ctx: &Context, ptr: Value, ty: TypeHandle) -> String {
    format!("reinterpret_cast<{}*>({})", ty.to_cpp(ctx), ptr.name(ctx))
}

#[op_interface_impl]
impl OpToCPP<Hip> for LoadOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let result = self.get_result(ctx);
        let ptr = pointer(ctx, self.ptr(ctx), result.get_type(ctx));
        let (order, scope) = (order_name(*self.order(ctx)), scope_name(*self.scope(ctx)));
        let out = result.fmt_left(ctx);
        format!("{out} = __hip_atomic_load({ptr}, {order}, {scope});\n")
    }
}

#[op_interface_impl]
impl OpToCPP<Hip> for StoreOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let value = self.value(ctx);
        let ptr = pointer(ctx, self.ptr(ctx), value.get_type(ctx));
        let (order, scope) = (order_name(*self.order(ctx)), scope_name(*self.scope(ctx)));
        let value = value.name(ctx);
        format!("__hip_atomic_store({ptr}, {value}, {order}, {scope});\n")
    }
}

#[op_interface_impl]
impl OpToCPP<Hip> for UpdateOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let (value, number) = (self.value(ctx), *self.number(ctx));
        let ptr = pointer(ctx, self.ptr(ctx), value.get_type(ctx));
        let (order, scope) = (order_name(*self.order(ctx)), scope_name(*self.scope(ctx)));
        let (value, out) = (value.name(ctx), self.get_result(ctx).fmt_left(ctx));
        let (function, value) = match *self.update(ctx) {
            Update::Exchange => ("exchange", format!("{value}")),
            Update::Add => ("fetch_add", format!("{value}")),
            // Clang subtracts integers atomically, and floats by adding what they are not.
            Update::Sub if number == Number::Float => ("fetch_add", format!("-{value}")),
            Update::Sub => ("fetch_sub", format!("{value}")),
            Update::Min => ("fetch_min", format!("{value}")),
            Update::Max => ("fetch_max", format!("{value}")),
            Update::And => ("fetch_and", format!("{value}")),
            Update::Or => ("fetch_or", format!("{value}")),
            Update::Xor => ("fetch_xor", format!("{value}")),
        };
        format!("{out} = __hip_atomic_{function}({ptr}, {value}, {order}, {scope});\n")
    }
}

#[op_interface_impl]
impl OpToCPP<Hip> for CompareExchangeOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let (expected, value) = (self.expected(ctx), self.value(ctx));
        let ty = value.get_type(ctx);
        let ptr = pointer(ctx, self.ptr(ctx), ty);
        let (order, scope) = (*self.order(ctx), scope_name(*self.scope(ctx)));
        let (success, failure) = (order_name(order), order_name(order.of_failure()));
        let (ty, out) = (ty.to_cpp(ctx), self.get_result(ctx).fmt_left(ctx));
        let (expected, value) = (expected.name(ctx), value.name(ctx));
        format!(
            "{out} = [&]() {{ {ty} held = {expected}; __hip_atomic_compare_exchange_strong({ptr}, &held, {value}, \
             {success}, {failure}, {scope}); return held; }}();\n"
        )
    }
}

#[op_interface_impl]
impl OpToCPP<Hip> for FenceOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let (order, scope) = (order_name(*self.order(ctx)), fence_scope(*self.scope(ctx)));
        format!("__builtin_amdgcn_fence({order}, \"{scope}\");\n")
    }
}
