//! From one access to IR: girih's own operations where the target lowers them, CubeCL's elsewhere.

use super::access::{AtomicAccess, Operation, Path, path};
use super::lower;
use super::ops::{
    AtScope, CompareExchangeOp, FenceOp, LoadOp, Number, Order, StoreOp, Update, UpdateOp,
};
use super::order::MemoryOrder;
use super::scope::MemoryScope;
use crate::device::{Target, expanded_for};
use cubecl::ir::dialect::general::PoisonOp;
use cubecl::ir::{DeviceProperties, ElemType, Scope, prelude::TypeHandle};
use pliron::value::Value;
use std::rc::Rc;

/// Where and how one access is done.
#[derive(Clone, Copy)]
pub(super) struct Site {
    pub ptr: Value,
    pub order: MemoryOrder,
    pub scope: MemoryScope,
}

impl Site {
    fn attributes(self) -> (Order, AtScope) {
        (self.order.into(), self.scope.into())
    }
}

/// The device that the kernel is expanded for.
fn device(scope: &Scope) -> (Target, Rc<DeviceProperties>) {
    expanded_for(scope)
        .unwrap_or_else(|| panic!("girih: a kernel with atomic accesses is expanded for no device"))
}

/// How the device does the access. Where it cannot, the kernel fails by name at the first read of what it writes.
pub(super) fn checked(scope: &Scope, access: &AtomicAccess) -> Option<Path> {
    let (target, properties) = device(scope);
    let path = path(target, &properties, access);
    if path.is_none() {
        scope.push_error(format!(
            "girih: {} has no {access}; `Device::require_atomic` says so before a launch",
            properties.identity.name
        ));
    }
    path
}

/// Whether the bits of the element are exchanged by an operation of the device's own.
pub(super) fn exchanges(scope: &Scope, bits: ElemType) -> bool {
    let (target, properties) = device(scope);
    let access = AtomicAccess::new(Operation::Exchange, bits);
    super::access::is_native(target, &properties, &access)
}

/// A value of the type that stands for nothing: the kernel is not going to run.
pub(super) fn poison(scope: &Scope, ty: TypeHandle) -> Value {
    scope.register_with_result(&PoisonOp::new(scope.ctx_mut(), ty))
}

fn is_lowered(scope: &Scope) -> bool {
    device(scope).0.is_lowered()
}

pub(super) fn load(scope: &Scope, at: Site, ty: TypeHandle) -> Value {
    if !is_lowered(scope) {
        return lower::portable::load(scope, at.ptr);
    }
    let (order, at_scope) = at.attributes();
    let op = LoadOp::new(scope.ctx_mut(), ty, at.ptr, order, at_scope);
    scope.register_with_result(&op)
}

pub(super) fn store(scope: &Scope, at: Site, value: Value) {
    if !is_lowered(scope) {
        return lower::portable::store(scope, at.ptr, value);
    }
    let (order, at_scope) = at.attributes();
    let op = StoreOp::new(scope.ctx_mut(), at.ptr, value, order, at_scope);
    scope.register(&op);
}

pub(super) fn update(
    scope: &Scope,
    at: Site,
    value: Value,
    operation: Operation,
    element: ElemType,
) -> Value {
    let update = match operation {
        Operation::Exchange => Update::Exchange,
        Operation::Add => Update::Add,
        Operation::Sub => Update::Sub,
        Operation::Min => Update::Min,
        Operation::Max => Update::Max,
        Operation::And => Update::And,
        Operation::Or => Update::Or,
        Operation::Xor => Update::Xor,
        _ => unreachable!("{operation} is not one update"),
    };
    let number = match element {
        ElemType::Float(_) => Number::Float,
        ElemType::Int(_) => Number::Signed,
        _ => Number::Unsigned,
    };
    if !is_lowered(scope) {
        return lower::portable::update(scope, at.ptr, value, update, number);
    }
    let (order, at_scope) = at.attributes();
    let op = UpdateOp::new(
        scope.ctx_mut(),
        at.ptr,
        value,
        update,
        number,
        order,
        at_scope,
    );
    scope.register_with_result(&op)
}

pub(super) fn compare_exchange(scope: &Scope, at: Site, expected: Value, value: Value) -> Value {
    if !is_lowered(scope) {
        return lower::portable::compare_exchange(scope, at.ptr, expected, value);
    }
    let (order, at_scope) = at.attributes();
    let op = CompareExchangeOp::new(scope.ctx_mut(), at.ptr, expected, value, order, at_scope);
    scope.register_with_result(&op)
}

pub(super) fn fence(scope: &Scope, order: MemoryOrder, at_scope: MemoryScope) {
    let op = FenceOp::new(scope.ctx_mut(), Order::from(order), AtScope::from(at_scope));
    scope.register(&op);
}
