//! Values as words of 32 bits, which planes pass from lane to lane.

use crate::device::{Target, expanded_for};
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::prelude::*;

define_size!(Lane);

/// The words of a value: of less than 32 bits, one, whose upper bits are 0.
pub(super) fn split<E: CubePrimitive>(
    scope: &Scope,
    call: &str,
    value: NativeExpand<E>,
) -> Vec<NativeExpand<u32>> {
    match Form::of::<E>(scope, call) {
        Form::Flag => {
            let flag = NativeExpand::<bool>::from(value.expand);
            vec![select::expand::<u32>(scope, flag, 1u32.into(), 0u32.into())]
        }
        Form::Byte => {
            let bits = u8::__expand_reinterpret::<E>(scope, value);
            vec![u32::__expand_cast_from(scope, bits)]
        }
        Form::Half => {
            let bits = u16::__expand_reinterpret::<E>(scope, value);
            vec![u32::__expand_cast_from(scope, bits)]
        }
        Form::Single => {
            let single = f32::__expand_cast_from::<E>(scope, value);
            vec![u32::__expand_reinterpret::<f32>(scope, single)]
        }
        Form::Long => {
            let bits = u64::__expand_reinterpret::<E>(scope, value);
            let upper = bits.__expand_shr_method(scope, 32u64.into());
            [bits, upper]
                .map(|bits| u32::__expand_cast_from(scope, bits))
                .to_vec()
        }
        Form::Words(1) => vec![u32::__expand_reinterpret::<E>(scope, value)],
        Form::Words(count) => {
            scope.register_size::<Lane>(count);
            let words = Vector::<u32, Lane>::__expand_reinterpret::<E>(scope, value);
            let word = |index| words.__expand_extract_method(scope, index);
            (0..count).map(word).collect()
        }
    }
}

/// How many words a value has.
pub(super) fn count<E: CubePrimitive>(scope: &Scope, call: &str) -> usize {
    match Form::of::<E>(scope, call) {
        Form::Words(count) => count,
        Form::Long => 2,
        _ => 1,
    }
}

/// The value that has these words.
pub(super) fn join<E: CubePrimitive>(
    scope: &Scope,
    call: &str,
    words: &[NativeExpand<u32>],
) -> NativeExpand<E> {
    match Form::of::<E>(scope, call) {
        Form::Flag => {
            let flag = words[0].__expand_ne_method(scope, &0u32.into());
            flag.expand.into()
        }
        Form::Byte => {
            let bits = u8::__expand_cast_from(scope, words[0]);
            E::__expand_reinterpret::<u8>(scope, bits).expand.into()
        }
        Form::Half => {
            let bits = u16::__expand_cast_from(scope, words[0]);
            E::__expand_reinterpret::<u16>(scope, bits).expand.into()
        }
        Form::Single => {
            let single = f32::__expand_reinterpret::<u32>(scope, words[0]);
            E::__expand_cast_from::<f32>(scope, single).expand.into()
        }
        Form::Long => {
            let [lower, upper] = [0, 1].map(|index| u64::__expand_cast_from(scope, words[index]));
            let upper = upper.__expand_shl_method(scope, 32u64.into());
            let bits = upper.__expand_bitor_method(scope, lower);
            E::__expand_reinterpret::<u64>(scope, bits).expand.into()
        }
        Form::Words(1) => E::__expand_reinterpret::<u32>(scope, words[0])
            .expand
            .into(),
        Form::Words(count) => {
            scope.register_size::<Lane>(count);
            let mut vector = Vector::<u32, Lane>::__expand_empty(scope);
            for (index, word) in words.iter().enumerate() {
                vector.__expand_insert_method(scope, index, *word);
            }
            E::__expand_reinterpret::<Vector<u32, Lane>>(scope, vector)
                .expand
                .into()
        }
    }
}

/// How a value is made of words.
enum Form {
    /// A truth value.
    Flag,
    /// 8 bits.
    Byte,
    /// 16 bits.
    Half,
    /// A float of 16 bits as one of 32, where no integer of 16 bits can take its place.
    Single,
    /// An integer of 64 bits, which is shifted: WGSL reads no vector in its place.
    Long,
    /// As many words.
    Words(usize),
}

impl Form {
    fn of<E: CubePrimitive>(scope: &Scope, call: &str) -> Self {
        let width = E::__expand_vector_size(scope);
        let element = E::Scalar::elem_type(scope);
        if element == ElemType::Bool {
            assert!(
                width == 1,
                "girih: {call}: a vector of {width} truth values; one is allowed"
            );
            return Self::Flag;
        }
        let is_wgsl = expanded_for(scope).is_some_and(|(target, _)| target == Target::Wgsl);
        assert!(
            !is_wgsl || element != ElemType::Float(FloatKind::F64),
            "girih: {call}: f64 on WGSL, which has no integer to pass in its place; f32 is allowed"
        );
        match element.size() * width {
            1 => Self::Byte,
            2 if is_wgsl && width == 1 && element == ElemType::Float(FloatKind::F16) => {
                Self::Single
            }
            2 => Self::Half,
            8 if matches!(
                element,
                ElemType::Int(IntKind::I64) | ElemType::UInt(UIntKind::U64)
            ) =>
            {
                Self::Long
            }
            bytes if bytes.is_multiple_of(4) => Self::Words(bytes / 4),
            bytes => panic!(
                "girih: {call}: a vector of {bytes} bytes; 1, 2, or a multiple of 4 bytes are allowed"
            ),
        }
    }
}
