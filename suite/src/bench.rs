//! Benchmarks on one device.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use girih_bench::{Options, Run, host};
use girih_testkit::{DeviceKind, Rt};
use serde_json::Value;

#[cfg(feature = "burn")]
mod burn;
#[cfg(feature = "burn")]
mod calls;
#[cfg(feature = "burn")]
mod embeddings;
#[cfg(feature = "burn")]
mod host_burn;
#[cfg(feature = "burn")]
mod layers;
#[cfg(feature = "burn")]
mod matmul;
#[cfg(feature = "burn")]
pub mod rivals;

/// What a run gave, and of Burn's ops the lines and the names of those that failed.
struct Outcome {
    run: Run,
    burn: Vec<Value>,
    failed: Vec<String>,
}

/// Times the workloads whose name contains one of `filters`, on `device` or the first of cuda, wgsl, vulkan and cpu that
/// is there; writes the measurements to `json`, one object a line.
///
/// Fails where the device is absent, nothing was measured, or an output was wrong.
pub fn main(filters: &[String], device: Option<DeviceKind>, json: Option<PathBuf>) -> ExitCode {
    match bench(filters, device, json.as_deref()) {
        Ok(outcome) if outcome.failed() == 0 && outcome.measured() > 0 => ExitCode::SUCCESS,
        Ok(outcome) => {
            eprintln!(
                "{} measured, {} left out, {} failed",
                outcome.measured(),
                outcome.run.left_out.len(),
                outcome.failed()
            );
            ExitCode::FAILURE
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn bench(
    filters: &[String],
    device: Option<DeviceKind>,
    json: Option<&Path>,
) -> Result<Outcome, String> {
    let rt = choose(device)?;
    let mut run = girih_bench::run(&rt.client, &Options::of(&rt.client).only(filters));
    #[allow(unused_mut, reason = "a build without Burn has no more calls")]
    let mut calls = host::launchers(&rt.client);
    #[cfg(feature = "burn")]
    calls.extend(host_burn::calls(rt));
    host::run(&rt.client, &calls, filters, &mut run);
    let (burn, failed) = of_burn(rt, filters);
    let outcome = Outcome { run, burn, failed };
    if let Some(path) = json {
        write(&outcome, path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(outcome)
}

#[cfg(feature = "burn")]
fn of_burn(rt: &Rt, filters: &[String]) -> (Vec<Value>, Vec<String>) {
    let (measured, mut failed) = burn::run(rt, filters);
    let (rivals, failed_rivals) = rivals::run(rt, filters);
    failed.extend(failed_rivals);
    let (embeddings, failed_embeddings) = embeddings::run(rt, filters);
    failed.extend(failed_embeddings);
    let (layers, failed_layers) = layers::run(rt, filters);
    failed.extend(failed_layers);
    let (products, failed_products) = matmul::run(rt, filters);
    failed.extend(failed_products);
    let measured = measured.iter().map(burn::Measurement::json);
    let others = rivals
        .into_iter()
        .chain(embeddings)
        .chain(layers)
        .chain(products);
    (measured.chain(others).collect(), failed)
}

#[cfg(not(feature = "burn"))]
fn of_burn(_: &Rt, _: &[String]) -> (Vec<Value>, Vec<String>) {
    Default::default()
}

/// The device asked for, or the first of cuda, wgsl, vulkan and cpu that is there.
pub(crate) fn choose(device: Option<DeviceKind>) -> Result<&'static Rt, String> {
    match device {
        Some(kind) => Rt::open(kind).map_err(|error| error.to_string()),
        None => DeviceKind::ALL
            .into_iter()
            .rev()
            .find_map(|kind| Rt::open(kind).ok())
            .ok_or_else(|| "no device of this build is on this machine".to_owned()),
    }
}

impl Outcome {
    fn measured(&self) -> usize {
        let Run {
            measured,
            collectives,
            sorts,
            bags,
            sparse,
            gathered_products,
            lookups,
            host,
            products,
            tensor_cores,
            ..
        } = &self.run;
        let kernels = measured.len() + collectives.len() + sorts.len() + bags.len() + sparse.len();
        let kernels =
            kernels + lookups.len() + tensor_cores.len() + products.len() + gathered_products.len();
        kernels + host.len() + self.burn.len()
    }

    fn failed(&self) -> usize {
        self.run.failed.len() + self.failed.len()
    }
}

fn write(outcome: &Outcome, path: &Path) -> std::io::Result<()> {
    let run = &outcome.run;
    let mut file = BufWriter::new(File::create(path)?);
    lines(&mut file, run.measured.iter().map(serde_json::to_string))?;
    lines(&mut file, run.lookups.iter().map(serde_json::to_string))?;
    lines(&mut file, run.collectives.iter().map(serde_json::to_string))?;
    lines(&mut file, run.sorts.iter().map(serde_json::to_string))?;
    lines(&mut file, run.bags.iter().map(serde_json::to_string))?;
    lines(&mut file, run.sparse.iter().map(serde_json::to_string))?;
    let products = run.gathered_products.iter();
    lines(&mut file, products.map(serde_json::to_string))?;
    lines(
        &mut file,
        run.tensor_cores.iter().map(serde_json::to_string),
    )?;
    lines(&mut file, run.products.iter().map(serde_json::to_string))?;
    lines(&mut file, run.host.iter().map(serde_json::to_string))?;
    lines(&mut file, outcome.burn.iter().map(serde_json::to_string))?;
    file.flush()
}

/// One object a line.
fn lines(
    file: &mut impl Write,
    mut objects: impl Iterator<Item = serde_json::Result<String>>,
) -> std::io::Result<()> {
    objects.try_for_each(|object| writeln!(file, "{}", object?))
}
