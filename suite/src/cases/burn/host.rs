//! What the ops compute, written out plainly for the host in f64.

use girih_burn::{Bounds, Scatter};

/// A dense tensor, the last axis contiguous.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// The extents.
    pub shape: Vec<usize>,
    /// The elements.
    pub values: Vec<f64>,
}

impl Host {
    /// Values that differ from their neighbours and from those of another `salt`: multiples of 1/4 in
    /// -16 to 15.75, which every float type holds exactly.
    pub fn sample(shape: &[usize], salt: usize) -> Self {
        let count = shape.iter().product();
        let value = |i: usize| ((i * 37 + salt * 11) % 127) as f64 * 0.25 - 16.0;
        Self {
            shape: shape.to_vec(),
            values: (0..count).map(value).collect(),
        }
    }

    /// Zeros.
    pub fn zeros(shape: &[usize]) -> Self {
        Self {
            shape: shape.to_vec(),
            values: vec![0.0; shape.iter().product()],
        }
    }

    /// Every element through `f`.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Self {
            shape: self.shape.clone(),
            values: self.values.iter().map(|&value| f(value)).collect(),
        }
    }

    /// Elements of two tensors of one shape through `f`.
    pub fn zip(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        assert_eq!(self.shape, other.shape);
        let pairs = self.values.iter().zip(&other.values);
        Self {
            shape: self.shape.clone(),
            values: pairs.map(|(&a, &b)| f(a, b)).collect(),
        }
    }

    /// The sum of the elements.
    pub fn sum(&self) -> f64 {
        self.values.iter().sum()
    }

    /// The transpose of a matrix.
    pub fn transpose(&self) -> Self {
        let [rows, columns] = self.shape[..] else {
            panic!("a matrix")
        };
        let place = |i: usize| self.values[i % rows * columns + i / rows];
        Self {
            shape: vec![columns, rows],
            values: (0..rows * columns).map(place).collect(),
        }
    }

    /// Columns of a matrix from `first` on.
    pub fn columns_from(&self, first: usize) -> Self {
        let [rows, columns] = self.shape[..] else {
            panic!("a matrix")
        };
        let values = self
            .values
            .chunks(columns)
            .flat_map(|row| row[first..].to_vec());
        Self {
            shape: vec![rows, columns - first],
            values: values.collect(),
        }
    }

    /// `out[.., n, ..] = self[.., index[n], ..]`, zeros where there is no such slice.
    pub fn gather(&self, axis: usize, index: &[i64], bounds: Bounds) -> Self {
        let mut shape = self.shape.clone();
        shape[axis] = index.len();
        let mut out = Self::zeros(&shape);
        for (from, to) in self.pairs(axis, index, bounds) {
            out.values[to] = self.values[from];
        }
        out
    }

    /// `self[.., index[n], ..] = updates[.., n, ..]`, or `+=`, in the order of `n`.
    pub fn scatter(
        &self,
        axis: usize,
        index: &[i64],
        updates: &Self,
        mode: Scatter,
        bounds: Bounds,
    ) -> Self {
        let mut out = self.clone();
        for (to, from) in self.pairs(axis, index, bounds) {
            match mode {
                Scatter::Set => out.values[to] = updates.values[from],
                Scatter::Add => out.values[to] += updates.values[from],
                Scatter::Mul => out.values[to] *= updates.values[from],
                // -0 is below +0.
                Scatter::Min => {
                    let both = [out.values[to], updates.values[from]];
                    out.values[to] = both.into_iter().min_by(f64::total_cmp).expect("two");
                }
                Scatter::Max => {
                    let both = [out.values[to], updates.values[from]];
                    out.values[to] = both.into_iter().max_by(f64::total_cmp).expect("two");
                }
            }
        }
        out
    }

    /// For each element at an index in range: its place here, and its place among the slices of the index.
    fn pairs(&self, axis: usize, index: &[i64], bounds: Bounds) -> Vec<(usize, usize)> {
        let extent = self.shape[axis];
        let outer: usize = self.shape[..axis].iter().product();
        let inner: usize = self.shape[axis + 1..].iter().product();
        let mut pairs = Vec::new();
        for before in 0..outer {
            for (n, &index_of_n) in index.iter().enumerate() {
                let Some(slice) = resolve(index_of_n, extent, bounds) else {
                    continue;
                };
                for after in 0..inner {
                    let here = (before * extent + slice) * inner + after;
                    let there = (before * index.len() + n) * inner + after;
                    pairs.push((here, there));
                }
            }
        }
        pairs
    }
}

/// The slice that an index means, if it means one.
pub fn resolve(index: i64, extent: usize, bounds: Bounds) -> Option<usize> {
    let last = i64::try_from(extent).expect("a small extent") - 1;
    let slice = match bounds {
        Bounds::Clamp => index.min(last).max(0),
        Bounds::Wrap if index < 0 => index + last + 1,
        _ => index,
    };
    (0..=last).contains(&slice).then_some(slice as usize)
}

/// The gradient of `loss` at `at`, by central differences.
pub fn finite_differences(at: &Host, loss: impl Fn(&Host) -> f64) -> Host {
    const STEP: f64 = 1e-4;
    let slope = |i: usize| {
        let at_offset = |offset: f64| {
            let mut moved = at.clone();
            moved.values[i] += offset;
            loss(&moved)
        };
        (at_offset(STEP) - at_offset(-STEP)) / (2.0 * STEP)
    };
    Host {
        shape: at.shape.clone(),
        values: (0..at.values.len()).map(slope).collect(),
    }
}
