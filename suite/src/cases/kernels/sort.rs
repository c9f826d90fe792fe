//! `sort`, `sort_pairs` and `argsort` against the host's stable sort.

use super::keys::{Key, Values, values};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Error;
use girih_kernels::{
    SortOptions, SortPath, argsort, sort, sort_pairs, sort_path, sort_with_indices,
};
use girih_testkit::{Rt, cases, check::same, needs};
use half::{bf16, f16};
use std::cmp::Reverse;

cases! {
    u32_at_every_edge_of_a_tile,
    u32_of_every_kind_of_data,
    u8_keys needs [needs::U8],
    i8_keys needs [needs::I8],
    u16_keys needs [needs::U16],
    i16_keys needs [needs::I16],
    i32_keys,
    u64_keys needs [needs::U64],
    i64_keys needs [needs::I64],
    f16_keys needs [needs::F16],
    bf16_keys needs [needs::BF16],
    f32_keys,
    f64_keys needs [needs::F64],
    ranges_of_bits,
    digits_that_all_keys_share,
    wide_digits_that_all_keys_share needs [needs::U64],
    rows_that_share_other_digits,
    pairs_keep_their_order,
    payload_of_every_size,
    places_of_keys,
    rows_of_a_matrix,
    other_axes_and_strides,
    nothing_to_sort,
    every_path_runs_as_asked,
    refusals,
}

/// The paths that the device can go with rows of so many keys. Each costs compilations for every type, so that the path which
/// CUDA never chooses is gone there with u32 and f32 alone, and the one that the CPU never chooses with four types.
fn paths<E: Key>(rt: &Rt, payload: Option<cubecl::ir::ElemType>, len: usize) -> Vec<SortPath> {
    let all = [
        SortPath::OneCube,
        SortPath::OneSweep,
        SortPath::ThreeKernels,
    ];
    let is_rare = ![u32::cube_type(), f32::cube_type()].contains(&E::cube_type());
    let is_rarest = is_rare && ![i32::cube_type(), u64::cube_type()].contains(&E::cube_type());
    let is_cuda = rt.kind == girih_testkit::DeviceKind::Cuda;
    let is_cpu = rt.kind == girih_testkit::DeviceKind::Cpu;
    all.into_iter()
        .filter(|&path| path != SortPath::ThreeKernels || !(is_cuda && is_rare))
        .filter(|&path| path != SortPath::OneSweep || !(is_cpu && is_rarest))
        .filter(|&path| {
            let options = SortOptions {
                path: Some(path),
                ..SortOptions::default()
            };
            sort_path(&rt.client, E::cube_type(), payload, [1, len], &options).is_ok()
        })
        .collect()
}

pub(super) fn tensor<E: Key>(rt: &Rt, values: &[E], shape: &[usize]) -> TensorHandle {
    TensorHandle::new_contiguous(shape.to_vec(), rt.put(values).handle(), E::cube_type())
}

pub(super) fn read<E: CubeElement>(rt: &Rt, tensor: TensorHandle) -> Result<Vec<E>, String> {
    let count: usize = tensor.shape().iter().product();
    let bytes = rt
        .client
        .read_one(tensor.handle)
        .map_err(|error| error.to_string())?;
    Ok(E::from_bytes(&bytes)[..count].to_vec())
}

/// The places of the keys of a row in the order asked for.
fn order<E: Key>(keys: &[E], options: &SortOptions) -> Vec<usize> {
    let bits = options.bits.clone().unwrap_or(0..E::BITS);
    let digits = |key: &E| {
        let count = bits.end - bits.start;
        match count {
            0 => 0,
            _ => (key.place() >> bits.start) & (u128::MAX >> (128 - count)),
        }
    };
    let mut places: Vec<usize> = (0..keys.len()).collect();
    match options.descending {
        false => places.sort_by_key(|&place| digits(&keys[place])),
        true => places.sort_by_key(|&place| Reverse(digits(&keys[place]))),
    }
    places
}

/// Sorts on the device by every path that it has, and compares bit by bit.
fn sorted<E: Key>(rt: &Rt, keys: &[E], options: &SortOptions) -> Result<(), String> {
    let want: Vec<u128> = order(keys, options)
        .into_iter()
        .map(|place| keys[place].bits())
        .collect();
    let input = tensor(rt, keys, &[keys.len()]);
    for path in paths::<E>(rt, None, keys.len()) {
        let options = SortOptions {
            path: Some(path),
            ..options.clone()
        };
        let out = sort(&rt.client, &input, 0, &options).map_err(|error| error.to_string())?;
        let got: Vec<u128> = read::<E>(rt, out)?.into_iter().map(Key::bits).collect();
        compare(&got, &want)
            .map_err(|error| format!("{} keys by {options:?}: {error}", keys.len()))?;
    }
    Ok(())
}

fn compare<T: PartialEq + std::fmt::Debug>(got: &[T], want: &[T]) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{} elements, not {}", got.len(), want.len()));
    }
    match (0..got.len()).find(|&at| got[at] != want[at]) {
        None => Ok(()),
        Some(at) => Err(format!("element {at} is {:?}, not {:?}", got[at], want[at])),
    }
}

/// Lengths around those of tiles: what a unit, a plane or a cube holds, whatever the device's are.
const LENGTHS: [usize; 24] = [
    1, 2, 3, 7, 8, 31, 32, 33, 127, 128, 129, 511, 512, 513, 1023, 1024, 1025, 4095, 4096, 4097,
    8191, 8832, 8833, 20_000,
];

fn u32_at_every_edge_of_a_tile(rt: &Rt) -> Result<(), String> {
    for len in LENGTHS {
        sorted::<u32>(rt, &values(Values::Any, len), &SortOptions::default())?;
    }
    Ok(())
}

fn u32_of_every_kind_of_data(rt: &Rt) -> Result<(), String> {
    for kind in Values::ALL {
        for descending in [false, true] {
            let options = SortOptions {
                descending,
                ..SortOptions::default()
            };
            sorted::<u32>(rt, &values(kind, 10_007), &options)
                .map_err(|error| format!("{kind:?}: {error}"))?;
        }
    }
    Ok(())
}

/// Every kind of data of the type, in both directions, in one tile and in several.
fn of_type<E: Key>(rt: &Rt) -> Result<(), String> {
    for kind in [Values::Any, Values::Extremes, Values::Few] {
        // In one cube in both directions, over several tiles in one.
        for (len, descending) in [(250, false), (250, true), (9_001, E::BITS >= 32)] {
            let options = SortOptions {
                descending,
                ..SortOptions::default()
            };
            sorted::<E>(rt, &values(kind, len), &options)
                .map_err(|error| format!("{kind:?}: {error}"))?;
        }
    }
    Ok(())
}

macro_rules! of_types {
    ($($name:ident: $element:ty;)*) => {$(
        fn $name(rt: &Rt) -> Result<(), String> {
            of_type::<$element>(rt)
        }
    )*};
}
of_types! {
    u8_keys: u8;
    i8_keys: i8;
    u16_keys: u16;
    i16_keys: i16;
    i32_keys: i32;
    u64_keys: u64;
    i64_keys: i64;
    f16_keys: f16;
    bf16_keys: bf16;
    f32_keys: f32;
    f64_keys: f64;
}

fn ranges_of_bits(rt: &Rt) -> Result<(), String> {
    for bits in [
        0..0,
        0..1,
        0..8,
        3..14,
        5..29,
        31..32,
        32..32,
        12..12,
        8..32,
    ] {
        for descending in [false, true] {
            let options = SortOptions {
                descending,
                bits: Some(bits.clone()),
                ..SortOptions::default()
            };
            for len in [100, 6_000] {
                sorted::<u32>(rt, &values(Values::Any, len), &options)?;
                sorted::<i32>(rt, &values(Values::Any, len), &options)?;
                sorted::<f32>(rt, &values(Values::Any, len), &options)?;
            }
        }
    }
    Ok(())
}

/// Keys that differ in some of their bytes alone, those of `bytes`.
fn differ_in(bytes: u64, len: usize) -> Vec<u64> {
    let mask = (0..8)
        .filter(|byte| bytes >> byte & 1 == 1)
        .fold(0, |mask, byte| mask | 0xff << (8 * byte));
    values::<u32>(Values::Any, 2 * len)
        .chunks(2)
        .map(|words| {
            let any = u64::from(words[0]) << 32 | u64::from(words[1]);
            any & mask | 0x1234_5678_9abc_def0 & !mask
        })
        .collect()
}

fn digits_that_all_keys_share(rt: &Rt) -> Result<(), String> {
    let len = 9_001;
    let payload: Vec<u32> = (0..len as u32).collect();
    for bytes in 0..16 {
        let keys: Vec<u32> = differ_in(bytes, len)
            .into_iter()
            .map(|key| key as u32)
            .collect();
        let told = |error| format!("keys that differ in bytes {bytes:04b}: {error}");
        sorted::<u32>(rt, &keys, &SortOptions::default()).map_err(told)?;
        pairs::<u32, u32>(rt, &keys, &payload, &SortOptions::default()).map_err(told)?;
        let floats: Vec<f32> = keys.iter().map(|&bits| f32::from_bits(bits)).collect();
        sorted::<f32>(rt, &floats, &SortOptions::default()).map_err(told)?;
        places::<u32>(rt, &floats, true).map_err(told)?;
    }
    Ok(())
}

fn wide_digits_that_all_keys_share(rt: &Rt) -> Result<(), String> {
    for bytes in [0, 1, 0x80, 0x81, 0x24, 0x5a, 0xff] {
        let keys = differ_in(bytes, 7_001);
        sorted::<u64>(rt, &keys, &SortOptions::default())
            .map_err(|error| format!("keys that differ in bytes {bytes:08b}: {error}"))?;
    }
    Ok(())
}

/// Each row differs in other bytes than the one before.
fn rows_that_share_other_digits(rt: &Rt) -> Result<(), String> {
    let len = 7_000;
    let rows: Vec<Vec<i32>> = [0b0001, 0b0000, 0b0110, 0b1111, 0b1000]
        .into_iter()
        .map(|bytes| {
            let keys = differ_in(bytes, len);
            keys.into_iter().map(|key| key as i32).collect()
        })
        .collect();
    let input = tensor(rt, &rows.concat(), &[rows.len(), len]);
    let want: Vec<i32> = rows
        .iter()
        .flat_map(|row| {
            let mut row = row.clone();
            row.sort_unstable();
            row
        })
        .collect();
    for path in paths::<i32>(rt, None, len) {
        let options = SortOptions {
            path: Some(path),
            ..SortOptions::default()
        };
        let out = sort(&rt.client, &input, 1, &options).map_err(|error| error.to_string())?;
        same(&read::<i32>(rt, out)?, &want).map_err(|error| format!("by {path:?}: {error}"))?;
    }
    Ok(())
}

/// Sorts pairs by every path, and compares both.
fn pairs<E: Key, V: Key>(
    rt: &Rt,
    keys: &[E],
    payload: &[V],
    options: &SortOptions,
) -> Result<(), String> {
    let order = order(keys, options);
    let shape = [keys.len()];
    let (input, carried) = (tensor(rt, keys, &shape), tensor(rt, payload, &shape));
    for path in paths::<E>(rt, Some(V::cube_type()), keys.len()) {
        let options = SortOptions {
            path: Some(path),
            ..options.clone()
        };
        let (out, moved) = sort_pairs(&rt.client, &input, &carried, 0, &options)
            .map_err(|error| error.to_string())?;
        let got: Vec<u128> = read::<E>(rt, out)?.into_iter().map(Key::bits).collect();
        let want: Vec<u128> = order.iter().map(|&place| keys[place].bits()).collect();
        compare(&got, &want).map_err(|error| format!("keys by {options:?}: {error}"))?;
        let got: Vec<u128> = read::<V>(rt, moved)?.into_iter().map(Key::bits).collect();
        let want: Vec<u128> = order.iter().map(|&place| payload[place].bits()).collect();
        compare(&got, &want).map_err(|error| format!("payload by {options:?}: {error}"))?;
    }
    Ok(())
}

fn pairs_keep_their_order(rt: &Rt) -> Result<(), String> {
    for len in [1, 500, 4_097, 20_001] {
        let payload: Vec<u32> = (0..len as u32).collect();
        for kind in [Values::Few, Values::Equal, Values::Any] {
            for descending in [false, true] {
                let options = SortOptions {
                    descending,
                    ..SortOptions::default()
                };
                pairs::<u32, u32>(rt, &values(kind, len), &payload, &options)?;
            }
        }
    }
    Ok(())
}

fn payload_of_every_size(rt: &Rt) -> Result<(), String> {
    let has = |element| girih::device::Device::of(&rt.client).stores(element);
    let options = SortOptions::default();
    let len = 5_003;
    let keys: Vec<i32> = values(Values::Few, len);
    pairs::<i32, f32>(rt, &keys, &values(Values::Any, len), &options)?;
    if has(u8::cube_type()) {
        pairs::<i32, u8>(rt, &keys, &values(Values::Any, len), &options)?;
    }
    if has(u16::cube_type()) {
        pairs::<i32, u16>(rt, &keys, &values(Values::Any, len), &options)?;
    }
    if has(u64::cube_type()) {
        pairs::<i32, u64>(rt, &keys, &values(Values::Any, len), &options)?;
        pairs::<u64, u32>(
            rt,
            &values(Values::Few, len),
            &values(Values::Any, len),
            &options,
        )?;
    }
    if has(u8::cube_type()) && has(u64::cube_type()) {
        pairs::<u8, u64>(
            rt,
            &values(Values::Any, len),
            &values(Values::Any, len),
            &options,
        )?;
    }
    Ok(())
}

/// `argsort` and `sort_with_indices` by every path, with places of the type.
fn places<I: Key>(rt: &Rt, keys: &[f32], descending: bool) -> Result<(), String> {
    let options = SortOptions {
        descending,
        ..SortOptions::default()
    };
    let order = order(keys, &options);
    let want: Vec<u128> = order.iter().map(|&place| place as u128).collect();
    let input = tensor(rt, keys, &[keys.len()]);
    for path in paths::<f32>(rt, Some(I::cube_type()), keys.len()) {
        let options = SortOptions {
            path: Some(path),
            ..options.clone()
        };
        let out = argsort(&rt.client, &input, 0, I::cube_type(), &options)
            .map_err(|error| error.to_string())?;
        let got: Vec<u128> = read::<I>(rt, out)?.into_iter().map(Key::bits).collect();
        compare(&got, &want).map_err(|error| format!("places by {options:?}: {error}"))?;
        let (sorted, out) = sort_with_indices(&rt.client, &input, 0, I::cube_type(), &options)
            .map_err(|error| error.to_string())?;
        let got: Vec<u128> = read::<I>(rt, out)?.into_iter().map(Key::bits).collect();
        compare(&got, &want).map_err(|error| format!("indices by {options:?}: {error}"))?;
        let sorted_keys: Vec<f32> = order.iter().map(|&place| keys[place]).collect();
        same(&read::<f32>(rt, sorted)?, &sorted_keys)
            .map_err(|error| format!("{} keys by {options:?}: {error}", keys.len()))?;
    }
    Ok(())
}

fn places_of_keys(rt: &Rt) -> Result<(), String> {
    for len in [1, 300, 9_000] {
        for kind in [Values::Any, Values::Few] {
            places::<i32>(rt, &values(kind, len), false)?;
            places::<u32>(rt, &values(kind, len), true)?;
            if girih::device::Device::of(&rt.client).stores(i64::cube_type()) {
                places::<i64>(rt, &values(kind, len), false)?;
            }
        }
    }
    Ok(())
}

/// Sorts the rows of a matrix by every path.
fn rows(rt: &Rt, [count, len]: [usize; 2]) -> Result<(), String> {
    let keys: Vec<i32> = values(Values::Any, count * len);
    let want: Vec<i32> = keys
        .chunks(len)
        .flat_map(|row| {
            let order = order(row, &SortOptions::default());
            order
                .into_iter()
                .map(|place| row[place])
                .collect::<Vec<_>>()
        })
        .collect();
    let places_wanted: Vec<u32> = keys
        .chunks(len)
        .flat_map(|row| order(row, &SortOptions::default()))
        .map(|place| place as u32)
        .collect();
    let input = tensor(rt, &keys, &[count, len]);
    for path in paths::<i32>(rt, None, len) {
        let options = SortOptions {
            path: Some(path),
            ..SortOptions::default()
        };
        let out = sort(&rt.client, &input, 1, &options).map_err(|error| error.to_string())?;
        same(&read::<i32>(rt, out)?, &want)
            .map_err(|error| format!("{count} rows of {len} by {path:?}: {error}"))?;
        let out = argsort(&rt.client, &input, 1, u32::cube_type(), &options)
            .map_err(|error| error.to_string())?;
        same(&read::<u32>(rt, out)?, &places_wanted)
            .map_err(|error| format!("places in {count} rows of {len} by {path:?}: {error}"))?;
    }
    Ok(())
}

fn rows_of_a_matrix(rt: &Rt) -> Result<(), String> {
    for shape in [
        [300, 1],
        [70, 5],
        [40, 128],
        [9, 1_000],
        [3, 9_001],
        [2, 20_000],
    ] {
        rows(rt, shape)?;
    }
    Ok(())
}

fn other_axes_and_strides(rt: &Rt) -> Result<(), String> {
    let shape = [5, 70, 3];
    let keys: Vec<f32> = values(Values::Any, 5 * 70 * 3);
    let strides = [[210, 3, 1], [1, 15, 5], [300, 4, 1]];
    for strides in strides {
        let input = rt.put_strided(&keys, &shape, &strides);
        for axis in 0..3 {
            let out = sort(
                &rt.client,
                &super::model::handle(&input),
                axis,
                &SortOptions::default(),
            )
            .map_err(|error| error.to_string())?;
            let step: usize = shape[axis + 1..].iter().product();
            let mut want = keys.clone();
            for first in 0..keys.len() {
                if (first / step).is_multiple_of(shape[axis]) {
                    let row: Vec<f32> =
                        (0..shape[axis]).map(|at| keys[first + at * step]).collect();
                    for (at, place) in order(&row, &SortOptions::default()).into_iter().enumerate()
                    {
                        want[first + at * step] = row[place];
                    }
                }
            }
            same(&read::<f32>(rt, out)?, &want)
                .map_err(|error| format!("axis {axis} of {strides:?}: {error}"))?;
        }
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
        let (keys, places) = sort_with_indices(
            &rt.client,
            &input,
            axis,
            u32::cube_type(),
            &SortOptions::default(),
        )
        .map_err(|error| error.to_string())?;
        for out in [keys, places] {
            let got: Vec<usize> = out.shape().iter().copied().collect();
            if got != shape {
                return Err(format!("shape {got:?}, not {shape:?}"));
            }
        }
    }
    Ok(())
}

fn every_path_runs_as_asked(rt: &Rt) -> Result<(), String> {
    let of = |len, path| {
        let options = SortOptions {
            path,
            ..SortOptions::default()
        };
        sort_path(&rt.client, u32::cube_type(), None, [1, len], &options)
    };
    let long = match rt.kind {
        girih_testkit::DeviceKind::Cuda => SortPath::OneSweep,
        _ => SortPath::ThreeKernels,
    };
    let chosen = [100, 1 << 20].map(|len| of(len, None).map_err(|error| error.to_string()));
    if chosen != [Ok(SortPath::OneCube), Ok(long)] {
        return Err(format!("chose {chosen:?}"));
    }
    match of(1 << 20, Some(SortPath::ThreeKernels)) {
        Ok(SortPath::ThreeKernels) => {}
        other => return Err(format!("{other:?}")),
    }
    let waits = matches!(
        rt.kind,
        girih_testkit::DeviceKind::Cuda | girih_testkit::DeviceKind::Cpu
    );
    match of(1 << 20, Some(SortPath::OneSweep)) {
        Ok(SortPath::OneSweep) if waits => Ok(()),
        Err(error @ Error::Device { .. }) if !waits => {
            let text = error.to_string();
            let want = "has no cubes that go on while others wait for them; sort needs it";
            match text.contains(want) {
                true => Ok(()),
                false => Err(text),
            }
        }
        other => Err(format!("{other:?}")),
    }
}

fn refusals(rt: &Rt) -> Result<(), String> {
    let keys = tensor::<u32>(rt, &values(Values::Any, 60_000), &[60_000]);
    let with = |options: SortOptions| sort(&rt.client, &keys, 0, &options).err().map(text);
    let bits = |bits| {
        with(SortOptions {
            bits: Some(bits),
            ..SortOptions::default()
        })
    };
    expect(
        bits(0..33),
        "the end of the range of bits counts 33; sort takes up to 32",
    )?;
    #[allow(clippy::reversed_empty_ranges)]
    expect(
        bits(9..8),
        "the start of the range of bits counts 9; sort takes up to 8",
    )?;
    let one_cube = with(SortOptions {
        path: Some(SortPath::OneCube),
        ..SortOptions::default()
    });
    if !one_cube.as_ref().is_some_and(|text| {
        text.starts_with("the keys of a row sorted in one cube counts 60000; sort takes up to ")
    }) {
        return Err(format!("{one_cube:?}"));
    }
    let axis = sort(&rt.client, &keys, 1, &SortOptions::default());
    expect(
        axis.err().map(text),
        "axis 1 of keys, which has rank 1; sort needs an axis in 0..1",
    )?;
    let short = tensor::<u32>(rt, &[1, 2], &[2]);
    let pairs = sort_pairs(&rt.client, &keys, &short, 0, &SortOptions::default());
    expect(
        pairs.err().map(text),
        "payload has shape [2]; sort_pairs needs [60000]",
    )?;
    let places = argsort(
        &rt.client,
        &keys,
        0,
        f32::cube_type(),
        &SortOptions::default(),
    );
    expect(
        places.err().map(text),
        "index has elements of type f32; argsort needs i32, u32, i64 or u64",
    )
}

pub(super) fn text(error: Error) -> String {
    error.to_string()
}

pub(super) fn expect(got: Option<String>, want: &str) -> Result<(), String> {
    match got.as_deref() == Some(want) {
        true => Ok(()),
        false => Err(format!("{got:?}, not {want:?}")),
    }
}
