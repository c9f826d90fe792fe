//! Targets whose compiler takes no operations from outside, WGSL among them: CubeCL's own, which are relaxed or more.

use super::super::ops::{Number, Update};
use cubecl::ir::{Scope, dialect::atomic::*};
use pliron::value::Value;

/// A relaxed load.
pub(in crate::memory) fn load(scope: &Scope, ptr: Value) -> Value {
    scope.register_with_result(&AtomicLoadOp::new(scope.ctx_mut(), ptr))
}

/// A relaxed store.
pub(in crate::memory) fn store(scope: &Scope, ptr: Value, value: Value) {
    scope.register(&AtomicStoreOp::new(scope.ctx_mut(), ptr, value));
}

/// A relaxed read-modify-write.
pub(in crate::memory) fn update(
    scope: &Scope,
    ptr: Value,
    value: Value,
    update: Update,
    number: Number,
) -> Value {
    macro_rules! register {
        ($op:ident) => {
            scope.register_with_result(&$op::new(scope.ctx_mut(), ptr, value))
        };
    }
    match (update, number) {
        (Update::Exchange, _) => register!(AtomicExchangeOp),
        (Update::Add, Number::Float) => register!(AtomicFAddOp),
        (Update::Add, _) => register!(AtomicIAddOp),
        (Update::Sub, Number::Float) => register!(AtomicFSubOp),
        (Update::Sub, _) => register!(AtomicISubOp),
        (Update::Min, Number::Float) => register!(AtomicFMinOp),
        (Update::Min, Number::Signed) => register!(AtomicSMinOp),
        (Update::Min, Number::Unsigned) => register!(AtomicUMinOp),
        (Update::Max, Number::Float) => register!(AtomicFMaxOp),
        (Update::Max, Number::Signed) => register!(AtomicSMaxOp),
        (Update::Max, Number::Unsigned) => register!(AtomicUMaxOp),
        (Update::And, _) => register!(AtomicAndOp),
        (Update::Or, _) => register!(AtomicOrOp),
        (Update::Xor, _) => register!(AtomicXorOp),
    }
}

/// A relaxed compare-exchange.
pub(in crate::memory) fn compare_exchange(
    scope: &Scope,
    ptr: Value,
    expected: Value,
    value: Value,
) -> Value {
    let op = AtomicCompareExchangeWeakOp::new(scope.ctx_mut(), ptr, expected, value);
    scope.register_with_result(&op)
}
