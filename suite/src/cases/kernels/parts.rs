//! Tensors that are a part of a larger buffer, and lists that are not next to each other in theirs: what lies behind or between
//! their elements is none of them.

use super::model::{handle, list};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::{Bounds, Error};
use girih_kernels::{
    BagOptions, CompactOptions, Duplicates, Grouping, Reduction, ScanOperation, ScanOptions,
    ScanPath, ScatterMode, ScatterOptions, ScatterPath, Segments, Side, SortOptions, UniqueOptions,
    bincount, bins_of, combine_rows, embedding_bag, gather, histogram, nonzero, scan, scatter_into,
    search_sorted, segment_reduce, select, sort, top_k, unique,
};
use girih_testkit::{Rt, cases, check::same, needs};

cases! {
    counts_of_a_part,
    weights_of_a_part needs [needs::ADD_F32],
    a_selection_that_was_read,
    offsets_of_a_part,
    offsets_that_lie_apart,
    offsets_below_0_begin_nothing,
    offsets_of_64_bits_below_0_begin_nothing needs [needs::I64],
    lists_shorter_than_a_vector_go_to_their_places,
    lists_shorter_than_a_vector_are_reported,
    sorts_of_a_part,
    segments_of_a_part,
}

type Outcome = Result<(), String>;

fn text(error: impl ToString) -> String {
    error.to_string()
}

/// A list of `values`, in a buffer that goes on with others.
fn part<T: CubeElement + Scalar>(rt: &Rt, values: &[T], behind: &[T]) -> TensorHandle {
    let all = list(&rt.put(&[values, behind].concat()));
    TensorHandle::new_contiguous(vec![values.len()], all.handle, all.dtype)
}

/// The elements of a tensor that a launcher made.
fn read<T: CubeElement>(rt: &Rt, tensor: &TensorHandle) -> Result<Vec<T>, String> {
    let bytes = rt.client.read_one(tensor.handle.clone()).map_err(text)?;
    let count: usize = tensor.shape().iter().product();
    Ok(T::from_bytes(&bytes[..count * size_of::<T>()]).to_vec())
}

fn counts_of_a_part(rt: &Rt) -> Outcome {
    let client = &rt.client;
    // As many values as vectors have, and fewer.
    for count in [3, 4, 8] {
        let values: Vec<i32> = (0..count).map(|at| at % 3).collect();
        let mut want = [0u32; 3];
        values.iter().for_each(|&value| want[value as usize] += 1);
        let part = part(rt, &values, &[1; 50]);
        let counts = bincount(client, &part, None, 3).map_err(text)?;
        same(&read::<u32>(rt, &counts)?, &want)?;
        let counts = histogram(client, &part, None, 3, [0.0, 3.0]).map_err(text)?;
        same(&read::<u32>(rt, &counts)?, &want)?;
        let bins = bins_of(client, &part, 2, None).map_err(text)?;
        let want: Vec<i32> = values
            .iter()
            .map(|&value| if value < 2 { value } else { -1 })
            .collect();
        same(&read::<i32>(rt, &bins)?, &want)?;
    }
    Ok(())
}

fn weights_of_a_part(rt: &Rt) -> Outcome {
    let values = part(rt, &[2i32, 0, 2], &[1; 50]);
    let weights = part(rt, &[0.5f32, 4.0, 8.0], &[]);
    let sums = bincount(&rt.client, &values, Some(&weights), 3).map_err(text)?;
    same(&read::<f32>(rt, &sums)?, &[4.0, 0.0, 8.5])
}

/// What `read` gives keeps the memory of all that there was.
fn a_selection_that_was_read(rt: &Rt) -> Outcome {
    let client = &rt.client;
    let (values, mask) = (list(&rt.put(&[1i32; 40])), [1i32, 0, 0, 0].repeat(10));
    let options = CompactOptions::default();
    let kept = select(client, &values, &list(&rt.put(&mask)), options).map_err(text)?;
    let kept = kept.read(client).map_err(text)?;
    let counts = bincount(client, &kept, None, 2).map_err(text)?;
    same(&read::<u32>(rt, &counts)?, &[0, 10])
}

/// Sums that begin anew at these offsets, by every path that there is.
fn summed(rt: &Rt, offsets: &TensorHandle, heads: &[usize]) -> Outcome {
    for (length, path) in [
        (7, None),
        (20_000, Some(ScanPath::ReduceThenScan)),
        (20_000, None),
    ] {
        let values: Vec<i32> = (0..length).map(|at| at % 11 - 5).collect();
        let mut sum = 0;
        let want: Vec<i32> = values
            .iter()
            .enumerate()
            .map(|(at, value)| {
                sum = value + if heads.contains(&at) { 0 } else { sum };
                sum
            })
            .collect();
        let options = ScanOptions {
            segments: Some(Segments::Offsets(offsets)),
            path,
            ..ScanOptions::inclusive()
        };
        let input = list(&rt.put(&values));
        let sums = scan(&rt.client, &input, 0, ScanOperation::Sum, options).map_err(text)?;
        same(&read::<i32>(rt, &sums)?, &want)?;
    }
    Ok(())
}

fn offsets_of_a_part(rt: &Rt) -> Outcome {
    let offsets = part(rt, &[0i32, 3], &[4, 5, 6, 9_000]);
    summed(rt, &offsets, &[0, 3])
}

fn offsets_that_lie_apart(rt: &Rt) -> Outcome {
    let offsets = rt.put_strided(&[0i32, 3, 9_000], &[3], &[2]);
    summed(rt, &handle(&offsets), &[0, 3, 9_000])
}

fn offsets_below_0_begin_nothing(rt: &Rt) -> Outcome {
    let offsets = list(&rt.put(&[i32::MIN, -3, -1, 2, 5, 9_000, 30_000]));
    summed(rt, &offsets, &[2, 5, 9_000])
}

fn offsets_of_64_bits_below_0_begin_nothing(rt: &Rt) -> Outcome {
    let offsets = list(&rt.put(&[i64::MIN, -1, 2, 5, 9_000, 30_000]));
    summed(rt, &offsets, &[2, 5, 9_000])
}

/// Options that sort, or vote.
const SORTED: [(ScatterMode, Duplicates, Option<ScatterPath>); 4] = [
    (ScatterMode::Add, Duplicates::Deterministic, None),
    (
        ScatterMode::Set,
        Duplicates::LastWins,
        Some(ScatterPath::Sorted),
    ),
    (ScatterMode::Set, Duplicates::FirstWins, None),
    (
        ScatterMode::Max,
        Duplicates::Unordered,
        Some(ScatterPath::Sorted),
    ),
];

fn lists_shorter_than_a_vector_go_to_their_places(rt: &Rt) -> Outcome {
    for (mode, duplicates, path) in SORTED {
        for count in 1..=3 {
            let target = rt.put(&[1f32; 4]);
            let index: Vec<i32> = (0..count).rev().collect();
            let updates: Vec<f32> = (0..count).map(|at| 10.0 + at as f32).collect();
            let mut want = [1f32; 4];
            for (place, update) in index.iter().zip(&updates) {
                want[*place as usize] = match mode {
                    ScatterMode::Add => 1.0 + update,
                    _ => *update,
                };
            }
            let options = ScatterOptions {
                bounds: Bounds::Report,
                duplicates,
                path,
            };
            scatter_into(
                &rt.client,
                &list(&target),
                &part(rt, &index, &[9; 30]),
                &part(rt, &updates, &[99.0; 30]),
                0,
                mode,
                options,
            )
            .and_then(girih::Checked::check)
            .map_err(|error| format!("{mode:?} of {count}: {error}"))?;
            same(&rt.read(&target).map_err(text)?, &want)?;
        }
    }
    Ok(())
}

fn lists_shorter_than_a_vector_are_reported(rt: &Rt) -> Outcome {
    for (mode, duplicates, path) in SORTED {
        let target = rt.put(&[1f32; 4]);
        let options = ScatterOptions {
            bounds: Bounds::Report,
            duplicates,
            path,
        };
        let (index, updates) = (part(rt, &[3i32, -7], &[9; 30]), rt.put(&[20f32, 30.0]));
        let (into, updates) = (list(&target), list(&updates));
        let done = scatter_into(&rt.client, &into, &index, &updates, 0, mode, options);
        match done.and_then(girih::Checked::check) {
            Err(Error::OutOfRange(found)) => assert_eq!((found.position, found.index), (1, -7)),
            other => return Err(format!("{mode:?}: {other:?}")),
        }
        let last = if mode == ScatterMode::Add { 21.0 } else { 20.0 };
        same(&rt.read(&target).map_err(text)?, &[1.0, 1.0, 1.0, last])?;
    }
    Ok(())
}

fn sorts_of_a_part(rt: &Rt) -> Outcome {
    let client = &rt.client;
    let keys = part(rt, &[5i32, -1, 5, 3, 0], &[-100; 40]);
    let sorted = sort(client, &keys, 0, &SortOptions::default()).map_err(text)?;
    same(&read::<i32>(rt, &sorted)?, &[-1, 0, 3, 5, 5])?;
    let (least, _) = top_k(client, &keys, 0, 2, false, u32::elem_type_native()).map_err(text)?;
    same(&read::<i32>(rt, &least)?, &[-1, 0])?;
    let values = unique(client, &keys, UniqueOptions::default()).map_err(text)?;
    let values = values.values.read(client).map_err(text)?;
    same(&read::<i32>(rt, &values)?, &[-1, 0, 3, 5])?;
    let places = nonzero(client, &keys, CompactOptions::default()).map_err(text)?;
    assert_eq!(places.count(client).map_err(text)?, 4);
    let sorted = part(rt, &[1i32, 3, 3], &[3; 40]);
    let values = part(rt, &[3i32, 9], &[0; 40]);
    let places = search_sorted(
        client,
        &sorted,
        &values,
        Side::Right,
        u32::elem_type_native(),
    );
    same(&read::<u32>(rt, &places.map_err(text)?)?, &[3, 3])
}

fn segments_of_a_part(rt: &Rt) -> Outcome {
    let client = &rt.client;
    let rows = part(rt, &[1f32, 2.0, 4.0, 8.0], &[100.0; 40]);
    let offsets = part(rt, &[0i32, 1, 4], &[0; 40]);
    let ids = part(rt, &[0i32, 1, 1, 1], &[0; 40]);
    let segments = 2;
    for grouping in [
        Grouping::Offsets(&offsets),
        Grouping::SortedIds {
            ids: &ids,
            segments,
        },
        Grouping::Ids {
            ids: &ids,
            segments,
        },
    ] {
        let sums = segment_reduce(client, &rows, grouping, Reduction::Sum).map_err(text)?;
        same(&read::<f32>(rt, &sums)?, &[1.0, 14.0])?;
        let index = part(rt, &[3u32, 0, 0, 2], &[1; 40]);
        let options = BagOptions::new(Reduction::Sum);
        let bags = embedding_bag(client, &rows, &index, grouping, options).map_err(text)?;
        same(&read::<f32>(rt, &bags.value().values)?, &[8.0, 6.0])?;
    }
    let index = part(rt, &[2i32, 0, 2, 7], &[1; 40]);
    let found = gather(client, &rows, &index, 0, Bounds::Mask).map_err(text)?;
    same(&read::<f32>(rt, found.value())?, &[4.0, 1.0, 4.0, 0.0])?;
    let combined = combine_rows(client, &rows, &index, 4, None, Bounds::Mask).map_err(text)?;
    same(&read::<i32>(rt, &combined.index)?, &[0, 2, -1, -1])?;
    same(&read::<f32>(rt, &combined.rows)?, &[2.0, 5.0, 0.0, 0.0])
}
