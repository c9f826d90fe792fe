//! `sort_by`, `sort_pairs_by` and `argsort_by` against the host's stable sort.

use super::keys::{Key, Values, values};
use super::sort::{expect, read, tensor, text};
use cubecl::prelude::*;
use girih::device::Device;
use girih_kernels::{SortOrder, argsort_by, sort_by, sort_pairs_by};
use girih_testkit::{Rt, cases, check::same, needs};
use half::{bf16, f16};
use std::cmp::Ordering;

cases! {
    numbers_at_every_edge_of_a_tile,
    numbers_of_every_kind_of_data,
    classes_keep_their_order,
    small_integers needs [needs::I8, needs::U16],
    wide_integers needs [needs::I64, needs::U64],
    halves needs [needs::F16, needs::BF16],
    doubles needs [needs::F64],
    pairs_keep_their_order,
    places_of_keys,
    rows_of_a_matrix,
    other_axes_and_strides,
    nothing_to_sort,
    orders_that_are_none,
    refusals,
}

/// Large numbers first.
struct LargestFirst;

#[cube]
impl SortOrder for LargestFirst {
    fn is_before<A: Numeric>(first: A, second: A) -> bool {
        second < first
    }
}

/// By the lowest three bits of an integer.
struct ByLowBits;

#[cube]
impl SortOrder for ByLowBits {
    fn is_before<A: Numeric>(first: A, second: A) -> bool {
        i32::cast_from(first) & 7 < i32::cast_from(second) & 7
    }
}

/// Everything before everything.
struct Always;

#[cube]
impl SortOrder for Always {
    fn is_before<A: Numeric>(first: A, second: A) -> bool {
        // An odd number is no even one.
        i32::cast_from(first) | 1 != (i32::cast_from(second) | 1) - 1
    }
}

/// How the host compares: `Equal` of those that neither comes before the other.
type Compare<E> = fn(&E, &E) -> Ordering;

/// The places of the keys of a row in the order.
fn order<E: Key>(keys: &[E], compare: Compare<E>) -> Vec<usize> {
    let mut places: Vec<usize> = (0..keys.len()).collect();
    places.sort_by(|&first, &second| compare(&keys[first], &keys[second]));
    places
}

fn largest_first<E: Key + PartialOrd>(first: &E, second: &E) -> Ordering {
    second
        .partial_cmp(first)
        .expect("data without NaN is in order")
}

fn sorted<E: Key, O: SortOrder>(rt: &Rt, keys: &[E], compare: Compare<E>) -> Result<(), String> {
    let want: Vec<u128> = order(keys, compare)
        .into_iter()
        .map(|place| keys[place].bits())
        .collect();
    let input = tensor(rt, keys, &[keys.len()]);
    let out = sort_by::<O>(&rt.client, &input, 0).map_err(text)?;
    let got: Vec<u128> = read::<E>(rt, out)?.into_iter().map(Key::bits).collect();
    same_bits(&got, &want).map_err(|error| format!("{} keys: {error}", keys.len()))
}

fn same_bits(got: &[u128], want: &[u128]) -> Result<(), String> {
    match (0..want.len()).find(|&at| got.get(at) != Some(&want[at])) {
        None => Ok(()),
        Some(at) => Err(format!(
            "element {at} is {:x?}, not {:x}",
            got.get(at),
            want[at]
        )),
    }
}

/// Lengths around those of tiles and of their doublings, whatever the device's are.
const LENGTHS: [usize; 24] = [
    1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 127, 128, 129, 511, 513, 639, 640, 641, 1_281, 4_351,
    4_353, 8_704, 17_409,
];

fn numbers_at_every_edge_of_a_tile(rt: &Rt) -> Result<(), String> {
    for len in LENGTHS {
        sorted::<u32, LargestFirst>(rt, &values(Values::Any, len), largest_first)?;
    }
    Ok(())
}

fn without_nan<E: Key + PartialOrd>(kind: Values, len: usize) -> Vec<E> {
    values::<E>(kind, 2 * len)
        .into_iter()
        .filter(|key| key.partial_cmp(key).is_some())
        .take(len)
        .collect()
}

fn numbers_of_every_kind_of_data(rt: &Rt) -> Result<(), String> {
    for kind in Values::ALL {
        // -0 and 0 are alike, and stay in their order.
        sorted::<f32, LargestFirst>(rt, &without_nan(kind, 5_003), largest_first)
            .map_err(|error| format!("f32, {kind:?}: {error}"))?;
        sorted::<i32, LargestFirst>(rt, &values(kind, 5_003), largest_first)
            .map_err(|error| format!("i32, {kind:?}: {error}"))?;
    }
    Ok(())
}

fn low_bits(first: &i32, second: &i32) -> Ordering {
    (first & 7).cmp(&(second & 7))
}

/// By classes of low bits.
pub(super) fn classes(rt: &Rt, keys: &[i32]) -> Result<(), String> {
    sorted::<i32, ByLowBits>(rt, keys, low_bits)
}

fn classes_keep_their_order(rt: &Rt) -> Result<(), String> {
    for len in [6, 200, 9_001] {
        for kind in [Values::Any, Values::Ascending, Values::Few] {
            classes(rt, &values(kind, len))?;
        }
    }
    Ok(())
}

fn of_type<E: Key + PartialOrd>(rt: &Rt) -> Result<(), String> {
    for kind in [Values::Any, Values::Extremes] {
        for len in [100, 3_001] {
            sorted::<E, LargestFirst>(rt, &without_nan(kind, len), largest_first)
                .map_err(|error| format!("{}, {kind:?}: {error}", E::cube_type()))?;
        }
    }
    Ok(())
}

fn small_integers(rt: &Rt) -> Result<(), String> {
    of_type::<i8>(rt)?;
    of_type::<u16>(rt)
}

fn wide_integers(rt: &Rt) -> Result<(), String> {
    of_type::<i64>(rt)?;
    of_type::<u64>(rt)
}

fn halves(rt: &Rt) -> Result<(), String> {
    of_type::<f16>(rt)?;
    of_type::<bf16>(rt)
}

fn doubles(rt: &Rt) -> Result<(), String> {
    of_type::<f64>(rt)
}

fn pairs<V: Key>(rt: &Rt, keys: &[i32], payload: &[V]) -> Result<(), String> {
    let shape = [keys.len()];
    let (input, carried) = (tensor(rt, keys, &shape), tensor(rt, payload, &shape));
    let (out, moved) = sort_pairs_by::<ByLowBits>(&rt.client, &input, &carried, 0).map_err(text)?;
    let order = order(keys, low_bits);
    let want: Vec<i32> = order.iter().map(|&place| keys[place]).collect();
    same(&read::<i32>(rt, out)?, &want).map_err(|error| format!("keys: {error}"))?;
    let got: Vec<u128> = read::<V>(rt, moved)?.into_iter().map(Key::bits).collect();
    let want: Vec<u128> = order.iter().map(|&place| payload[place].bits()).collect();
    same_bits(&got, &want).map_err(|error| format!("payload: {error}"))
}

fn pairs_keep_their_order(rt: &Rt) -> Result<(), String> {
    let has = |element| Device::of(&rt.client).stores(element);
    for len in [1, 90, 5_001] {
        let keys = values(Values::Any, len);
        pairs::<f32>(rt, &keys, &values(Values::Any, len))?;
        if has(u8::cube_type()) {
            pairs::<u8>(rt, &keys, &values(Values::Any, len))?;
        }
        if has(u64::cube_type()) {
            pairs::<u64>(rt, &keys, &values(Values::Any, len))?;
        }
    }
    Ok(())
}

fn places<I: Key>(rt: &Rt, keys: &[i32]) -> Result<(), String> {
    let input = tensor(rt, keys, &[keys.len()]);
    let out = argsort_by::<ByLowBits>(&rt.client, &input, 0, I::cube_type()).map_err(text)?;
    let got: Vec<u128> = read::<I>(rt, out)?.into_iter().map(Key::bits).collect();
    let want: Vec<u128> = order(keys, low_bits)
        .into_iter()
        .map(|place| place as u128)
        .collect();
    same_bits(&got, &want)
}

fn places_of_keys(rt: &Rt) -> Result<(), String> {
    for len in [1, 70, 9_000] {
        let keys: Vec<i32> = values(Values::Any, len);
        places::<u32>(rt, &keys)?;
        places::<i32>(rt, &keys)?;
        if Device::of(&rt.client).stores(i64::cube_type()) {
            places::<i64>(rt, &keys)?;
        }
    }
    Ok(())
}

fn rows_of_a_matrix(rt: &Rt) -> Result<(), String> {
    for [count, len] in [[300, 1], [70, 5], [9, 130], [3, 4_097], [2, 9_000]] {
        let keys: Vec<u32> = values(Values::Any, count * len);
        let input = tensor(rt, &keys, &[count, len]);
        let want: Vec<u32> = keys
            .chunks(len)
            .flat_map(|row| {
                let order = order(row, largest_first);
                order
                    .into_iter()
                    .map(|place| row[place])
                    .collect::<Vec<_>>()
            })
            .collect();
        let out = sort_by::<LargestFirst>(&rt.client, &input, 1).map_err(text)?;
        same(&read::<u32>(rt, out)?, &want)
            .map_err(|error| format!("{count} rows of {len}: {error}"))?;
    }
    Ok(())
}

fn other_axes_and_strides(rt: &Rt) -> Result<(), String> {
    let shape = [5, 70, 3];
    let keys: Vec<u32> = values(Values::Any, 5 * 70 * 3);
    for strides in [[210, 3, 1], [1, 15, 5], [300, 4, 1]] {
        let input = rt.put_strided(&keys, &shape, &strides);
        let handle = super::model::handle(&input);
        let out = sort_by::<LargestFirst>(&rt.client, &handle, 1).map_err(text)?;
        let mut want = keys.clone();
        for first in (0..keys.len()).filter(|first| (first / 3).is_multiple_of(70)) {
            let row: Vec<u32> = (0..70).map(|at| keys[first + 3 * at]).collect();
            for (at, place) in order(&row, largest_first).into_iter().enumerate() {
                want[first + 3 * at] = row[place];
            }
        }
        same(&read::<u32>(rt, out)?, &want).map_err(|error| format!("{strides:?}: {error}"))?;
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
        let out = sort_by::<LargestFirst>(&rt.client, &input, axis).map_err(text)?;
        let got: Vec<usize> = out.shape().iter().copied().collect();
        if got != shape {
            return Err(format!("shape {got:?}, not {shape:?}"));
        }
    }
    Ok(())
}

/// Whatever comes out was there, and the next sort is right.
fn orders_that_are_none(rt: &Rt) -> Result<(), String> {
    let keys: Vec<u32> = values(Values::Any, 9_001);
    let input = tensor(rt, &keys, &[keys.len()]);
    let out = read::<u32>(rt, sort_by::<Always>(&rt.client, &input, 0).map_err(text)?)?;
    let mut known = keys.clone();
    known.sort_unstable();
    match out.iter().find(|key| known.binary_search(key).is_err()) {
        None if out.len() == keys.len() => {}
        other => {
            return Err(format!(
                "{} keys, of which {other:?} was not there",
                out.len()
            ));
        }
    }
    let floats: Vec<f32> = values(Values::Extremes, 6_000);
    let input = tensor(rt, &floats, &[floats.len()]);
    let out = read::<f32>(
        rt,
        sort_by::<LargestFirst>(&rt.client, &input, 0).map_err(text)?,
    )?;
    let known: Vec<u128> = floats.iter().map(|key| key.bits()).collect();
    if let Some(key) = out.iter().find(|key| !known.contains(&key.bits())) {
        return Err(format!("{key:?} was not there"));
    }
    sorted::<u32, LargestFirst>(rt, &keys, largest_first)
}

fn refusals(rt: &Rt) -> Result<(), String> {
    let keys = tensor::<u32>(rt, &[3, 1, 2], &[3]);
    expect(
        sort_by::<LargestFirst>(&rt.client, &keys, 1)
            .err()
            .map(text),
        "axis 1 of keys, which has rank 1; sort_by needs an axis in 0..1",
    )?;
    let short = tensor::<u32>(rt, &[1, 2], &[2]);
    expect(
        sort_pairs_by::<LargestFirst>(&rt.client, &keys, &short, 0)
            .err()
            .map(text),
        "payload has shape [2]; sort_pairs_by needs [3]",
    )?;
    expect(
        argsort_by::<LargestFirst>(&rt.client, &keys, 0, f32::cube_type())
            .err()
            .map(text),
        "index has elements of type f32; argsort_by needs i32, u32, i64 or u64",
    )
}
