//! Calls of Burn, timed by the host's clock, the host's work included.
//!
//! A single call is one and a wait for the device, as a program that looks at the result sees it; in a window calls follow each
//! other, and the wait is for the last. Whatever fusion does of its own is in both.

use std::time::Instant;

/// How often a call is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// Calls that do not count, beside the first.
    pub warmup: usize,
    /// Calls that are waited for one by one; at least 1.
    pub singles: usize,
    /// Windows; at least 1.
    pub windows: usize,
    /// Calls of a window; at least 1.
    pub calls: usize,
}

/// A call's times, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// The first call, with the compilation of its kernels.
    pub first_us: f64,
    /// Median of the single calls.
    pub median_us: f64,
    /// Mean of a window's calls, the wait for the last included; the median of the windows.
    pub window_us: f64,
    /// The same without the wait: what the caller spends on a call.
    pub enqueue_us: f64,
}

impl Times {
    /// Times `call`; `wait` waits for the device.
    ///
    /// # Errors
    /// Whatever they give.
    pub(super) fn take<E>(
        schedule: Schedule,
        mut call: impl FnMut() -> Result<(), E>,
        mut wait: impl FnMut() -> Result<(), E>,
    ) -> Result<Self, E> {
        let start = Instant::now();
        call()?;
        wait()?;
        let first_us = microseconds(start);
        (0..schedule.warmup).try_for_each(|_| call())?;
        wait()?;
        let mut singles = vec![];
        for _ in 0..schedule.singles {
            let start = Instant::now();
            call()?;
            wait()?;
            singles.push(microseconds(start));
        }
        let (mut windows, mut enqueued) = (vec![], vec![]);
        for _ in 0..schedule.windows {
            let start = Instant::now();
            (0..schedule.calls).try_for_each(|_| call())?;
            enqueued.push(microseconds(start) / schedule.calls as f64);
            wait()?;
            windows.push(microseconds(start) / schedule.calls as f64);
        }
        Ok(Self {
            first_us,
            median_us: median(singles),
            window_us: median(windows),
            enqueue_us: median(enqueued),
        })
    }
}

fn microseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

/// The one in the middle.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}
