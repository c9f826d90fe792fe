//! Products whose rows are gathered by lists.

use super::groups::group_of;
use super::host::text;
use super::lists::{RULES, indices, list, place};
use super::model::{Operand, Random, Right, compare, read, strides};
use girih_kernels::{
    Bounds, Error, MatmulOptions, MatmulPath, Route, gather_matmul, gather_matmul_scatter_into,
};
use girih_testkit::{Rt, cases, needs};
use half::f16;

cases! {
    gathers_rows,
    gathers_by_every_rule,
    reports_what_it_gathers,
    reports_by_every_path needs [needs::F16, needs::ADD_F32],
    strided_lists,
}

fn gathered(
    rt: &Rt,
    tokens: usize,
    rows: usize,
    columns: usize,
    grouped: bool,
    bounds: Bounds,
) -> Result<(), String> {
    let mut random = Random::new(rows as u64);
    let inner = 20;
    let a = Operand::<f32>::random(rt, &[tokens, inner], &[inner, 1], &mut random);
    let ends = [rows as i64 / 3, rows as i64 / 3, rows as i64];
    let b_shape = if grouped {
        vec![3, inner, columns]
    } else {
        vec![inner, columns]
    };
    let b = Operand::<f32>::random(rt, &b_shape, &strides(&b_shape, false, 0), &mut random);
    let index = indices(rows, tokens, if bounds == Bounds::Assume { 0 } else { 3 });
    let (list, ends_list) = (list(rt, &index), list(rt, &ends));
    let out = gather_matmul(
        &rt.client,
        &a.tensor,
        &list.tensor,
        &b.tensor,
        grouped.then_some(&ends_list.tensor),
        bounds,
        &MatmulOptions::default(),
    )
    .map_err(text)?;
    let mut want = vec![];
    for (row, &index) in index.iter().enumerate() {
        let group = group_of(&ends, row, rows);
        for column in 0..columns {
            let mut sum = Right::default();
            if let (Some(from), Some(group)) = (place(index, tokens, bounds), group) {
                for k in 0..inner {
                    let of_b = if grouped {
                        b.at(&[group, k, column])
                    } else {
                        b.at(&[k, column])
                    };
                    sum.add(a.at(&[from, k]) * of_b);
                }
            }
            want.push(sum);
        }
    }
    compare::<f32>(&read(rt, out.value())?, &want, 1e-5)
        .map_err(|error| format!("{rows} of {tokens}, {bounds:?}: {error}"))
}

fn gathers_rows(rt: &Rt) -> Result<(), String> {
    for (tokens, rows, columns) in [
        (10, 100, 24),
        (100, 7, 9),
        (1, 40, 16),
        (30, 0, 8),
        (5, 65, 1),
    ] {
        for grouped in [false, true] {
            gathered(rt, tokens, rows, columns, grouped, Bounds::Assume)?;
        }
    }
    Ok(())
}

fn gathers_by_every_rule(rt: &Rt) -> Result<(), String> {
    for bounds in RULES {
        for tokens in [0, 1, 20] {
            gathered(rt, tokens, 50, 12, true, bounds)?;
            gathered(rt, tokens, 50, 12, false, bounds)?;
        }
    }
    Ok(())
}

fn reports_what_it_gathers(rt: &Rt) -> Result<(), String> {
    let mut random = Random::new(1);
    let a = Operand::<f32>::random(rt, &[4, 8], &[8, 1], &mut random);
    let b = Operand::<f32>::random(rt, &[8, 8], &[8, 1], &mut random);
    for (index, wanted) in [
        (vec![0, 3, 1], None),
        (vec![0, 4, -1], Some((1, 4))),
        (vec![1, 0, -7, 9], Some((2, -7))),
    ] {
        let list = list(rt, &index);
        let checked = gather_matmul(
            &rt.client,
            &a.tensor,
            &list.tensor,
            &b.tensor,
            None,
            Bounds::Report,
            &MatmulOptions::default(),
        )
        .map_err(text)?;
        match (checked.check(), wanted) {
            (Ok(_), None) => {}
            (Err(Error::OutOfRange(found)), Some((position, index)))
                if (found.position, found.index, found.extent) == (position, index, 4) => {}
            (found, _) => return Err(format!("{index:?} gave {found:?}")),
        }
    }
    Ok(())
}

fn strided_lists(rt: &Rt) -> Result<(), String> {
    let mut random = Random::new(2);
    let a = Operand::<f32>::random(rt, &[4, 8], &[8, 1], &mut random);
    let b = Operand::<f32>::random(rt, &[8, 4], &[4, 1], &mut random);
    // Every second entry.
    let list = Operand::<i32>::new(rt, &[3], &[2], vec![3, 9, 0, 9, 3]);
    let out = gather_matmul(
        &rt.client,
        &a.tensor,
        &list.tensor,
        &b.tensor,
        None,
        Bounds::Mask,
        &MatmulOptions::default(),
    )
    .map_err(text)?;
    let mut want = vec![];
    for from in [3, 0, 3] {
        for column in 0..4 {
            let mut sum = Right::default();
            (0..8).for_each(|k| sum.add(a.at(&[from, k]) * b.at(&[k, column])));
            want.push(sum);
        }
    }
    compare::<f32>(&read(rt, out.value())?, &want, 1e-5)
}

/// The first entry out of range of either list, by each path that the device has; what is in range is computed.
fn reports_by_every_path(rt: &Rt) -> Result<(), String> {
    for path in [
        MatmulPath::Portable,
        MatmulPath::TensorCores,
        MatmulPath::Hopper,
    ] {
        for (gather, scatter, wanted) in [
            (vec![0i64, 3, 1, 2], vec![4i64, 0, 1, 1], None),
            (vec![0, 4, -1, 2], vec![4, 0, 1, 1], Some((1, 4, 4))),
            (vec![0, 3, 1, 2], vec![4, 0, 9, -2], Some((2, 9, 5))),
        ] {
            let found = report_by(rt, path, &gather, &scatter);
            match found {
                Err(lacking) if lacking.contains(&format!("no path {path:?}")) => {}
                Err(error) => return Err(format!("{path:?}: {error}")),
                Ok(found) if found == wanted => {}
                Ok(found) => return Err(format!("{path:?}: {found:?}, not {wanted:?}")),
            }
        }
    }
    Ok(())
}

/// The position, the index and the extent of the first entry out of range.
fn report_by(
    rt: &Rt,
    path: MatmulPath,
    gather: &[i64],
    scatter: &[i64],
) -> Result<Option<(u64, i128, usize)>, String> {
    let mut random = Random::new(41);
    let a = Operand::<f16>::random(rt, &[4, 64], &[64, 1], &mut random);
    let b = Operand::<f16>::random(rt, &[64, 72], &[72, 1], &mut random);
    let target = Operand::<f32>::new(rt, &[5, 72], &[72, 1], vec![0.0; 5 * 72]);
    let (gathered, scattered) = (list(rt, gather), list(rt, scatter));
    let route = Route {
        gather: Some(&gathered.tensor),
        scatter: Some(&scattered.tensor),
        ..Default::default()
    };
    let options = MatmulOptions {
        path: Some(path),
        ..Default::default()
    };
    let routed = gather_matmul_scatter_into(
        &rt.client,
        &a.tensor,
        &b.tensor,
        &target.tensor,
        &route,
        Bounds::Report,
        &options,
    )
    .map_err(text)?;
    let mut want = vec![Right::default(); 5 * 72];
    for (&from, &to) in gather.iter().zip(scatter) {
        let from = place(from, 4, Bounds::Mask);
        if let (Some(from), Some(to)) = (from, place(to, 5, Bounds::Mask)) {
            for column in 0..72 {
                let sum = &mut want[to * 72 + column];
                (0..64).for_each(|k| sum.add(a.at(&[from, k]) * b.at(&[k, column])));
            }
        }
    }
    compare::<f32>(&read(rt, &target.tensor)?, &want, 1e-5)?;
    match routed.check() {
        Ok(()) => Ok(None),
        Err(Error::OutOfRange(found)) => Ok(Some((found.position, found.index, found.extent))),
        Err(error) => Err(error.to_string()),
    }
}
