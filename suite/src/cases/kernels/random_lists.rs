//! Random lists, by every call on lists.

use super::keys::{Key, Values, kinds, lengths, values};
use super::{compact, sort_by, top_k, unique};
use crate::random::{for_all, for_all_from};
use girih_kernels::{CompactOptions, ScanPath, Side};
use girih_testkit::{DeviceKind, Rt, cases, needs};
use proptest::prelude::*;

cases! {
    any_mask_of_any_list,
    any_runs,
    any_values_each_once,
    any_bytes_each_once needs [needs::U8],
    any_number_of_the_largest,
    any_number_of_the_largest_floats,
    any_place_in_any_sorted_rows,
    any_classes_in_their_order,
}

/// The paths of compactions that the device goes.
fn paths(rt: &Rt) -> Vec<Option<ScanPath>> {
    let looks_back = matches!(rt.kind, DeviceKind::Cpu | DeviceKind::Cuda);
    let mut paths = vec![None, Some(ScanPath::ReduceThenScan)];
    if looks_back {
        paths.push(Some(ScanPath::LookBack));
    }
    paths
}

fn options(path: Option<ScanPath>) -> CompactOptions {
    CompactOptions {
        path,
        ..CompactOptions::default()
    }
}

/// A kind of data, its length, a path, and a number to draw by.
fn lists(rt: &Rt) -> impl Strategy<Value = (Values, usize, Option<ScanPath>, u64)> {
    (
        kinds(),
        lengths(),
        prop::sample::select(paths(rt)),
        any::<u64>(),
    )
}

fn any_mask_of_any_list(rt: &Rt) -> Result<(), String> {
    for_all((lists(rt), 1u32..200), |((kind, len, path, seed), step)| {
        let mask = compact::mask(len, step, seed);
        compact::masked::<u32>(rt, &values(kind, len), &mask, options(path))
    })
}

fn any_runs(rt: &Rt) -> Result<(), String> {
    for_all((lists(rt), 1usize..300), |((kind, len, path, _), run)| {
        // Runs of about as many, whose values the kind draws; a NaN is equal to none.
        let drawn: Vec<f32> = values(kind, len / run + 1);
        let list: Vec<f32> = (0..len).map(|at| drawn[at / run]).collect();
        compact::runs(rt, &list, options(path))
    })
}

fn each_once<E: Key + PartialEq>(rt: &Rt) -> Result<(), String> {
    let flags = (any::<bool>(), any::<bool>());
    for_all_from(
        u64::from(E::BITS),
        (lists(rt), flags),
        |((kind, len, path, _), (counts, inverse))| {
            let mut asked = unique::ALL;
            asked.counts = counts;
            asked.inverse = inverse;
            asked.compact.path = path;
            unique::all::<E>(rt, &values(kind, len), asked)
        },
    )
}

fn any_values_each_once(rt: &Rt) -> Result<(), String> {
    each_once::<f32>(rt)
}

fn any_bytes_each_once(rt: &Rt) -> Result<(), String> {
    each_once::<u8>(rt)
}

fn largest<E: Key>(rt: &Rt) -> Result<(), String> {
    let wanted = prop_oneof![
        1 => Just(0usize),
        3 => 1usize..100,
        1 => 1usize..20_000,
        1 => Just(usize::MAX),
    ];
    let shape = (kinds(), 1usize..4, lengths());
    for_all_from(
        u64::from(E::BITS),
        (shape, wanted, any::<bool>()),
        |((kind, rows, len), k, is_largest)| {
            let keys: Vec<E> = values(kind, rows * len);
            top_k::wanted(rt, &keys, [rows, len], k.min(len), is_largest)
        },
    )
}

fn any_number_of_the_largest(rt: &Rt) -> Result<(), String> {
    largest::<i32>(rt)
}

fn any_number_of_the_largest_floats(rt: &Rt) -> Result<(), String> {
    largest::<f32>(rt)
}

fn any_place_in_any_sorted_rows(rt: &Rt) -> Result<(), String> {
    let sides = prop::sample::select(vec![Side::Left, Side::Right]);
    for_all(
        (kinds(), kinds(), 0usize..300, 1usize..4, sides),
        |(kind, wanted, len, rows, side)| {
            top_k::search_in::<f32>(rt, [rows, len], [kind, wanted], side)
        },
    )
}

fn any_classes_in_their_order(rt: &Rt) -> Result<(), String> {
    for_all((kinds(), lengths()), |(kind, len)| {
        sort_by::classes(rt, &values(kind, len))
    })
}
