//! Which path `top_k` goes, that all of them find the same, and that numbered work needs no cubes beside each other.

use super::super::keys::{Key, Values, values};
use super::super::sort::{WAITS, tensor};
use super::{first, wanted_by};
use crate::stress;
use cubecl::prelude::*;
use girih_kernels::raw::top_k::{AtOnce, select_kernel, top_k_by};
use girih_kernels::{TopKPath, top_k_path};
use girih_testkit::{DeviceKind, Rt, cases, check::same, needs};

cases! {
    the_path_suits_the_rows_and_the_device,
    a_path_that_the_device_lacks_is_refused,
    every_path_finds_the_same,
    every_path_finds_the_same_of_64_bits needs [needs::U64],
    numbered_work_is_done_by_any_number_of_cubes needs [WAITS],
    holds_beside_other_kernels needs [WAITS],
}

fn the_path_suits_the_rows_and_the_device(rt: &Rt) -> Result<(), String> {
    let own = match rt.kind {
        DeviceKind::Cuda | DeviceKind::Cpu => TopKPath::AtOnce,
        _ => TopKPath::Steps,
    };
    for (shape, k, want) in [
        ([1, 1 << 20], 64, own),
        ([1, 1 << 20], 1, own),
        ([100_000, 1 << 15], 64, TopKPath::Steps),
        ([1, 100], 64, TopKPath::Sorted),
        ([1, 1 << 20], 1 << 19, TopKPath::Sorted),
        ([1, 1 << 20], 0, TopKPath::Sorted),
        ([0, 1 << 20], 64, TopKPath::Sorted),
        ([1, 1 << 31], 64, TopKPath::Sorted),
    ] {
        let [key, index] = [f32::cube_type(), u32::cube_type()];
        match top_k_path(&rt.client, key, shape, k, index) {
            Ok(path) if path == want => {}
            other => return Err(format!("{k} of {shape:?}: {other:?}, not {want:?}")),
        }
    }
    Ok(())
}

fn a_path_that_the_device_lacks_is_refused(rt: &Rt) -> Result<(), String> {
    let keys = tensor::<u32>(rt, &values(Values::Any, 20_000), &[20_000]);
    let path = Some(TopKPath::AtOnce);
    let answer = top_k_by(&rt.client, &keys, 0, 5, true, u32::cube_type(), path);
    match (answer.map_err(|error| error.to_string()), (WAITS.met)(rt)) {
        (Ok(_), true) => Ok(()),
        (Err(text), false)
            if text
                .contains("has no cubes that go on while others wait for them; top_k needs it") =>
        {
            Ok(())
        }
        (other, waits) => Err(format!("{:?} where cubes wait: {waits}", other.err())),
    }
}

/// The paths that a device has.
fn paths(rt: &Rt) -> Vec<TopKPath> {
    let mut all = vec![TopKPath::Sorted, TopKPath::Steps];
    all.extend((WAITS.met)(rt).then_some(TopKPath::AtOnce));
    all
}

fn every_path_finds<E: Key>(rt: &Rt) -> Result<(), String> {
    for path in paths(rt) {
        // Of no digit of places, of one and of several; one of those wanted, all of them, and more than are put in order at once.
        for (len, k) in [
            (1, 1),
            (2, 1),
            (257, 3),
            (1_000, 1_000),
            (8_191, 5),
            (8_192, 5),
            (8_193, 5),
            (20_001, 600),
            (70_001, 64),
        ] {
            for kind in [Values::Any, Values::Few, Values::Equal, Values::Descending] {
                for largest in [true, false] {
                    let keys: Vec<E> = values(kind, len);
                    wanted_by(rt, &keys, [1, len], k, largest, Some(path))
                        .map_err(|error| format!("{path:?} of {kind:?}: {error}"))?;
                }
            }
        }
    }
    Ok(())
}

fn every_path_finds_the_same(rt: &Rt) -> Result<(), String> {
    every_path_finds::<u32>(rt)
}

fn every_path_finds_the_same_of_64_bits(rt: &Rt) -> Result<(), String> {
    every_path_finds::<u64>(rt)
}

/// Shares of one row or several, done by one cube alone, by a few, by as many as there are, and by more; on a CPU one cube after
/// another.
fn numbered_work_is_done_by_any_number_of_cubes(rt: &Rt) -> Result<(), String> {
    let len = 5_000;
    for rows in [1, 3] {
        for kind in [Values::Any, Values::Few] {
            // The first row of several differs from the others: it does not ask for places where those of few values do.
            let mut keys: Vec<u32> = values(kind, rows * len);
            if rows > 1 {
                (0..).zip(&mut keys[..len]).for_each(|(at, key)| *key = at);
            }
            for cubes in [1, 2, 5, 21, 40] {
                numbered(rt, &keys, rows, cubes).map_err(|error| {
                    format!("{rows} rows of {kind:?} by {cubes} cubes: {error}")
                })?;
            }
        }
    }
    Ok(())
}

/// The smallest of each row, in seven shares of it.
fn numbered(rt: &Rt, keys: &[u32], rows: usize, cubes: u32) -> Result<(), String> {
    let (len, k) = (keys.len() / rows, 40);
    let most = rt.client.properties().hardware.max_units_per_cube;
    let plan = AtOnce {
        units: 1 << most.clamp(1, 64).ilog2(),
        items: 2,
        key_digits: 4,
        place_digits: 2,
        ranked: 64,
    };
    let places_of = |row: &[u32]| first(row, k, false);
    let want_places: Vec<u32> = keys
        .chunks(len)
        .flat_map(places_of)
        .map(|place| place as u32)
        .collect();
    let want: Vec<u32> = keys
        .chunks(len)
        .flat_map(|row| places_of(row).into_iter().map(|place| row[place]))
        .collect();
    let input = rt.put(keys);
    let words = rt.put(&vec![0u32; plan.words(rows)]);
    let [out, places] = [(); 2].map(|()| rt.put(&vec![0u32; rows * k]));
    // SAFETY: every buffer is as long as the kernel is told.
    unsafe {
        select_kernel::launch_unchecked(
            &rt.client,
            CubeCount::new_1d(cubes),
            CubeDim::new_1d(plan.units),
            AddressType::U32,
            1,
            input.arg(),
            words.arg(),
            out.arg(),
            places.arg(),
            len,
            rows as u32,
            7,
            k as u32,
            plan,
            None,
            [u32::cube_type(); 3],
        );
    }
    let read = |buffer| rt.read(buffer).map_err(|error| error.to_string());
    same(&read(&out)?, &want)?;
    same(&read(&places)?, &want_places)
}

/// Several rounds while kernels on another stream come and go.
fn holds_beside_other_kernels(rt: &Rt) -> Result<(), stress::Fault> {
    let others = stress::beside(rt, &stress::TOP_K, 2)?;
    assert!(others > 0, "no other kernel ran");
    Ok(())
}
