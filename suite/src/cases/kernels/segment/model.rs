//! What segments and bags come to, on the host.

use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih_kernels::Reduction;
use girih_testkit::{Rt, check};
use half::{bf16, f16};

/// Numbers that are the same in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % end.max(1)
    }
}

/// An element of rows that are reduced.
pub trait Element: CubeElement + Numeric + check::Exact {
    /// A number, rounded.
    fn of(value: f64) -> Self;
    /// Compares with what was computed in double precision.
    fn compare(got: &[Self], want: &[f64]) -> Result<(), String>;
}
macro_rules! floats {
    ($($t:ty: $of:expr, $tolerance:expr;)*) => {$(
        impl Element for $t {
            fn of(value: f64) -> Self {
                $of(value)
            }
            fn compare(got: &[Self], want: &[f64]) -> Result<(), String> {
                let got: Vec<f64> = got.iter().map(|value| f64::from(*value)).collect();
                check::close(&got, want, $tolerance)
            }
        }
    )*};
}
floats! {
    f32: |value| value as f32, 1e-6;
    f64: |value| value, 1e-12;
    f16: f16::from_f64, 1e-3;
    bf16: bf16::from_f64, 1e-2;
}
impl Element for i32 {
    fn of(value: f64) -> Self {
        value as Self
    }
    fn compare(got: &[Self], want: &[f64]) -> Result<(), String> {
        let limit = |value: &f64| match value {
            value if *value == f64::NEG_INFINITY => Self::MIN,
            value if *value == f64::INFINITY => Self::MAX,
            value => *value as Self,
        };
        check::same(got, &want.iter().map(limit).collect::<Vec<_>>())
    }
}

/// Which entries each segment has, in the order in which they are combined.
#[derive(Clone, Debug)]
pub struct Groups {
    pub members: Vec<Vec<usize>>,
    entries: usize,
}

impl Groups {
    /// Segments of these lengths, one after another.
    pub fn of_lengths(lengths: &[usize]) -> Self {
        let mut next = 0;
        let members = lengths
            .iter()
            .map(|length| {
                let first = next;
                next += length;
                (first..next).collect()
            })
            .collect();
        Self {
            members,
            entries: next,
        }
    }

    /// Segments that ids name.
    pub fn of_ids(ids: &[i32], segments: usize) -> Self {
        let mut members = vec![vec![]; segments];
        for (entry, &id) in ids.iter().enumerate() {
            if let Some(members) = usize::try_from(id).ok().and_then(|id| members.get_mut(id)) {
                members.push(entry);
            }
        }
        Self {
            members,
            entries: ids.len(),
        }
    }

    pub fn entries(&self) -> usize {
        self.entries
    }

    pub fn lengths(&self) -> Vec<usize> {
        self.members.iter().map(Vec::len).collect()
    }

    /// One more than there are segments.
    pub fn offsets(&self) -> Vec<i32> {
        let mut offsets = vec![0];
        for length in self.lengths() {
            offsets.push(offsets[offsets.len() - 1] + length as i32);
        }
        offsets
    }
}

/// Rows, and how they are combined.
#[derive(Clone, Debug)]
pub struct Model {
    pub rows: usize,
    pub columns: usize,
    pub reduction: Reduction,
    /// The row that each entry names; none: its own.
    pub index: Option<Vec<i64>>,
    /// Whole numbers.
    pub weights: Option<Vec<i64>>,
    pub padding: Option<usize>,
    pub bounds: Bounds,
}

impl Model {
    /// Rows that are their own entries.
    pub fn of_rows(rows: usize, columns: usize, reduction: Reduction) -> Self {
        Self {
            rows,
            columns,
            reduction,
            index: None,
            weights: None,
            padding: None,
            bounds: Bounds::Assume,
        }
    }

    pub fn has_args(&self) -> bool {
        matches!(self.reduction, Reduction::Max | Reduction::Min)
    }

    /// Small whole numbers, so that sums are exact in every order; for products few that are not 1 or -1.
    pub fn element(&self, row: usize, column: usize) -> f64 {
        let mixed = (row * 31 + column * 7 + row * column) % 23;
        match self.reduction {
            Reduction::Prod => match (row * 5 + column) % 19 {
                0 => 2.0,
                3 | 8 | 9 => -1.0,
                _ => 1.0,
            },
            _ => mixed as f64 - 11.0,
        }
    }

    /// The rows, in row-major order.
    pub fn table<E: Element>(&self) -> Vec<E> {
        (0..self.rows * self.columns)
            .map(|at| E::of(self.element(at / self.columns, at % self.columns)))
            .collect()
    }

    /// The row of an entry, if it counts.
    pub fn row(&self, entry: usize) -> Option<usize> {
        let Some(index) = &self.index else {
            return Some(entry);
        };
        let (index, extent) = (index[entry], self.rows as i64);
        let place = match self.bounds {
            Bounds::Clamp => index.clamp(0, (extent - 1).max(0)),
            Bounds::Wrap if index < 0 => index + extent,
            _ => index,
        };
        let row = (0..extent).contains(&place).then_some(place as usize)?;
        (Some(row) != self.padding).then_some(row)
    }

    pub fn weight(&self, entry: usize) -> f64 {
        self.weights
            .as_ref()
            .map_or(1.0, |weights| weights[entry] as f64)
    }

    /// Each segment's row, the entries that its elements came from, and how many count. Of none 0, if `zero_of_none`.
    pub fn reduced(&self, groups: &Groups, zero_of_none: bool) -> (Vec<f64>, Vec<i32>, Vec<u32>) {
        let (mut values, mut args, mut counts) = (vec![], vec![], vec![]);
        for members in &groups.members {
            let counting: Vec<_> = members
                .iter()
                .filter_map(|&entry| Some((entry, self.row(entry)?)))
                .collect();
            counts.push(counting.len() as u32);
            for column in 0..self.columns {
                let elements = counting
                    .iter()
                    .map(|&(entry, row)| (entry, self.weight(entry) * self.element(row, column)));
                let (value, arg) = self.combined(elements.collect());
                let is_zero = zero_of_none && counting.is_empty();
                values.push(if is_zero { 0.0 } else { value });
                args.push(arg);
            }
        }
        (values, args, counts)
    }

    fn combined(&self, elements: Vec<(usize, f64)>) -> (f64, i32) {
        let values = elements.iter().map(|(_, value)| *value);
        let best = |is_better: fn(f64, f64) -> bool, none: f64| {
            let mut best = (none, -1);
            for &(entry, value) in &elements {
                if best.1 < 0 || is_better(value, best.0) {
                    best = (value, entry as i32);
                }
            }
            best
        };
        match self.reduction {
            Reduction::Sum => (values.sum::<f64>() + 0.0, -1),
            Reduction::Mean => (values.sum::<f64>() / elements.len().max(1) as f64, -1),
            Reduction::Prod => (values.product(), -1),
            Reduction::Max => best(|value, best| value > best, f64::NEG_INFINITY),
            Reduction::Min => best(|value, best| value < best, f64::INFINITY),
        }
    }
}

/// The elements of a contiguous result.
pub fn read<E: CubeElement>(rt: &Rt, tensor: &TensorHandle) -> Result<Vec<E>, String> {
    let count: usize = tensor.shape().iter().product();
    let bytes = rt
        .client
        .read_one(tensor.handle.clone())
        .map_err(|error| error.to_string())?;
    Ok(E::from_bytes(&bytes)[..count].to_vec())
}

/// The same of entries.
pub fn read_args(rt: &Rt, tensor: &TensorHandle) -> Result<Vec<i32>, String> {
    read::<i32>(rt, tensor)
}
