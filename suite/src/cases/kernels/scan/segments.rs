//! Scans that begin anew.

use super::super::keys::lengths;
use super::super::model::{handle, list};
use super::model::{Number, OPERATIONS, along, rows, sample};
use crate::random::for_all;
use cubecl::prelude::*;
use girih_kernels::{ScanOperation, ScanOptions, ScanPath, Segments, scan_into};
use girih_testkit::{DeviceKind, Rt, buffer::row_major, cases, check::same, needs};
use proptest::prelude::*;

cases! {
    flags_of_a_list,
    flags_of_bytes needs [needs::U8],
    flags_of_strided_rows,
    flags_shared_by_all_rows,
    offsets_of_a_list,
    offsets_of_rows,
    offsets_of_64_bits needs [needs::I64],
    by_every_path,
    any_segments_by_any_operation,
}

/// Whether a segment begins at an element, about once in `step`.
fn heads(count: usize, step: u64) -> Vec<i32> {
    let mut state = step;
    (0..count)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // Any number but 0 is a flag.
            if (state >> 33).is_multiple_of(step) {
                -7
            } else {
                0
            }
        })
        .collect()
}

/// Scans with flags given in row-major order, in memory of these strides.
fn flagged<F: CubeElement + Numeric>(
    rt: &Rt,
    shape: &[usize],
    axis: usize,
    flags: &[i32],
    flag_strides: &[usize],
    options: ScanOptions<'_>,
) -> Result<(), String> {
    let values: Vec<f32> = sample(shape.iter().product(), 11);
    let typed: Vec<F> = flags
        .iter()
        .map(|&flag| F::from_int(i64::from(flag != 0)))
        .collect();
    let marks = rt.put_strided(&typed, shape, flag_strides);
    let marks = handle(&marks);
    let input = rt.put_tensor(&values, shape);
    for exclusive in [false, true] {
        let options = ScanOptions {
            exclusive,
            segments: Some(Segments::Flags(&marks)),
            ..options
        };
        let output = rt.poisoned_tensor::<f32>(shape, &row_major(shape));
        let (from, to) = (handle(&input), handle(&output));
        scan_into(&rt.client, &from, &to, axis, ScanOperation::Sum, options)
            .map_err(|error| error.to_string())?;
        // Values and flags travel together, so that a row knows its own.
        let both: Vec<(f32, i32)> = values.iter().copied().zip(flags.iter().copied()).collect();
        let want: Vec<f32> = along(&both, shape, axis, |row| {
            let (values, flags): (Vec<f32>, Vec<i32>) = row.iter().copied().unzip();
            let scanned = rows(&values, ScanOperation::Sum, exclusive, |at| flags[at] != 0);
            scanned.into_iter().zip(flags).collect()
        })
        .into_iter()
        .map(|(value, _)| value)
        .collect();
        same(
            &rt.read_tensor(&output).map_err(|error| error.to_string())?,
            &want,
        )
        .map_err(|difference| format!("{shape:?} along {axis}, {exclusive}: {difference}"))?;
    }
    Ok(())
}

/// Scans with offsets.
fn offset<T: Number, F: CubeElement + Numeric>(
    rt: &Rt,
    shape: &[usize],
    axis: usize,
    offsets: &[i64],
    options: ScanOptions<'_>,
) -> Result<(), String> {
    let values: Vec<T> = sample(shape.iter().product(), 12);
    let typed: Vec<F> = offsets.iter().map(|&offset| F::from_int(offset)).collect();
    let places = rt.put(&typed);
    let places = list(&places);
    let input = rt.put_tensor(&values, shape);
    for exclusive in [false, true] {
        let options = ScanOptions {
            exclusive,
            segments: Some(Segments::Offsets(&places)),
            ..options
        };
        let output = rt.poisoned_tensor::<T>(shape, &row_major(shape));
        let (from, to) = (handle(&input), handle(&output));
        scan_into(&rt.client, &from, &to, axis, ScanOperation::Max, options)
            .map_err(|error| error.to_string())?;
        let want = along(&values, shape, axis, |row| {
            rows(row, ScanOperation::Max, exclusive, |at| {
                offsets.contains(&(at as i64))
            })
        });
        same(
            &rt.read_tensor(&output).map_err(|error| error.to_string())?,
            &want,
        )
        .map_err(|difference| format!("{shape:?} along {axis}, {exclusive}: {difference}"))?;
    }
    Ok(())
}

fn flags_of_a_list(rt: &Rt) -> Result<(), String> {
    for (count, step) in [
        (1, 1),
        (100, 3),
        (17_001, 2),
        (17_001, 700),
        (25_000, 1 << 30),
        (9000, 1),
    ] {
        flagged::<i32>(
            rt,
            &[count],
            0,
            &heads(count, step),
            &[1],
            ScanOptions::default(),
        )?;
    }
    Ok(())
}

fn flags_of_bytes(rt: &Rt) -> Result<(), String> {
    flagged::<u8>(
        rt,
        &[5000],
        0,
        &heads(5000, 90),
        &[1],
        ScanOptions::default(),
    )
}

fn flags_of_strided_rows(rt: &Rt) -> Result<(), String> {
    let flags = heads(3 * 10_000, 400);
    flagged::<u32>(
        rt,
        &[3, 10_000],
        1,
        &flags,
        &[10_000, 1],
        ScanOptions::default(),
    )?;
    flagged::<u32>(rt, &[3, 10_000], 1, &flags, &[1, 3], ScanOptions::default())?;
    flagged::<u32>(rt, &[10_000, 3], 0, &flags, &[3, 1], ScanOptions::default())
}

fn flags_shared_by_all_rows(rt: &Rt) -> Result<(), String> {
    let row = heads(10_000, 300);
    let flags = row.repeat(3);
    flagged::<u32>(rt, &[3, 10_000], 1, &flags, &[0, 1], ScanOptions::default())
}

/// Equal offsets, one at 0, and some past the end.
const OFFSETS: [i64; 12] = [0, 5, 5, 5, 6, 7, 1000, 8191, 8192, 8192, 16_400, 100_000];

fn offsets_of_a_list(rt: &Rt) -> Result<(), String> {
    for count in [1, 6, 8192, 17_001] {
        offset::<f32, i32>(rt, &[count], 0, &OFFSETS, ScanOptions::default())?;
    }
    offset::<f32, i32>(rt, &[100], 0, &[], ScanOptions::default())?;
    let all: Vec<i64> = (0..5000).collect();
    offset::<i32, u32>(rt, &[5000], 0, &all, ScanOptions::default())
}

fn offsets_of_rows(rt: &Rt) -> Result<(), String> {
    offset::<f32, u32>(rt, &[3, 10_000], 1, &OFFSETS, ScanOptions::default())?;
    offset::<f32, u32>(rt, &[5000, 3], 0, &OFFSETS, ScanOptions::default())
}

fn offsets_of_64_bits(rt: &Rt) -> Result<(), String> {
    offset::<i64, i64>(rt, &[17_001], 0, &OFFSETS, ScanOptions::default())
}

fn by_every_path(rt: &Rt) -> Result<(), String> {
    let mut paths = vec![ScanPath::ReduceThenScan];
    if matches!(rt.kind, DeviceKind::Cpu | DeviceKind::Cuda) {
        paths.push(ScanPath::LookBack);
    }
    for path in paths {
        let options = ScanOptions::default().path(path);
        for step in [2, 3000, 1 << 30] {
            flagged::<i32>(rt, &[17_001], 0, &heads(17_001, step), &[1], options)?;
        }
        offset::<f32, i32>(rt, &[17_001], 0, &OFFSETS, options)?;
    }
    Ok(())
}

/// Random lists, cut at random by flags or by offsets, some of which are there twice.
fn any_segments_by_any_operation(rt: &Rt) -> Result<(), String> {
    let mut paths = vec![None, Some(ScanPath::ReduceThenScan)];
    if matches!(rt.kind, DeviceKind::Cpu | DeviceKind::Cuda) {
        paths.push(Some(ScanPath::LookBack));
    }
    let how = (
        prop::sample::select(OPERATIONS.to_vec()),
        prop::sample::select(paths),
        any::<bool>(),
        any::<bool>(),
    );
    for_all(
        (lengths(), 1u64..2_000, how),
        |(length, step, (operation, path, exclusive, by_flags))| {
            let values: Vec<i32> = sample(length, step);
            let flags = heads(length, step);
            let places = (0..length as i32).filter(|&at| flags[at as usize] != 0);
            let twice =
                places.flat_map(|place| [place; 2].into_iter().take(1 + place as usize % 2));
            let offsets: Vec<i32> = twice.chain([i32::MAX]).collect();
            let list_of = if by_flags { &flags } else { &offsets };
            let marks = rt.put(list_of);
            let marks = list(&marks);
            let options = ScanOptions {
                exclusive,
                path,
                segments: Some(match by_flags {
                    true => Segments::Flags(&marks),
                    false => Segments::Offsets(&marks),
                }),
                ..ScanOptions::default()
            };
            let input = rt.put_tensor(&values, &[length]);
            let output = rt.poisoned_tensor::<i32>(&[length], &[1]);
            let (from, to) = (handle(&input), handle(&output));
            scan_into(&rt.client, &from, &to, 0, operation, options)
                .map_err(|error| error.to_string())?;
            let want = rows(&values, operation, exclusive, |at| flags[at] != 0);
            same(
                &rt.read_tensor(&output).map_err(|error| error.to_string())?,
                &want,
            )
        },
    )
}
