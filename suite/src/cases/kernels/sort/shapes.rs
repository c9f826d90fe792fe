//! Rows, axes and strides.

use super::super::keys::{Values, values};
use super::super::model::handle;
use super::types::differ_in;
use super::{order, paths, read, tensor};
use cubecl::prelude::*;
use girih_kernels::{SortOptions, argsort, sort, sort_with_indices};
use girih_testkit::{Rt, cases, check::same};

cases! {
    rows_that_share_other_digits,
    rows_of_a_matrix,
    other_axes_and_strides,
    nothing_to_sort,
}

/// Each row differs in other bytes than the one before.
fn rows_that_share_other_digits(rt: &Rt) -> Result<(), String> {
    let len = 7_000;
    let rows: Vec<Vec<i32>> = [0b0001, 0b0000, 0b0110, 0b1111, 0b1000]
        .into_iter()
        .map(|bytes| {
            let keys = differ_in(bytes, len);
            keys.into_iter().map(|key| key as i32).collect()
        })
        .collect();
    let input = tensor(rt, &rows.concat(), &[rows.len(), len]);
    let want: Vec<i32> = rows
        .iter()
        .flat_map(|row| {
            let mut row = row.clone();
            row.sort_unstable();
            row
        })
        .collect();
    for path in paths::<i32>(rt, None, [rows.len(), len]) {
        let options = SortOptions {
            path: Some(path),
            ..SortOptions::default()
        };
        let out = sort(&rt.client, &input, 1, &options).map_err(|error| error.to_string())?;
        same(&read::<i32>(rt, out)?, &want).map_err(|error| format!("by {path:?}: {error}"))?;
    }
    Ok(())
}

/// Sorts the rows of a matrix by every path.
fn rows(rt: &Rt, [count, len]: [usize; 2]) -> Result<(), String> {
    let keys: Vec<i32> = values(Values::Any, count * len);
    let want: Vec<i32> = keys
        .chunks(len)
        .flat_map(|row| {
            let order = order(row, &SortOptions::default());
            order
                .into_iter()
                .map(|place| row[place])
                .collect::<Vec<_>>()
        })
        .collect();
    let places_wanted: Vec<u32> = keys
        .chunks(len)
        .flat_map(|row| order(row, &SortOptions::default()))
        .map(|place| place as u32)
        .collect();
    let input = tensor(rt, &keys, &[count, len]);
    for path in paths::<i32>(rt, None, [count, len]) {
        let options = SortOptions {
            path: Some(path),
            ..SortOptions::default()
        };
        let out = sort(&rt.client, &input, 1, &options).map_err(|error| error.to_string())?;
        same(&read::<i32>(rt, out)?, &want)
            .map_err(|error| format!("{count} rows of {len} by {path:?}: {error}"))?;
        let out = argsort(&rt.client, &input, 1, u32::cube_type(), &options)
            .map_err(|error| error.to_string())?;
        same(&read::<u32>(rt, out)?, &places_wanted)
            .map_err(|error| format!("places in {count} rows of {len} by {path:?}: {error}"))?;
    }
    Ok(())
}

fn rows_of_a_matrix(rt: &Rt) -> Result<(), String> {
    for shape in [
        [300, 1],
        [70, 5],
        [40, 128],
        [9, 1_000],
        [3, 9_001],
        [2, 20_000],
    ] {
        rows(rt, shape)?;
    }
    Ok(())
}

fn other_axes_and_strides(rt: &Rt) -> Result<(), String> {
    let shape = [5, 70, 3];
    let keys: Vec<f32> = values(Values::Any, 5 * 70 * 3);
    let strides = [[210, 3, 1], [1, 15, 5], [300, 4, 1]];
    for strides in strides {
        let input = rt.put_strided(&keys, &shape, &strides);
        for axis in 0..3 {
            let out = sort(&rt.client, &handle(&input), axis, &SortOptions::default())
                .map_err(|error| error.to_string())?;
            let step: usize = shape[axis + 1..].iter().product();
            let mut want = keys.clone();
            for first in 0..keys.len() {
                if (first / step).is_multiple_of(shape[axis]) {
                    let row: Vec<f32> =
                        (0..shape[axis]).map(|at| keys[first + at * step]).collect();
                    for (at, place) in order(&row, &SortOptions::default()).into_iter().enumerate()
                    {
                        want[first + at * step] = row[place];
                    }
                }
            }
            same(&read::<f32>(rt, out)?, &want)
                .map_err(|error| format!("axis {axis} of {strides:?}: {error}"))?;
        }
    }
    Ok(())
}

fn nothing_to_sort(rt: &Rt) -> Result<(), String> {
    for (shape, axis) in [
        (vec![0], 0),
        (vec![3, 0], 1),
        (vec![0, 3], 1),
        (vec![3, 0], 0),
    ] {
        let input = tensor::<u32>(rt, &[], &shape);
        let (keys, places) = sort_with_indices(
            &rt.client,
            &input,
            axis,
            u32::cube_type(),
            &SortOptions::default(),
        )
        .map_err(|error| error.to_string())?;
        for out in [keys, places] {
            let got: Vec<usize> = out.shape().iter().copied().collect();
            if got != shape {
                return Err(format!("shape {got:?}, not {shape:?}"));
            }
        }
    }
    Ok(())
}
