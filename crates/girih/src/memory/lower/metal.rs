//! Metal: relaxed atomics, with a fence before what releases and after what acquires (MSL 3.2).

use super::super::ops::{
    AtScope, CompareExchangeOp, FenceOp, LoadOp, Order, StoreOp, Update, UpdateOp,
};
use cubecl::ir::prelude::*;
use cubecl_cpp::shared::{CppValue, OpToCPP, ty::TypeExtCPP};
use cubecl_cpp::target::Metal;

fn scope_name(scope: AtScope) -> &'static str {
    match scope {
        AtScope::Unit => "thread_scope_thread",
        AtScope::Cube => "thread_scope_threadgroup",
        AtScope::Cluster | AtScope::Device => "thread_scope_device",
        AtScope::System => unreachable!("refused when the kernel was expanded"),
    }
}

/// A fence over the memories that units share; nothing where the order asks for none.
fn fence(order: &str, scope: AtScope) -> String {
    let scope = scope_name(scope);
    format!(
        "atomic_thread_fence(mem_flags::mem_device | mem_flags::mem_threadgroup, memory_order_{order}, {scope});\n"
    )
}

/// What goes before and after an access of that order.
fn fences(order: Order, scope: AtScope) -> (String, String) {
    let (release, acquire) = (|| fence("release", scope), || fence("acquire", scope));
    match order {
        Order::Weak | Order::Relaxed => (String::new(), String::new()),
        Order::Acquire => (String::new(), acquire()),
        Order::Release => (release(), String::new()),
        Order::AcqRel => (release(), acquire()),
        Order::SeqCst => (fence("seq_cst", scope), acquire()),
    }
}

#[op_interface_impl]
impl OpToCPP<Metal> for LoadOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let (before, after) = fences(*self.order(ctx), *self.scope(ctx));
        let (ptr, out) = (self.ptr(ctx).name(ctx), self.get_result(ctx).fmt_left(ctx));
        format!("{before}{out} = atomic_load_explicit({ptr}, memory_order_relaxed);\n{after}")
    }
}

#[op_interface_impl]
impl OpToCPP<Metal> for StoreOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let (before, after) = fences(*self.order(ctx), *self.scope(ctx));
        let (ptr, value) = (self.ptr(ctx).name(ctx), self.value(ctx).name(ctx));
        format!("{before}atomic_store_explicit({ptr}, {value}, memory_order_relaxed);\n{after}")
    }
}

#[op_interface_impl]
impl OpToCPP<Metal> for UpdateOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let (before, after) = fences(*self.order(ctx), *self.scope(ctx));
        let function = match *self.update(ctx) {
            Update::Exchange => "exchange",
            Update::Add => "fetch_add",
            Update::Sub => "fetch_sub",
            Update::Min => "fetch_min",
            Update::Max => "fetch_max",
            Update::And => "fetch_and",
            Update::Or => "fetch_or",
            Update::Xor => "fetch_xor",
        };
        let (ptr, value) = (self.ptr(ctx).name(ctx), self.value(ctx).name(ctx));
        let out = self.get_result(ctx).fmt_left(ctx);
        format!(
            "{before}{out} = atomic_{function}_explicit({ptr}, {value}, memory_order_relaxed);\n{after}"
        )
    }
}

#[op_interface_impl]
impl OpToCPP<Metal> for CompareExchangeOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let (before, after) = fences(*self.order(ctx), *self.scope(ctx));
        let (ptr, value) = (self.ptr(ctx).name(ctx), self.value(ctx));
        let (ty, expected) = (
            value.get_type(ctx).to_cpp(ctx),
            self.expected(ctx).name(ctx),
        );
        let (value, out) = (value.name(ctx), self.get_result(ctx).fmt_left(ctx));
        // Metal's only compare-exchange may fail without cause: a failure that saw what was expected is tried again.
        format!(
            "{before}{out} = [&]() {{ {ty} held = {expected}; while (!atomic_compare_exchange_weak_explicit({ptr}, \
             &held, {value}, memory_order_relaxed, memory_order_relaxed) && held == {expected}) {{}} return held; \
             }}();\n{after}"
        )
    }
}

#[op_interface_impl]
impl OpToCPP<Metal> for FenceOp {
    fn to_cpp(&self, ctx: &Context) -> String {
        let order = match *self.order(ctx) {
            Order::Acquire => "acquire",
            Order::Release => "release",
            Order::SeqCst => "seq_cst",
            _ => "acq_rel",
        };
        fence(order, *self.scope(ctx))
    }
}
