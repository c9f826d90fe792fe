//! Products whose rows are added to the rows that lists name.

use super::groups::group_of;
use super::host::text;
use super::lists::{RULES, indices, list, place};
use super::model::{Element, Operand, Random, Right, compare, read, strides};
use girih_kernels::{
    Bounds, Error, MatmulOptions, MatmulPath, Precision, Route, gather_matmul_scatter_into,
};
use girih_testkit::{Rt, cases, needs};
use half::f16;

cases! {
    adds_to_rows needs [needs::ADD_F32],
    adds_by_every_rule needs [needs::ADD_F32],
    reports_what_it_adds_to needs [needs::ADD_F32],
    adds_halves_in_f32 needs [needs::F16, needs::ADD_F32],
    all_rows_to_one needs [needs::ADD_F32],
    adds_once_though_it_measures needs [needs::ADD_F32],
    adds_by_tensor_cores needs [needs::F16, needs::ADD_F32],
    adds_by_fragments_of_tf32 needs [needs::MMA_TF32, needs::ADD_F32],
}

struct Case {
    tokens: usize,
    columns: usize,
    inner: usize,
    ends: Option<Vec<i64>>,
    gather: Option<Vec<i64>>,
    scatter: Option<Vec<i64>>,
    weighted: bool,
    targets: usize,
    transposed: bool,
    tune: bool,
}

impl Case {
    fn rows(&self) -> usize {
        let lists = [&self.gather, &self.scatter];
        lists
            .into_iter()
            .flatten()
            .map(Vec::len)
            .next()
            .unwrap_or(self.tokens)
    }
}

/// Adds to a target of ones, and compares all of it.
fn add<E: Element>(rt: &Rt, case: &Case, bounds: Bounds, tolerance: f64) -> Result<(), String> {
    let options = MatmulOptions {
        tune: case.tune,
        ..Default::default()
    };
    add_by::<E>(rt, case, bounds, &options, tolerance)
}

/// The same in a way of the caller's.
fn add_by<E: Element>(
    rt: &Rt,
    case: &Case,
    bounds: Bounds,
    options: &MatmulOptions<'_>,
    tolerance: f64,
) -> Result<(), String> {
    let mut random = Random::new(case.tokens as u64 + 5);
    let groups = case.ends.as_ref().map_or(1, Vec::len);
    let a = Operand::<E>::random(
        rt,
        &[case.tokens, case.inner],
        &[case.inner, 1],
        &mut random,
    );
    let mut b_shape = vec![case.inner, case.columns];
    if case.ends.is_some() {
        b_shape.insert(0, groups);
    }
    let b = Operand::<E>::random(
        rt,
        &b_shape,
        &strides(&b_shape, case.transposed, 0),
        &mut random,
    );
    let target = Operand::<f32>::new(
        rt,
        &[case.targets, case.columns],
        &[case.columns, 1],
        vec![1.0; case.targets * case.columns],
    );
    let rows = case.rows();
    let weights = Operand::<f32>::random(rt, &[rows], &[1], &mut random);
    let lists =
        [&case.ends, &case.gather, &case.scatter].map(|of| of.as_ref().map(|of| list(rt, of)));
    let [ends, gather, scatter] = &lists;
    let route = Route {
        ends: ends.as_ref().map(|list| &list.tensor),
        gather: gather.as_ref().map(|list| &list.tensor),
        scatter: scatter.as_ref().map(|list| &list.tensor),
        weights: case.weighted.then_some(&weights.tensor),
    };
    let _ = gather_matmul_scatter_into(
        &rt.client,
        &a.tensor,
        &b.tensor,
        &target.tensor,
        &route,
        bounds,
        options,
    )
    .map_err(text)?;
    let mut want = vec![
        Right {
            value: 1.0,
            size: 1.0
        };
        case.targets * case.columns
    ];
    for row in 0..rows {
        let group = match &case.ends {
            Some(ends) => group_of(ends, row, rows),
            None => Some(0),
        };
        let from = case
            .gather
            .as_ref()
            .map_or(Some(row), |list| place(list[row], case.tokens, bounds));
        let to = case
            .scatter
            .as_ref()
            .map_or(Some(row), |list| place(list[row], case.targets, bounds));
        let (Some(group), Some(from), Some(to)) = (group, from, to) else {
            continue;
        };
        for column in 0..case.columns {
            for k in 0..case.inner {
                let of_b = match case.ends {
                    Some(_) => b.at(&[group, k, column]),
                    None => b.at(&[k, column]),
                };
                let weight = if case.weighted {
                    weights.at(&[row])
                } else {
                    1.0
                };
                want[to * case.columns + column].add(weight * a.at(&[from, k]) * of_b);
            }
        }
    }
    compare::<f32>(&read(rt, &target.tensor)?, &want, tolerance)
        .map_err(|error| format!("{} rows of {}, {bounds:?}: {error}", rows, case.tokens))
}

fn adds_to_rows(rt: &Rt) -> Result<(), String> {
    for (tokens, targets, columns) in [(30, 10, 24), (9, 3, 7), (70, 70, 16), (1, 1, 1)] {
        for transposed in [false, true] {
            for weighted in [false, true] {
                let rows = 2 * tokens;
                let case = Case {
                    tokens,
                    columns,
                    inner: 18,
                    ends: Some(vec![rows as i64 / 4, rows as i64 / 4, rows as i64 - 1]),
                    gather: Some(indices(rows, tokens, 0)),
                    scatter: Some(indices(rows, targets, 0)),
                    weighted,
                    targets,
                    transposed,
                    tune: false,
                };
                add::<f32>(rt, &case, Bounds::Mask, 1e-5)?;
                let case = Case {
                    gather: None,
                    ends: None,
                    scatter: Some(indices(tokens, targets, 0)),
                    ..case
                };
                add::<f32>(rt, &case, Bounds::Mask, 1e-5)?;
            }
        }
    }
    Ok(())
}

fn adds_by_every_rule(rt: &Rt) -> Result<(), String> {
    for bounds in RULES {
        for (tokens, targets) in [(20, 10), (0, 3), (3, 0)] {
            let case = Case {
                tokens,
                columns: 12,
                inner: 8,
                ends: Some(vec![10, 40]),
                gather: Some(indices(40, tokens, 4)),
                scatter: Some(indices(40, targets, 4)),
                weighted: true,
                targets,
                transposed: false,
                tune: false,
            };
            add::<f32>(rt, &case, bounds, 1e-5)?;
        }
    }
    Ok(())
}

fn reports_what_it_adds_to(rt: &Rt) -> Result<(), String> {
    let mut random = Random::new(1);
    let a = Operand::<f32>::random(rt, &[3, 8], &[8, 1], &mut random);
    let b = Operand::<f32>::random(rt, &[8, 8], &[8, 1], &mut random);
    let target = Operand::<f32>::new(rt, &[5, 8], &[8, 1], vec![0.0; 40]);
    let scatter = list(rt, &[4, 5, 0]);
    let route = Route {
        scatter: Some(&scatter.tensor),
        ..Default::default()
    };
    let options = MatmulOptions::default();
    let routed = gather_matmul_scatter_into(
        &rt.client,
        &a.tensor,
        &b.tensor,
        &target.tensor,
        &route,
        Bounds::Report,
        &options,
    );
    match routed.map_err(text)?.check() {
        Err(Error::OutOfRange(found))
            if (found.position, found.index, found.extent) == (1, 5, 5) =>
        {
            Ok(())
        }
        found => Err(format!("{found:?}")),
    }
}

fn adds_halves_in_f32(rt: &Rt) -> Result<(), String> {
    let case = Case {
        tokens: 30,
        columns: 24,
        inner: 32,
        ends: Some(vec![20, 60]),
        gather: Some(indices(60, 30, 0)),
        scatter: Some(indices(60, 12, 0)),
        weighted: true,
        targets: 12,
        transposed: false,
        tune: false,
    };
    add::<f16>(rt, &case, Bounds::Mask, 1e-5)
}

fn all_rows_to_one(rt: &Rt) -> Result<(), String> {
    let case = Case {
        tokens: 200,
        columns: 8,
        inner: 4,
        ends: None,
        gather: None,
        scatter: Some(vec![1; 200]),
        weighted: false,
        targets: 2,
        transposed: false,
        tune: false,
    };
    add::<f32>(rt, &case, Bounds::Mask, 1e-5)
}

fn adds_once_though_it_measures(rt: &Rt) -> Result<(), String> {
    let case = Case {
        tokens: 50,
        columns: 16,
        inner: 12,
        ends: Some(vec![30, 100]),
        gather: Some(indices(100, 50, 0)),
        scatter: Some(indices(100, 20, 0)),
        weighted: true,
        targets: 20,
        transposed: false,
        tune: true,
    };
    add::<f32>(rt, &case, Bounds::Mask, 1e-5)?;
    add::<f32>(rt, &case, Bounds::Mask, 1e-5)
}

/// Rows that are gathered, times factors, added to rows, by each path.
fn by_lists(tokens: usize, columns: usize, inner: usize, targets: usize) -> Case {
    let rows = 2 * tokens;
    Case {
        tokens,
        columns,
        inner,
        ends: Some(vec![tokens as i64 / 2, tokens as i64 / 2, rows as i64 - 1]),
        gather: Some(indices(rows, tokens, 1)),
        scatter: Some(indices(rows, targets, 1)),
        weighted: true,
        targets,
        transposed: false,
        tune: false,
    }
}

const EXTENTS: [[usize; 4]; 3] = [[70, 24, 40, 30], [64, 64, 64, 64], [9, 7, 5, 3]];

/// By every rule for entries out of range.
fn adds_by_tensor_cores(rt: &Rt) -> Result<(), String> {
    for [tokens, columns, inner, targets] in EXTENTS {
        let case = by_lists(tokens, columns, inner, targets);
        for path in [MatmulPath::TensorCores, MatmulPath::Hopper] {
            let options = MatmulOptions {
                path: Some(path),
                ..Default::default()
            };
            for bounds in RULES {
                match add_by::<f16>(rt, &case, bounds, &options, 1e-5) {
                    Err(lacking) if lacking.contains(&format!("no path {path:?}")) => {}
                    found => found.map_err(|error| format!("{path:?}: {error}"))?,
                }
            }
        }
    }
    Ok(())
}

fn adds_by_fragments_of_tf32(rt: &Rt) -> Result<(), String> {
    let options = MatmulOptions {
        path: Some(MatmulPath::TensorCores),
        precision: Precision::Tf32,
        ..Default::default()
    };
    for [tokens, columns, inner, targets] in EXTENTS {
        // Of the rounding of both operands, which the host does not do here.
        let case = by_lists(tokens, columns, inner, targets);
        add_by::<f32>(rt, &case, Bounds::Mask, &options, 1.0 / 1024.0)?;
    }
    Ok(())
}
