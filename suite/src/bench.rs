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
        Ok(done) if done.failed() == 0 && done.measured() > 0 => ExitCode::SUCCESS,
        Ok(done) => {
            eprintln!(
                "{} measured, {} left out, {} failed",
                done.measured(),
                done.run.left_out.len(),
                done.failed()
            );
            ExitCode::FAILURE
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Writes each as a line.
macro_rules! lines {
    ($file:expr, $measurements:expr) => {
        for measurement in $measurements {
            serde_json::to_writer(&mut $file, measurement)?;
            writeln!($file)?;
        }
    };
}

/// What was measured.
struct Done {
    run: Run,
    layers: Layers,
}

/// Layers of Burn that were measured, as lines of JSON, and how many failed.
#[derive(Default)]
pub(crate) struct Layers {
    pub measured: Vec<serde_json::Value>,
    pub failed: usize,
}

impl Done {
    fn measured(&self) -> usize {
        let Run {
            measured,
            collectives,
            sorts,
            products,
            ..
        } = &self.run;
        let lists = [
            measured.len(),
            collectives.len(),
            sorts.len(),
            products.len(),
            self.layers.measured.len(),
        ];
        lists.iter().sum()
    }

    fn failed(&self) -> usize {
        self.run.failed.len() + self.layers.failed
    }

    fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        lines!(file, &self.run.measured);
        lines!(file, &self.run.collectives);
        lines!(file, &self.run.sorts);
        lines!(file, &self.run.products);
        lines!(file, &self.layers.measured);
        file.flush()
    }
}

fn bench(
    filters: &[String],
    device: Option<DeviceKind>,
    json: Option<&Path>,
) -> Result<Done, String> {
    let rt = choose(device)?;
    let run = girih_bench::run(&rt.client, &Options::of(&rt.client).only(filters));
    #[cfg(feature = "burn")]
    let layers = crate::layers::run(rt, filters);
    #[cfg(not(feature = "burn"))]
    let layers = Layers::default();
    let done = Done { run, layers };
    if let Some(path) = json {
        done.write(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(done)
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
