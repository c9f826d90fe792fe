//! `combine_rows` and `sparse_step`.

use super::model::{handle, list};
use super::segment::model::{Element, Random, read};
use girih::{Bounds, Error};
use girih_kernels::{SparseRows, SparseStep, combine_rows, sparse_step};
use girih_testkit::{Rt, cases, check, needs};
use half::{bf16, f16};

cases! {
    rows_of_f32_are_combined,
    rows_of_f16_are_combined needs [needs::F16],
    rows_of_bf16_are_combined needs [needs::BF16],
    every_policy_finds_its_rows,
    one_row_many_times,
    a_step_touches_its_rows_alone,
    a_step_of_f16 needs [needs::F16],
    what_is_refused,
}

/// A slope of a gathered row.
fn slope(entry: usize, column: usize) -> f64 {
    ((entry * 7 + column * 3) % 11) as f64 - 5.0
}

/// Where an index points, if anywhere.
fn place(index: i64, extent: usize, bounds: Bounds) -> Option<usize> {
    let extent = extent as i64;
    let place = match bounds {
        Bounds::Clamp => index.clamp(0, (extent - 1).max(0)),
        Bounds::Wrap if index < 0 => index + extent,
        _ => index,
    };
    (0..extent).contains(&place).then_some(place as usize)
}

fn combined<E: Element>(
    rt: &Rt,
    indices: &[i32],
    [extent, columns]: [usize; 2],
    padding: Option<usize>,
    bounds: Bounds,
) -> Result<(), String> {
    let entries = indices.len();
    let slopes: Vec<E> = (0..entries * columns)
        .map(|at| E::of(slope(at / columns, at % columns)))
        .collect();
    let (gradient, index) = (rt.put_tensor(&slopes, &[entries, columns]), rt.put(indices));
    let found = combine_rows(
        &rt.client,
        &handle(&gradient),
        &list(&index),
        extent,
        padding,
        bounds,
    )
    .map_err(|error| error.to_string())?;
    let mut sums = std::collections::BTreeMap::<usize, Vec<f64>>::new();
    for (entry, &index) in indices.iter().enumerate() {
        let row = place(index.into(), extent, bounds).filter(|&row| Some(row) != padding);
        if let Some(row) = row {
            let sum = sums.entry(row).or_insert_with(|| vec![0.0; columns]);
            for (column, sum) in sum.iter_mut().enumerate() {
                *sum += slope(entry, column);
            }
        }
    }
    let mut which: Vec<i32> = sums.keys().map(|&row| row as i32).collect();
    which.resize(entries, -1);
    let mut rows: Vec<f64> = sums.into_values().flatten().collect();
    rows.resize(entries * columns, 0.0);
    check::same(&read::<i32>(rt, &found.index)?, &which)?;
    E::compare(&read::<E>(rt, &found.rows)?, &rows)
}

fn indices(count: usize, extent: usize) -> Vec<i32> {
    let mut random = Random::new(21);
    (0..count)
        .map(|_| random.below(extent + 4) as i32 - 2)
        .collect()
}

fn rows_of_f32_are_combined(rt: &Rt) -> Result<(), String> {
    for (count, extent, columns) in [
        (0, 5, 4),
        (1, 5, 4),
        (40, 6, 1),
        (300, 50, 12),
        (90, 9, 130),
    ] {
        let indices = indices(count, extent);
        combined::<f32>(rt, &indices, [extent, columns], None, Bounds::Mask)?;
        combined::<f32>(rt, &indices, [extent, columns], Some(3), Bounds::Mask)?;
    }
    combined::<f32>(rt, &[-1, 7, 99], [5, 4], None, Bounds::Mask)?;
    combined::<f32>(rt, &[0, 0], [0, 4], None, Bounds::Mask)
}
fn rows_of_f16_are_combined(rt: &Rt) -> Result<(), String> {
    combined::<f16>(rt, &indices(60, 8), [8, 12], None, Bounds::Mask)
}
fn rows_of_bf16_are_combined(rt: &Rt) -> Result<(), String> {
    combined::<bf16>(rt, &indices(60, 8), [8, 12], None, Bounds::Mask)
}

fn every_policy_finds_its_rows(rt: &Rt) -> Result<(), String> {
    for bounds in [Bounds::Mask, Bounds::Clamp, Bounds::Wrap, Bounds::Report] {
        combined::<f32>(rt, &[3, -1, 8, 0, -9, 3, 7], [8, 4], Some(0), bounds)?;
    }
    combined::<f32>(rt, &[3, 0, 7], [8, 4], None, Bounds::Assume)
}

fn one_row_many_times(rt: &Rt) -> Result<(), String> {
    combined::<f32>(rt, &vec![4; 2000], [8, 4], None, Bounds::Mask)
}

/// A step on rows 2 and 5 of eight.
fn stepped<E: Element>(rt: &Rt) -> Result<(), String> {
    let (rows, columns) = (8, 6);
    let table: Vec<E> = (0..rows * columns)
        .map(|at| E::of(at as f64 / 8.0))
        .collect();
    let zeros = vec![E::of(0.0); rows * columns];
    let slopes: Vec<E> = (0..3 * columns)
        .map(|at| E::of(slope(at / columns, at % columns)))
        .collect();
    let (gradient, index) = (rt.put_tensor(&slopes, &[3, columns]), rt.put(&[2, 5, -1]));
    let gradient = SparseRows {
        index: list(&index),
        rows: handle(&gradient),
    };
    let text = |error: Error| error.to_string();
    for (step, states) in [
        (SparseStep::Sgd { rate: 0.5 }, 0),
        (
            SparseStep::Adagrad {
                rate: 0.5,
                epsilon: 1.0,
            },
            1,
        ),
        (
            SparseStep::Adam {
                rate: 0.5,
                beta_1: 0.5,
                beta_2: 0.75,
                epsilon: 1.0,
                time: 1,
            },
            2,
        ),
    ] {
        let parameter = rt.put_tensor(&table, &[rows, columns]);
        let kept: Vec<_> = (0..states)
            .map(|_| rt.put_tensor(&zeros, &[rows, columns]))
            .collect();
        let handles: Vec<_> = kept.iter().map(handle).collect();
        let given: Vec<_> = handles.iter().collect();
        sparse_step(&rt.client, &handle(&parameter), &given, &gradient, step).map_err(text)?;
        let want: Vec<f64> = (0..rows * columns)
            .map(|at| {
                let (row, column) = (at / columns, at % columns);
                let value = at as f64 / 8.0;
                let Some(entry) = [2, 5].into_iter().position(|used| used == row) else {
                    return value;
                };
                let slope = slope(entry, column);
                value
                    - match step {
                        SparseStep::Sgd { .. } => 0.5 * slope,
                        // The first step of both: the slope by its own size and epsilon.
                        _ => 0.5 * slope / (slope.abs() + 1.0),
                    }
            })
            .collect();
        let got = rt
            .read_tensor(&parameter)
            .map_err(|error| error.to_string())?;
        E::compare(&got, &want).map_err(|error| format!("{step:?}: {error}"))?;
        let rest = |values: &[E]| -> Vec<E> {
            let of_rest = |at: &usize| ![2, 5].contains(&(at / columns));
            (0..rows * columns)
                .filter(of_rest)
                .map(|at| values[at])
                .collect()
        };
        check::same(&rest(&got), &rest(&table))?;
        for state in &kept {
            let state = rt.read_tensor(state).map_err(|error| error.to_string())?;
            check::same(&rest(&state), &rest(&zeros))?;
        }
    }
    Ok(())
}

fn a_step_touches_its_rows_alone(rt: &Rt) -> Result<(), String> {
    stepped::<f32>(rt)
}
fn a_step_of_f16(rt: &Rt) -> Result<(), String> {
    stepped::<f16>(rt)
}

fn what_is_refused(rt: &Rt) -> Result<(), String> {
    let (table, turned) = (
        rt.put_tensor(&[0.0f32; 12], &[4, 3]),
        rt.put_strided(&[0.0f32; 12], &[4, 3], &[1, 4]),
    );
    let (rows, index) = (rt.put_tensor(&[0.0f32; 6], &[2, 3]), rt.put(&[0i32, 1]));
    let gradient = SparseRows {
        index: list(&index),
        rows: handle(&rows),
    };
    let sgd = SparseStep::Sgd { rate: 0.1 };
    let (table, turned) = (handle(&table), handle(&turned));
    let text = |found: girih::Result<()>| {
        found.map_or_else(|error| error.to_string(), |()| "nothing".to_owned())
    };
    let padding = combine_rows(
        &rt.client,
        &gradient.rows,
        &gradient.index,
        4,
        Some(4),
        Bounds::Mask,
    );
    for (found, want) in [
        (
            text(sparse_step(&rt.client, &table, &[&table], &gradient, sgd)),
            "the number of states is 1; sparse_step needs 0",
        ),
        (
            text(sparse_step(&rt.client, &turned, &[], &gradient, sgd)),
            "parameter is a tensor of shape [4, 3] and strides [1, 4]; sparse_step needs a contiguous one",
        ),
        (
            text(padding.map(|_| ())),
            "padding is 4; combine_rows needs a row of the table, in 0..4",
        ),
    ] {
        if found != want {
            return Err(format!("{found:?}, not {want:?}"));
        }
    }
    Ok(())
}
