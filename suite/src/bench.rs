//! Benchmarks on one device.

#[cfg(feature = "burn")]
mod burn;

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use girih_bench::{Options, Run, host};
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
    let mut run = girih_bench::run(&rt.client, &Options::of(&rt.client).only(filters));
    #[allow(unused_mut, reason = "a build without Burn has no more calls")]
    let mut calls = host::launchers(&rt.client);
    #[cfg(feature = "burn")]
    calls.extend(burn::calls(rt));
    host::run(&rt.client, &calls, filters, &mut run);
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
    run.measured.len() + run.collectives.len() + run.sorts.len() + run.bags.len() + run.host.len()
}

fn write(run: &Run, path: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    lines(&mut file, run.measured.iter().map(serde_json::to_string))?;
    lines(&mut file, run.collectives.iter().map(serde_json::to_string))?;
    lines(&mut file, run.sorts.iter().map(serde_json::to_string))?;
    lines(&mut file, run.bags.iter().map(serde_json::to_string))?;
    lines(&mut file, run.host.iter().map(serde_json::to_string))?;
    file.flush()
}

/// One object a line.
fn lines(
    file: &mut impl Write,
    mut objects: impl Iterator<Item = serde_json::Result<String>>,
) -> std::io::Result<()> {
    objects.try_for_each(|object| writeln!(file, "{}", object?))
}
