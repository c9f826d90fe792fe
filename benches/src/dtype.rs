//! The types of elements that are measured.

use cubecl::ir::{ElemType, FloatKind};
use half::bf16;
use serde::Serialize;

/// The type of a table's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dtype {
    /// IEEE single precision.
    F32,
    /// The upper half of single precision.
    Bf16,
}

impl Dtype {
    /// The name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
        }
    }

    /// Bytes of an element.
    pub const fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::Bf16 => 2,
        }
    }

    pub(crate) const fn elem(self) -> ElemType {
        ElemType::Float(match self {
            Self::F32 => FloatKind::F32,
            Self::Bf16 => FloatKind::BF16,
        })
    }

    /// The elements in these bytes.
    pub(crate) fn decode(self, bytes: &[u8]) -> Vec<f32> {
        match self {
            Self::F32 => bytes
                .as_chunks()
                .0
                .iter()
                .map(|four| f32::from_ne_bytes(*four))
                .collect(),
            Self::Bf16 => bytes
                .as_chunks()
                .0
                .iter()
                .map(|two| bf16::from_ne_bytes(*two).to_f32())
                .collect(),
        }
    }
}
