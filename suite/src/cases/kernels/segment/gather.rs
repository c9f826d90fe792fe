//! The gradient of a gather.

use super::super::model::{Index, handle, list, place};
use super::gradient::{slope, slopes};
use super::model::{Element, Random, read};
use girih::{Bounds, Error};
use girih_kernels::{Determinism, GatherOptions, gather_backward};
use girih_testkit::{Rt, cases, check, needs};
use half::bf16;

cases! {
    of_rows needs [needs::ADD_F32],
    of_rows_in_order,
    of_bf16_in_order needs [needs::BF16],
    of_u32_indices_in_order,
    along_another_axis needs [needs::ADD_F32],
    a_padding_has_none needs [needs::ADD_F32],
    of_columns_first needs [needs::ADD_F32],
    in_order_is_the_same_in_every_run,
    of_nothing,
    what_is_refused,
}

const BOUNDS: [Bounds; 4] = [Bounds::Mask, Bounds::Clamp, Bounds::Wrap, Bounds::Report];

/// Indices in range, and some beyond it; of types without a sign none below.
fn indices<I: Index>(count: usize, extent: usize, seed: u64) -> Vec<i64> {
    let mut random = Random::new(seed);
    let drawn = (0..count).map(|_| random.below(extent + 4) as i64 - 2);
    drawn
        .map(|index| if I::of(index).is_some() { index } else { 0 })
        .collect()
}

/// The sums of slices `[outer, count, inner]` along the middle axis.
fn sums(indices: &[i64], [outer, extent, inner]: [usize; 3], options: GatherOptions) -> Vec<f64> {
    let mut sums = vec![0.0; outer * extent * inner];
    for before in 0..outer {
        for (at, &index) in indices.iter().enumerate() {
            let to = place(index, extent, options.bounds);
            let Some(to) = to.filter(|&to| Some(to) != options.padding) else {
                continue;
            };
            for column in 0..inner {
                let from = before * indices.len() + at;
                sums[(before * extent + to) * inner + column] += slope(from, column);
            }
        }
    }
    sums
}

/// Compares the gradient of slices of that shape, whose middle axis is the gathered one.
fn answer<E: Element, I: Index>(
    rt: &Rt,
    [outer, extent, inner]: [usize; 3],
    count: usize,
    options: GatherOptions,
) -> Result<(), String> {
    let indices = indices::<I>(count, extent, (count + extent) as u64);
    let (shape, axis) = match outer {
        1 => (vec![count, inner], 0),
        _ => (vec![outer, count, inner], 1),
    };
    let gradient = rt.put_tensor(&slopes::<E>(outer * count, inner), &shape);
    let typed: Vec<I> = indices.iter().copied().filter_map(I::of).collect();
    let index = rt.put(&typed);
    let (gradient, index) = (handle(&gradient), list(&index));
    let found = gather_backward(&rt.client, &gradient, &index, axis, extent, options)
        .map_err(|error| error.to_string())?;
    let want = sums(&indices, [outer, extent, inner], options);
    E::compare(&read::<E>(rt, &found)?, &want).map_err(|error| {
        format!("{error}: {count} indices of {extent} slices, {inner} columns, {options:?}")
    })
}

fn options(bounds: Bounds, determinism: Determinism) -> GatherOptions {
    GatherOptions {
        determinism,
        ..bounds.into()
    }
}

fn of_rows_by<E: Element, I: Index>(rt: &Rt, determinism: Determinism) -> Result<(), String> {
    for (extent, count, columns) in [
        (9, 40, 12),
        (3, 500, 4),
        (300, 20, 1),
        (5, 7, 300),
        (1, 1, 1),
    ] {
        for bounds in BOUNDS {
            let options = options(bounds, determinism);
            answer::<E, I>(rt, [1, extent, columns], count, options)?;
        }
    }
    Ok(())
}

fn of_rows(rt: &Rt) -> Result<(), String> {
    of_rows_by::<f32, i32>(rt, Determinism::Any)
}
fn of_rows_in_order(rt: &Rt) -> Result<(), String> {
    of_rows_by::<f32, i32>(rt, Determinism::RunToRun)
}
fn of_bf16_in_order(rt: &Rt) -> Result<(), String> {
    of_rows_by::<bf16, i32>(rt, Determinism::RunToRun)
}
fn of_u32_indices_in_order(rt: &Rt) -> Result<(), String> {
    of_rows_by::<f32, u32>(rt, Determinism::RunToRun)
}

fn along_another_axis(rt: &Rt) -> Result<(), String> {
    for determinism in [Determinism::Any, Determinism::RunToRun] {
        for bounds in BOUNDS {
            answer::<f32, i32>(rt, [3, 7, 4], 30, options(bounds, determinism))?;
            answer::<f32, i32>(rt, [2, 5, 1], 9, options(bounds, determinism))?;
        }
    }
    Ok(())
}

fn a_padding_has_none(rt: &Rt) -> Result<(), String> {
    for determinism in [Determinism::Any, Determinism::RunToRun] {
        // Indices below 0 and past the end may come to be the padding's.
        for (bounds, padding) in [
            (Bounds::Mask, 2),
            (Bounds::Clamp, 0),
            (Bounds::Clamp, 6),
            (Bounds::Wrap, 6),
            (Bounds::Report, 3),
        ] {
            let options = GatherOptions {
                padding: Some(padding),
                ..options(bounds, determinism)
            };
            answer::<f32, i32>(rt, [1, 7, 12], 50, options)?;
            answer::<f32, i32>(rt, [3, 7, 4], 30, options)?;
        }
    }
    Ok(())
}

fn of_columns_first(rt: &Rt) -> Result<(), String> {
    for determinism in [Determinism::Any, Determinism::RunToRun] {
        let options = options(Bounds::Mask, determinism);
        let indices = indices::<i32>(20, 5, 4);
        let gradient = rt.put_strided(&slopes::<f32>(20, 8), &[20, 8], &[1, 20]);
        let typed: Vec<i32> = indices.iter().map(|&index| index as i32).collect();
        let index = rt.put_strided(&typed, &[20], &[3]);
        let found = gather_backward(
            &rt.client,
            &handle(&gradient),
            &handle(&index),
            0,
            5,
            options,
        )
        .map_err(|error| error.to_string())?;
        f32::compare(
            &read::<f32>(rt, &found)?,
            &sums(&indices, [1, 5, 8], options),
        )?;
    }
    Ok(())
}

fn in_order_is_the_same_in_every_run(rt: &Rt) -> Result<(), String> {
    // Sums that round.
    let mut random = Random::new(4);
    let mut drawn = |count: usize, end: usize| -> Vec<usize> {
        (0..count).map(|_| random.below(end)).collect()
    };
    let rows: Vec<f32> = drawn(4 * 3000, 1 << 20)
        .into_iter()
        .map(|value| (value as f32 + 0.3) / 7.0)
        .collect();
    let index: Vec<i32> = drawn(3000, 3).into_iter().map(|row| row as i32).collect();
    let (gradient, index) = (rt.put_tensor(&rows, &[3000, 4]), rt.put(&index));
    let options = options(Bounds::Mask, Determinism::RunToRun);
    let run = || {
        let (gradient, index) = (handle(&gradient), list(&index));
        let found = gather_backward(&rt.client, &gradient, &index, 0, 3, options);
        read::<f32>(rt, &found.map_err(|error| error.to_string())?)
    };
    let first = run()?;
    (0..4).try_for_each(|_| check::same(&run()?, &first))
}

fn of_nothing(rt: &Rt) -> Result<(), String> {
    for determinism in [Determinism::Any, Determinism::RunToRun] {
        for (extent, count, columns) in [(3, 0, 4), (0, 3, 4), (3, 2, 0), (0, 0, 0)] {
            let options = options(Bounds::Mask, determinism);
            answer::<f32, i32>(rt, [1, extent, columns], count, options)?;
        }
    }
    Ok(())
}

fn what_is_refused(rt: &Rt) -> Result<(), String> {
    let gradient = rt.put_tensor(&[0.0f32; 12], &[6, 2]);
    let (six, five, floats) = (rt.put(&[0i32; 6]), rt.put(&[0i32; 5]), rt.put(&[0.0f32; 6]));
    let (six, five, floats) = (list(&six), list(&five), list(&floats));
    let masked = GatherOptions::from(Bounds::Mask);
    let padded = GatherOptions {
        padding: Some(3),
        ..masked
    };
    let text = |index, axis, options| {
        let found = gather_backward(&rt.client, &handle(&gradient), index, axis, 3, options);
        found.map_or_else(|error: Error| error.to_string(), |_| "nothing".to_owned())
    };
    for (found, want) in [
        (
            text(&five, 0, masked),
            "gradient has shape [6, 2]; gather_backward needs [5, 2]",
        ),
        (
            text(&floats, 0, masked),
            "index has elements of type f32; gather_backward needs an integer type",
        ),
        (
            text(&six, 0, padded),
            "padding is 3; gather_backward needs a slice of the input, in 0..3",
        ),
        (
            text(&six, 2, masked),
            "axis 2 of gradient, which has rank 2; gather_backward needs an axis in 0..2",
        ),
    ] {
        if found != want {
            return Err(format!("{found:?}, not {want:?}"));
        }
    }
    Ok(())
}
