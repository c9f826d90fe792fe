//! Which way a scan goes, and what it refuses.

use super::super::model::{handle, list};
use super::model::{Number, sample};
use super::{LENGTHS, answer, of_list, same_bits};
use crate::stress;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::memory::blocks::Ordered;
use girih_kernels::raw::scan::look_back_states;
use girih_kernels::{
    Determinism, ScanOperation, ScanOptions, ScanPath, Segments, scan_into, supports_scan,
};
use girih_testkit::{DeviceKind, Rt, Tensor, case::Need, cases, check::same, needs};

cases! {
    the_launcher_takes_the_path_that_suits_the_device,
    look_back_is_refused_by_name,
    sums_that_need_an_order_go_where_it_is_kept needs [needs::I64],
    look_back_of_every_length needs [LOOK_BACK],
    look_back_of_every_width needs [LOOK_BACK],
    look_back_across_rows needs [LOOK_BACK],
    every_tile_publishes_what_it_has needs [LOOK_BACK],
    launches_one_after_another needs [LOOK_BACK],
    holds_beside_other_kernels needs [LOOK_BACK],
    the_same_bits_from_run_to_run,
    refuses_what_does_not_go_together,
    refuses_bad_arguments,
}

/// Cubes that go on while others wait for them.
const LOOK_BACK: Need = Need {
    what: "look-back",
    met: looks_back,
};

fn looks_back(rt: &Rt) -> bool {
    matches!(rt.kind, DeviceKind::Cpu | DeviceKind::Cuda)
}

fn taken<T: Number>(
    rt: &Rt,
    count: usize,
    operation: ScanOperation,
    options: ScanOptions<'_>,
) -> girih::Result<ScanPath> {
    let input = rt.put_tensor(&sample::<T>(count, 21), &[count]);
    let output = rt.poisoned_tensor::<T>(&[count], &[1]);
    scan_into(
        &rt.client,
        &handle(&input),
        &handle(&output),
        0,
        operation,
        options,
    )
}

fn the_launcher_takes_the_path_that_suits_the_device(rt: &Rt) -> Result<(), String> {
    let path = |count, operation, options| {
        taken::<f32>(rt, count, operation, options).map_err(|error| error.to_string())
    };
    let own = match rt.kind {
        DeviceKind::Cuda => ScanPath::LookBack,
        _ => ScanPath::ReduceThenScan,
    };
    let any = ScanOptions::inclusive();
    let same = any.determinism(Determinism::RunToRun);
    assert_eq!(path(100, ScanOperation::Sum, any)?, ScanPath::Direct);
    assert_eq!(path(17_001, ScanOperation::Sum, any)?, own);
    assert_eq!(
        path(17_001, ScanOperation::Sum, same)?,
        ScanPath::ReduceThenScan
    );
    // The largest of numbers does not round.
    assert_eq!(path(17_001, ScanOperation::Max, same)?, own);
    let forced = any.path(ScanPath::ReduceThenScan);
    assert_eq!(
        path(17_001, ScanOperation::Sum, forced)?,
        ScanPath::ReduceThenScan
    );
    Ok(())
}

fn look_back_is_refused_by_name(rt: &Rt) {
    let options = ScanOptions::inclusive().path(ScanPath::LookBack);
    let answer = taken::<f32>(rt, 100, ScanOperation::Sum, options);
    if looks_back(rt) {
        assert_eq!(answer.expect("it is there"), ScanPath::LookBack);
        return;
    }
    let message = answer.expect_err("it is not there").to_string();
    let lacking =
        " has no forward progress of cubes that others wait for, for look-back; scan needs it";
    assert!(message.ends_with(lacking), "{message}");
}

/// Totals of 64 bits are handed on by an acquire of a release. Where those are not kept, or nobody goes on meanwhile, the launcher
/// takes the path without them and says so; and a path that is refused has written nothing.
fn sums_that_need_an_order_go_where_it_is_kept(rt: &Rt) -> Result<(), String> {
    let count = 50_001;
    let values: Vec<i64> = sample(count, 33);
    let mut sum = 0i64;
    let want: Vec<i64> = values
        .iter()
        .map(|value| {
            sum = sum.wrapping_add(*value);
            sum
        })
        .collect();
    let input = rt.put_tensor(&values, &[count]);
    let into = |output: &Tensor<i64>, options| {
        let (input, output) = (handle(&input), handle(output));
        scan_into(&rt.client, &input, &output, 0, ScanOperation::Sum, options)
    };
    let read = |output: &Tensor<i64>| rt.read_tensor(output).map_err(|error| error.to_string());
    let output = rt.poisoned_tensor::<i64>(&[count], &[1]);
    let path = into(&output, ScanOptions::inclusive()).map_err(|error| error.to_string())?;
    let own = match rt.kind {
        DeviceKind::Cuda => ScanPath::LookBack,
        _ => ScanPath::ReduceThenScan,
    };
    assert_eq!(path, own);
    same(&read(&output)?, &want)?;
    let output = rt.poisoned_tensor::<i64>(&[count], &[1]);
    let forced = into(&output, ScanOptions::inclusive().path(ScanPath::LookBack));
    match looks_back(rt) {
        true => {
            assert_eq!(
                forced.map_err(|error| error.to_string())?,
                ScanPath::LookBack
            );
            same(&read(&output)?, &want)
        }
        false => {
            let message = forced.expect_err("it is not kept").to_string();
            assert!(
                message.ends_with("for look-back; scan needs it"),
                "{message}"
            );
            same(&read(&output)?, &vec![girih_testkit::poison(); count])
        }
    }
}

fn look_back_of_every_length(rt: &Rt) -> Result<(), String> {
    let options = ScanOptions::inclusive().path(ScanPath::LookBack);
    for length in LENGTHS {
        let values: Vec<f32> = sample(length, 22);
        answer(
            rt,
            &values,
            &[length],
            [&[1], &[1]],
            0,
            ScanOperation::Sum,
            options,
        )?;
    }
    // More tiles than a plane looks at together.
    let length = 600_001;
    let values: Vec<i32> = sample(length, 23);
    answer(
        rt,
        &values,
        &[length],
        [&[1], &[1]],
        0,
        ScanOperation::Sum,
        options,
    )
}

fn look_back_of_every_width(rt: &Rt) -> Result<(), String> {
    let options = ScanOptions::inclusive().path(ScanPath::LookBack);
    // On CUDA the launcher's own choice was tested type by type.
    if rt.kind == DeviceKind::Cuda {
        return Ok(());
    }
    if (needs::I8.met)(rt) {
        of_list::<i8>(rt, &sample(5001, 24), options)?;
    }
    if (needs::I16.met)(rt) {
        of_list::<i16>(rt, &sample(5001, 25), options)?;
    }
    if (needs::F16.met)(rt) {
        of_list::<half::f16>(rt, &sample(5001, 26), options)?;
    }
    of_list::<u32>(rt, &sample(5001, 27), options)?;
    of_list::<i64>(rt, &sample(5001, 28), options)?;
    of_list::<f64>(rt, &sample(5001, 29), options)
}

fn look_back_across_rows(rt: &Rt) -> Result<(), String> {
    let options = ScanOptions::inclusive().path(ScanPath::LookBack);
    let kinds: [(&[usize], &[usize], usize); 4] = [
        (&[50, 70], &[70, 1], 1),
        (&[3, 10_000], &[10_008, 1], 1),
        (&[5000, 3], &[3, 1], 0),
        (&[2, 700, 3], &[2100, 3, 1], 1),
    ];
    for (shape, strides, axis) in kinds {
        let values: Vec<f32> = sample(shape.iter().product(), 30);
        let dense = girih_testkit::buffer::row_major(shape);
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
    Ok(())
}

/// What the tiles have published at the end is what the path leaves behind, and no other path does: every tile knows all
/// up to its end, as the host computes it.
fn every_tile_publishes_what_it_has(rt: &Rt) -> Result<(), String> {
    let count = 50_000;
    let values: Vec<u32> = sample(count, 31);
    let input = rt.put_tensor(&values, &[count]);
    let output = rt.poisoned_tensor::<u32>(&[count], &[1]);
    let device = Device::of(&rt.client);
    let scanned: Vec<u32> = values
        .iter()
        .scan(0u32, |sum, value| {
            *sum = sum.wrapping_add(*value);
            Some(*sum)
        })
        .collect();
    // Launch after launch over the same states, which tell them apart.
    let mut last = 0;
    for _ in 0..3 {
        let (states, launch, tile) =
            look_back_states::<Ordered>(&device, &handle(&input), &handle(&output))
                .map_err(|error| error.to_string())?;
        assert!(launch > last, "launch {launch} after {last}");
        last = launch;
        let tiles = count.div_ceil(tile);
        assert!(tiles > 4, "{tiles} tiles");
        let bytes = rt
            .client
            .read_one(states.handle)
            .map_err(|error| error.to_string())?;
        for (index, state) in u64::from_bytes(&bytes)[..tiles].iter().enumerate() {
            let end = ((index + 1) * tile).min(count);
            assert_eq!(*state as u32, launch * 4 + 2, "the state of tile {index}");
            assert_eq!(
                (state >> 32) as u32,
                scanned[end - 1],
                "the total of tile {index}"
            );
        }
    }
    same(
        &rt.read_tensor(&output).map_err(|error| error.to_string())?,
        &scanned,
    )
}

fn launches_one_after_another(rt: &Rt) -> Result<(), stress::Fault> {
    let compared = (stress::LOOK_BACK.round)(&mut stress::Setting::light(rt))?;
    assert!(compared > 0, "nothing was compared");
    Ok(())
}

/// Several rounds while kernels on another stream come and go.
fn holds_beside_other_kernels(rt: &Rt) -> Result<(), stress::Fault> {
    let others = stress::beside(rt, &stress::LOOK_BACK, 6)?;
    assert!(others > 0, "no other kernel ran");
    Ok(())
}

fn the_same_bits_from_run_to_run(rt: &Rt) -> Result<(), String> {
    let options = ScanOptions::inclusive().determinism(Determinism::RunToRun);
    same_bits(rt, 100_001, options)
}

fn refuses_what_does_not_go_together(rt: &Rt) {
    let refusal = |options| match taken::<f32>(rt, 100_000, ScanOperation::Sum, options) {
        Ok(path) => format!("accepted, by {path:?}"),
        Err(error) => error.to_string(),
    };
    let same = ScanOptions::inclusive().determinism(Determinism::RunToRun);
    assert_eq!(
        refusal(same.path(ScanPath::LookBack)),
        "path is LookBack, of floats, whose rounding depends on the run; scan needs ReduceThenScan for results that do not"
    );
    let message = refusal(same.path(ScanPath::Direct));
    assert!(
        message.starts_with("path is Direct, for rows of ")
            && message.ends_with(" parts; scan needs LookBack or ReduceThenScan"),
        "{message}"
    );
}

fn refuses_bad_arguments(rt: &Rt) {
    let input = handle(&rt.put_tensor(&[0f32; 12], &[3, 4]));
    let refusal = |input: &TensorHandle, output: &TensorHandle, axis, options| match scan_into(
        &rt.client,
        input,
        output,
        axis,
        ScanOperation::Sum,
        options,
    ) {
        Ok(path) => format!("accepted, by {path:?}"),
        Err(error) => error.to_string(),
    };
    let plain = ScanOptions::inclusive();
    assert_eq!(
        refusal(&input, &input, 2, plain),
        "axis 2 of input, which has rank 2; scan needs an axis in 0..2"
    );
    let tall = handle(&rt.put_tensor(&[0f32; 12], &[4, 3]));
    assert_eq!(
        refusal(&input, &tall, 0, plain),
        "output has shape [4, 3]; scan needs [3, 4]"
    );
    let expanded = TensorHandle::new(
        tall.handle.clone(),
        vec![3usize, 4],
        vec![0usize, 1],
        tall.dtype,
    );
    assert_eq!(
        refusal(&input, &expanded, 0, plain),
        "output of shape [3, 4] and strides [0, 1] has elements that overlap; scan writes only where they do not"
    );
    let output = handle(&rt.poisoned_tensor::<f32>(&[3, 4], &[4, 1]));
    let flags = plain.segments(Segments::Flags(&input));
    assert_eq!(
        refusal(&input, &output, 0, flags),
        format!(
            "flags has elements of type {}; scan needs an integer type",
            input.dtype
        )
    );
    let few = list(&rt.put(&[1i32, 0]));
    assert_eq!(
        refusal(&input, &output, 0, plain.segments(Segments::Flags(&few))),
        "flags has shape [2]; scan needs [3, 4]"
    );
    let square = handle(&rt.put_tensor(&[0i32; 4], &[2, 2]));
    assert_eq!(
        refusal(
            &input,
            &output,
            0,
            plain.segments(Segments::Offsets(&square))
        ),
        "offsets has rank 2; scan needs rank 1"
    );
    let bools = supports_scan(&rt.client, ElemType::Bool)
        .expect_err("truth values")
        .to_string();
    assert!(
        bools.ends_with("scan needs an integer type, f16, bf16, f32 or f64"),
        "{bools}"
    );
    if rt.kind == DeviceKind::Cpu {
        let brain = supports_scan(&rt.client, ElemType::Float(FloatKind::BF16));
        let brain = brain.expect_err("bf16 on the CPU").to_string();
        assert!(brain.contains("has no buffers of"), "{brain}");
    }
}
