//! Every path of every mode, wherever updates go.

use super::host::{Number, in_order, in_runs};
use super::spread::{Call, SPREADS, Spread};
use girih::Bounds;
use girih_kernels::{Duplicates, ScatterMode, ScatterOptions, ScatterPath};
use girih_testkit::{Rt, cases, check::same, needs};
use half::{bf16, f16};

cases! {
    sums_of_f32_are_those_of_the_documented_order,
    products_of_f32_are_those_of_the_documented_order,
    extremes_of_f32_yield_nan_to_numbers,
    f16_is_combined_in_f32 needs [needs::F16],
    bf16_is_combined_in_f32 needs [needs::BF16],
    f64_is_combined needs [needs::F64],
    f32_is_combined_by_every_path,
    f16_is_combined_by_every_path needs [needs::F16],
    bf16_is_combined_by_every_path needs [needs::BF16],
    rows_of_every_width_are_combined,
    tiles_are_uniform_or_skewed,
    integers_are_combined_by_every_path,
    narrow_integers_are_combined needs [needs::I8, needs::U16],
    long_integers_are_combined needs [needs::I64],
    strided_tensors_are_combined_in_order,
    the_last_update_wins,
    the_first_update_wins,
    a_hundred_runs_are_equal,
    many_updates_to_one_place_are_summed_in_levels,
}

const MODES: [ScatterMode; 4] = [
    ScatterMode::Add,
    ScatterMode::Mul,
    ScatterMode::Min,
    ScatterMode::Max,
];

const DETERMINISTIC: ScatterOptions = ScatterOptions {
    bounds: Bounds::Mask,
    duplicates: Duplicates::Deterministic,
    path: None,
};

/// Deterministic results, bit by bit, of every spread.
fn documented<E: Number>(rt: &Rt, modes: &[ScatterMode]) -> Result<(), String> {
    for &mode in modes {
        for spread in SPREADS {
            for count in [1, 31, 32, 33, 700, 3000] {
                let call = Call::rows(count, spread, mode, DETERMINISTIC);
                call.compare::<E>(rt, false, in_runs::<E>)?;
            }
        }
    }
    Ok(())
}

fn sums_of_f32_are_those_of_the_documented_order(rt: &Rt) -> Result<(), String> {
    documented::<f32>(rt, &[ScatterMode::Add])
}
fn products_of_f32_are_those_of_the_documented_order(rt: &Rt) -> Result<(), String> {
    documented::<f32>(rt, &[ScatterMode::Mul])
}

/// The paths of a scatter that combines updates.
const PATHS: [Option<ScatterPath>; 5] = [
    None,
    Some(ScatterPath::Atomic),
    Some(ScatterPath::Combined),
    Some(ScatterPath::Privatised),
    Some(ScatterPath::Sorted),
];

/// Whether a device may refuse a path in these words. Without being asked for one it finds another.
fn is_lacking(path: Option<ScatterPath>, words: &str) -> bool {
    let lacks = words.contains("has no atomic") || words.contains("has no barriers in branches");
    match path {
        Some(ScatterPath::Privatised) => lacks || words.contains("in shared memory counts"),
        Some(ScatterPath::Atomic | ScatterPath::Combined) => lacks,
        _ => false,
    }
}

/// By every path that the device has of a mode.
fn paths<E: Number>(rt: &Rt, call: Call, small: bool) -> Result<(), String> {
    for path in PATHS {
        let options = ScatterOptions {
            path,
            ..call.options
        };
        let call = Call { options, ..call };
        match call.compare::<E>(rt, small, in_order::<E>) {
            Err(words) if is_lacking(path, &words) => {}
            result => result?,
        }
    }
    Ok(())
}

/// Floats that are combined exactly.
fn small_floats<E: Number>(rt: &Rt) -> Result<(), String> {
    for mode in MODES {
        for spread in SPREADS {
            let call = Call::rows(300, spread, mode, Bounds::Mask.into());
            paths::<E>(rt, call, true)?;
        }
    }
    Ok(())
}

fn f32_is_combined_by_every_path(rt: &Rt) -> Result<(), String> {
    small_floats::<f32>(rt)
}
fn f16_is_combined_by_every_path(rt: &Rt) -> Result<(), String> {
    small_floats::<f16>(rt)
}
fn bf16_is_combined_by_every_path(rt: &Rt) -> Result<(), String> {
    small_floats::<bf16>(rt)
}

/// Rows of less than an access, of one, of a cube's share, and of more than that.
fn rows_of_every_width_are_combined(rt: &Rt) -> Result<(), String> {
    for (inner, count) in [(1, 1500), (4, 900), (40, 300), (132, 200), (1500, 90)] {
        for spread in [Spread::Uniform, Spread::TenthInOne, Spread::One] {
            let call = Call {
                shape: [1, 11, inner],
                ..Call::rows(count, spread, ScatterMode::Add, Bounds::Wrap.into())
            };
            paths::<f32>(rt, call, true)?;
        }
    }
    Ok(())
}

/// Places far apart, so that tiles find none in common and others find some.
fn tiles_are_uniform_or_skewed(rt: &Rt) -> Result<(), String> {
    for spread in SPREADS {
        for extent in [100_000, 3000] {
            let call = Call {
                shape: [1, extent, 8],
                ..Call::rows(1500, spread, ScatterMode::Add, Bounds::Mask.into())
            };
            paths::<i32>(rt, call, false)?;
        }
    }
    Ok(())
}

fn extremes_of_f32_yield_nan_to_numbers(rt: &Rt) -> Result<(), String> {
    for mode in [ScatterMode::Min, ScatterMode::Max] {
        for spread in SPREADS {
            let call = Call::rows(300, spread, mode, Bounds::Mask.into());
            paths::<f32>(rt, call, false)?;
            let call = Call::rows(600, spread, mode, DETERMINISTIC);
            call.compare::<f32>(rt, false, in_order::<f32>)?;
        }
    }
    Ok(())
}

fn f16_is_combined_in_f32(rt: &Rt) -> Result<(), String> {
    documented::<f16>(rt, &[ScatterMode::Add, ScatterMode::Max])
}
fn bf16_is_combined_in_f32(rt: &Rt) -> Result<(), String> {
    documented::<bf16>(rt, &[ScatterMode::Add, ScatterMode::Min])
}
fn f64_is_combined(rt: &Rt) -> Result<(), String> {
    documented::<f64>(rt, &MODES)
}

fn every_mode<E: Number>(rt: &Rt) -> Result<(), String> {
    // Each rule once: with each mode it would be another kernel.
    let bounds = [Bounds::Mask, Bounds::Clamp, Bounds::Wrap, Bounds::Report];
    for (mode, bounds) in MODES.into_iter().zip(bounds) {
        for spread in SPREADS {
            paths::<E>(rt, Call::rows(300, spread, mode, bounds.into()), false)?;
        }
    }
    Ok(())
}

fn integers_are_combined_by_every_path(rt: &Rt) -> Result<(), String> {
    every_mode::<i32>(rt)?;
    every_mode::<u32>(rt)
}
fn narrow_integers_are_combined(rt: &Rt) -> Result<(), String> {
    every_mode::<i8>(rt)?;
    every_mode::<u16>(rt)
}
fn long_integers_are_combined(rt: &Rt) -> Result<(), String> {
    every_mode::<i64>(rt)
}

fn strided_tensors_are_combined_in_order(rt: &Rt) -> Result<(), String> {
    for is_turned in [false, true] {
        for shape in [[3, 9, 5], [1, 40, 1], [7, 4, 1], [2, 5, 8]] {
            for spread in [Spread::Uniform, Spread::One, Spread::Few] {
                let call = Call {
                    shape,
                    is_turned,
                    count: 300,
                    spread,
                    mode: ScatterMode::Add,
                    options: ScatterOptions {
                        bounds: Bounds::Wrap,
                        ..DETERMINISTIC
                    },
                };
                call.compare::<f32>(rt, false, in_runs::<f32>)?;
                let options = Bounds::Wrap.into();
                paths::<u32>(rt, Call { options, ..call }, false)?;
            }
        }
    }
    Ok(())
}

/// What a scatter leaves, on the host.
type Model = fn(&mut [f32], &[Option<usize>], &[f32], ScatterMode);

/// One update stays, by every path.
fn wins(rt: &Rt, duplicates: Duplicates, model: Model) -> Result<(), String> {
    for path in [None, Some(ScatterPath::Atomic), Some(ScatterPath::Sorted)] {
        for (spread, bounds) in SPREADS
            .into_iter()
            .zip([Bounds::Mask, Bounds::Report].into_iter().cycle())
        {
            for (shape, is_turned) in [
                ([1, 37, 6], false),
                ([3, 50, 8], false),
                ([3, 7, 2], true),
                ([1, 9000, 2], false),
            ] {
                let call = Call {
                    shape,
                    is_turned,
                    count: 500,
                    spread,
                    mode: ScatterMode::Set,
                    options: ScatterOptions {
                        bounds,
                        duplicates,
                        path,
                    },
                };
                call.compare::<f32>(rt, false, model)?;
            }
        }
    }
    Ok(())
}

fn the_last_update_wins(rt: &Rt) -> Result<(), String> {
    wins(rt, Duplicates::LastWins, in_order::<f32>)?;
    wins(rt, Duplicates::Deterministic, in_order::<f32>)
}

fn the_first_update_wins(rt: &Rt) -> Result<(), String> {
    wins(rt, Duplicates::FirstWins, |target, at, updates, _| {
        let mut written = std::collections::BTreeSet::new();
        for (update, place) in updates.iter().zip(at) {
            if let Some(place) = place.filter(|place| written.insert(*place)) {
                target[place] = *update;
            }
        }
    })
}

fn a_hundred_runs_are_equal(rt: &Rt) -> Result<(), String> {
    for spread in [Spread::Skewed, Spread::Few] {
        let call = Call::rows(2500, spread, ScatterMode::Add, DETERMINISTIC);
        let unchecked = |_: &mut [f32], _: &[Option<usize>], _: &[f32], _| {};
        let (first, _) = call.run(rt, false, unchecked)?;
        for run in 1..100 {
            let (again, _) = call.run(rt, false, unchecked)?;
            same(&again, &first).map_err(|error| format!("run {run}: {error}"))?;
        }
    }
    Ok(())
}

/// So many that entries of entries are carried.
fn many_updates_to_one_place_are_summed_in_levels(rt: &Rt) -> Result<(), String> {
    for spread in [Spread::One, Spread::Few, Spread::TenthInOne] {
        let call = Call {
            shape: [1, 11, 1],
            ..Call::rows(40_000, spread, ScatterMode::Add, DETERMINISTIC)
        };
        call.compare::<f32>(rt, false, in_runs::<f32>)?;
    }
    Ok(())
}
