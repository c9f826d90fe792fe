//! Criterion's benchmarks of gather and scatter, on every device that this build drives and this machine has.
//!
//! Names start with the device's, so that the filter `^cpu/` chooses it. `GIRIH_BENCH_DEVICES` names devices, with
//! commas between, that have to be there.

use std::cell::LazyCell;
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use criterion::{Criterion, Throughput};
use girih::Bounds;
use girih_bench::{Data, Dtype, Op, Prepared, Workload};
use girih_testkit::{DeviceKind, Rt};

/// Enough rows to leave the host's caches, few enough to be quick.
const ROWS: usize = 1 << 14;
const COLUMNS: usize = 128;

fn main() -> ExitCode {
    let result = devices().and_then(|devices| {
        let mut criterion = Criterion::default().sample_size(10).configure_from_args();
        for rt in devices {
            group(&mut criterion, rt, "gather", &gathers())?;
            group(&mut criterion, rt, "scatter", &scatters())?;
        }
        criterion.final_summary();
        Ok(())
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn devices() -> Result<Vec<&'static Rt>, Box<dyn Error>> {
    let Ok(named) = std::env::var("GIRIH_BENCH_DEVICES") else {
        return Ok(Rt::present().collect());
    };
    let open = |name: &str| Ok(Rt::open(name.parse::<DeviceKind>()?)?);
    named.split(',').map(open).collect()
}

fn gathers() -> Vec<Workload> {
    let of_floats = |columns| Workload::gather(Dtype::F32, ROWS, columns);
    let under = |bounds| of_floats(COLUMNS).under(bounds);
    let mut workloads: Vec<_> = [16, COLUMNS, 1024].map(of_floats).into();
    workloads.push(Workload::gather(Dtype::Bf16, ROWS, COLUMNS));
    workloads.extend([Bounds::Assume, Bounds::Report].map(under));
    workloads
}

fn scatters() -> Vec<Workload> {
    let add = |data| Workload::scatter(Op::ScatterAdd, ROWS, COLUMNS, data);
    let mut workloads: Vec<_> = [Data::Uniform, Data::Among(16)].map(add).into();
    workloads.push(Workload::scatter(
        Op::ScatterSet,
        ROWS,
        COLUMNS,
        Data::Uniform,
    ));
    workloads
}

/// Times each workload that the device supports and the filter chooses.
fn group(
    criterion: &mut Criterion,
    rt: &Rt,
    name: &str,
    workloads: &[Workload],
) -> Result<(), Box<dyn Error>> {
    let mut group = criterion.benchmark_group(format!("{}/{name}", rt.name()));
    for workload in workloads {
        if let Err(lacking) = workload.supported(&rt.client) {
            eprintln!(
                "{}/{name}/{}: left out, {lacking}",
                rt.name(),
                workload.name()
            );
            continue;
        }
        group.throughput(Throughput::Bytes(workload.bytes() as u64));
        let mut failure = None;
        // Only what the filter chooses is prepared, and once.
        let prepared = LazyCell::new(|| prepare(rt, workload));
        group.bench_function(workload.name(), |bencher| {
            LazyCell::force(&prepared);
            bencher.iter_custom(|launches| {
                let start = Instant::now();
                if let Err(error) = all(&prepared, launches) {
                    failure = Some(error);
                }
                start.elapsed()
            });
        });
        if let Some(error) = failure {
            return Err(error);
        }
    }
    group.finish();
    Ok(())
}

/// Fills the buffers, and checks what a launch on each of them writes. After the many launches that are timed, sums would
/// no longer be exact.
fn prepare(rt: &Rt, workload: &Workload) -> girih_bench::Result<Prepared> {
    let prepared = Prepared::new(&rt.client, *workload)?;
    prepared.launch(0)?;
    prepared.launch(1)?;
    prepared.verify()?;
    Ok(prepared)
}

/// Launches so often, and waits.
fn all(prepared: &girih_bench::Result<Prepared>, launches: u64) -> Result<(), Box<dyn Error>> {
    let prepared = prepared.as_ref().map_err(ToString::to_string)?;
    (0..launches as usize).try_for_each(|turn| prepared.launch(turn))?;
    Ok(prepared.sync()?)
}
