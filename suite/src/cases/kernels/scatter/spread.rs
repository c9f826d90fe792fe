//! Scatters of updates that go where a spread says, against a model on the host.

use super::host::Number;
use crate::cases::kernels::model::{handle, list};
use girih::{Bounds, Error};
use girih_kernels::{ScatterMode, ScatterOptions, scatter_into};
use girih_testkit::{Rt, check::same};

/// Where updates go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spread {
    Uniform,
    Skewed,
    TenthInOne,
    One,
    Few,
    Sorted,
    Outside,
}
pub(super) const SPREADS: [Spread; 7] = [
    Spread::Uniform,
    Spread::Skewed,
    Spread::TenthInOne,
    Spread::One,
    Spread::Few,
    Spread::Sorted,
    Spread::Outside,
];
/// Numbers that are the same in every run.
struct Random(u32);
impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
    fn below(&mut self, end: usize) -> usize {
        ((u64::from(self.next()) * end as u64) >> 32) as usize
    }
}

/// Indices into `extent` slices, some of them out of range.
fn indices(spread: Spread, count: usize, extent: usize) -> Vec<i32> {
    let mut random = Random(0x9e37_79b9);
    let mut indices: Vec<i32> = (0..count)
        .map(|at| {
            let uniform = random.below(extent) as i32;
            match spread {
                Spread::Uniform | Spread::Sorted if at % 13 == 5 => -1,
                Spread::Uniform | Spread::Sorted => uniform,
                Spread::Skewed => {
                    let part = random.below(1 << 16) as f64 / f64::from(1 << 16);
                    (extent as f64).powf(part) as i32 - 1
                }
                Spread::TenthInOne if at % 10 == 3 => 2,
                Spread::TenthInOne => uniform,
                Spread::One => 1,
                Spread::Few => uniform % 5,
                Spread::Outside => extent as i32 + uniform,
            }
        })
        .collect();
    if let Spread::Sorted = spread {
        indices.sort_unstable();
    }
    indices
}

/// One scatter along the middle of three axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) shape: [usize; 3],
    /// Whether the strides of both tensors are those of the axes the other way round.
    pub(super) is_turned: bool,
    pub(super) count: usize,
    pub(super) spread: Spread,
    pub(super) mode: ScatterMode,
    pub(super) options: ScatterOptions,
}

impl Call {
    pub(super) fn rows(
        count: usize,
        spread: Spread,
        mode: ScatterMode,
        options: ScatterOptions,
    ) -> Self {
        Self {
            shape: [1, 37, 6],
            is_turned: false,
            count,
            spread,
            mode,
            options,
        }
    }

    fn place(&self, index: i32) -> Option<usize> {
        let extent = self.shape[1] as i32;
        let place = match self.options.bounds {
            Bounds::Clamp => index.clamp(0, extent - 1),
            Bounds::Wrap if index < 0 => index + extent,
            _ => index,
        };
        (0..extent).contains(&place).then_some(place as usize)
    }

    /// Scatters on the device, and gives the target with what the host makes of it by `model`.
    pub(super) fn run<E: Number>(
        &self,
        rt: &Rt,
        small: bool,
        model: impl Fn(&mut [E], &[Option<usize>], &[E], ScatterMode),
    ) -> Result<(Vec<E>, Vec<E>), String> {
        let words = |error: Error| error.to_string();
        let [outer, extent, inner] = self.shape;
        let indices = indices(self.spread, self.count, extent);
        let mut random = Random(77);
        let slices = [outer, self.count, inner];
        let mut fill =
            |len: usize| -> Vec<E> { (0..len).map(|_| E::sample(random.next(), small)).collect() };
        let (target, updates) = (
            fill(self.shape.iter().product()),
            fill(slices.iter().product()),
        );
        let strides = |[a, b, c]: [usize; 3]| match self.is_turned {
            true => [1, a, a * b + 3],
            false => [b * c, c, 1],
        };
        let place = rt.put_strided(&target, &self.shape, &strides(self.shape));
        let from = rt.put_strided(&updates, &slices, &strides(slices));
        let index = rt.put(&indices);
        let checked = scatter_into(
            &rt.client,
            &handle(&place),
            &list(&index),
            &handle(&from),
            1,
            self.mode,
            self.options,
        )
        .map_err(words)?;
        let offence = indices
            .iter()
            .position(|&index| self.place(index).is_none());
        match (self.options.bounds, checked.check(), offence) {
            (Bounds::Report, Err(Error::OutOfRange(found)), Some(at))
                if found.position == at as u64 => {}
            (Bounds::Report, Ok(()), None) => {}
            (Bounds::Report, found, want) => {
                return Err(format!("reported {found:?}, not {want:?}"));
            }
            (_, found, _) => found.map_err(words)?,
        }
        let mut want = target;
        for o in 0..outer {
            for i in 0..inner {
                let at: Vec<_> = indices
                    .iter()
                    .map(|&index| {
                        self.place(index)
                            .map(|place| (o * extent + place) * inner + i)
                    })
                    .collect();
                let column: Vec<E> = (0..self.count)
                    .map(|n| updates[(o * self.count + n) * inner + i])
                    .collect();
                model(&mut want, &at, &column, self.mode);
            }
        }
        let got = rt.read_tensor(&place).map_err(|error| error.to_string())?;
        Ok((got, want))
    }

    pub(super) fn compare<E: Number>(
        &self,
        rt: &Rt,
        small: bool,
        model: impl Fn(&mut [E], &[Option<usize>], &[E], ScatterMode),
    ) -> Result<(), String> {
        let (got, want) = self.run(rt, small, model)?;
        same(&got, &want).map_err(|error| format!("{self:?}: {error}"))
    }
}
