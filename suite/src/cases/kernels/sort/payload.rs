//! What goes with keys: payload of every size, and places.

use super::super::keys::{Key, Values, values};
use super::{compare, order, paths, read, tensor};
use cubecl::prelude::*;
use girih_kernels::{SortOptions, argsort, sort_pairs, sort_with_indices};
use girih_testkit::{Rt, cases, check::same};

cases! {
    pairs_keep_their_order,
    payload_of_every_size,
    places_of_keys,
}

/// Sorts pairs by every path, and compares both.
pub(super) fn pairs<E: Key, V: Key>(
    rt: &Rt,
    keys: &[E],
    payload: &[V],
    options: &SortOptions,
) -> Result<(), String> {
    let order = order(keys, options);
    let shape = [keys.len()];
    let (input, carried) = (tensor(rt, keys, &shape), tensor(rt, payload, &shape));
    for path in paths::<E>(rt, Some(V::cube_type()), [1, keys.len()]) {
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
    for len in [1, 500, 4_097, 8_832, 8_833, 20_001] {
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
pub(super) fn places<I: Key>(rt: &Rt, keys: &[f32], descending: bool) -> Result<(), String> {
    let options = SortOptions {
        descending,
        ..SortOptions::default()
    };
    let order = order(keys, &options);
    let want: Vec<u128> = order.iter().map(|&place| place as u128).collect();
    let input = tensor(rt, keys, &[keys.len()]);
    for path in paths::<f32>(rt, Some(I::cube_type()), [1, keys.len()]) {
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
