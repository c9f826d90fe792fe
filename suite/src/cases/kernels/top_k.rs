//! `top_k`, `search_sorted`, `bincount` and `histogram` against the host.

pub(super) mod paths;

use super::keys::{Key, Values, values};
use super::sort::{read, tensor};
use cubecl::prelude::*;
use girih::device::Device;
use girih_kernels::raw::top_k::top_k_by;
use girih_kernels::{Side, TopKPath, bincount, histogram, search_sorted, top_k};
use girih_testkit::{Rt, cases, check::same, needs};
use half::f16;
use std::cmp::Reverse;

cases! {
    the_largest_and_smallest_of_every_kind_of_data,
    the_largest_of_other_types,
    the_largest_of_rows,
    the_largest_of_many_rows needs [needs::U8],
    places_in_sorted_rows,
    counts_of_numbers,
    counts_in_ranges,
    sums_of_weights needs [needs::ADD_F32],
    refusals,
}

/// The places of the first `k` keys of a row.
fn first<E: Key>(keys: &[E], k: usize, largest: bool) -> Vec<usize> {
    let mut places: Vec<usize> = (0..keys.len()).collect();
    match largest {
        true => places.sort_by_key(|&place| Reverse(keys[place].place())),
        false => places.sort_by_key(|&place| keys[place].place()),
    }
    places.truncate(k);
    places
}

pub(super) fn wanted<E: Key>(
    rt: &Rt,
    keys: &[E],
    [rows, len]: [usize; 2],
    k: usize,
    largest: bool,
) -> Result<(), String> {
    wanted_by(rt, keys, [rows, len], k, largest, None)
}

/// The first keys of rows by a path, or by the one that suits, and their places.
fn wanted_by<E: Key>(
    rt: &Rt,
    keys: &[E],
    [rows, len]: [usize; 2],
    k: usize,
    largest: bool,
    path: Option<TopKPath>,
) -> Result<(), String> {
    let input = tensor(rt, keys, &[rows, len]);
    let (found, places) = top_k_by(&rt.client, &input, 1, k, largest, u32::cube_type(), path)
        .map_err(|error| error.to_string())?;
    let mut want = vec![];
    let mut want_places = vec![];
    for row in keys.chunks(len) {
        let first = first(row, k, largest);
        want.extend(first.iter().map(|&place| row[place].bits()));
        want_places.extend(first.iter().map(|&place| place as u32));
    }
    let what = format!("{k} of {rows}x{len}, largest: {largest}");
    let got: Vec<u128> = read::<E>(rt, found)?.into_iter().map(Key::bits).collect();
    match (0..want.len()).find(|&at| got.get(at) != Some(&want[at])) {
        None => {}
        Some(at) => {
            return Err(format!(
                "{what}: element {at} is {:x?}, not {:x?}",
                got[at], want[at]
            ));
        }
    }
    same(&read::<u32>(rt, places)?, &want_places).map_err(|error| format!("{what}: {error}"))
}

fn the_largest_and_smallest_of_every_kind_of_data(rt: &Rt) -> Result<(), String> {
    for kind in Values::ALL {
        for largest in [true, false] {
            wanted::<u32>(rt, &values(kind, 20_011), [1, 20_011], 64, largest)
                .map_err(|error| format!("{kind:?}: {error}"))?;
        }
    }
    for k in [0, 1, 300, 20_012] {
        wanted::<u32>(rt, &values(Values::Few, 20_012), [1, 20_012], k, true)?;
    }
    Ok(())
}

fn the_largest_of_other_types(rt: &Rt) -> Result<(), String> {
    let has = |element| Device::of(&rt.client).stores(element);
    for kind in [Values::Any, Values::Extremes] {
        wanted::<f32>(rt, &values(kind, 20_000), [1, 20_000], 10, true)?;
        wanted::<f32>(rt, &values(kind, 20_000), [1, 20_000], 10, false)?;
        wanted::<i32>(rt, &values(kind, 20_000), [1, 20_000], 10, false)?;
        if has(f16::cube_type()) && has(u16::cube_type()) {
            wanted::<f16>(rt, &values(kind, 20_000), [1, 20_000], 10, true)?;
        }
        if has(u64::cube_type()) {
            wanted::<u64>(rt, &values(kind, 20_000), [1, 20_000], 10, true)?;
        }
    }
    Ok(())
}

fn the_largest_of_rows(rt: &Rt) -> Result<(), String> {
    for [rows, len] in [[30, 5], [7, 100], [3, 20_001]] {
        wanted::<i32>(rt, &values(Values::Few, rows * len), [rows, len], 5, true)?;
        wanted::<i32>(rt, &values(Values::Any, rows * len), [rows, len], 3, false)?;
    }
    Ok(())
}

/// More rows than one launch selects from, elsewhere than a launch has cubes along one axis; each too long to be sorted as a whole.
fn the_largest_of_many_rows(rt: &Rt) -> Result<(), String> {
    let [rows, len] = match rt.kind {
        // More rows than processors, and than are sorted as a whole.
        girih_testkit::DeviceKind::Cuda => [300, 12_400],
        girih_testkit::DeviceKind::Cpu => [300, 8_200],
        _ => [65_600, 1_032],
    };
    let row: Vec<u8> = values(Values::Any, len);
    // Neighbours differ, and all rows are found by their number.
    let keys: Vec<u8> = (0..rows)
        .flat_map(|number| row.iter().map(move |key| key ^ (number % 251) as u8))
        .collect();
    let input = tensor(rt, &keys, &[rows, len]);
    let (found, _) = top_k(&rt.client, &input, 1, 1, true, u32::cube_type())
        .map_err(|error| error.to_string())?;
    let of_each: Vec<u8> = (0..251)
        .map(|mask| row.iter().map(|key| key ^ mask).max().unwrap_or(0))
        .collect();
    let want: Vec<u8> = (0..rows).map(|number| of_each[number % 251]).collect();
    same(&read::<u8>(rt, found)?, &want)
}

fn sorted_row<E: Key>(kind: Values, len: usize) -> Vec<E> {
    let mut row = values::<E>(kind, len);
    row.sort_by_key(|key| key.place());
    row
}

/// Looks for as many values as are special, and as many of a kind, in sorted rows of a kind.
pub(super) fn search_in<E: Key>(
    rt: &Rt,
    [rows, len]: [usize; 2],
    [kind, looked_for]: [Values; 2],
    side: Side,
) -> Result<(), String> {
    let each = 70;
    let sorted: Vec<E> = (0..rows).flat_map(|_| sorted_row(kind, len)).collect();
    let halves = [
        values(looked_for, each / 2),
        values(Values::Extremes, each / 2),
    ];
    let wanted: Vec<E> = (0..rows).flat_map(|_| halves.concat()).collect();
    let (rows_input, input) = match rows {
        1 => (
            tensor(rt, &sorted, &[len]),
            tensor(rt, &wanted, &[7, each / 7]),
        ),
        _ => (
            tensor(rt, &sorted, &[rows, len]),
            tensor(rt, &wanted, &[rows, each]),
        ),
    };
    let out = search_sorted(&rt.client, &rows_input, &input, side, i32::cube_type())
        .map_err(|error| error.to_string())?;
    let want: Vec<i32> = (0..wanted.len())
        .map(|at| {
            let row = at / each;
            let value = wanted[at].place();
            let row = &sorted[row * len..(row + 1) * len];
            row.partition_point(|key| match side {
                Side::Left => key.place() < value,
                Side::Right => key.place() <= value,
            }) as i32
        })
        .collect();
    same(&read::<i32>(rt, out)?, &want)
        .map_err(|error| format!("{side:?} in {rows} rows of {len} ({kind:?}): {error}"))
}

fn search<E: Key>(rt: &Rt, rows: usize, len: usize, kind: Values) -> Result<(), String> {
    for side in [Side::Left, Side::Right] {
        search_in::<E>(rt, [rows, len], [kind; 2], side)?;
    }
    Ok(())
}

fn places_in_sorted_rows(rt: &Rt) -> Result<(), String> {
    for len in [0, 1, 2, 33, 1_000] {
        for kind in [Values::Any, Values::Few] {
            search::<f32>(rt, 1, len, kind)?;
            search::<i32>(rt, 1, len, kind)?;
        }
    }
    search::<u32>(rt, 5, 100, Values::Any)?;
    if Device::of(&rt.client).stores(u8::cube_type()) {
        search::<u8>(rt, 3, 300, Values::Any)?;
    }
    Ok(())
}

fn counted<E: Key + Into<i64>>(rt: &Rt, numbers: &[E], bins: usize) -> Result<(), String> {
    let input = tensor(rt, numbers, &[numbers.len()]);
    let out = bincount(&rt.client, &input, None, bins).map_err(|error| error.to_string())?;
    let mut want = vec![0u32; bins];
    for &number in numbers {
        let bin: i64 = number.into();
        if let Some(count) = usize::try_from(bin).ok().and_then(|bin| want.get_mut(bin)) {
            *count += 1;
        }
    }
    same(&read::<u32>(rt, out)?, &want)
        .map_err(|error| format!("{} numbers in {bins} bins: {error}", numbers.len()))
}

fn counts_of_numbers(rt: &Rt) -> Result<(), String> {
    let has = |element| Device::of(&rt.client).stores(element);
    let numbers = |modulus: i32, count| -> Vec<i32> {
        values::<i32>(Values::Any, count)
            .into_iter()
            .map(|number| number % modulus)
            .collect()
    };
    for count in [0, 1, 7, 256, 5_003] {
        counted(rt, &numbers(300, count), 256)?;
        counted(rt, &vec![3; count], 4)?;
    }
    counted(rt, &numbers(5_000, 10_000), 4_999)?;
    counted(rt, &numbers(5, 100), 1)?;
    counted(rt, &numbers(5, 100), 0)?;
    counted::<i32>(rt, &values(Values::Extremes, 100), 3)?;
    if has(u8::cube_type()) {
        counted::<u8>(rt, &values(Values::Any, 3_000), 256)?;
        counted::<i8>(rt, &values(Values::Any, 3_000), 200)?;
    }
    if has(i64::cube_type()) {
        counted::<i64>(rt, &values(Values::Extremes, 999), 3)?;
    }
    let strided = rt.put_strided(&numbers(10, 12), &[3, 4], &[1, 5]);
    let out = bincount(&rt.client, &super::model::handle(&strided), None, 10)
        .map_err(|error| error.to_string())?;
    let mut want = vec![0u32; 10];
    for number in numbers(10, 12).into_iter().filter(|number| *number >= 0) {
        want[number as usize] += 1;
    }
    same(&read::<u32>(rt, out)?, &want)
}

fn counts_in_ranges(rt: &Rt) -> Result<(), String> {
    let [low, high] = [-2.0f32, 3.0];
    let mut numbers: Vec<f32> = values::<u32>(Values::Any, 4_001)
        .into_iter()
        .map(|bits| bits as f32 / u32::MAX as f32 * 7.0 - 3.0)
        .collect();
    numbers.extend([
        low,
        high,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        -0.0,
        2.999_999_8,
    ]);
    for bins in [1, 10, 256, 3_000] {
        let input = tensor(rt, &numbers, &[numbers.len()]);
        let out = histogram(&rt.client, &input, None, bins, [low, high].map(f64::from))
            .map_err(|error| error.to_string())?;
        let scale = bins as f32 / (high - low);
        let mut want = vec![0u32; bins];
        for &number in numbers
            .iter()
            .filter(|number| (low..=high).contains(*number))
        {
            want[(((number - low) * scale) as usize).min(bins - 1)] += 1;
        }
        same(&read::<u32>(rt, out)?, &want).map_err(|error| format!("{bins} bins: {error}"))?;
    }
    Ok(())
}

fn sums_of_weights(rt: &Rt) -> Result<(), String> {
    let count = 3_000;
    let numbers: Vec<u32> = values::<u32>(Values::Any, count)
        .into_iter()
        .map(|number| number % 40)
        .collect();
    // Small integers: their sums are exact in any order.
    let weights: Vec<f32> = (0..count).map(|at| (at % 17) as f32 - 5.0).collect();
    for bins in [30, 3_000] {
        let mut want = vec![0.0f32; bins];
        for (&number, weight) in numbers.iter().zip(&weights) {
            if let Some(sum) = want.get_mut(number as usize) {
                *sum += weight;
            }
        }
        let (input, given) = (
            tensor(rt, &numbers, &[count]),
            tensor(rt, &weights, &[count]),
        );
        let out =
            bincount(&rt.client, &input, Some(&given), bins).map_err(|error| error.to_string())?;
        same(&read::<f32>(rt, out)?, &want)?;
    }
    Ok(())
}

fn refusals(rt: &Rt) -> Result<(), String> {
    let keys = tensor::<f32>(rt, &[1.0, 2.0, 3.0], &[3]);
    let numbers = tensor::<i32>(rt, &[1, 2, 3], &[3]);
    let refused = [
        (
            top_k(&rt.client, &keys, 0, 4, true, u32::cube_type()).err(),
            "k counts 4; top_k takes up to 3",
        ),
        (
            top_k(&rt.client, &keys, 0, 1, true, f32::cube_type()).err(),
            "index has elements of type f32; top_k needs i32, u32, i64 or u64",
        ),
        (
            search_sorted(&rt.client, &keys, &numbers, Side::Left, u32::cube_type()).err(),
            "values has elements of type i32; search_sorted needs f32",
        ),
        (
            bincount(&rt.client, &keys, None, 3).err(),
            "values has elements of type f32; bincount needs an integer type",
        ),
        (
            bincount(&rt.client, &numbers, Some(&numbers), 3).err(),
            "weights has elements of type i32; bincount needs f32 or f64",
        ),
        (
            histogram(&rt.client, &keys, None, 3, [1.0, 1.0]).err(),
            "range is 1.0 to 1.0; histogram needs finite numbers, the first below the second by what f32 tells apart",
        ),
    ];
    for (error, want) in refused {
        let text = error.map(|error| error.to_string());
        if text.as_deref() != Some(want) {
            return Err(format!("{text:?}, not {want:?}"));
        }
    }
    Ok(())
}
