//! Times of products.

use super::prepared::Prepared;
use super::workload::{Op, Workload};
use crate::error::Result;
use crate::timing::{Schedule, Time, timed};
use cubecl::client::Client;
use girih::device::Device;
use serde::Serialize;

/// One workload's times on one device; one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Who was measured: `girih`.
    pub peer: &'static str,
    /// The workload in words.
    pub name: String,
    /// What is done.
    pub op: Op,
    /// The type of the operands.
    pub dtype: &'static str,
    /// Rows that are multiplied.
    pub rows: usize,
    /// Columns of the result.
    pub columns: usize,
    /// The extents.
    pub data: String,
    /// The least bytes read and written.
    pub bytes: usize,
    /// Times of a launch.
    #[serde(flatten)]
    pub time: Time,
    /// Multiplications and additions.
    pub flops: usize,
    /// 10^12 of them a second, by the window.
    pub tflop_per_s: f64,
    /// The error of some elements against `f64`, as [`Prepared::verify`] gives it.
    pub relative_error: f64,
    /// Launches timed one by one, and launches of a window.
    pub launches: usize,
    /// The device's own name.
    pub device: String,
}

impl Measurement {
    /// Times a workload, and gives its number only where its output is right.
    ///
    /// # Errors
    ///
    /// Whatever [`Prepared::new`], [`Prepared::launch`] and [`Prepared::verify`] give.
    pub fn take(client: &Client, workload: &Workload, schedule: Schedule) -> Result<Self> {
        let prepared = Prepared::new(client, *workload)?;
        let (time, relative_error) = timed(
            client,
            prepared,
            Prepared::launch,
            Prepared::verify,
            schedule,
        )?;
        Ok(Self {
            peer: "girih",
            name: workload.name(),
            op: workload.op,
            dtype: workload.element.name(),
            rows: workload.rows(),
            columns: workload.outer,
            data: workload.data(),
            bytes: workload.bytes(),
            time,
            flops: workload.flops(),
            tflop_per_s: workload.flops() as f64 / time.window_us / 1e6,
            relative_error,
            launches: schedule.launches,
            device: Device::of(client).name(),
        })
    }

    /// The head of a table of [`row`](Self::row)s.
    pub fn header() -> String {
        format!(
            "{:<56} {:>11} {:>11} {:>10} {:>10} {:>9} {:>9}",
            "product", "median us", "window us", "TFLOP/s", "enqueue us", "first ms", "error"
        )
    }

    /// A line of the table.
    pub fn row(&self) -> String {
        format!(
            "{:<56} {:>11.2} {:>11.2} {:>10.3} {:>10.2} {:>9.1} {:>9.1e}",
            self.name,
            self.time.median_us,
            self.time.window_us,
            self.tflop_per_s,
            self.time.enqueue_us,
            self.time.first_us / 1e3,
            self.relative_error
        )
    }
}
