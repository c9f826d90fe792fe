//! `segment_reduce`.

pub(super) mod bag;
pub(super) mod bag_gradient;
#[cfg(feature = "offline")]
pub mod compiled;
pub(super) mod explain;
pub(super) mod gather;
pub(super) mod gradient;
pub(super) mod long;
pub(super) mod model;

use super::model::{handle, list};
use girih::Error;
use girih_kernels::{
    Grouping, Reduction, SegmentReduced, segment_reduce, segment_reduce_with_args,
};
use girih_testkit::{Rt, cases, check, needs};
use gradient::ids;
use half::{bf16, f16};
use model::{Element, Groups, Model, read, read_args};

cases! {
    by_offsets_in_rows_of_every_width,
    by_one_length,
    by_sorted_ids,
    by_ids_in_any_order,
    of_i32,
    of_u32_by_i64_offsets needs [needs::I64],
    of_f16 needs [needs::F16],
    of_bf16 needs [needs::BF16],
    of_f64 needs [needs::F64],
    rows_with_holes_and_columns_first,
    not_a_number_stays,
    an_infinity_has_a_place,
    offsets_out_of_range_touch_nothing,
    nothing_at_all,
    what_is_refused,
}

pub(super) const REDUCTIONS: [Reduction; 5] = [
    Reduction::Sum,
    Reduction::Mean,
    Reduction::Max,
    Reduction::Min,
    Reduction::Prod,
];

/// Reduces rows by offsets, and compares every element and where it came from.
pub(super) fn by_offsets<E: Element>(
    rt: &Rt,
    lengths: &[usize],
    columns: usize,
    reduction: Reduction,
) -> Result<(), String> {
    let groups = Groups::of_lengths(lengths);
    let model = Model::of_rows(groups.entries(), columns, reduction);
    let values = rt.put_tensor(&model.table::<E>(), &[groups.entries(), columns]);
    let offsets = rt.put(&groups.offsets());
    let found = segment_reduce_with_args(
        &rt.client,
        &handle(&values),
        Grouping::Offsets(&list(&offsets)),
        reduction,
    );
    compare::<E>(rt, found, &model, &groups)
}

fn compare<E: Element>(
    rt: &Rt,
    found: girih::Result<SegmentReduced>,
    model: &Model,
    groups: &Groups,
) -> Result<(), String> {
    let found = found.map_err(|error| error.to_string())?;
    let (want, want_args, _) = model.reduced(groups, false);
    let what = format!(
        "{:?} of {} columns, lengths {:?}",
        model.reduction,
        model.columns,
        groups.lengths()
    );
    let got: Vec<E> = read(rt, &found.values)?;
    E::compare(&got, &want).map_err(|error| format!("{error}: {what}"))?;
    match (found.args, model.has_args()) {
        (Some(args), true) => check::same(&read_args(rt, &args)?, &want_args)
            .map_err(|error| format!("args: {error}: {what}")),
        (None, false) => Ok(()),
        (args, _) => Err(format!("args {args:?}: {what}")),
    }
}

fn by_offsets_in_rows_of_every_width(rt: &Rt) -> Result<(), String> {
    let lengths = [3, 0, 1, 7, 4, 0, 0, 20, 5];
    for columns in [1, 3, 4, 20, 128, 200, 300] {
        for reduction in REDUCTIONS {
            by_offsets::<f32>(rt, &lengths, columns, reduction)?;
        }
    }
    Ok(())
}

fn by_one_length(rt: &Rt) -> Result<(), String> {
    for (length, count) in [(1, 9), (5, 13), (200, 4), (6, 0)] {
        for reduction in [Reduction::Sum, Reduction::Max, Reduction::Prod] {
            let groups = Groups::of_lengths(&vec![length; count]);
            let model = Model::of_rows(groups.entries(), 8, reduction);
            let values = rt.put_tensor(&model.table::<f32>(), &[groups.entries(), 8]);
            let by = Grouping::Length(length);
            let found = segment_reduce_with_args(&rt.client, &handle(&values), by, reduction);
            compare::<f32>(rt, found, &model, &groups)?;
        }
    }
    Ok(())
}

fn by_sorted_ids(rt: &Rt) -> Result<(), String> {
    for (rows, segments) in [(200, 13), (1000, 3), (5, 40), (0, 3), (7, 0)] {
        for reduction in REDUCTIONS {
            let mut ids = ids(rows, segments);
            ids.sort_unstable();
            let groups = Groups::of_ids(&ids, segments);
            let model = Model::of_rows(rows, 12, reduction);
            let values = rt.put_tensor(&model.table::<f32>(), &[rows, 12]);
            let ids = rt.put(&ids);
            let ids = &list(&ids);
            let by = Grouping::SortedIds { ids, segments };
            let found = segment_reduce_with_args(&rt.client, &handle(&values), by, reduction);
            compare::<f32>(rt, found, &model, &groups)?;
        }
    }
    Ok(())
}

fn by_ids_in_any_order(rt: &Rt) -> Result<(), String> {
    for (rows, segments) in [(300, 11), (1000, 2), (0, 3)] {
        for reduction in REDUCTIONS {
            let ids = ids(rows, segments);
            let groups = Groups::of_ids(&ids, segments);
            let model = Model::of_rows(rows, 4, reduction);
            let values = rt.put_tensor(&model.table::<f32>(), &[rows, 4]);
            let ids = rt.put(&ids);
            let ids = &list(&ids);
            let by = Grouping::Ids { ids, segments };
            let found = segment_reduce_with_args(&rt.client, &handle(&values), by, reduction);
            compare::<f32>(rt, found, &model, &groups)?;
        }
    }
    Ok(())
}

fn of_type<E: Element>(rt: &Rt, reductions: &[Reduction]) -> Result<(), String> {
    for &reduction in reductions {
        by_offsets::<E>(rt, &[3, 0, 17, 70, 1], 24, reduction)?;
    }
    Ok(())
}

/// Those of integers.
const WHOLE: [Reduction; 4] = [
    Reduction::Sum,
    Reduction::Max,
    Reduction::Min,
    Reduction::Prod,
];

fn of_i32(rt: &Rt) -> Result<(), String> {
    of_type::<i32>(rt, &WHOLE)
}
fn of_f16(rt: &Rt) -> Result<(), String> {
    of_type::<f16>(rt, &REDUCTIONS)
}
fn of_bf16(rt: &Rt) -> Result<(), String> {
    of_type::<bf16>(rt, &REDUCTIONS)
}
fn of_f64(rt: &Rt) -> Result<(), String> {
    of_type::<f64>(rt, &REDUCTIONS)
}

fn of_u32_by_i64_offsets(rt: &Rt) -> Result<(), String> {
    let values = rt.put_tensor(&(1..=12).collect::<Vec<u32>>(), &[6, 2]);
    let offsets = rt.put(&[0i64, 2, 2, 6]);
    let by = list(&offsets);
    for (reduction, want) in [
        (Reduction::Sum, [4, 6, 0, 0, 32, 36]),
        (Reduction::Max, [3, 4, 0, 0, 11, 12]),
        (Reduction::Min, [1, 2, u32::MAX, u32::MAX, 5, 6]),
        (Reduction::Prod, [3, 8, 1, 1, 3465, 5760]),
    ] {
        let grouping = Grouping::Offsets(&by);
        let found = segment_reduce(&rt.client, &handle(&values), grouping, reduction);
        let found = found.map_err(|error| error.to_string())?;
        check::same(&read::<u32>(rt, &found)?, &want)?;
    }
    Ok(())
}

fn rows_with_holes_and_columns_first(rt: &Rt) -> Result<(), String> {
    let groups = Groups::of_lengths(&[5, 0, 9, 2]);
    let rows = groups.entries();
    for reduction in [Reduction::Sum, Reduction::Max] {
        let model = Model::of_rows(rows, 12, reduction);
        for (shape, strides) in [
            (vec![rows, 12], vec![20, 1]),
            (vec![rows, 12], vec![13, 1]),
            (vec![rows, 12], vec![1, rows]),
            (vec![rows, 3, 4], vec![12, 4, 1]),
            (vec![rows, 3, 4], vec![12, 1, 3]),
            (vec![rows, 2, 2, 3], vec![16, 8, 3, 1]),
        ] {
            let values = rt.put_strided(&model.table::<f32>(), &shape, &strides);
            let offsets = rt.put(&groups.offsets());
            let found = segment_reduce_with_args(
                &rt.client,
                &handle(&values),
                Grouping::Offsets(&list(&offsets)),
                reduction,
            );
            compare::<f32>(rt, found, &model, &groups)
                .map_err(|error| format!("{error}, strides {strides:?}"))?;
        }
    }
    Ok(())
}

/// One segment of rows of one element.
fn of_one(rt: &Rt, rows: &[f32], reduction: Reduction) -> Result<(f32, Option<i32>), String> {
    let values = rt.put_tensor(rows, &[rows.len(), 1]);
    let by = Grouping::Length(rows.len());
    let found = segment_reduce_with_args(&rt.client, &handle(&values), by, reduction)
        .map_err(|error| error.to_string())?;
    let value = read::<f32>(rt, &found.values)?[0];
    let arg = found.args.map(|args| read_args(rt, &args)).transpose()?;
    Ok((value, arg.map(|args| args[0])))
}

fn not_a_number_stays(rt: &Rt) -> Result<(), String> {
    let nan = f32::NAN;
    for rows in [
        vec![1.0, nan, 5.0, nan, -2.0],
        vec![nan, 9.0],
        vec![3.0, 2.0, 1.0, 4.0, 5.0, 6.0, nan],
        vec![nan; 5],
    ] {
        let first = rows
            .iter()
            .position(|value| value.is_nan())
            .map(|at| at as i32);
        for reduction in REDUCTIONS {
            let (value, arg) = of_one(rt, &rows, reduction)?;
            if !value.is_nan() || arg.is_some() && arg != first {
                return Err(format!("{reduction:?} of {rows:?}: {value} of {arg:?}"));
            }
        }
    }
    Ok(())
}

fn an_infinity_has_a_place(rt: &Rt) -> Result<(), String> {
    let (low, high) = (f32::NEG_INFINITY, f32::INFINITY);
    for (rows, reduction, want) in [
        (vec![low, low, low], Reduction::Max, (low, Some(0))),
        (vec![high; 6], Reduction::Min, (high, Some(0))),
        (vec![1.0, high, high], Reduction::Max, (high, Some(1))),
        (vec![-3.0, low], Reduction::Sum, (low, None)),
        (
            vec![7.0, 7.0, 6.0, 7.0, 7.0],
            Reduction::Max,
            (7.0, Some(0)),
        ),
    ] {
        let found = of_one(rt, &rows, reduction)?;
        if found != want {
            return Err(format!(
                "{reduction:?} of {rows:?}: {found:?}, not {want:?}"
            ));
        }
    }
    let values = rt.put_tensor(&[1.0f32], &[1, 1]);
    let offsets = rt.put(&[0i32, 0, 1, 1]);
    for (reduction, none) in [
        (Reduction::Sum, 0.0),
        (Reduction::Mean, 0.0),
        (Reduction::Max, low),
        (Reduction::Min, high),
        (Reduction::Prod, 1.0),
    ] {
        let by = Grouping::Offsets(&list(&offsets));
        let found = segment_reduce(&rt.client, &handle(&values), by, reduction);
        let found = found.map_err(|error| error.to_string())?;
        check::same(&read::<f32>(rt, &found)?, &[none, 1.0, none])?;
    }
    Ok(())
}

fn offsets_out_of_range_touch_nothing(rt: &Rt) -> Result<(), String> {
    let model = Model::of_rows(10, 8, Reduction::Sum);
    let table = model.table::<f32>();
    let values = rt.put_tensor(&table, &[10, 8]);
    let sum = |rows: std::ops::Range<usize>| -> Vec<f32> {
        (0..8)
            .map(|column| {
                rows.clone()
                    .fold(0.0, |sum, row| sum + table[row * 8 + column])
            })
            .collect()
    };
    let offsets = rt.put(&[i32::MIN, -1, 4, 11, i32::MAX]);
    let by = Grouping::Offsets(&list(&offsets));
    let found = segment_reduce(&rt.client, &handle(&values), by, Reduction::Sum);
    let found = found.map_err(|error| error.to_string())?;
    let want = [sum(0..0), sum(0..4), sum(4..10), sum(0..0)].concat();
    check::same(&read::<f32>(rt, &found)?, &want)?;
    // Not in order: what comes out is not said, but nothing else happens.
    let offsets = rt.put(&[9u32, 3, 200, 0]);
    let by = Grouping::Offsets(&list(&offsets));
    let found = segment_reduce(&rt.client, &handle(&values), by, Reduction::Sum);
    let found = found.map_err(|error| error.to_string())?;
    check::same(&read::<f32>(rt, &found)?[8..16], &sum(3..10))
}

fn nothing_at_all(rt: &Rt) -> Result<(), String> {
    let offsets = rt.put(&[0i32]);
    let none = rt.put(&[0i32, 0, 0]);
    for reduction in REDUCTIONS {
        for (rows, columns, by, segments) in [
            (4, 3, Grouping::Offsets(&list(&offsets)), 0),
            (0, 3, Grouping::Offsets(&list(&none)), 2),
            (4, 0, Grouping::Length(2), 2),
            (0, 0, Grouping::Length(3), 0),
        ] {
            let model = Model::of_rows(rows, columns, reduction);
            let values = rt.put_tensor(&model.table::<f32>(), &[rows, columns]);
            let found = segment_reduce_with_args(&rt.client, &handle(&values), by, reduction);
            let groups = Groups::of_lengths(&vec![0; segments]);
            compare::<f32>(rt, found, &model, &groups)?;
        }
    }
    Ok(())
}

fn what_is_refused(rt: &Rt) -> Result<(), String> {
    let values = rt.put_tensor(&[0.0f32; 12], &[6, 2]);
    let whole = rt.put_tensor(&[0i32; 12], &[6, 2]);
    let (floats, short) = (rt.put(&[0.0f32; 3]), rt.put(&[0i32; 5]));
    let empty = rt.put::<i32>(&[]);
    let (floats, short, empty) = (list(&floats), list(&short), list(&empty));
    let by = |grouping| segment_reduce(&rt.client, &handle(&values), grouping, Reduction::Sum);
    let text = |found: girih::Result<_>| match found {
        Ok(_) => "nothing".to_owned(),
        Err(error @ Error::Server(_)) => format!("not before launch: {error}"),
        Err(error) => error.to_string(),
    };
    let segments = 2;
    let found = [
        text(by(Grouping::Length(4))),
        text(by(Grouping::Length(0))),
        text(by(Grouping::Offsets(&floats))),
        text(by(Grouping::Offsets(&empty))),
        text(by(Grouping::Ids {
            ids: &short,
            segments,
        })),
        text(by(Grouping::SortedIds {
            ids: &short,
            segments,
        })),
        text(segment_reduce(
            &rt.client,
            &handle(&whole),
            Grouping::Length(2),
            Reduction::Mean,
        )),
    ];
    let want = [
        "the length of segments is 4; segment_reduce needs a divisor of the number of entries, 6",
        "the length of segments is 0; segment_reduce needs a divisor of the number of entries, 6",
        "offsets has elements of type f32; segment_reduce needs an integer type",
        "offsets has shape [0]; segment_reduce needs [1]",
        "ids has shape [5]; segment_reduce needs [6]",
        "ids has shape [5]; segment_reduce needs [6]",
        "values has elements of type i32; segment_reduce needs f16, bf16, f32 or f64 for a mean",
    ];
    for (found, want) in found.iter().zip(want) {
        if found != want {
            return Err(format!("{found:?}, not {want:?}"));
        }
    }
    Ok(())
}
