//! How launchers cut their work, from the command line.

use std::process::ExitCode;

use cubecl::{
    ir::{ElemType, FloatKind, IntKind},
    prelude::*,
    std::tensor::TensorHandle,
};
use girih_kernels::{Duplicates, Plan, ScatterMode, explain_gather, explain_scatter};
use girih_testkit::DeviceKind;

use crate::bench;

/// What is gathered and scattered.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Extents of the table, as 1000x64
    #[arg(long, value_parser = extents, default_value = "65536x256")]
    shape: Extents,
    /// The axis that is indexed
    #[arg(long, default_value_t = 0)]
    axis: usize,
    /// How many indices there are
    #[arg(long, value_name = "N", default_value_t = 8192)]
    indices: usize,
    /// The table's elements: f32, f16, bf16 or i8
    #[arg(long, value_parser = element, default_value = "f32")]
    element: ElemType,
    /// Where; else on the first of cuda, wgsl, vulkan and cpu that is there
    #[arg(long, value_name = "DEVICE")]
    device: Option<DeviceKind>,
}

/// Extents of a tensor.
#[derive(Clone, Debug)]
struct Extents(Vec<usize>);

fn extents(text: &str) -> Result<Extents, String> {
    let extents: Result<Vec<_>, _> = text.split('x').map(str::parse).collect();
    extents
        .map(Extents)
        .map_err(|error| format!("{text}: {error}; extents are numbers, as 1000x64"))
}

fn element(name: &str) -> Result<ElemType, String> {
    match name {
        "f32" => Ok(ElemType::Float(FloatKind::F32)),
        "f16" => Ok(ElemType::Float(FloatKind::F16)),
        "bf16" => Ok(ElemType::Float(FloatKind::BF16)),
        "i8" => Ok(ElemType::Int(IntKind::I8)),
        _ => Err(format!("{name}; f32, f16, bf16 and i8 are known")),
    }
}

/// Prints the plans; the exit code is a failure where the device is absent or refuses.
pub fn main(options: &Options) -> ExitCode {
    match plans(options) {
        Ok(plans) => {
            for plan in plans {
                println!("{plan}");
            }
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn plans(options: &Options) -> Result<Vec<Plan>, String> {
    let rt = bench::choose(options.device)?;
    let client = &rt.client;
    let tensor = |shape: Vec<usize>, element: ElemType| {
        let bytes = shape.iter().product::<usize>() * element.size();
        TensorHandle::new_contiguous(shape, client.empty(bytes.max(1)), element)
    };
    let Extents(shape) = options.shape.clone();
    let mut slices = shape.clone();
    if let Some(extent) = slices.get_mut(options.axis) {
        *extent = options.indices;
    }
    let table = tensor(shape, options.element);
    let index = tensor(vec![options.indices], i32::elem_type_native());
    let updates = tensor(slices, options.element);
    let gathered = explain_gather(client, &table, &index, options.axis);
    let scattered = |mode, duplicates: Duplicates| {
        let axis = options.axis;
        explain_scatter(client, &table, &index, &updates, axis, mode, duplicates)
    };
    [
        gathered,
        scattered(ScatterMode::Set, Duplicates::Unordered),
        scattered(ScatterMode::Add, Duplicates::Unordered),
        scattered(ScatterMode::Add, Duplicates::Deterministic),
    ]
    .into_iter()
    .map(|plan| plan.map_err(|error| error.to_string()))
    .collect()
}
