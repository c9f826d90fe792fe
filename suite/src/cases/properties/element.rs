//! Element and index types chosen at run time: values are bits, so that one host model serves every type.

use cubecl::ir::{ElemType, FloatKind, IntKind, Scope, UIntKind};
use cubecl::prelude::*;
use girih::device::Device;
use girih::prelude::{NaN, NegInf, NegZero, PosInf, Zero};
use girih::view::Padding;
use girih_testkit::{Buffer, Rt};

const FLOATS: [FloatKind; 4] = [
    FloatKind::F32,
    FloatKind::F16,
    FloatKind::BF16,
    FloatKind::F64,
];
const INDICES: [ElemType; 8] = [
    ElemType::Int(IntKind::I32),
    ElemType::UInt(UIntKind::U8),
    ElemType::Int(IntKind::I64),
    ElemType::UInt(UIntKind::U32),
    ElemType::Int(IntKind::I8),
    ElemType::UInt(UIntKind::U16),
    ElemType::Int(IntKind::I16),
    ElemType::UInt(UIntKind::U64),
];

/// The integers that the device stores, signed and unsigned, of 8 to 64 bits.
pub fn index_types(rt: &Rt) -> Vec<ElemType> {
    let device = Device::of(&rt.client);
    let stored = INDICES.into_iter().filter(|&index| device.stores(index));
    stored.collect()
}

/// The numbers that the device stores.
pub fn element_types(rt: &Rt) -> Vec<ElemType> {
    let device = Device::of(&rt.client);
    let floats = FLOATS.into_iter().map(ElemType::Float);
    let stored = floats
        .chain(INDICES)
        .filter(|&element| device.stores(element));
    stored.collect()
}

/// The numbers that the device adds to atomically.
pub fn added_types(rt: &Rt) -> Vec<ElemType> {
    let device = Device::of(&rt.client);
    let added = |element: &ElemType| device.adds_atomically(*element, 1);
    element_types(rt).into_iter().filter(added).collect()
}

/// The least and the largest integer of an index type.
pub fn range(index: ElemType) -> (i128, i128) {
    let bits = 8 * index.size();
    match index {
        ElemType::Int(_) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        _ => (0, (1 << bits) - 1),
    }
}

/// Sign, exponent and fraction bits of a float.
fn fields(float: FloatKind) -> (u32, u32) {
    match float {
        FloatKind::F16 => (5, 10),
        FloatKind::BF16 => (8, 7),
        FloatKind::F64 => (11, 52),
        _ => (8, 23),
    }
}

/// The bits of a small integer in an element type, exact in all of them.
pub fn number(element: ElemType, value: i64) -> u64 {
    match element {
        ElemType::Float(float) if value != 0 => {
            let (exponent, fraction) = fields(float);
            let magnitude = value.unsigned_abs();
            let power = magnitude.ilog2();
            assert!(power <= fraction, "{value} is exact in {element:?}");
            let bias = (1u64 << (exponent - 1)) - 1;
            let rest = (magnitude - (1 << power)) << (fraction - power);
            u64::from(value < 0) << (exponent + fraction)
                | (u64::from(power) + bias) << fraction
                | rest
        }
        _ => value as u64 & mask(element),
    }
}

/// The bits that an element has.
fn mask(element: ElemType) -> u64 {
    u64::MAX >> (64 - 8 * element.size())
}

/// Some bits for element `position` of a buffer: any bits, among them NaNs, infinities and subnormal numbers.
pub fn arbitrary(element: ElemType, position: usize) -> u64 {
    let mixed = (position as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 32)) & mask(element)
}

fn is_nan(element: ElemType, bits: u64) -> bool {
    let ElemType::Float(float) = element else {
        return false;
    };
    let (exponent, fraction) = fields(float);
    let infinity = ((1u64 << exponent) - 1) << fraction;
    bits & (mask(element) >> 1) > infinity
}

/// Whether two elements are the same bits, or both NaN.
pub fn same(element: ElemType, got: u64, want: u64) -> bool {
    got == want || (is_nan(element, got) && is_nan(element, want))
}

/// Every padding that views have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pad {
    Zero,
    Value,
    NegZero,
    NaN,
    PosInf,
    NegInf,
}

impl Pad {
    /// Those that the element type has.
    pub fn of(element: ElemType) -> &'static [Self] {
        const ALL: [Pad; 6] = [
            Pad::Zero,
            Pad::Value,
            Pad::NegZero,
            Pad::NaN,
            Pad::PosInf,
            Pad::NegInf,
        ];
        match element {
            ElemType::Float(_) => &ALL,
            _ => &ALL[..2],
        }
    }

    /// The padding as an element.
    pub fn bits(self, element: ElemType) -> u64 {
        let (exponent, fraction) = match element {
            ElemType::Float(float) => fields(float),
            _ => (0, 0),
        };
        let sign = 1u64 << (exponent + fraction);
        let infinity = ((1u64 << exponent) - 1) << fraction;
        match self {
            Self::Zero => 0,
            Self::Value => number(element, 7),
            Self::NegZero => sign,
            Self::NaN => infinity | 1 << (fraction - 1),
            Self::PosInf => infinity,
            Self::NegInf => sign | infinity,
        }
    }
}

/// A kernel whose element type is set at launch knows it as any number: the paddings of floats come as `f32`.
impl<E: Numeric> Padding<E> for Pad {
    fn expand(self, scope: &Scope) -> NativeExpand<E> {
        let single: NativeExpand<f32> = match self {
            Self::Zero => return Zero.expand(scope),
            Self::Value => return E::__expand_from_int(scope, 7i64.into()),
            Self::NegZero => NegZero.expand(scope),
            Self::NaN => NaN.expand(scope),
            Self::PosInf => PosInf.expand(scope),
            Self::NegInf => NegInf.expand(scope),
        };
        E::__expand_cast_from(scope, single)
    }
}

/// Elements on a device, as bits.
pub struct Elements {
    element: ElemType,
    bytes: Buffer<u8>,
}

impl Elements {
    /// What an element holds that no kernel has written: a finite number in every type.
    const UNWRITTEN: u8 = 0x55;

    pub fn put(rt: &Rt, element: ElemType, bits: &[u64]) -> Self {
        let size = element.size();
        let bytes = bits
            .iter()
            .flat_map(|bits| bits.to_le_bytes().into_iter().take(size));
        Self {
            element,
            bytes: rt.put(&bytes.collect::<Vec<u8>>()),
        }
    }

    /// So many elements for a kernel to write.
    pub fn unwritten(rt: &Rt, element: ElemType, len: usize) -> Self {
        Self {
            element,
            bytes: rt.put(&vec![Self::UNWRITTEN; len * element.size()]),
        }
    }

    /// The elements, once every kernel that writes them has run; the guard rows are whole.
    pub fn read(&self, rt: &Rt) -> Result<Vec<u64>, String> {
        let bytes = rt.read(&self.bytes).map_err(|error| error.to_string())?;
        let elements = bytes.chunks_exact(self.element.size()).map(|bytes| {
            let mut wide = [0; 8];
            wide[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(wide)
        });
        Ok(elements.collect())
    }

    /// An error unless the elements are still these, and the guard rows whole.
    pub fn unchanged(&self, rt: &Rt, bits: &[u64], what: &str) -> Result<(), String> {
        let now = self.read(rt).map_err(|error| format!("{what}: {error}"))?;
        match now == bits {
            true => Ok(()),
            false => Err(format!(
                "{what}: a kernel that only reads it has written it"
            )),
        }
    }

    /// A kernel argument of these extents and strides, in elements. What a kernel writes past its end lands in the guard
    /// row.
    pub fn tensor(&self, extents: &[usize], strides: &[usize]) -> TensorArg {
        let reach = girih_testkit::buffer::storage_len(extents, strides);
        assert!(reach * self.element.size() <= self.bytes.len());
        let handle = self.bytes.handle_with_guard();
        // SAFETY: no index reaches past the elements.
        unsafe { TensorArg::from_raw_parts(handle, strides.into(), extents.to_vec().into()) }
    }

    /// A kernel argument for a slice of all elements.
    pub fn slice(&self) -> BufferArg {
        let len = self.bytes.len() / self.element.size();
        // SAFETY: the handle spans `len` elements exactly.
        unsafe { BufferArg::from_raw_parts(self.bytes.handle(), len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F16: ElemType = ElemType::Float(FloatKind::F16);
    const F64: ElemType = ElemType::Float(FloatKind::F64);

    #[test]
    fn bits_are_those_of_the_host() {
        for value in [0i64, 1, -1, 7, 100, -96] {
            let half = half::f16::from_f64(value as f64);
            assert_eq!(number(F16, value), u64::from(half.to_bits()));
            assert_eq!(number(F64, value), (value as f64).to_bits());
            assert_eq!(number(INDICES[4], value), u64::from(value as i8 as u8));
        }
        assert_eq!(Pad::NegZero.bits(F64), (-0.0f64).to_bits());
        assert_eq!(Pad::NegInf.bits(F64), f64::NEG_INFINITY.to_bits());
        assert!(is_nan(F64, Pad::NaN.bits(F64)) && !is_nan(F64, Pad::PosInf.bits(F64)));
        assert!(same(F16, 0x7e00, 0xfe01) && !same(F16, 0x8000, 0));
    }

    #[test]
    fn ranges_are_those_of_the_types() {
        assert_eq!(range(INDICES[2]), (i64::MIN.into(), i64::MAX.into()));
        assert_eq!(range(INDICES[7]), (0, u64::MAX.into()));
    }
}
