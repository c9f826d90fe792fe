//! How long a launch takes, on the device and on the host.

use crate::error::{Error, Result};
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::profile::{ProfileDuration, TimingMethod};
use serde::Serialize;
use std::time::{Duration, Instant};

/// How often a workload is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Launches before the first that counts, at least 1: the first is timed by itself.
    pub warmup: usize,
    /// Launches that are timed one by one, and launches of a window; at least 1.
    pub launches: usize,
    /// Windows; at least 1.
    pub windows: usize,
}

/// Whose clock device times are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The device's own events.
    Device,
    /// The host's, between two waits for the device.
    Host,
}

/// Times of one launch, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Time {
    /// The first launch, by the host's clock to the end of the wait for the device: the compilation of the kernel too, unless
    /// an earlier workload had the same.
    pub first_us: f64,
    /// Median of launches timed one by one.
    pub median_us: f64,
    /// Mean of a window's launches, enqueued back to back; the median of several windows.
    pub window_us: f64,
    /// As `window_us`, by the host's clock: from the first launch to the end of the wait for the device.
    pub host_window_us: f64,
    /// What the caller spends on enqueuing one launch; the median of several windows.
    pub enqueue_us: f64,
    /// The clock of the first two.
    pub clock: Clock,
}

/// Times the launches of a workload that has its buffers, looks at what they wrote, and gives the buffers back before the next
/// workload asks for its own, which are of another size. With the time comes what `verify` found.
///
/// # Errors
///
/// As [`measure_launches`], and whatever `verify` gives: what is wrong has no time.
pub(crate) fn timed<Prepared: Sync, Found>(
    client: &Client,
    prepared: Prepared,
    launch: impl Fn(&Prepared, usize) -> Result<()> + Sync,
    verify: impl FnOnce(&Prepared) -> Result<Found>,
    schedule: Schedule,
) -> Result<(Time, Found)> {
    let time = measure_launches(client, |turn| launch(&prepared, turn), schedule)?;
    let found = verify(&prepared)?;
    drop(prepared);
    client.memory_cleanup()?;
    block_on(client.sync())?;
    Ok((time, found))
}

/// Times what `launch` enqueues, which is told how often it was called.
///
/// # Errors
///
/// [`Error::Profile`] where the device gives no times, and whatever a launch gives.
pub fn measure_launches(
    client: &Client,
    launch: impl Fn(usize) -> Result<()> + Sync,
    schedule: Schedule,
) -> Result<Time> {
    let Schedule {
        warmup,
        launches,
        windows,
    } = schedule;
    let wait = || Ok::<_, Error>(block_on(client.sync())?);
    let start = Instant::now();
    launch(0)?;
    wait()?;
    let first_us = microseconds(start.elapsed());
    (1..warmup).try_for_each(&launch)?;
    wait()?;

    let mut clock = Clock::Host;
    let singles = collect(launches, |turn| {
        let (time, by) = profile(client, || launch(turn))?;
        clock = by;
        Ok(time)
    })?;
    let all = || (0..launches).try_for_each(&launch);
    let of_window = |time: f64| time / launches as f64;
    let by_events = collect(windows, |_| Ok(of_window(profile(client, all)?.0)))?;
    let mut enqueued = vec![];
    let by_host = collect(windows, |_| {
        let start = Instant::now();
        all()?;
        enqueued.push(of_window(microseconds(start.elapsed())));
        wait()?;
        Ok(of_window(microseconds(start.elapsed())))
    })?;
    Ok(Time {
        first_us,
        median_us: median(singles),
        window_us: median(by_events),
        host_window_us: median(by_host),
        enqueue_us: median(enqueued),
        clock,
    })
}

/// The time of `work`, which enqueues launches, in microseconds.
fn profile(client: &Client, work: impl FnOnce() -> Result<()> + Send) -> Result<(f64, Clock)> {
    let (done, duration): (_, ProfileDuration) = client.profile(work, "benchmark")?;
    done?;
    let clock = match duration.timing_method() {
        TimingMethod::Device => Clock::Device,
        TimingMethod::System => Clock::Host,
    };
    let ticks = block_on(duration.resolve())
        .ok_or_else(|| Error::Profile("the device measured nothing".into()))?;
    Ok((microseconds(ticks.duration()), clock))
}

fn collect(count: usize, measure: impl FnMut(usize) -> Result<f64>) -> Result<Vec<f64>> {
    (0..count).map(measure).collect()
}

pub(crate) fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// The middle of the times, or the mean of the two in the middle; NaN of none.
pub(crate) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    let middle = times.len() / 2;
    match times.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => times[middle],
        _ => (times[middle - 1] + times[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), 3.0);
        assert!(median(vec![]).is_nan());
    }
}
