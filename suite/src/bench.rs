//! Benchmarks on one device.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use girih_bench::{Options, Run};
use girih_testkit::{DeviceKind, Rt};

/// Times the workloads whose name contains one of `filters`, on `device` or the first of cuda, wgsl, vulkan and cpu that
/// is there; writes the measurements to `json`, one object a line.
///
/// Fails where the device is absent, nothing was measured, or an output was wrong.
pub fn main(filters: &[String], device: Option<DeviceKind>, json: Option<PathBuf>) -> ExitCode {
    match bench(filters, device, json.as_deref()) {
        Ok(run) if run.failed.is_empty() && measured(&run) > 0 => ExitCode::SUCCESS,
        Ok(run) => {
            eprintln!(
                "{} measured, {} left out, {} failed",
                measured(&run),
                run.left_out.len(),
                run.failed.len()
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
) -> Result<Run, String> {
    let rt = choose(device)?;
    let run = girih_bench::run(&rt.client, &Options::of(&rt.client).only(filters));
    if let Some(path) = json {
        write(&run, path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(run)
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

fn measured(run: &Run) -> usize {
    run.measured.len() + run.collectives.len() + run.sorts.len()
}

fn write(run: &Run, path: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for measurement in &run.measured {
        serde_json::to_writer(&mut file, measurement)?;
        writeln!(file)?;
    }
    for measurement in &run.collectives {
        serde_json::to_writer(&mut file, measurement)?;
        writeln!(file)?;
    }
    for measurement in &run.sorts {
        serde_json::to_writer(&mut file, measurement)?;
        writeln!(file)?;
    }
    file.flush()
}
