//! Burn's own product of two matrices, below fusion, on the device's clock: beside girih's of the same run.

use std::sync::Mutex;

use burn::backend::ops::FloatTensorOps;
use burn::tensor::{DType, TensorData};
use girih_bench::{Schedule, Time, measure_launches};
use girih_burn::CubeBackend;
use girih_testkit::{DeviceKind, Rt};
use half::{bf16, f16};
use serde_json::{Value, json};

/// Elements of the result that are looked at.
const SAMPLES: usize = 100;

/// Products of two square matrices, by what Burn calls their elements and girih's benchmark does.
fn workloads(kind: DeviceKind) -> &'static [(DType, &'static str, usize)] {
    match kind {
        DeviceKind::Cuda => &[
            (DType::BF16, "bf16", 8192),
            (DType::F16, "f16", 8192),
            (DType::F32, "f32", 4096),
        ],
        DeviceKind::Cpu => &[(DType::F32, "f32", 64)],
        // Software Vulkan crashes in it.
        _ => &[],
    }
}

/// Times the products whose name contains one of `filters`: lines of JSON, and the names of those that failed.
pub(super) fn run(rt: &Rt, filters: &[String]) -> (Vec<Value>, Vec<String>) {
    let (mut measured, mut failed) = (vec![], vec![]);
    for &(dtype, kind, size) in workloads(rt.kind) {
        let data = format!("{size}x{size}x{size}");
        let name = format!("matmul {kind} {data} by burn");
        let wanted = |filter: &String| name.contains(filter.as_str());
        if !filters.is_empty() && !filters.iter().any(wanted) {
            continue;
        }
        match measure(rt, dtype, size) {
            Ok(time) => {
                let flops = 2 * size * size * size;
                let rate = flops as f64 / time.window_us / 1e6;
                let (median, window) = (time.median_us, time.window_us);
                println!("{name:<56} {median:>11.2} {window:>11.2} {rate:>10.3}");
                measured.push(json!({
                    "peer": "burn", "name": name, "op": "matmul", "dtype": kind, "rows": size, "columns": size,
                    "data": data, "flops": flops, "tflop_per_s": rate, "first_us": time.first_us,
                    "median_us": median, "window_us": window, "enqueue_us": time.enqueue_us, "clock": time.clock,
                    "device": girih::device::Device::of(&rt.client).name(),
                }));
            }
            Err(reason) => {
                println!("{name:<56} FAILED: {reason}");
                failed.push(name);
            }
        }
    }
    (measured, failed)
}

/// An element: one of 256 numbers of -1 to 1, which every type has.
fn element(at: usize, seed: u32) -> f32 {
    let mut hash = (at as u32).wrapping_mul(0x9e37_79b1) ^ seed;
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x85eb_ca77);
    hash ^= hash >> 13;
    ((hash >> 24) as f32 - 128.0) / 128.0
}

fn elements(dtype: DType, size: usize, seed: u32) -> TensorData {
    let values = (0..size * size).map(|at| element(at, seed));
    match dtype {
        DType::BF16 => TensorData::new(values.map(bf16::from_f32).collect(), [size, size]),
        DType::F16 => TensorData::new(values.map(f16::from_f32).collect(), [size, size]),
        _ => TensorData::new(values.collect::<Vec<f32>>(), [size, size]),
    }
}

fn measure(rt: &Rt, dtype: DType, size: usize) -> Result<Time, String> {
    let on = |seed| CubeBackend::float_from_data(elements(dtype, size, seed), &rt.device);
    let (a, b) = (on(1), on(2));
    let multiply = || CubeBackend::float_matmul(a.clone(), b.clone());
    // The first call measures Burn's candidates.
    let last = Mutex::new(multiply());
    let launch = |_| {
        *last.lock().unwrap_or_else(|held| held.into_inner()) = multiply();
        Ok(())
    };
    let schedule = Schedule {
        warmup: 3,
        launches: 10,
        windows: 3,
    };
    let time = measure_launches(&rt.client, launch, schedule).map_err(|error| error.to_string())?;
    let output = last.into_inner().unwrap_or_else(|held| held.into_inner());
    let data = burn::tensor::read_sync(CubeBackend::float_into_data(output))
        .map_err(|error| error.to_string())?;
    let found: Vec<f32> = data.iter::<f32>().collect();
    for sample in 0..SAMPLES {
        let at = sample * 2_654_435_761 % found.len();
        let (row, column) = (at / size, at % size);
        let terms = (0..size).map(|k| {
            f64::from(element(row * size + k, 1)) * f64::from(element(k * size + column, 2))
        });
        let (sum, all) = terms.fold((0.0, 0.0), |(sum, all), term: f64| {
            (sum + term, all + term.abs())
        });
        let is_near = (f64::from(found[at]) - sum).abs() <= all / 100.0;
        if !is_near {
            return Err(format!(
                "element {row}, {column} is {}, not {sum}",
                found[at]
            ));
        }
    }
    Ok(time)
}
