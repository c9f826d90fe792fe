//! The gradient of `segment_reduce`.

use super::super::model::{handle, list};
use super::REDUCTIONS;
use super::model::{Element, Groups, Model, Random, read};
use girih::Error;
use girih_kernels::{Grouping, Reduction, segment_reduce_backward, segment_reduce_with_args};
use girih_testkit::{Rt, cases, check, needs};
use half::{bf16, f16};

cases! {
    of_every_width,
    of_f16 needs [needs::F16],
    of_bf16 needs [needs::BF16],
    of_ids,
    of_a_product_with_zeros,
    of_rows_with_holes,
    what_is_refused,
}

/// A whole number for each element of a gradient.
pub(super) fn slope(segment: usize, column: usize) -> f64 {
    ((segment * 13 + column * 5) % 9) as f64 - 4.0
}

/// The same in a row-major list.
pub(super) fn slopes<E: Element>(segments: usize, columns: usize) -> Vec<E> {
    (0..segments * columns)
        .map(|at| E::of(slope(at / columns, at % columns)))
        .collect()
}

/// Ids of so many rows, some of no segment.
pub(super) fn ids(rows: usize, segments: usize) -> Vec<i32> {
    let mut random = Random::new(77);
    (0..rows)
        .map(|_| random.below(segments + 3) as i32 - 1)
        .collect()
}

/// What the rows of segments had a part in.
fn of_rows(model: &Model, groups: &Groups) -> Vec<f64> {
    let columns = model.columns;
    let (_, args, _) = model.reduced(groups, false);
    let mut parts = vec![0.0; model.rows * columns];
    for (segment, members) in groups.members.iter().enumerate() {
        for &row in members {
            for column in 0..columns {
                let others = || {
                    let others = members.iter().filter(|&&other| other != row);
                    others
                        .map(|&other| model.element(other, column))
                        .product::<f64>()
                };
                let share = match model.reduction {
                    Reduction::Sum => 1.0,
                    Reduction::Mean => 1.0 / members.len() as f64,
                    Reduction::Prod => others(),
                    _ => f64::from(args[segment * columns + column] == row as i32),
                };
                parts[row * columns + column] = share * slope(segment, column);
            }
        }
    }
    parts
}

fn of_segments<E: Element>(
    rt: &Rt,
    model: &Model,
    groups: &Groups,
    grouping: Grouping<'_>,
) -> Result<(), String> {
    let (rows, columns) = (model.rows, model.columns);
    let values = rt.put_tensor(&model.table::<E>(), &[rows, columns]);
    let segments = groups.members.len();
    let gradient = rt.put_tensor(&slopes::<E>(segments, columns), &[segments, columns]);
    let text = |error: Error| error.to_string();
    let reduced = segment_reduce_with_args(&rt.client, &handle(&values), grouping, model.reduction)
        .map_err(text)?;
    let found = segment_reduce_backward(
        &rt.client,
        &handle(&gradient),
        &handle(&values),
        reduced.args.as_ref(),
        grouping,
        model.reduction,
    )
    .map_err(text)?;
    let what = format!(
        "{:?}, {columns} columns, {:?}",
        model.reduction,
        groups.lengths()
    );
    E::compare(&read::<E>(rt, &found)?, &of_rows(model, groups))
        .map_err(|error| format!("{error}: {what}"))
}

fn by_offsets<E: Element>(
    rt: &Rt,
    lengths: &[usize],
    columns: usize,
    reduction: Reduction,
) -> Result<(), String> {
    // The first rows and the last are of no segment.
    let (before, behind) = (2, 35);
    let mut groups = Groups::of_lengths(lengths);
    let rows = groups.entries() + before + behind;
    let offsets: Vec<i32> = groups.offsets().iter().map(|offset| offset + 2).collect();
    for member in groups.members.iter_mut().flatten() {
        *member += before;
    }
    let model = Model::of_rows(rows, columns, reduction);
    let offsets = rt.put(&offsets);
    of_segments::<E>(rt, &model, &groups, Grouping::Offsets(&list(&offsets)))
}

fn of_every_width(rt: &Rt) -> Result<(), String> {
    for columns in [1, 12, 128, 300] {
        for reduction in REDUCTIONS {
            by_offsets::<f32>(rt, &[3, 0, 1, 7, 100, 0, 0, 20, 33], columns, reduction)?;
        }
    }
    Ok(())
}
fn of_f16(rt: &Rt) -> Result<(), String> {
    REDUCTIONS
        .into_iter()
        .try_for_each(|reduction| by_offsets::<f16>(rt, &[5, 0, 40, 2], 12, reduction))
}
fn of_bf16(rt: &Rt) -> Result<(), String> {
    REDUCTIONS
        .into_iter()
        .try_for_each(|reduction| by_offsets::<bf16>(rt, &[5, 0, 40, 2], 12, reduction))
}

fn of_ids(rt: &Rt) -> Result<(), String> {
    for reduction in REDUCTIONS {
        let (rows, segments) = (150, 7);
        let mut ids = ids(rows, segments);
        let model = Model::of_rows(rows, 8, reduction);
        let in_any_order = rt.put(&ids);
        let groups = Groups::of_ids(&ids, segments);
        let by = Grouping::Ids {
            ids: &list(&in_any_order),
            segments,
        };
        of_segments::<f32>(rt, &model, &groups, by)?;
        ids.sort_unstable();
        let sorted = rt.put(&ids);
        let groups = Groups::of_ids(&ids, segments);
        let by = Grouping::SortedIds {
            ids: &list(&sorted),
            segments,
        };
        of_segments::<f32>(rt, &model, &groups, by)?;
    }
    Ok(())
}

fn of_a_product_with_zeros(rt: &Rt) -> Result<(), String> {
    let rows = [2.0f32, 3.0, 4.0, 0.0, 5.0, 0.0, 6.0, 0.0, 0.0, 7.0];
    let values = rt.put_tensor(&rows, &[10, 1]);
    let offsets = rt.put(&[0i32, 3, 5, 5, 7, 10]);
    let gradient = rt.put_tensor(&[1.0f32, 10.0, 0.5, -1.0, 2.0], &[5, 1]);
    let found = segment_reduce_backward(
        &rt.client,
        &handle(&gradient),
        &handle(&values),
        None,
        Grouping::Offsets(&list(&offsets)),
        Reduction::Prod,
    )
    .map_err(|error| error.to_string())?;
    let want = [12.0, 8.0, 6.0, 50.0, 0.0, -6.0, 0.0, 0.0, 0.0, 0.0];
    check::close(&read::<f32>(rt, &found)?, &want, 1e-6)
}

fn of_rows_with_holes(rt: &Rt) -> Result<(), String> {
    let groups = Groups::of_lengths(&[2, 3]);
    for reduction in REDUCTIONS {
        let model = Model::of_rows(5, 4, reduction);
        let values = rt.put_strided(&model.table::<f32>(), &[5, 4], &[9, 2]);
        let gradient = rt.put_strided(&slopes::<f32>(2, 4), &[2, 4], &[1, 2]);
        let offsets = rt.put(&groups.offsets());
        let by = Grouping::Offsets(&list(&offsets));
        let text = |error: Error| error.to_string();
        let reduced = segment_reduce_with_args(&rt.client, &handle(&values), by, reduction);
        let args = reduced.map_err(text)?.args;
        let (gradient, values) = (handle(&gradient), handle(&values));
        let found =
            segment_reduce_backward(&rt.client, &gradient, &values, args.as_ref(), by, reduction)
                .map_err(text)?;
        f32::compare(&read::<f32>(rt, &found)?, &of_rows(&model, &groups))?;
    }
    Ok(())
}

fn what_is_refused(rt: &Rt) -> Result<(), String> {
    let values = rt.put_tensor(&[0.0f32; 12], &[6, 2]);
    let gradient = rt.put_tensor(&[0.0f32; 6], &[3, 2]);
    let whole = rt.put_tensor(&[0i32; 12], &[6, 2]);
    let (values, gradient) = (handle(&values), handle(&gradient));
    let back = |gradient, values, reduction| {
        let by = Grouping::Length(2);
        segment_reduce_backward(&rt.client, gradient, values, None, by, reduction)
    };
    let text = |found: girih::Result<_>| {
        found.map_or_else(|error: Error| error.to_string(), |_| "nothing".to_owned())
    };
    for (found, want) in [
        (
            text(back(&gradient, &values, Reduction::Max)),
            "args is none; segment_reduce_backward needs what the call keeps for its gradient",
        ),
        (
            text(back(&values, &values, Reduction::Sum)),
            "gradient has shape [6, 2]; segment_reduce_backward needs [3, 2]",
        ),
        (
            text(back(&gradient, &handle(&whole), Reduction::Sum)),
            "values has elements of type i32; segment_reduce_backward needs f16, bf16, f32 or f64",
        ),
    ] {
        if found != want {
            return Err(format!("{found:?}, not {want:?}"));
        }
    }
    Ok(())
}
