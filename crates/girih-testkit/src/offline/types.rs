//! Types of elements, as kernels that are told of them take them.

use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};

/// Brain floats of 16 bits.
pub const BF16: ElemType = ElemType::Float(FloatKind::BF16);
/// Floats of 16 bits.
pub const F16: ElemType = ElemType::Float(FloatKind::F16);
/// Floats of 32 bits.
pub const F32: ElemType = ElemType::Float(FloatKind::F32);
/// Floats of 64 bits.
pub const F64: ElemType = ElemType::Float(FloatKind::F64);
/// What tensor cores multiply floats of 32 bits as.
pub const TF32: ElemType = ElemType::Float(FloatKind::TF32);
/// Integers of 8 bits.
pub const I8: ElemType = ElemType::Int(IntKind::I8);
/// Integers of 32 bits.
pub const I32: ElemType = ElemType::Int(IntKind::I32);
/// Integers of 64 bits.
pub const I64: ElemType = ElemType::Int(IntKind::I64);
/// Unsigned integers of 8 bits.
pub const U8: ElemType = ElemType::UInt(UIntKind::U8);
/// Unsigned integers of 32 bits.
pub const U32: ElemType = ElemType::UInt(UIntKind::U32);
/// Unsigned integers of 64 bits.
pub const U64: ElemType = ElemType::UInt(UIntKind::U64);
