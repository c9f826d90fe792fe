//! Criterion's benchmarks of girih's ops beside Burn's own, below fusion, on every device that this build drives and this machine has.
//!
//! Names start with the device's, so that the filter `^cpu/` chooses it. A call is timed with the wait for the device.

use std::cell::LazyCell;
use std::process::ExitCode;
use std::time::Instant;

use criterion::Criterion;
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
                let checked = LazyCell::new(|| check(&inputs, run, rival.expect));
                group.bench_function(peer, |bencher| {
                    if let Err(reason) = LazyCell::force(&checked) {
                        failures.push(format!("{}/{}/{peer}: {reason}", rt.name(), rival.op));
                        return bencher.iter(|| ());
                    }
                    bencher.iter_custom(|times| {
                        let start = Instant::now();
                        for _ in 0..times {
                            let output = run(&inputs);
                            block_on(rt.client.sync()).expect("the device has not failed");
                            drop(output);
                        }
                        start.elapsed()
                    });
                });
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

/// One call, whose result is looked at.
fn check(inputs: &Inputs, run: Run, expect: Expect) -> Result<(), String> {
    verify(inputs, run(inputs), expect)
}
