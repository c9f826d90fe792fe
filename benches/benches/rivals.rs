//! Criterion's benchmarks of girih's ops beside Burn's own, below fusion, on every device that this build drives and this machine has.
//!
//! Names start with the device's, so that the filter `^cpu/` chooses it. A call is timed with the wait for the device.

use std::cell::LazyCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::time::Instant;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};
use cubecl::future::block_on;
use girih_suite::bench::rivals::{Expect, Inputs, Run, rivals, verify};
use girih_testkit::Rt;

/// Rows of 32 floats.
const ROWS: usize = 1 << 20;

fn main() -> ExitCode {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let mut failures = vec![];
    for rt in Rt::present() {
        // Only for a device that the filter chooses.
        let inputs = LazyCell::new(|| Inputs::new(rt, ROWS));
        for rival in rivals() {
            let mut group = criterion.benchmark_group(format!("{}/{}", rt.name(), rival.op));
            for (peer, run) in [("girih", rival.ours), ("burn", rival.theirs)] {
                if let Err(Wrong(reason)) = bench(&mut group, peer, rt, &inputs, run, rival.expect)
                {
                    failures.push(format!("{}/{}/{peer}: {reason}", rt.name(), rival.op));
                }
            }
            group.finish();
        }
    }
    criterion.final_summary();
    for failure in &failures {
        eprintln!("{failure}");
    }
    match failures.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// What a call gave that it should not have given.
struct Wrong(String);

/// Times calls, unless the first gives what it should not: then there is no time of it. Criterion takes one from every function that
/// returns, so that such a one unwinds. Inputs are made for what the filter chooses.
fn bench(
    group: &mut BenchmarkGroup<'_, WallTime>,
    peer: &str,
    rt: &Rt,
    inputs: &LazyCell<Inputs, impl FnOnce() -> Inputs>,
    run: Run,
    expect: Expect,
) -> Result<(), Wrong> {
    let checked = LazyCell::new(|| verify(inputs, run(inputs), expect));
    let measured = catch_unwind(AssertUnwindSafe(|| {
        // Called for what the filter chooses.
        group.bench_function(peer, |bencher| {
            if let Err(reason) = LazyCell::force(&checked) {
                resume_unwind(Box::new(Wrong(reason.clone())));
            }
            bencher.iter_custom(|times| {
                let start = Instant::now();
                for _ in 0..times {
                    let output = run(inputs);
                    block_on(rt.client.sync()).expect("the device has not failed");
                    drop(output);
                }
                start.elapsed()
            });
        });
    }));
    match measured.map_err(|payload| payload.downcast::<Wrong>()) {
        Ok(()) => Ok(()),
        Err(Ok(wrong)) => Err(*wrong),
        Err(Err(other)) => resume_unwind(other),
    }
}
