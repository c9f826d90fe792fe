//! The gradients of `segment_reduce` and `embedding_bag`.

use super::super::model::{handle, list};
use super::REDUCTIONS;
use super::model::{Element, Groups, Model, Random, read};
use cubecl::std::tensor::TensorHandle;
use girih::{Bounds, Error};
use girih_kernels::{
    BagGradients, BagOptions, Determinism, Grouping, Reduction, embedding_bag,
    embedding_bag_backward, segment_reduce_backward, segment_reduce_with_args,
};
use girih_testkit::{Rt, cases, check, needs};
use half::{bf16, f16};

cases! {
    of_segments_of_every_width,
    of_segments_of_f16 needs [needs::F16],
    of_segments_of_bf16 needs [needs::BF16],
    of_segments_of_ids,
    of_a_product_with_zeros,
    of_rows_with_holes,
    of_bags_by_atomics needs [needs::ADD_F32],
    of_bags_in_order,
    of_bags_of_f16 needs [needs::F16],
    of_bags_of_bf16 needs [needs::BF16],
    of_bags_by_ids,
    of_bags_of_one_length,
    in_order_is_the_same_in_every_run,
    of_nothing,
    what_is_refused,
}

/// The modes of bags that have a gradient.
const MODES: [Reduction; 4] = [
    Reduction::Sum,
    Reduction::Mean,
    Reduction::Max,
    Reduction::Min,
];

/// A whole number for each element of a gradient.
fn slope(segment: usize, column: usize) -> f64 {
    ((segment * 13 + column * 5) % 9) as f64 - 4.0
}

fn slopes<E: Element>(segments: usize, columns: usize) -> Vec<E> {
    (0..segments * columns)
        .map(|at| E::of(slope(at / columns, at % columns)))
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

fn of_segments_of_every_width(rt: &Rt) -> Result<(), String> {
    for columns in [1, 12, 128, 300] {
        for reduction in REDUCTIONS {
            by_offsets::<f32>(rt, &[3, 0, 1, 7, 100, 0, 0, 20, 33], columns, reduction)?;
        }
    }
    Ok(())
}
fn of_segments_of_f16(rt: &Rt) -> Result<(), String> {
    REDUCTIONS
        .into_iter()
        .try_for_each(|reduction| by_offsets::<f16>(rt, &[5, 0, 40, 2], 12, reduction))
}
fn of_segments_of_bf16(rt: &Rt) -> Result<(), String> {
    REDUCTIONS
        .into_iter()
        .try_for_each(|reduction| by_offsets::<bf16>(rt, &[5, 0, 40, 2], 12, reduction))
}

fn ids(rows: usize, segments: usize) -> Vec<i32> {
    let mut random = Random::new(77);
    (0..rows)
        .map(|_| random.below(segments + 3) as i32 - 1)
        .collect()
}

fn of_segments_of_ids(rt: &Rt) -> Result<(), String> {
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

/// What the rows of a table and the weights had a part in.
fn of_table(model: &Model, groups: &Groups) -> (Vec<f64>, Vec<f64>) {
    let columns = model.columns;
    let (_, args, counts) = model.reduced(groups, true);
    let mut table = vec![0.0; model.rows * columns];
    let mut weights = vec![0.0; groups.entries()];
    for (bag, members) in groups.members.iter().enumerate() {
        for &entry in members {
            let Some(row) = model.row(entry) else {
                continue;
            };
            for column in 0..columns {
                let share = match model.reduction {
                    Reduction::Mean => 1.0 / f64::from(counts[bag]),
                    Reduction::Max | Reduction::Min => {
                        f64::from(args[bag * columns + column] == entry as i32)
                    }
                    _ => 1.0,
                };
                let part = share * slope(bag, column);
                table[row * columns + column] += model.weight(entry) * part;
                weights[entry] += model.element(row, column) * part;
            }
        }
    }
    (table, weights)
}

/// The gradients that a device computes.
fn gradients<E: Element>(
    rt: &Rt,
    model: &Model,
    groups: &Groups,
    grouping: Grouping<'_>,
    determinism: Determinism,
) -> Result<BagGradients, String> {
    let (rows, columns) = (model.rows, model.columns);
    let table = rt.put_tensor(&model.table::<E>(), &[rows, columns]);
    let index: Vec<i32> = model
        .index
        .iter()
        .flatten()
        .map(|&index| index as i32)
        .collect();
    let index = rt.put(&index);
    let weights = model.weights.as_ref().map(|weights| {
        let weights: Vec<E> = weights.iter().map(|&weight| E::of(weight as f64)).collect();
        rt.put(&weights)
    });
    let weights = weights.as_ref().map(list);
    let options = BagOptions {
        weights: weights.as_ref(),
        padding: model.padding,
        bounds: model.bounds,
        for_backward: true,
        ..BagOptions::new(model.reduction)
    };
    let bags = groups.members.len();
    let gradient = rt.put_tensor(&slopes::<E>(bags, columns), &[bags, columns]);
    let (table, index) = (handle(&table), list(&index));
    let text = |error: Error| error.to_string();
    let found = embedding_bag(&rt.client, &table, &index, grouping, options).map_err(text)?;
    embedding_bag_backward(
        &rt.client,
        &handle(&gradient),
        &table,
        &index,
        grouping,
        options,
        found.value(),
        determinism,
    )
    .map_err(text)
}

fn compare<E: Element>(
    rt: &Rt,
    found: &BagGradients,
    model: &Model,
    groups: &Groups,
) -> Result<(), String> {
    let (table, weights) = of_table(model, groups);
    E::compare(&read::<E>(rt, &found.table)?, &table)
        .map_err(|error| format!("{error}: {model:?}"))?;
    match (&found.weights, &model.weights) {
        (Some(found), Some(_)) => {
            let of_weights = |tensor: &TensorHandle| read::<E>(rt, tensor);
            E::compare(&of_weights(found)?, &weights)
                .map_err(|error| format!("weights: {error}: {model:?}"))
        }
        (None, None) => Ok(()),
        (found, _) => Err(format!("weights {found:?}")),
    }
}

/// Bags of these lengths, with indices out of range among them.
fn model(entries: usize, [rows, columns]: [usize; 2], reduction: Reduction, seed: u64) -> Model {
    let mut random = Random::new(seed);
    let index = (0..entries)
        .map(|_| random.below(rows + 4) as i64 - 2)
        .collect();
    let weights = (0..entries).map(|_| random.below(4) as i64 - 1).collect();
    let bounds = [Bounds::Mask, Bounds::Clamp, Bounds::Wrap, Bounds::Report];
    Model {
        index: Some(index),
        weights: seed.is_multiple_of(2).then_some(weights),
        padding: seed.is_multiple_of(3).then_some(1),
        bounds: bounds[seed as usize % 4],
        ..Model::of_rows(rows, columns, reduction)
    }
}

fn of_bags<E: Element>(rt: &Rt, determinism: Determinism, columns: &[usize]) -> Result<(), String> {
    for (seed, reduction) in (0..8).zip(MODES.into_iter().cycle()) {
        for &columns in columns {
            let groups = Groups::of_lengths(&[3, 0, 1, 70, 4, 9, 0]);
            let model = model(groups.entries(), [9, columns], reduction, seed);
            let offsets = rt.put(&groups.offsets());
            let by = Grouping::Offsets(&list(&offsets));
            let found = gradients::<E>(rt, &model, &groups, by, determinism)?;
            compare::<E>(rt, &found, &model, &groups)?;
        }
    }
    Ok(())
}

fn of_bags_by_atomics(rt: &Rt) -> Result<(), String> {
    of_bags::<f32>(rt, Determinism::Any, &[1, 12, 128])
}
fn of_bags_in_order(rt: &Rt) -> Result<(), String> {
    of_bags::<f32>(rt, Determinism::RunToRun, &[1, 12, 128])
}
fn of_bags_of_f16(rt: &Rt) -> Result<(), String> {
    of_bags::<f16>(rt, Determinism::Any, &[12])?;
    of_bags::<f16>(rt, Determinism::RunToRun, &[12])
}
fn of_bags_of_bf16(rt: &Rt) -> Result<(), String> {
    of_bags::<bf16>(rt, Determinism::Any, &[12])?;
    of_bags::<bf16>(rt, Determinism::RunToRun, &[12])
}

fn of_bags_by_ids(rt: &Rt) -> Result<(), String> {
    for (seed, reduction) in (0..4).zip(MODES) {
        for determinism in [Determinism::Any, Determinism::RunToRun] {
            let ids = ids(120, 6);
            let groups = Groups::of_ids(&ids, 6);
            let model = model(120, [8, 20], reduction, seed);
            let ids = rt.put(&ids);
            let by = Grouping::Ids {
                ids: &list(&ids),
                segments: 6,
            };
            let found = gradients::<f32>(rt, &model, &groups, by, determinism)?;
            compare::<f32>(rt, &found, &model, &groups)?;
        }
    }
    Ok(())
}

fn of_bags_of_one_length(rt: &Rt) -> Result<(), String> {
    for (seed, reduction) in (0..4).zip(MODES) {
        for determinism in [Determinism::Any, Determinism::RunToRun] {
            let groups = Groups::of_lengths(&[5; 30]);
            let model = model(150, [8, 40], reduction, seed);
            let found = gradients::<f32>(rt, &model, &groups, Grouping::Length(5), determinism)?;
            compare::<f32>(rt, &found, &model, &groups)?;
        }
    }
    Ok(())
}

fn in_order_is_the_same_in_every_run(rt: &Rt) -> Result<(), String> {
    // Weights whose sums round.
    let groups = Groups::of_lengths(&[400; 4]);
    let mut random = Random::new(4);
    let weights: Vec<f32> = (0..1600)
        .map(|_| (random.below(1 << 20) as f32 + 0.3) / 7.0)
        .collect();
    let index: Vec<i32> = (0..1600).map(|_| random.below(3) as i32).collect();
    let table = rt.put_tensor(&[1.0f32; 12], &[3, 4]);
    let (weights, index) = (rt.put(&weights), rt.put(&index));
    let gradient = rt.put_tensor(&slopes::<f32>(4, 4), &[4, 4]);
    let offsets = rt.put(&groups.offsets());
    let (table, index, weights) = (handle(&table), list(&index), list(&weights));
    let run = || {
        let options = BagOptions {
            weights: Some(&weights),
            for_backward: true,
            ..BagOptions::new(Reduction::Sum)
        };
        let by = Grouping::Offsets(&list(&offsets));
        let bags = embedding_bag(&rt.client, &table, &index, by, options)?.into_inner();
        embedding_bag_backward(
            &rt.client,
            &handle(&gradient),
            &table,
            &index,
            by,
            options,
            &bags,
            Determinism::RunToRun,
        )
    };
    let text = |error: Error| error.to_string();
    let first = read::<f32>(rt, &run().map_err(text)?.table)?;
    for _ in 0..4 {
        check::same(&read::<f32>(rt, &run().map_err(text)?.table)?, &first)?;
    }
    Ok(())
}

fn of_nothing(rt: &Rt) -> Result<(), String> {
    for determinism in [Determinism::Any, Determinism::RunToRun] {
        for (lengths, rows) in [(vec![], 3), (vec![0, 0], 3), (vec![2, 1], 0)] {
            for reduction in MODES {
                let groups = Groups::of_lengths(&lengths);
                let model = Model {
                    index: Some(vec![0; groups.entries()]),
                    weights: Some(vec![1; groups.entries()]),
                    bounds: Bounds::Mask,
                    ..Model::of_rows(rows, 4, reduction)
                };
                let offsets = rt.put(&groups.offsets());
                let by = Grouping::Offsets(&list(&offsets));
                let found = gradients::<f32>(rt, &model, &groups, by, determinism)?;
                compare::<f32>(rt, &found, &model, &groups)?;
            }
        }
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
    let groups = Groups::of_lengths(&[1, 1, 1]);
    let model = model(3, [5, 2], Reduction::Prod, 1);
    let refused = gradients::<f32>(rt, &model, &groups, Grouping::Length(1), Determinism::Any);
    let want = "the reduction is Prod; embedding_bag_backward needs Sum, Mean, Max or Min";
    match refused {
        Err(error) if error == want => Ok(()),
        other => Err(format!("{other:?}")),
    }
}
