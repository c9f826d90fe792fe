//! `select`, `partition`, `nonzero`, `unique_consecutive` and `run_length`.

use super::model::{handle, list};
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih_kernels::{
    CompactOptions, Compacted, Predicate, ScanPath, nonzero, partition, run_length, select as keep,
    select_by, unique_consecutive,
};
use girih_testkit::{
    DeviceKind, Rt, cases,
    check::{Exact, same},
    needs,
};
use half::f16;

cases! {
    selects_lists_of_every_length,
    selects_none_some_and_all,
    selects_every_type,
    selects_by_a_predicate,
    selects_from_strided_tensors,
    parts_lists_of_every_length,
    finds_what_is_not_zero,
    finds_coordinates,
    finds_places_of_64_bits needs [needs::I64],
    takes_runs_of_every_kind,
    tells_nans_apart,
    by_look_back_where_it_is,
    what_is_not_read_is_not_waited_for,
    refuses_bad_arguments,
}

/// Lengths on both sides of every boundary of a run, a vector or a tile.
const LENGTHS: [usize; 12] = [
    0, 1, 3, 64, 1023, 1024, 1025, 4095, 4096, 4097, 8193, 12_293,
];

/// Numbers that look random.
fn drawn(count: usize, seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed;
    (0..count).map(move |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    })
}

/// A mask in which about one of `step` elements is kept, by any number but 0.
pub(super) fn mask(count: usize, step: u32, seed: u64) -> Vec<i32> {
    drawn(count, seed)
        .map(|number| if number.is_multiple_of(step) { -3 } else { 0 })
        .collect()
}

/// Small numbers, exact in every type.
fn numbers<E: Numeric>(count: usize, below: u32, seed: u64) -> Vec<E> {
    drawn(count, seed)
        .map(|number| E::from_int(i64::from(number % below)))
        .collect()
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The rows that were kept.
fn rows<E: CubeElement>(rt: &Rt, compacted: Compacted) -> Result<Vec<E>, String> {
    let kept = compacted.read(&rt.client).map_err(text)?;
    let count: usize = kept.shape().iter().product();
    let bytes = rt.client.read_one(kept.handle).map_err(text)?;
    Ok(E::from_bytes(&bytes)[..count].to_vec())
}

/// Selects and partitions by a mask.
pub(super) fn masked<E: CubeElement + Numeric + Exact>(
    rt: &Rt,
    values: &[E],
    mask: &[i32],
    options: CompactOptions,
) -> Result<(), String> {
    let (input, marks) = (rt.put(values), rt.put(mask));
    let both = values.iter().zip(mask);
    let (kept, others): (Vec<_>, Vec<_>) = both.partition(|(_, mark)| **mark != 0);
    let first = |pairs: Vec<(&E, &i32)>| {
        pairs
            .into_iter()
            .map(|(value, _)| *value)
            .collect::<Vec<E>>()
    };
    let (kept, others) = (first(kept), first(others));
    let selected = keep(&rt.client, &list(&input), &list(&marks), options).map_err(text)?;
    assert_eq!(selected.count(&rt.client).map_err(text)?, kept.len());
    same(&rows::<E>(rt, selected)?, &kept)?;
    let parts = partition(&rt.client, &list(&input), &list(&marks), options).map_err(text)?;
    same(&rows::<E>(rt, parts.kept)?, &kept)?;
    same(&rows::<E>(rt, parts.rejected)?, &others)
}

fn selects_lists_of_every_length(rt: &Rt) -> Result<(), String> {
    for length in LENGTHS {
        let marks = mask(length, 2, 1);
        masked(
            rt,
            &numbers::<f32>(length, 1000, 2),
            &marks,
            CompactOptions::default(),
        )
        .map_err(|difference| format!("of {length}: {difference}"))?;
    }
    Ok(())
}

fn selects_none_some_and_all(rt: &Rt) -> Result<(), String> {
    let values = numbers::<i32>(9001, 1000, 3);
    for step in [1, 50, 5000] {
        masked(rt, &values, &mask(9001, step, 4), CompactOptions::default())?;
    }
    masked(rt, &values, &[0; 9001], CompactOptions::default())
}

fn selects_every_type(rt: &Rt) -> Result<(), String> {
    let marks = mask(9001, 3, 5);
    let options = CompactOptions::default();
    masked(rt, &numbers::<u32>(9001, 1000, 6), &marks, options)?;
    if (needs::I8.met)(rt) {
        masked(rt, &numbers::<i8>(9001, 100, 7), &marks, options)?;
    }
    if (needs::U16.met)(rt) {
        masked(rt, &numbers::<u16>(9001, 1000, 8), &marks, options)?;
    }
    if (needs::F16.met)(rt) {
        masked(rt, &numbers::<f16>(9001, 1000, 9), &marks, options)?;
    }
    if (needs::F64.met)(rt) {
        masked(rt, &numbers::<f64>(9001, 1000, 10), &marks, options)?;
    }
    if (needs::I64.met)(rt) {
        masked(rt, &numbers::<i64>(9001, 1000, 11), &marks, options)?;
    }
    Ok(())
}

/// Numbers above 500.
struct Above;

#[cube]
impl Predicate for Above {
    fn holds<E: Numeric>(value: E) -> bool {
        value > E::from_int(500)
    }
}

fn selects_by_a_predicate(rt: &Rt) -> Result<(), String> {
    let values = numbers::<f32>(9001, 1000, 12);
    let input = rt.put(&values);
    let selected = select_by::<Above>(&rt.client, &list(&input), CompactOptions::default());
    let want: Vec<f32> = values.into_iter().filter(|value| *value > 500.0).collect();
    same(&rows::<f32>(rt, selected.map_err(text)?)?, &want)
}

fn selects_from_strided_tensors(rt: &Rt) -> Result<(), String> {
    let (shape, count) = ([30, 50], 1500);
    let (values, marks) = (numbers::<f32>(count, 1000, 13), mask(count, 2, 14));
    let input = rt.put_strided(&values, &shape, &[1, 32]);
    let marked = rt.put_strided(&marks, &shape, &[60, 1]);
    let options = CompactOptions::default();
    let selected = keep(&rt.client, &handle(&input), &handle(&marked), options).map_err(text)?;
    let both = values.iter().zip(&marks);
    let want: Vec<f32> = both
        .filter(|(_, mark)| **mark != 0)
        .map(|(value, _)| *value)
        .collect();
    same(&rows::<f32>(rt, selected)?, &want)
}

fn parts_lists_of_every_length(rt: &Rt) -> Result<(), String> {
    for length in LENGTHS {
        let marks = mask(length, 7, 15);
        masked(
            rt,
            &numbers::<u32>(length, 1000, 16),
            &marks,
            CompactOptions::default(),
        )?;
    }
    Ok(())
}

fn finds_what_is_not_zero(rt: &Rt) -> Result<(), String> {
    for length in LENGTHS {
        let mut values = numbers::<f32>(length, 3, 17);
        if length > 100 {
            (values[7], values[8], values[9]) = (f32::NAN, -0.0, -f32::INFINITY);
        }
        let input = rt.put(&values);
        let found = nonzero(&rt.client, &list(&input), CompactOptions::default()).map_err(text)?;
        let want: Vec<i32> = (0..length)
            .filter(|&at| values[at] != 0.0)
            .map(|at| at as i32)
            .collect();
        let shape: Vec<usize> = found.room().shape().iter().copied().collect();
        assert_eq!(shape, [length, 1]);
        same(&rows::<i32>(rt, found)?, &want)
            .map_err(|difference| format!("of {length}: {difference}"))?;
    }
    Ok(())
}

fn finds_coordinates(rt: &Rt) -> Result<(), String> {
    let shape = [7, 30, 11];
    let values = numbers::<i32>(7 * 30 * 11, 4, 18);
    for strides in [[330, 11, 1], [1, 80, 7]] {
        let input = rt.put_strided(&values, &shape, &strides);
        let found = nonzero(&rt.client, &handle(&input), CompactOptions::default());
        let want: Vec<i32> = (0..values.len())
            .filter(|&at| values[at] != 0)
            .flat_map(|at| [at / 330, at / 11 % 30, at % 11])
            .map(|index| index as i32)
            .collect();
        same(&rows::<i32>(rt, found.map_err(text)?)?, &want)?;
    }
    Ok(())
}

fn finds_places_of_64_bits(rt: &Rt) -> Result<(), String> {
    let values = numbers::<i32>(9001, 2, 19);
    let input = rt.put(&values);
    let options = CompactOptions::default().index(ElemType::Int(IntKind::I64));
    let found = nonzero(&rt.client, &list(&input), options).map_err(text)?;
    let want: Vec<i64> = (0..9001).filter(|&at| values[at as usize] != 0).collect();
    same(&rows::<i64>(rt, found)?, &want)
}

/// Runs of a list by every call.
pub(super) fn runs<E: CubeElement + Numeric + Exact>(
    rt: &Rt,
    values: &[E],
    options: CompactOptions,
) -> Result<(), String> {
    let input = rt.put(values);
    let (mut firsts, mut begins, mut inverse) = (vec![], vec![], vec![]);
    for (at, value) in values.iter().enumerate() {
        if at == 0 || values[at - 1] != *value {
            firsts.push(*value);
            begins.push(at as i32);
        }
        inverse.push(firsts.len() as i32 - 1);
    }
    let ends = begins.iter().skip(1).copied().chain([values.len() as i32]);
    let lengths: Vec<i32> = begins
        .iter()
        .zip(ends)
        .map(|(begin, end)| end - begin)
        .collect();
    for is_inverse in [true, false] {
        let found = match is_inverse {
            true => unique_consecutive(&rt.client, &list(&input), options),
            false => run_length(&rt.client, &list(&input), options),
        }
        .map_err(text)?;
        same(&rows::<E>(rt, found.values)?, &firsts)?;
        same(&rows::<i32>(rt, found.begins)?, &begins)?;
        same(&rows::<i32>(rt, found.lengths)?, &lengths)?;
        assert_eq!(found.inverse.is_some(), is_inverse);
        if let Some(of_each) = found.inverse {
            let bytes = rt.client.read_one(of_each.handle).map_err(text)?;
            same(&i32::from_bytes(&bytes)[..values.len()], &inverse)?;
        }
    }
    Ok(())
}

fn takes_runs_of_every_kind(rt: &Rt) -> Result<(), String> {
    for length in LENGTHS {
        runs(
            rt,
            &numbers::<f32>(length, 2, 20),
            CompactOptions::default(),
        )
        .map_err(|difference| format!("of {length}: {difference}"))?;
    }
    // One run, runs of one, and runs across parts.
    runs(rt, &[5u32; 9001], CompactOptions::default())?;
    let all: Vec<i32> = (0..9001).collect();
    runs(rt, &all, CompactOptions::default())?;
    let long: Vec<i32> = all.iter().map(|value| value / 1500).collect();
    runs(rt, &long, CompactOptions::default())
}

fn tells_nans_apart(rt: &Rt) -> Result<(), String> {
    let nan = f32::NAN;
    runs(
        rt,
        &[nan, nan, 0.0, -0.0, 0.0, nan, 1.0, 1.0],
        CompactOptions::default(),
    )
}

fn by_look_back_where_it_is(rt: &Rt) -> Result<(), String> {
    let options = CompactOptions::default().path(ScanPath::LookBack);
    if !matches!(rt.kind, DeviceKind::Cpu | DeviceKind::Cuda) {
        let (input, marks) = (rt.put(&[1f32]), rt.put(&[1i32]));
        let message = keep(&rt.client, &list(&input), &list(&marks), options)
            .expect_err("it is not there")
            .to_string();
        let lacking = " has no forward progress of cubes that others wait for, for look-back; select needs it";
        assert!(message.ends_with(lacking), "{message}");
        return Ok(());
    }
    for length in LENGTHS {
        masked(
            rt,
            &numbers::<f32>(length, 1000, 21),
            &mask(length, 2, 22),
            options,
        )?;
    }
    runs(rt, &numbers::<f32>(5001, 2, 23), options)?;
    let values = numbers::<i32>(5001, 3, 24);
    let input = rt.put(&values);
    let found = nonzero(&rt.client, &list(&input), options).map_err(text)?;
    assert_eq!(found.path(), ScanPath::LookBack);
    let want: Vec<i32> = (0..5001).filter(|&at| values[at as usize] != 0).collect();
    same(&rows::<i32>(rt, found)?, &want)
}

fn what_is_not_read_is_not_waited_for(rt: &Rt) -> Result<(), String> {
    let input = rt.put(&numbers::<i32>(5000, 2, 25));
    let found = nonzero(&rt.client, &list(&input), CompactOptions::default()).map_err(text)?;
    let own = match rt.kind {
        DeviceKind::Cuda => ScanPath::LookBack,
        _ => ScanPath::ReduceThenScan,
    };
    assert_eq!(found.path(), own);
    // The count is a tensor that a next kernel can read.
    let count = found.count_on_device();
    assert_eq!(count.dtype, ElemType::UInt(UIntKind::U32));
    let bytes = rt.client.read_one(count.handle.clone()).map_err(text)?;
    let want = numbers::<i32>(5000, 2, 25)
        .iter()
        .filter(|value| **value != 0)
        .count();
    assert_eq!(u32::from_bytes(&bytes)[0] as usize, want);
    Ok(())
}

fn refuses_bad_arguments(rt: &Rt) {
    let refusal = |result: girih::Result<Compacted>| match result {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    };
    let options = CompactOptions::default();
    let input = list(&rt.put(&[1f32, 2.0, 3.0]));
    let few = list(&rt.put(&[1i32, 0]));
    assert_eq!(
        refusal(keep(&rt.client, &input, &few, options)),
        "mask has shape [2]; select needs [3]"
    );
    assert_eq!(
        refusal(keep(&rt.client, &input, &input, options)),
        format!(
            "mask has elements of type {}; select needs an integer type",
            input.dtype
        )
    );
    let halves = options.index(ElemType::Float(FloatKind::F16));
    assert!(
        refusal(nonzero(&rt.client, &input, halves))
            .ends_with("nonzero needs i32, u32, i64 or u64")
    );
    assert_eq!(
        refusal(nonzero(&rt.client, &input, options.path(ScanPath::Direct))),
        "path is Direct; nonzero needs LookBack or ReduceThenScan"
    );
    let scalar = TensorHandle::new(
        input.handle.clone(),
        Vec::<usize>::new(),
        Vec::<usize>::new(),
        input.dtype,
    );
    assert_eq!(
        refusal(nonzero(&rt.client, &scalar, options)),
        "input has rank 0; nonzero needs rank 1 or more"
    );
}
