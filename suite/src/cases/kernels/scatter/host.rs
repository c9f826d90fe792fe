//! What scatters compute, on the host.

use cubecl::prelude::*;
use girih_kernels::ScatterMode;
use girih_testkit::check::Exact;
use half::{bf16, f16};

/// Updates that one run combines, as the documentation of `Duplicates::Deterministic` says.
const RUN: usize = 32;

/// A number as scatters combine it.
pub trait Number: CubeElement + Numeric + Exact {
    /// What it is combined in.
    type Wide: Copy;
    fn widen(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
    fn combine(first: Self::Wide, second: Self::Wide, mode: ScatterMode) -> Self::Wide;
    /// A value, now and then an awkward one; small ones are 1 and -1, which combine exactly in any order.
    fn sample(random: u32, small: bool) -> Self;
}

macro_rules! integers {
    ($($number:ty),*) => {$(
        impl Number for $number {
            type Wide = Self;
            fn widen(self) -> Self {
                self
            }
            fn narrow(wide: Self) -> Self {
                wide
            }
            fn combine(first: Self, second: Self, mode: ScatterMode) -> Self {
                match mode {
                    ScatterMode::Set => second,
                    ScatterMode::Add => first.wrapping_add(second),
                    ScatterMode::Mul => first.wrapping_mul(second),
                    ScatterMode::Min => first.min(second),
                    ScatterMode::Max => first.max(second),
                }
            }
            fn sample(random: u32, _small: bool) -> Self {
                match random % 7 {
                    0 => Self::MAX,
                    1 => Self::MIN,
                    _ => (random >> 8) as Self,
                }
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

/// IEEE 754-2019's `minimumNumber` and `maximumNumber`.
macro_rules! extremes {
    ($name:ident, $float:ty) => {
        fn $name(first: $float, second: $float, smallest: bool) -> $float {
            match (first.is_nan(), second.is_nan()) {
                (_, true) => first,
                (true, false) => second,
                _ if (second.total_cmp(&first).is_lt()) == smallest => second,
                _ => first,
            }
        }
    };
}
extremes!(extreme_of_f32, f32);
extremes!(extreme_of_f64, f64);

macro_rules! floats {
    ($($number:ty, $wide:ty, $extreme:ident, $widen:expr, $narrow:expr;)*) => {$(
        impl Number for $number {
            type Wide = $wide;
            fn widen(self) -> $wide {
                $widen(self)
            }
            fn narrow(wide: $wide) -> Self {
                $narrow(wide)
            }
            fn combine(first: $wide, second: $wide, mode: ScatterMode) -> $wide {
                match mode {
                    ScatterMode::Set => second,
                    ScatterMode::Add => first + second,
                    ScatterMode::Mul => first * second,
                    ScatterMode::Min => $extreme(first, second, true),
                    ScatterMode::Max => $extreme(first, second, false),
                }
            }
            fn sample(random: u32, small: bool) -> Self {
                let awkward = [<$wide>::NAN, <$wide>::INFINITY, <$wide>::NEG_INFINITY, -0.0, 0.0];
                let value = (random >> 8) as $wide / (1 << 20) as $wide;
                $narrow(match random % 256 {
                    _ if small => (random % 2) as $wide * 2.0 - 1.0,
                    awkwardly @ 0..5 => awkward[awkwardly as usize],
                    odd if odd % 2 == 1 => -value,
                    _ => value,
                })
            }
        }
    )*};
}
floats! {
    f32, f32, extreme_of_f32, |value| value, |wide| wide;
    f64, f64, extreme_of_f64, |value| value, |wide| wide;
    f16, f32, extreme_of_f32, f16::to_f32, f16::from_f32;
    bf16, f32, extreme_of_f32, bf16::to_f32, bf16::from_f32;
}

/// Combines updates with a list one after another: `at` is the place of each, if it has one.
pub fn in_order<E: Number>(
    target: &mut [E],
    at: &[Option<usize>],
    updates: &[E],
    mode: ScatterMode,
) {
    for (update, place) in updates.iter().zip(at) {
        if let Some(place) = *place {
            let held = target[place].widen();
            target[place] = E::narrow(E::combine(held, update.widen(), mode));
        }
    }
}

/// Combines updates with a list in the order that is documented of `Duplicates::Deterministic`.
pub fn in_runs<E: Number>(
    target: &mut [E],
    at: &[Option<usize>],
    updates: &[E],
    mode: ScatterMode,
) {
    let mut lined: Vec<(usize, E::Wide)> = at
        .iter()
        .zip(updates)
        .filter_map(|(place, update)| place.map(|place| (place, update.widen())))
        .collect();
    lined.sort_by_key(|(place, _)| *place);
    let mut entries: Vec<_> = lined.into_iter().map(Some).collect();
    while !entries.is_empty() {
        let runs: Vec<Vec<(usize, E::Wide)>> = entries
            .chunks(RUN)
            .map(|run| combined::<E>(run.iter().flatten().copied(), mode))
            .collect();
        let mut next = vec![];
        for (number, run) in runs.iter().enumerate() {
            let ends = |of: &[Vec<(usize, E::Wide)>], place| {
                of.iter().flatten().any(|&(other, _)| other == place)
            };
            let mut entry = [None, None];
            for &(place, sum) in run {
                match (
                    ends(&runs[..number], place),
                    ends(&runs[number + 1..], place),
                ) {
                    (true, _) => entry[0] = Some((place, sum)),
                    (false, true) => entry[1] = Some((place, sum)),
                    (false, false) => {
                        let held = target[place].widen();
                        target[place] = E::narrow(E::combine(held, sum, mode));
                    }
                }
            }
            next.extend(entry);
        }
        entries = match runs.len() {
            1 => vec![],
            _ => next,
        };
    }
}

/// The places of a run, each with what its updates come to.
fn combined<E: Number>(
    run: impl Iterator<Item = (usize, E::Wide)>,
    mode: ScatterMode,
) -> Vec<(usize, E::Wide)> {
    let mut places: Vec<(usize, E::Wide)> = vec![];
    for (place, value) in run {
        match places.last_mut() {
            Some((last, sum)) if *last == place => *sum = E::combine(*sum, value, mode),
            _ => places.push((place, value)),
        }
    }
    places
}
