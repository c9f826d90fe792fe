//! What operations do to packets, where CubeCL's own differ from device to device or end the process.

use super::Packet;
use super::packet::{Width, number, splat, width};
use cubecl::ir::dialect::cmp::{FMaxNanOp, FMinNanOp};
use cubecl::ir::{ConstantValue, ElemType, IntKind, UIntKind};
use cubecl::prelude::*;

pub(super) fn is_float<E: Scalar>(scope: &Scope) -> bool {
    matches!(E::elem_type(scope), ElemType::Float(_))
}

/// `number` in each lane, for a packet of the same width as `like`.
fn all<E: Scalar>(scope: &Scope, like: &Packet<E>, value: i64) -> Packet<E> {
    splat(scope, number::<E>(scope, value), width(scope, like))
}

/// Lane by lane, `then` where the condition holds.
pub(super) fn choose<E: Scalar>(
    scope: &Scope,
    condition: Packet<bool>,
    then: Packet<E>,
    otherwise: Packet<E>,
) -> Packet<E> {
    select::expand::<Vector<E, Width>>(scope, condition.expand.into(), then, otherwise)
}

/// Of integers, what a division by 0 or of the minimum by -1, both of which end the process on a CPU, is to give instead:
/// which lanes divide by 0, which by -1, and divisors that are neither.
struct Divisor<E: Scalar> {
    is_zero: Packet<bool>,
    is_minus_one: Option<Packet<bool>>,
    safe: Packet<E>,
}

impl<E: Numeric> Divisor<E> {
    fn of(scope: &Scope, divisor: Packet<E>) -> Self {
        let one = all(scope, &divisor, 1);
        let is_zero = equal(scope, divisor, all(scope, &divisor, 0));
        let safe = choose(scope, is_zero, one, divisor);
        let is_minus_one = E::elem_type(scope)
            .is_signed_int()
            .then(|| equal(scope, divisor, all(scope, &divisor, -1)));
        let safe = is_minus_one.map_or(safe, |is_it| choose(scope, is_it, one, safe));
        Self {
            is_zero,
            is_minus_one,
            safe,
        }
    }
}

/// Whether a known divisor can be divided by as it is.
pub(super) fn is_plain_divisor<E: Scalar>(scope: &Scope, known: Option<ConstantValue>) -> bool {
    let is_plain_integer = match known {
        Some(ConstantValue::Int(value)) => value != 0 && value != -1,
        Some(ConstantValue::UInt(value)) => value != 0,
        _ => false,
    };
    is_float::<E>(scope) || is_plain_integer
}

/// The quotient; of integers 0 where the divisor is 0, and wrapped where the quotient is out of range.
pub(super) fn quotient<E: Numeric>(
    scope: &Scope,
    number: Packet<E>,
    divisor: Packet<E>,
) -> Packet<E> {
    let by = Divisor::of(scope, divisor);
    let quotient = divide(scope, number, by.safe);
    let zero = all(scope, &number, 0);
    let quotient = by.is_minus_one.map_or(quotient, |is_it| {
        let negated = E::__expand_native_sub(scope, zero.expand, number.expand).into();
        choose(scope, is_it, negated, quotient)
    });
    choose(scope, by.is_zero, zero, quotient)
}

/// The remainder, of the number's sign; of integers 0 where the divisor is 0.
pub(super) fn remainder<E: Numeric>(
    scope: &Scope,
    number: Packet<E>,
    divisor: Packet<E>,
) -> Packet<E> {
    // What remains of a division by 1 is 0.
    let by = Divisor::of(scope, divisor);
    E::__expand_native_rem(scope, number.expand, by.safe.expand).into()
}

/// The quotient by what can be divided by.
pub(super) fn divide<E: Numeric>(
    scope: &Scope,
    number: Packet<E>,
    divisor: Packet<E>,
) -> Packet<E> {
    E::__expand_native_div(scope, number.expand, divisor.expand).into()
}

/// Whether the two are equal; NaN is not, and SPIR-V has no comparison of truth values.
pub(super) fn equal<E: Scalar>(scope: &Scope, a: Packet<E>, b: Packet<E>) -> Packet<bool> {
    if E::elem_type(scope).is_bool() {
        let differ = differ(scope, a.expand.into(), b.expand.into());
        return no(scope, differ);
    }
    E::__expand_native_eq(scope, a.expand, b.expand).into()
}

/// Whether the two are not equal. CubeCL's own comparison says no for NaN in SPIR-V.
pub(super) fn unequal<E: Scalar>(scope: &Scope, a: Packet<E>, b: Packet<E>) -> Packet<bool> {
    let are_equal = equal(scope, a, b);
    no(scope, are_equal)
}

/// Whether one of the two alone is true.
pub(super) fn differ(scope: &Scope, a: Packet<bool>, b: Packet<bool>) -> Packet<bool> {
    let (any, all) = (either(scope, a, b), both(scope, a, b));
    let is_one = no(scope, all);
    both(scope, any, is_one)
}

pub(super) fn no(scope: &Scope, value: Packet<bool>) -> Packet<bool> {
    not::expand::<Vector<bool, Width>>(scope, value)
}

pub(super) fn less<E: Numeric>(scope: &Scope, a: Packet<E>, b: Packet<E>) -> Packet<bool> {
    E::__expand_native_lt(scope, a.expand, b.expand).into()
}

pub(super) fn either(scope: &Scope, a: Packet<bool>, b: Packet<bool>) -> Packet<bool> {
    bool::__expand_native_bitor(scope, a.expand, b.expand).into()
}

pub(super) fn both(scope: &Scope, a: Packet<bool>, b: Packet<bool>) -> Packet<bool> {
    bool::__expand_native_bitand(scope, a.expand, b.expand).into()
}

/// The smaller; NaN where either is.
pub(super) fn smaller<E: Numeric>(scope: &Scope, a: Packet<E>, b: Packet<E>) -> Packet<E> {
    if is_float::<E>(scope) {
        let (a, b) = (a.read_value(scope), b.read_value(scope));
        let op = FMinNanOp::new(scope.ctx_mut(), a, b);
        return scope.register_with_result(&op).into();
    }
    E::__expand_native_min(scope, a.expand, b.expand).into()
}

/// The larger; NaN where either is.
pub(super) fn larger<E: Numeric>(scope: &Scope, a: Packet<E>, b: Packet<E>) -> Packet<E> {
    if is_float::<E>(scope) {
        let (a, b) = (a.read_value(scope), b.read_value(scope));
        let op = FMaxNanOp::new(scope.ctx_mut(), a, b);
        return scope.register_with_result(&op).into();
    }
    E::__expand_native_max(scope, a.expand, b.expand).into()
}

/// The magnitude; that of an integer's minimum wraps.
pub(super) fn magnitude<E: Numeric>(scope: &Scope, value: Packet<E>) -> Packet<E> {
    if E::elem_type(scope).is_signed_int() {
        let zero = all(scope, &value, 0);
        let negated = E::__expand_native_sub(scope, zero.expand, value.expand).into();
        return choose(scope, less(scope, value, zero), negated, value);
    }
    E::__expand_native_abs(scope, value.expand).into()
}

/// How far a shift goes: as many bits as the distance modulo the width of the element.
pub(super) fn distance<E: Int>(scope: &Scope, distance: Packet<E>) -> Packet<E> {
    let most = 8 * E::elem_type(scope).size() as i64 - 1;
    let most = all(scope, &distance, most);
    E::__expand_native_bitand(scope, distance.expand, most.expand).into()
}

/// The elements as those of another type.
pub(crate) fn convert<E: Scalar, F: Scalar>(scope: &Scope, packet: Packet<E>) -> Packet<F> {
    let (from, to) = (E::elem_type(scope), F::elem_type(scope));
    let width = width(scope, &packet);
    if from == to {
        return packet.expand.into();
    }
    if from == ElemType::Bool {
        let [zero, one] = [0, 1].map(|value| splat(scope, number::<F>(scope, value), width));
        return choose(scope, packet.expand.into(), one, zero);
    }
    if to == ElemType::Bool {
        let zero = all(scope, &packet, 0);
        return unequal(scope, packet, zero).expand.into();
    }
    scope.register_size::<Width>(width);
    // WGSL converts an integer of 32 bits to one of 64 and of the other kind by its bits: the sign is extended, or not, by
    // way of 64 bits of its own kind.
    match (from, to) {
        (ElemType::UInt(_), ElemType::Int(IntKind::I64)) => {
            let packet =
                Vector::<u64, Width>::__expand_cast_from::<Vector<E, Width>>(scope, packet);
            Vector::<F, Width>::__expand_cast_from::<Vector<u64, Width>>(scope, packet)
        }
        (ElemType::Int(_), ElemType::UInt(UIntKind::U64)) => {
            let packet =
                Vector::<i64, Width>::__expand_cast_from::<Vector<E, Width>>(scope, packet);
            Vector::<F, Width>::__expand_cast_from::<Vector<i64, Width>>(scope, packet)
        }
        _ => Vector::<F, Width>::__expand_cast_from::<Vector<E, Width>>(scope, packet),
    }
}
