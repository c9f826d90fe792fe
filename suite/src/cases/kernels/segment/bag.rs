//! `embedding_bag`.

use super::super::model::{Index, handle, list};
use super::REDUCTIONS;
use super::model::{Element, Groups, Model, Random, read, read_args};
use crate::random::for_all;
use girih::{Bounds, Error};
use girih_kernels::{BagOptions, Bags, Grouping, Reduction, embedding_bag};
use girih_testkit::{Rt, cases, check, needs};
use half::{bf16, f16};
use proptest::prelude::*;

cases! {
    of_f32_by_i32,
    of_f16_by_i64 needs [needs::F16, needs::I64],
    of_bf16_by_i32 needs [needs::BF16],
    of_f32_by_u32,
    bags_of_one_length_in_rows,
    wide_rows,
    a_long_bag_beside_short_ones,
    reports_the_first_index_out_of_range,
    an_empty_table_gives_zeros,
    what_is_refused,
}

/// A random call, but for the type.
#[derive(Clone, Debug)]
struct Call {
    model: Model,
    lengths: Vec<usize>,
}

/// Rows of few shapes, since each makes a kernel of its own.
fn calls() -> impl Strategy<Value = Call> {
    let bounds = prop::sample::select(vec![
        Bounds::Mask,
        Bounds::Clamp,
        Bounds::Wrap,
        Bounds::Report,
    ]);
    let reduction = prop::sample::select(REDUCTIONS.to_vec());
    (
        prop::collection::vec(prop::sample::select(vec![0usize, 1, 3, 4, 9]), 0..6),
        bounds,
        reduction,
        any::<bool>(),
        any::<bool>(),
        any::<u64>(),
    )
        .prop_map(|(lengths, bounds, reduction, weighted, padded, seed)| {
            let (rows, columns) = (6, 12);
            let entries = lengths.iter().sum();
            let mut random = Random::new(seed);
            let index = (0..entries)
                .map(|_| random.below(rows + 5) as i64 - 3)
                .collect();
            let weights = (0..entries).map(|_| random.below(4) as i64 - 1).collect();
            let model = Model {
                index: Some(index),
                weights: weighted.then_some(weights),
                padding: padded.then_some(2),
                bounds,
                ..Model::of_rows(rows, columns, reduction)
            };
            Call { model, lengths }
        })
}

/// Makes the call, and compares every element, where it came from, how many count, and what is reported.
fn answer<E: Element, I: Index>(rt: &Rt, call: &Call) -> Result<(), String> {
    let Call { model, lengths } = call;
    let mut model = model.clone();
    let index = model.index.as_mut().expect("bags have indices");
    for entry in index.iter_mut() {
        // One that the type has no value for becomes one that is out of range.
        *entry = if I::of(*entry).is_some() { *entry } else { 100 };
    }
    let typed: Vec<I> = index.iter().copied().filter_map(I::of).collect();
    let groups = Groups::of_lengths(lengths);
    let table = rt.put_tensor(&model.table::<E>(), &[model.rows, model.columns]);
    let (index, offsets) = (rt.put(&typed), rt.put(&groups.offsets()));
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
    let by = Grouping::Offsets(&list(&offsets));
    let checked = embedding_bag(&rt.client, &handle(&table), &list(&index), by, options)
        .map_err(|error| error.to_string())?;
    compare::<E>(rt, checked.value(), &model, &groups)?;
    let offence = model.index.iter().flatten().position(|&index| {
        let extent = model.rows as i64;
        !(0..extent).contains(&index)
    });
    let reports = model.bounds == Bounds::Report;
    match (checked.check(), offence.filter(|_| reports)) {
        (Ok(_), None) => Ok(()),
        (Err(Error::OutOfRange(found)), Some(position)) if found.position == position as u64 => {
            Ok(())
        }
        (found, want) => Err(format!("reported {found:?}, not {want:?}")),
    }
}

fn compare<E: Element>(
    rt: &Rt,
    found: &Bags,
    model: &Model,
    groups: &Groups,
) -> Result<(), String> {
    let (want, want_args, want_counts) = model.reduced(groups, true);
    let got: Vec<E> = read(rt, &found.values)?;
    E::compare(&got, &want)?;
    match (&found.args, model.has_args()) {
        (Some(args), true) => check::same(&read_args(rt, args)?, &want_args)
            .map_err(|error| format!("args: {error}"))?,
        (None, false) => {}
        (args, _) => return Err(format!("args {args:?}")),
    }
    match (&found.counts, model.reduction == Reduction::Mean) {
        (Some(counts), true) => check::same(&read::<u32>(rt, counts)?, &want_counts)
            .map_err(|error| format!("counts: {error}")),
        (None, false) => Ok(()),
        (counts, _) => Err(format!("counts {counts:?}")),
    }
}

fn of_f32_by_i32(rt: &Rt) -> Result<(), String> {
    for_all(calls(), |call| answer::<f32, i32>(rt, &call))
}
fn of_f16_by_i64(rt: &Rt) -> Result<(), String> {
    for_all(calls(), |call| answer::<f16, i64>(rt, &call))
}
fn of_bf16_by_i32(rt: &Rt) -> Result<(), String> {
    for_all(calls(), |call| answer::<bf16, i32>(rt, &call))
}
fn of_f32_by_u32(rt: &Rt) -> Result<(), String> {
    for_all(calls(), |call| answer::<f32, u32>(rt, &call))
}

fn bags_of_one_length_in_rows(rt: &Rt) -> Result<(), String> {
    for reduction in REDUCTIONS {
        let mut random = Random::new(3);
        let index: Vec<i32> = (0..40).map(|_| random.below(6) as i32).collect();
        let model = Model {
            index: Some(index.iter().copied().map(i64::from).collect()),
            ..Model::of_rows(6, 20, reduction)
        };
        let table = rt.put_tensor(&model.table::<f32>(), &[6, 20]);
        // Five to a bag; columns first, so that it is copied.
        let index = rt.put_strided(&index, &[8, 5], &[1, 8]);
        let options = BagOptions {
            bounds: Bounds::Assume,
            for_backward: true,
            ..BagOptions::new(reduction)
        };
        let by = Grouping::Length(5);
        let checked = embedding_bag(&rt.client, &handle(&table), &handle(&index), by, options)
            .map_err(|error| error.to_string())?;
        let groups = Groups::of_lengths(&[5; 8]);
        compare::<f32>(rt, checked.value(), &model, &groups)?;
    }
    Ok(())
}

/// A call of these lengths with indices in range and beyond.
fn call(rows: usize, columns: usize, lengths: &[usize], reduction: Reduction) -> Call {
    let entries = lengths.iter().sum();
    let mut random = Random::new(11);
    let index = (0..entries).map(|_| random.below(rows + 2) as i64 - 1);
    let model = Model {
        index: Some(index.collect()),
        bounds: Bounds::Mask,
        ..Model::of_rows(rows, columns, reduction)
    };
    Call {
        model,
        lengths: lengths.to_vec(),
    }
}

fn wide_rows(rt: &Rt) -> Result<(), String> {
    for columns in [128, 256, 1000] {
        for reduction in [Reduction::Sum, Reduction::Max] {
            answer::<f32, i32>(rt, &call(50, columns, &[32, 0, 5, 32], reduction))?;
        }
    }
    Ok(())
}

fn a_long_bag_beside_short_ones(rt: &Rt) -> Result<(), String> {
    for reduction in REDUCTIONS {
        answer::<f32, i32>(rt, &call(9, 12, &[3, 700, 64, 0, 65, 2], reduction))?;
    }
    Ok(())
}

fn reports_the_first_index_out_of_range(rt: &Rt) -> Result<(), String> {
    let table = rt.put_tensor(&[1.0f32; 12], &[3, 4]);
    let mut indices = vec![1i32; 3000];
    indices[2000] = 3;
    indices[2999] = -1;
    let index = rt.put(&indices);
    let options = BagOptions {
        bounds: Bounds::Report,
        ..BagOptions::new(Reduction::Sum)
    };
    let by = Grouping::Length(1000);
    let checked = embedding_bag(&rt.client, &handle(&table), &list(&index), by, options)
        .map_err(|error| error.to_string())?;
    let got = read::<f32>(rt, &checked.value().values)?;
    check::same(&got, &[[1000.0; 4], [1000.0; 4], [998.0; 4]].concat())?;
    let text = checked
        .check()
        .map(|_| ())
        .map_err(|error| error.to_string());
    let want =
        "index 3 at position 2000 is out of range of axis 0, which has extent 3; 0..3 is allowed";
    match text {
        Err(text) if text == want => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

fn an_empty_table_gives_zeros(rt: &Rt) -> Result<(), String> {
    let table = rt.poisoned_tensor::<f32>(&[0, 4], &[4, 1]);
    let index = rt.put(&[0i32, -1, 5]);
    for reduction in REDUCTIONS {
        for bounds in [Bounds::Mask, Bounds::Clamp, Bounds::Wrap] {
            let options = BagOptions {
                bounds,
                ..BagOptions::new(reduction)
            };
            let by = Grouping::Length(3);
            let found = embedding_bag(&rt.client, &handle(&table), &list(&index), by, options)
                .map_err(|error| error.to_string())?;
            check::same(&read::<f32>(rt, &found.value().values)?, &[0.0; 4])?;
        }
    }
    Ok(())
}

fn what_is_refused(rt: &Rt) -> Result<(), String> {
    let table = rt.put_tensor(&[0.0f32; 12], &[6, 2]);
    let (index, floats) = (rt.put(&[0i32; 4]), rt.put(&[0.0f32; 3]));
    let whole = rt.put(&[1i32; 4]);
    let (index, floats, whole) = (list(&index), list(&floats), list(&whole));
    let sum = BagOptions::new(Reduction::Sum);
    let text = |index, options| {
        let by = Grouping::Length(2);
        let found = embedding_bag(&rt.client, &handle(&table), index, by, options);
        found.map_or_else(|error| error.to_string(), |_| "nothing".to_owned())
    };
    let weights = |weights| BagOptions {
        weights: Some(weights),
        ..sum
    };
    let padding = BagOptions {
        padding: Some(6),
        ..sum
    };
    for (found, want) in [
        (
            text(&floats, sum),
            "index has elements of type f32; embedding_bag needs an integer type",
        ),
        (
            text(&index, weights(&floats)),
            "weights has shape [3]; embedding_bag needs [4]",
        ),
        (
            text(&index, weights(&whole)),
            "weights has elements of type i32; embedding_bag needs f32",
        ),
        (
            text(&index, padding),
            "padding is 6; embedding_bag needs a row of the table, in 0..6",
        ),
    ] {
        if found != want {
            return Err(format!("{found:?}, not {want:?}"));
        }
    }
    Ok(())
}
