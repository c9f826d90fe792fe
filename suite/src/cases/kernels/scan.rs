//! `scan`.

#[cfg(feature = "offline")]
pub mod compiled;
mod model;
mod paths;
mod pipelined;
mod segments;

use super::model::{calls, handle};
use crate::random::for_all;
use cubecl::prelude::CubeElement;
use girih::Bounds;
use girih_kernels::{ScanOperation, ScanOptions, ScanPath, Segments, scan, scan_into, scan_with};
use girih_testkit::{DeviceKind, Rt, buffer::row_major, case::Case, check::same, needs};
use half::{bf16, f16};
use model::{LastNonZero, Number, OPERATIONS, along, last_of_row, rows, sample};

/// Every case of scans.
pub fn cases() -> Vec<Case> {
    [
        values::cases(),
        paths::cases(),
        pipelined::cases(),
        segments::cases(),
    ]
    .concat()
}

/// Scans on the device and on the host, and compares every element.
fn answer<T: Number>(
    rt: &Rt,
    values: &[T],
    shape: &[usize],
    strides: [&[usize]; 2],
    axis: usize,
    operation: ScanOperation,
    options: ScanOptions<'_>,
) -> Result<(), String> {
    let input = rt.put_strided(values, shape, strides[0]);
    let output = rt.poisoned_tensor::<T>(shape, strides[1]);
    let path = scan_into(
        &rt.client,
        &handle(&input),
        &handle(&output),
        axis,
        operation,
        options,
    )
    .map_err(|error| error.to_string())?;
    let want = along(values, shape, axis, |row| {
        rows(row, operation, options.exclusive, |_| false)
    });
    let got = rt.read_tensor(&output).map_err(|error| error.to_string())?;
    same(&got, &want).map_err(|difference| {
        format!("{operation:?} of {shape:?} along {axis}, {options:?}, by {path:?}: {difference}")
    })
}

/// A list, by every operation, inclusive and exclusive.
fn of_list<T: Number>(rt: &Rt, values: &[T], options: ScanOptions<'_>) -> Result<(), String> {
    for operation in OPERATIONS {
        for exclusive in [false, true] {
            let options = ScanOptions {
                exclusive,
                ..options
            };
            answer(
                rt,
                values,
                &[values.len()],
                [&[1], &[1]],
                0,
                operation,
                options,
            )?;
        }
    }
    Ok(())
}

/// Sums whose rounding every order of adding shows: the same bits in every run, and at the end about what the host finds.
fn same_bits(rt: &Rt, length: usize, options: ScanOptions<'_>) -> Result<(), String> {
    let values: Vec<f32> = (0..length)
        .map(|at| ((at * 7919 % 1000) as f32).sqrt() * 0.1)
        .collect();
    let input = handle(&rt.put_tensor(&values, &[length]));
    let run = || {
        let output = scan(&rt.client, &input, 0, ScanOperation::Sum, options)
            .map_err(|error| error.to_string())?;
        let bytes = rt
            .client
            .read_one(output.handle)
            .map_err(|error| error.to_string())?;
        Ok::<_, String>(u32::from_bytes(&bytes).to_vec())
    };
    let once = run()?;
    let exact = values.iter().map(|value| f64::from(*value)).sum::<f64>();
    let last = f64::from(f32::from_bits(once[length - 1]));
    assert!(
        (last - exact).abs() < 1e-4 * exact,
        "{last} is not about {exact}"
    );
    for _ in 0..8 {
        same(&run()?, &once)?;
    }
    Ok(())
}

/// Lengths on both sides of every boundary of a run, a vector or a tile.
const LENGTHS: [usize; 17] = [
    0, 1, 2, 3, 63, 64, 65, 1023, 1024, 1025, 4096, 8191, 8192, 8193, 16_384, 24_575, 24_581,
];

mod values {
    use super::*;

    girih_testkit::cases! {
        lists_of_every_length,
        by_every_operation,
        of_u32,
        of_f32,
        of_i8 needs [needs::I8],
        of_u8 needs [needs::U8],
        of_i16 needs [needs::I16],
        of_u16 needs [needs::U16],
        of_i64 needs [needs::I64],
        of_u64 needs [needs::U64],
        of_f16 needs [needs::F16],
        of_bf16 needs [needs::BF16],
        of_f64 needs [needs::F64],
        nans_infinities_and_zeros,
        along_every_axis,
        rows_of_every_kind,
        a_long_list,
        by_an_operation_of_ones_own,
        the_result_of_nothing_is_nothing,
    }

    fn lists_of_every_length(rt: &Rt) -> Result<(), String> {
        for length in LENGTHS {
            let values: Vec<i32> = sample(length, length as u64);
            answer(
                rt,
                &values,
                &[length],
                [&[1], &[1]],
                0,
                ScanOperation::Sum,
                ScanOptions::inclusive(),
            )?;
            answer(
                rt,
                &values,
                &[length],
                [&[1], &[1]],
                0,
                ScanOperation::Max,
                ScanOptions::exclusive(),
            )?;
        }
        Ok(())
    }

    /// A list of several tiles that ends within a vector: inclusive sums, and what is largest before each element.
    fn of_type<T: Number>(rt: &Rt) -> Result<(), String> {
        let values = sample::<T>(17_001, 3);
        let strides: [&[usize]; 2] = [&[1], &[1]];
        for (operation, options) in [
            (ScanOperation::Sum, ScanOptions::inclusive()),
            (ScanOperation::Max, ScanOptions::exclusive()),
        ] {
            answer(rt, &values, &[17_001], strides, 0, operation, options)?;
        }
        Ok(())
    }

    fn by_every_operation(rt: &Rt) -> Result<(), String> {
        of_list::<f32>(rt, &sample(17_001, 4), ScanOptions::inclusive())?;
        of_list::<i32>(rt, &sample(17_001, 4), ScanOptions::inclusive())
    }

    fn of_u32(rt: &Rt) -> Result<(), String> {
        of_type::<u32>(rt)
    }
    fn of_f32(rt: &Rt) -> Result<(), String> {
        of_type::<f32>(rt)
    }
    fn of_i8(rt: &Rt) -> Result<(), String> {
        of_type::<i8>(rt)
    }
    fn of_u8(rt: &Rt) -> Result<(), String> {
        of_type::<u8>(rt)
    }
    fn of_i16(rt: &Rt) -> Result<(), String> {
        of_type::<i16>(rt)
    }
    fn of_u16(rt: &Rt) -> Result<(), String> {
        of_type::<u16>(rt)
    }
    fn of_i64(rt: &Rt) -> Result<(), String> {
        of_type::<i64>(rt)
    }
    fn of_u64(rt: &Rt) -> Result<(), String> {
        of_type::<u64>(rt)
    }
    fn of_f16(rt: &Rt) -> Result<(), String> {
        of_type::<f16>(rt)
    }
    fn of_bf16(rt: &Rt) -> Result<(), String> {
        of_type::<bf16>(rt)
    }
    fn of_f64(rt: &Rt) -> Result<(), String> {
        of_type::<f64>(rt)
    }

    fn nans_infinities_and_zeros(rt: &Rt) -> Result<(), String> {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let lists = [
            vec![-0.0],
            vec![-0.0, -0.0, 0.0, -0.0],
            vec![1.0, inf, 2.0, -inf, 3.0],
            vec![nan, 1.0, -1.0],
            vec![1.0, nan, inf, -5.0, nan, 2.0],
            vec![-inf, -inf, inf, 0.0],
            vec![f32::MAX, f32::MAX, -f32::MAX],
            vec![0.0, inf],
        ];
        for list in &lists {
            of_list(rt, list, ScanOptions::inclusive())?;
        }
        // Deep in a list, where it passes from part to part.
        for special in [nan, inf, -inf] {
            let mut values = sample::<f32>(17_001, 5);
            values[9321] = special;
            of_list(rt, &values, ScanOptions::inclusive())?;
        }
        of_list(rt, &vec![-0.0f32; 10_000], ScanOptions::inclusive())
    }

    fn along_every_axis(rt: &Rt) -> Result<(), String> {
        let operations = [ScanOperation::Sum, ScanOperation::Min];
        for_all(calls(&[Bounds::Mask]), |call| {
            let count = call.shape.iter().product();
            let values: Vec<i32> = sample(count, 6);
            // The call's second tensor has another shape: the first one's strides in another order serve for the output.
            let reversed: Vec<usize> = call.shape.iter().rev().copied().collect();
            let strides: Vec<usize> = row_major(&reversed).into_iter().rev().collect();
            let operation = operations[count % 2];
            let options = ScanOptions {
                exclusive: call.axis % 2 == 1,
                ..ScanOptions::default()
            };
            let strides = [call.strides[0].as_slice(), strides.as_slice()];
            answer(
                rt,
                &values,
                &call.shape,
                strides,
                call.axis,
                operation,
                options,
            )
        })
    }

    /// Rows that are short or long, aligned or not, next to each other or apart, and scans across rows.
    fn rows_of_every_kind(rt: &Rt) -> Result<(), String> {
        let kinds: [(&[usize], &[usize], usize); 9] = [
            (&[300, 7], &[7, 1], 1),
            (&[40, 128], &[128, 1], 1),
            (&[3, 10_000], &[10_000, 1], 1),
            (&[3, 10_001], &[10_001, 1], 1),
            (&[3, 10_000], &[10_008, 1], 1),
            (&[3, 300], &[301, 1], 1),
            (&[5000, 3], &[3, 1], 0),
            (&[4, 600, 5], &[3000, 5, 1], 1),
            (&[2, 3, 4, 500], &[6000, 2000, 500, 1], 3),
        ];
        for (shape, strides, axis) in kinds {
            let values: Vec<f32> = sample(shape.iter().product(), 7);
            let dense = row_major(shape);
            for exclusive in [false, true] {
                let options = ScanOptions {
                    exclusive,
                    ..ScanOptions::default()
                };
                let strides = [strides, &dense];
                answer(
                    rt,
                    &values,
                    shape,
                    strides,
                    axis,
                    ScanOperation::Sum,
                    options,
                )?;
            }
        }
        Ok(())
    }

    fn a_long_list(rt: &Rt) -> Result<(), String> {
        // Long enough for the totals of the parts to have parts themselves.
        let length = match rt.kind {
            girih_testkit::DeviceKind::Cuda => (1 << 25) + 3,
            _ => (1 << 20) + 3,
        };
        let values: Vec<i32> = sample(length, 8);
        let shape = [length];
        let strides: [&[usize]; 2] = [&[1], &[1]];
        answer(
            rt,
            &values,
            &shape,
            strides,
            0,
            ScanOperation::Sum,
            ScanOptions::inclusive(),
        )
    }

    /// Along a list, along rows and across them, by every path, with segments and without.
    fn by_an_operation_of_ones_own(rt: &Rt) -> Result<(), String> {
        let heads = [0, 7, 3_000, 3_001, 8_192];
        let offsets = rt.put(&heads.map(|head| head as i32));
        let offsets = super::super::model::list(&offsets);
        let mut paths = vec![None, Some(ScanPath::ReduceThenScan)];
        if matches!(rt.kind, DeviceKind::Cpu | DeviceKind::Cuda) {
            paths.push(Some(ScanPath::LookBack));
        }
        for (shape, axis) in [(vec![20_000], 0), (vec![3, 9_000], 1), (vec![5_000, 3], 0)] {
            let values: Vec<i32> = sample::<i32>(shape.iter().product(), 9)
                .into_iter()
                .enumerate()
                .map(|(at, value)| if at % 1500 == 7 { value } else { 0 })
                .collect();
            let input = rt.put_tensor(&values, &shape);
            for (path, exclusive, is_cut) in paths.iter().flat_map(|&path| {
                [(false, false), (true, false), (false, true), (true, true)]
                    .map(|(exclusive, is_cut)| (path, exclusive, is_cut))
            }) {
                let options = ScanOptions {
                    exclusive,
                    path,
                    segments: is_cut.then_some(Segments::Offsets(&offsets)),
                    ..ScanOptions::default()
                };
                let output = rt.poisoned_tensor::<i32>(&shape, &row_major(&shape));
                let (from, to) = (handle(&input), handle(&output));
                scan_with::<LastNonZero>(&rt.client, &from, &to, axis, options)
                    .map_err(|error| error.to_string())?;
                let heads: &[usize] = if is_cut { &heads } else { &[] };
                let want = along(&values, &shape, axis, |row| {
                    last_of_row(row, exclusive, heads)
                });
                let got = rt.read_tensor(&output).map_err(|error| error.to_string())?;
                same(&got, &want)
                    .map_err(|difference| format!("{shape:?}, {options:?}: {difference}"))?;
            }
        }
        Ok(())
    }

    fn the_result_of_nothing_is_nothing(rt: &Rt) -> Result<(), String> {
        for (shape, axis) in [
            (vec![0], 0),
            (vec![3, 0], 0),
            (vec![3, 0], 1),
            (vec![0, 3], 0),
        ] {
            let input = rt.put_tensor::<f32>(&[], &shape);
            let output = scan(
                &rt.client,
                &handle(&input),
                axis,
                ScanOperation::Sum,
                ScanOptions::inclusive(),
            )
            .map_err(|error| error.to_string())?;
            let given: Vec<usize> = output.shape().iter().copied().collect();
            assert_eq!(given, shape);
        }
        Ok(())
    }
}
