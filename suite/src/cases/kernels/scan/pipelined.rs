//! Scans by cubes that stay.

use super::super::model::{handle, list};
use super::model::{LastNonZero, Number, last_of_row, rows, sample};
use super::{answer, of_list, same_bits};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih_kernels::raw::scan::{Pipeline, pipelined_states, require_pipelined};
use girih_kernels::{
    Determinism, ScanOperation, ScanOptions, ScanPath, Segments, scan, scan_into, scan_with,
};
use girih_testkit::{Rt, case::Need, cases, check::same, needs};

cases! {
    is_there_or_refused_by_name,
    long_lists_are_scanned_so needs [PIPELINED, needs::I64],
    of_every_length needs [PIPELINED],
    by_every_operation needs [PIPELINED],
    by_an_operation_of_ones_own needs [PIPELINED],
    nans_and_infinities_where_tiles_meet needs [PIPELINED],
    every_pipeline_publishes_what_tiles_have needs [PIPELINED],
    the_same_bits_whoever_took_which_tile needs [PIPELINED],
    launches_of_all_paths_in_turn needs [PIPELINED],
    of_what_it_does_not_scan_it_says_so needs [PIPELINED, needs::F64],
}

/// Bulk copies into shared memory.
const PIPELINED: Need = Need {
    what: "pipelined scans",
    met: is_there,
};

fn is_there(rt: &Rt) -> bool {
    require_pipelined(&Device::of(&rt.client), "scan").is_ok()
}

const PATH: ScanPath = ScanPath::Pipelined;

/// Elements of the launcher's tiles.
const TILE: usize = 8192;

fn is_there_or_refused_by_name(rt: &Rt) -> Result<(), String> {
    let input = rt.put_tensor(&[1i32, 2, 3], &[3]);
    let output = rt.poisoned_tensor::<i32>(&[3], &[1]);
    let options = ScanOptions::inclusive().path(PATH);
    let (from, to) = (handle(&input), handle(&output));
    let answer = scan_into(&rt.client, &from, &to, 0, ScanOperation::Sum, options);
    let read = || rt.read_tensor(&output).map_err(|error| error.to_string());
    if is_there(rt) {
        assert_eq!(answer.map_err(|error| error.to_string())?, PATH);
        return same(&read()?, &[1, 3, 6]);
    }
    let message = answer.expect_err("it is not there").to_string();
    let lacking = " has no bulk copies to shared memory, for pipelined scans; scan needs it";
    assert!(message.ends_with(lacking), "{message}");
    same(&read()?, &[girih_testkit::poison(); 3])
}

/// What the launcher does of a list of `length` elements, of which it scans those from `skipped` on; each result is compared.
fn chosen<T: Number>(
    rt: &Rt,
    length: usize,
    skipped: usize,
    options: ScanOptions<'_>,
) -> Result<ScanPath, String> {
    let values: Vec<T> = sample(length, 45);
    let input = rt.put_tensor(&values, &[length]);
    let output = rt.poisoned_tensor::<T>(&[length], &[1]);
    let [from, to] = [handle(&input), handle(&output)].map(|whole| {
        let start = (skipped * size_of::<T>()) as u64;
        let rest = whole.handle.offset_start(start);
        TensorHandle::new_contiguous(vec![length - skipped], rest, whole.dtype)
    });
    let path = scan_into(&rt.client, &from, &to, 0, ScanOperation::Max, options)
        .map_err(|error| error.to_string())?;
    let got = rt.read_tensor(&output).map_err(|error| error.to_string())?;
    let mut want = vec![girih_testkit::poison::<T>(); skipped];
    want.extend(rows(
        &values[skipped..],
        ScanOperation::Max,
        options.exclusive,
        |_| false,
    ));
    same(&got, &want)?;
    Ok(path)
}

/// Of what cubes that stay can scan, by them from a length on, whatever is promised of the result.
fn long_lists_are_scanned_so(rt: &Rt) -> Result<(), String> {
    let long = 1 << 22;
    let any = ScanOptions::inclusive();
    for options in [any, any.determinism(Determinism::RunToRun)] {
        assert_eq!(chosen::<f32>(rt, long, 0, options)?, PATH);
        assert_eq!(chosen::<i32>(rt, long + 5, 4, options)?, PATH);
    }
    assert_eq!(chosen::<f32>(rt, long - 1, 0, any)?, ScanPath::LookBack);
    // Not from a multiple of 16 bytes on, and of 8 bytes.
    assert_eq!(chosen::<f32>(rt, long + 5, 1, any)?, ScanPath::LookBack);
    assert_eq!(chosen::<i64>(rt, long, 0, any)?, ScanPath::LookBack);
    let asked = any.path(ScanPath::LookBack);
    assert_eq!(chosen::<f32>(rt, long, 0, asked)?, ScanPath::LookBack);
    Ok(())
}

/// On both sides of a vector, a plane's part, a tile, a group of tiles, and a turn of all rings.
fn of_every_length(rt: &Rt) -> Result<(), String> {
    let around = |length: usize| [length - 1, length, length + 1, length + 3];
    let lengths = [1, 2, 3, 4, 5, 127, 128, 129, 1023, 1024, 1025].into_iter();
    let lengths = lengths
        .chain(around(TILE))
        .chain(around(2 * TILE))
        .chain(around(32 * TILE))
        .chain(around(33 * TILE))
        .chain([150 * TILE + 77, 1700 * TILE + 2]);
    let strides: [&[usize]; 2] = [&[1], &[1]];
    for (length, exclusive) in lengths.flat_map(|length| [(length, false), (length, true)]) {
        let options = ScanOptions {
            exclusive,
            ..ScanOptions::default()
        };
        let options = options.path(PATH);
        let seed = length as u64;
        let floats: Vec<f32> = sample(length, seed);
        let integers: Vec<i32> = sample(length, seed + 1);
        let shape = [length];
        for operation in [ScanOperation::Sum, ScanOperation::Max] {
            answer(rt, &floats, &shape, strides, 0, operation, options)?;
            answer(rt, &integers, &shape, strides, 0, operation, options)?;
        }
    }
    Ok(())
}

fn by_every_operation(rt: &Rt) -> Result<(), String> {
    let options = ScanOptions::inclusive().path(PATH);
    of_list::<f32>(rt, &sample(40_001, 41), options)?;
    of_list::<i32>(rt, &sample(40_001, 42), options)?;
    of_list::<u32>(rt, &sample(40_001, 43), options)
}

/// By one that does not commute: the order of elements is kept within vectors, planes, tiles and groups.
fn by_an_operation_of_ones_own(rt: &Rt) -> Result<(), String> {
    let length = 300 * TILE + 4321;
    // Few numbers that are not 0, so that most are found far back, and all different.
    let values: Vec<i32> = (0..length)
        .map(|at| match at % 1009 {
            17 | 19 | 500 => at as i32 + 1,
            _ => 0,
        })
        .collect();
    let input = rt.put_tensor(&values, &[length]);
    for exclusive in [false, true] {
        let options = ScanOptions {
            exclusive,
            path: Some(PATH),
            ..ScanOptions::default()
        };
        let output = rt.poisoned_tensor::<i32>(&[length], &[1]);
        let (from, to) = (handle(&input), handle(&output));
        scan_with::<LastNonZero>(&rt.client, &from, &to, 0, options)
            .map_err(|error| error.to_string())?;
        let got = rt.read_tensor(&output).map_err(|error| error.to_string())?;
        same(&got, &last_of_row(&values, exclusive, &[]))?;
    }
    Ok(())
}

fn nans_and_infinities_where_tiles_meet(rt: &Rt) -> Result<(), String> {
    let options = ScanOptions::inclusive().path(PATH);
    for special in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for at in [0, TILE - 1, TILE, 32 * TILE, 33 * TILE + 7] {
            let mut values = sample::<f32>(34 * TILE + 9, 44);
            values[at] = special;
            of_list(rt, &values, options)?;
        }
    }
    // Zeros of either sign, which compare equal: the first of them stays.
    let zeros: Vec<f32> = (0..2 * TILE + 1)
        .map(|at| if at % 3 == 0 { -0.0 } else { 0.0 })
        .collect();
    of_list(rt, &zeros, options)?;
    of_list(rt, &vec![-0.0f32; TILE + 5], options)
}

/// Rings of few places and of many, tiles of every size, one cube a multiprocessor and several.
const PIPELINES: [[usize; 5]; 9] = [
    [8, 8, 6, 1, 2],
    [8, 8, 3, 2, 1],
    [16, 4, 6, 1, 4],
    [16, 8, 2, 1, 3],
    [8, 4, 12, 1, 3],
    [4, 8, 6, 2, 2],
    [8, 2, 6, 4, 2],
    [3, 1, 2, 2, 2],
    [1, 1, 2, 1, 1],
];

/// All but the last tile leave behind their own totals, and no other path does.
fn every_pipeline_publishes_what_tiles_have(rt: &Rt) -> Result<(), String> {
    let device = Device::of(&rt.client);
    for [planes, vectors, stages, cubes, reducers] in PIPELINES {
        let pipeline = Pipeline {
            planes,
            vectors,
            stages,
            cubes,
            reducers,
        };
        let tile = pipeline.tile();
        for length in [tile * 40 + 1, tile * 3000 + 5, tile * 64] {
            let values: Vec<u32> = sample(length, length as u64);
            let mut sum = 0u32;
            let want: Vec<u32> = values
                .iter()
                .map(|value| {
                    sum = sum.wrapping_add(*value);
                    sum
                })
                .collect();
            let input = rt.put_tensor(&values, &[length]);
            let output = rt.poisoned_tensor::<u32>(&[length], &[1]);
            let (from, to) = (handle(&input), handle(&output));
            let (states, launch) = pipelined_states(&device, &from, &to, false, pipeline)
                .map_err(|error| error.to_string())?;
            let got = rt.read_tensor(&output).map_err(|error| error.to_string())?;
            same(&got, &want)
                .map_err(|difference| format!("{pipeline:?} of {length}: {difference}"))?;
            let bytes = rt
                .client
                .read_one(states.handle)
                .map_err(|error| error.to_string())?;
            let words = u64::from_bytes(&bytes);
            for (index, word) in words[..(length - 1) / tile].iter().enumerate() {
                let own = values[index * tile..(index + 1) * tile]
                    .iter()
                    .fold(0u32, |sum, value| sum.wrapping_add(*value));
                assert_eq!(*word as u32, launch * 4 + 1, "the state of tile {index}");
                assert_eq!((word >> 32) as u32, own, "the total of tile {index}");
            }
        }
    }
    Ok(())
}

fn the_same_bits_whoever_took_which_tile(rt: &Rt) -> Result<(), String> {
    let options = ScanOptions::inclusive().determinism(Determinism::RunToRun);
    same_bits(rt, 2000 * TILE + 1, options.path(PATH))
}

/// Launches over the same states, of which each leaves the count of tickets as it has found it.
fn launches_of_all_paths_in_turn(rt: &Rt) -> Result<(), String> {
    let strides: [&[usize]; 2] = [&[1], &[1]];
    for turn in 0..12u64 {
        let length = TILE * (1 + turn as usize * 37 % 300) + turn as usize;
        let values: Vec<i32> = sample(length, turn);
        let path = match turn % 3 {
            0 => ScanPath::LookBack,
            _ => PATH,
        };
        let options = ScanOptions::inclusive().path(path);
        let sum = ScanOperation::Sum;
        answer(rt, &values, &[length], strides, 0, sum, options)?;
    }
    Ok(())
}

fn of_what_it_does_not_scan_it_says_so(rt: &Rt) {
    let refusal = |input: &TensorHandle, axis, options: ScanOptions<'_>| {
        let options = options.path(PATH);
        match scan(&rt.client, input, axis, ScanOperation::Sum, options) {
            Ok(_) => "accepted".into(),
            Err(error) => error.to_string(),
        }
    };
    let expected = |obstacle: &str| {
        format!("path is Pipelined, of {obstacle}; scan needs LookBack or ReduceThenScan for those")
    };
    let plain = ScanOptions::inclusive();
    let rows = handle(&rt.put_tensor(&[1f32; 40], &[2, 20]));
    assert_eq!(refusal(&rows, 1, plain), expected("several rows"));
    let one = handle(&rt.put_tensor(&[1f32; 40], &[40]));
    let offsets = list(&rt.put(&[0i32, 7]));
    let cut = plain.segments(Segments::Offsets(&offsets));
    assert_eq!(refusal(&one, 0, cut), expected("segments"));
    let wide = handle(&rt.put_tensor(&[1f64; 40], &[40]));
    assert_eq!(
        refusal(&wide, 0, plain),
        expected("elements that do not have 4 bytes")
    );
    let apart = TensorHandle::new(one.handle.clone(), vec![20usize], vec![2usize], one.dtype);
    assert_eq!(
        refusal(&apart, 0, plain),
        expected("elements that do not lie next to each other")
    );
    let handle = one.handle.clone().offset_start(4);
    let odd = TensorHandle::new(handle, vec![36usize], vec![1usize], one.dtype);
    assert_eq!(
        refusal(&odd, 0, plain),
        expected("memory that does not begin on a multiple of 16 bytes")
    );
}
