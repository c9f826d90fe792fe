//! Packets: what one unit moves in one access, a vector whose width is known when the kernel is expanded.

use cubecl::ir::ConstantValue;
use cubecl::ir::interfaces::TypedExt;
use cubecl::prelude::*;

define_size!(pub(crate) Width);

/// A vector of `E`; its width is that of the value itself ([`width`]), not of the type.
pub(crate) type Packet<E> = NativeExpand<Vector<E, Width>>;

/// A whole number as an element; of truth values, whether it is not 0.
pub(crate) fn number<E: Scalar>(scope: &Scope, value: i64) -> NativeExpand<E> {
    E::elem_type(scope)
        .constant(ConstantValue::Int(value))
        .into()
}

/// What the value is now, whatever the kernel assigns to the variable that it came from.
pub(crate) fn now<E: Scalar>(scope: &Scope, value: NativeExpand<E>) -> NativeExpand<E> {
    match value.expand.as_const() {
        Some(_) => value,
        None => value.read_value(scope).into(),
    }
}

/// The only lane of a packet of one.
pub(crate) fn only<E: Scalar>(scope: &Scope, packet: Packet<E>) -> NativeExpand<E> {
    packet.read_value(scope).into()
}

/// Every lane of the packet.
pub(crate) fn lanes<E: Scalar>(scope: &Scope, packet: Packet<E>) -> Vec<NativeExpand<E>> {
    let width = width(scope, &packet);
    (0..width).map(|index| lane(scope, packet, index)).collect()
}

/// How many elements the packet holds.
pub(crate) fn width<E: Scalar>(scope: &Scope, packet: &Packet<E>) -> usize {
    packet.read_value(scope).vector_size(scope.ctx())
}

/// The packet that holds `value` in each of `width` lanes.
pub(crate) fn splat<E: Scalar>(scope: &Scope, value: NativeExpand<E>, width: usize) -> Packet<E> {
    scope.register_size::<Width>(width);
    Vector::<E, Width>::__expand_new(scope, value)
}

/// Lane `index` of the packet.
pub(crate) fn lane<E: Scalar>(scope: &Scope, packet: Packet<E>, index: usize) -> NativeExpand<E> {
    packet.__expand_extract_method(scope, index)
}

/// The packet made of these lanes.
pub(crate) fn join<E: Scalar>(scope: &Scope, lanes: &[NativeExpand<E>]) -> Packet<E> {
    if let [only] = lanes {
        return only.read_value(scope).into();
    }
    scope.register_size::<Width>(lanes.len());
    let mut packet = Vector::<E, Width>::__expand_empty(scope);
    for (index, lane) in lanes.iter().enumerate() {
        packet.__expand_insert_method(scope, index, *lane);
    }
    packet
}

/// `if condition { then } else { otherwise }`, for packets of one width.
pub(crate) fn when<E: Scalar>(
    scope: &Scope,
    condition: NativeExpand<bool>,
    then: impl FnOnce(&Scope) -> Packet<E>,
    otherwise: impl FnOnce(&Scope) -> Packet<E>,
) -> Packet<E> {
    use cubecl::frontend::branch;
    match condition.expand.as_const() {
        Some(known) if known.as_bool() => then(scope),
        Some(_) => otherwise(scope),
        None => {
            let fallback = otherwise(scope);
            scope.register_size::<Width>(width(scope, &fallback));
            let mut out = fallback.into_mut(scope);
            branch::if_expand(scope, condition, |scope| {
                let value = then(scope);
                out.__expand_assign_method(scope, value);
            });
            out
        }
    }
}
