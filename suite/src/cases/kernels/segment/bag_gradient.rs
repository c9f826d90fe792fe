//! The gradients of `embedding_bag`.

use super::super::model::{handle, list};
use super::gradient::{ids, slope, slopes};
use super::model::{Element, Groups, Model, Random, read};
use girih::{Bounds, Error};
use girih_kernels::{
    BagBackwardOptions, BagGradients, BagOptions, Determinism, Grouping, Reduction, embedding_bag,
    embedding_bag_backward,
};
use girih_testkit::{Rt, cases, check, needs};
use half::{bf16, f16};

cases! {
    by_atomics needs [needs::ADD_F32],
    in_order,
    of_f16 needs [needs::F16],
    of_bf16 needs [needs::BF16],
    by_ids,
    of_one_length,
    one_of_both,
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
    options: impl Into<BagBackwardOptions>,
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
    let bag = BagOptions {
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
    let found = embedding_bag(&rt.client, &table, &index, grouping, bag).map_err(text)?;
    embedding_bag_backward(
        &rt.client,
        &handle(&gradient),
        &table,
        &index,
        grouping,
        bag,
        found.value(),
        options,
    )
    .map_err(text)
}

/// All that there are.
fn compare<E: Element>(
    rt: &Rt,
    found: &BagGradients,
    model: &Model,
    groups: &Groups,
) -> Result<(), String> {
    let all = BagBackwardOptions::from(Determinism::Any);
    compare_asked::<E>(rt, found, model, groups, all)
}

/// Those that were asked for, and no others.
fn compare_asked<E: Element>(
    rt: &Rt,
    found: &BagGradients,
    model: &Model,
    groups: &Groups,
    asked: BagBackwardOptions,
) -> Result<(), String> {
    let (table, weights) = of_table(model, groups);
    let has_weights = asked.weights && model.weights.is_some();
    for (what, found, want) in [
        ("table", &found.table, asked.table.then_some(table)),
        ("weights", &found.weights, has_weights.then_some(weights)),
    ] {
        match (found, want) {
            (Some(found), Some(want)) => E::compare(&read::<E>(rt, found)?, &want)
                .map_err(|error| format!("{what}: {error}: {model:?}"))?,
            (None, None) => {}
            (found, _) => return Err(format!("{what}: {found:?}")),
        }
    }
    Ok(())
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

fn by_atomics(rt: &Rt) -> Result<(), String> {
    of_bags::<f32>(rt, Determinism::Any, &[1, 12, 128])
}
fn in_order(rt: &Rt) -> Result<(), String> {
    of_bags::<f32>(rt, Determinism::RunToRun, &[1, 12, 128])
}
fn of_f16(rt: &Rt) -> Result<(), String> {
    of_bags::<f16>(rt, Determinism::Any, &[12])?;
    of_bags::<f16>(rt, Determinism::RunToRun, &[12])
}
fn of_bf16(rt: &Rt) -> Result<(), String> {
    of_bags::<bf16>(rt, Determinism::Any, &[12])?;
    of_bags::<bf16>(rt, Determinism::RunToRun, &[12])
}

fn by_ids(rt: &Rt) -> Result<(), String> {
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

fn of_one_length(rt: &Rt) -> Result<(), String> {
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

fn one_of_both(rt: &Rt) -> Result<(), String> {
    // With weights and without.
    for (seed, reduction) in (0..8).zip(MODES.into_iter().cycle()) {
        for determinism in [Determinism::Any, Determinism::RunToRun] {
            for (table, weights) in [(true, false), (false, true), (false, false)] {
                let asked = BagBackwardOptions {
                    determinism,
                    table,
                    weights,
                };
                let groups = Groups::of_lengths(&[5; 8]);
                let model = model(40, [8, 12], reduction, seed);
                let found = gradients::<f32>(rt, &model, &groups, Grouping::Length(5), asked)?;
                compare_asked::<f32>(rt, &found, &model, &groups, asked)?;
            }
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
    let table = || -> Result<Vec<f32>, String> {
        let gradients = run().map_err(text)?;
        read::<f32>(rt, &gradients.table.ok_or("no gradient")?)
    };
    let first = table()?;
    for _ in 0..4 {
        check::same(&table()?, &first)?;
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
    let groups = Groups::of_lengths(&[1, 1, 1]);
    let model = model(3, [5, 2], Reduction::Prod, 1);
    let refused = gradients::<f32>(rt, &model, &groups, Grouping::Length(1), Determinism::Any);
    let want = "the reduction is Prod; embedding_bag_backward needs Sum, Mean, Max or Min";
    match refused {
        Err(error) if error == want => Ok(()),
        other => Err(format!("{other:?}")),
    }
}
