//! Products on the host in f64, and random operands.

use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih_testkit::Rt;
use half::{bf16, f16};

/// Marsaglia's xorshift.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// A number of -1 to 1.
    pub fn real(&mut self) -> f64 {
        (self.next() % 20_001) as f64 / 10_000.0 - 1.0
    }
}

/// An element of a product.
pub trait Element: CubeElement + Scalar + Copy {
    /// The nearest element: of integers, of the number times 10.
    fn of(value: f64) -> Self;
    /// The nearest element.
    fn exactly(value: f64) -> Self;
    /// Its value.
    fn value(self) -> f64;
    /// How far a result may be from the right one, relative to the sum of the products' sizes.
    const TOLERANCE: f64;
}

macro_rules! floats {
    ($($t:ty: $of:expr, $value:expr, $tolerance:expr;)*) => {$(
        impl Element for $t {
            fn of(value: f64) -> Self {
                $of(value)
            }
            fn exactly(value: f64) -> Self {
                $of(value)
            }
            fn value(self) -> f64 {
                $value(self)
            }
            const TOLERANCE: f64 = $tolerance;
        }
    )*};
}
floats! {
    f32: |v| v as f32, f64::from, 2e-6;
    f64: |v| v, |v| v, 1e-14;
    f16: f16::from_f64, f16::to_f64, 1e-3;
    bf16: bf16::from_f64, bf16::to_f64, 8e-3;
}
macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Element for $t {
            fn of(value: f64) -> Self {
                (value * 10.0) as Self
            }
            fn exactly(value: f64) -> Self {
                value as Self
            }
            fn value(self) -> f64 {
                self as f64
            }
            const TOLERANCE: f64 = 0.0;
        }
    )*};
}
integers!(i8 u8 i16 u16 i32 u32 i64 u64);

/// A tensor on the host and on the device, with elements where its strides say.
pub struct Operand<E: Element> {
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
    /// All that its memory holds.
    pub memory: Vec<E>,
    pub tensor: TensorHandle,
}

impl<E: Element> Operand<E> {
    /// Random elements, with NaN between them where the strides leave holes.
    pub fn random(rt: &Rt, shape: &[usize], strides: &[usize], random: &mut Random) -> Self {
        let reach = reach(shape, strides);
        let memory: Vec<E> = (0..reach).map(|_| E::of(random.real())).collect();
        Self::new(rt, shape, strides, memory)
    }

    pub fn new(rt: &Rt, shape: &[usize], strides: &[usize], memory: Vec<E>) -> Self {
        let handle = rt.client.create_from_slice(match memory.is_empty() {
            true => &[0; 8],
            false => E::as_bytes(&memory),
        });
        let dtype: ElemType = E::elem_type_native();
        Self {
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            tensor: TensorHandle::new(handle, shape.to_vec(), strides.to_vec(), dtype),
            memory,
        }
    }

    /// The element at these coordinates; an axis of extent 1 repeats.
    pub fn at(&self, coordinates: &[usize]) -> f64 {
        let missing = coordinates.len() - self.shape.len();
        let own = self.shape.iter().zip(&self.strides);
        let place: usize = own
            .zip(&coordinates[missing..])
            .map(|((&extent, &stride), &at)| if extent == 1 { 0 } else { at * stride })
            .sum();
        self.memory[place].value()
    }
}

fn reach(shape: &[usize], strides: &[usize]) -> usize {
    match shape.contains(&0) {
        true => 0,
        false => {
            let last = shape.iter().zip(strides).map(|(e, s)| (e - 1) * s);
            1 + last.sum::<usize>()
        }
    }
}

/// Strides in row-major order.
pub fn row_major(shape: &[usize]) -> Vec<usize> {
    girih_testkit::buffer::row_major(shape)
}

/// Strides with the last two axes exchanged, and `pad` more from line to line.
pub fn strides(shape: &[usize], transposed: bool, pad: usize) -> Vec<usize> {
    let rank = shape.len();
    let mut strides = vec![0; rank];
    let [row, column] = [shape[rank - 2], shape[rank - 1]];
    let mut next = if transposed {
        strides[rank - 2] = 1;
        strides[rank - 1] = row.max(1) + pad;
        (row.max(1) + pad) * column.max(1)
    } else {
        strides[rank - 1] = 1;
        strides[rank - 2] = column.max(1) + pad;
        (column.max(1) + pad) * row.max(1)
    };
    for axis in (0..rank - 2).rev() {
        strides[axis] = next;
        next *= shape[axis].max(1);
    }
    strides
}

/// A right element: its value, and the size of what was added up, to which errors are relative.
#[derive(Clone, Copy, Debug, Default)]
pub struct Right {
    pub value: f64,
    pub size: f64,
}

impl Right {
    pub fn add(&mut self, product: f64) {
        self.value += product;
        self.size += product.abs();
    }
}

/// Compares what a device wrote with what is right.
pub fn compare<E: Element>(got: &[E], right: &[Right], tolerance: f64) -> Result<(), String> {
    if got.len() != right.len() {
        return Err(format!("{} elements, not {}", got.len(), right.len()));
    }
    for (at, (got, right)) in got.iter().zip(right).enumerate() {
        let got = got.value();
        let same = got == right.value || (got.is_nan() && right.value.is_nan());
        let near = (got - right.value).abs() <= tolerance * right.size.max(right.value.abs());
        if !(same || near) {
            return Err(format!(
                "element {at} is {got}, not {} (of a sum of sizes {})",
                right.value, right.size
            ));
        }
    }
    Ok(())
}

/// All that a tensor's memory holds.
pub fn read<E: Element>(rt: &Rt, tensor: &TensorHandle) -> Result<Vec<E>, String> {
    let bytes = rt
        .client
        .read_one(tensor.handle.clone())
        .map_err(|error| error.to_string())?;
    let count = tensor.shape().iter().product::<usize>();
    if count == 0 {
        return Ok(vec![]);
    }
    Ok(E::from_bytes(&bytes)[..]
        .iter()
        .copied()
        .take(count)
        .collect())
}
