//! The times of a workload, as JSON and as a line of a table.

use super::prepared::Prepared;
use super::workload::Workload;
use crate::error::Result;
use crate::timing::{Schedule, Time, timed};
use cubecl::client::Client;
use girih::device::Device;
use girih_kernels::Determinism;
use serde::Serialize;

/// One workload's times on one device; one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Who was measured: `girih`.
    pub peer: &'static str,
    /// The workload in words.
    pub name: String,
    /// What is done.
    pub op: String,
    /// The type of the elements.
    pub dtype: &'static str,
    /// Rows of the table, or of all segments.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// How many indices, bags or segments, and how they are drawn.
    pub data: String,
    /// Whether the result is the same in every run.
    pub in_order: bool,
    /// Bytes read and written.
    pub bytes: usize,
    /// Times of a launch.
    #[serde(flatten)]
    pub time: Time,
    /// `bytes` by the window, in 10^9 bytes a second.
    pub window_gb_per_s: f64,
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
        let (time, ()) = timed(
            client,
            prepared,
            Prepared::launch,
            Prepared::verify,
            schedule,
        )?;
        Ok(Self {
            peer: "girih",
            name: workload.name(),
            op: workload.op.name(),
            dtype: "f32",
            rows: workload.rows,
            columns: workload.columns,
            data: workload.data(),
            in_order: workload.op.determinism() == Determinism::RunToRun,
            bytes: workload.bytes(),
            time,
            window_gb_per_s: workload.bytes() as f64 / time.window_us / 1e3,
            launches: schedule.launches,
            device: Device::of(client).name(),
        })
    }

    /// The head of a table of [`row`](Self::row)s.
    pub fn header() -> String {
        format!(
            "{:<72} {:>11} {:>11} {:>9} {:>10} {:>9}",
            "segments and bags", "median us", "window us", "GB/s win", "enqueue us", "first ms"
        )
    }

    /// A line of the table.
    pub fn row(&self) -> String {
        format!(
            "{:<72} {:>11.2} {:>11.2} {:>9.1} {:>10.2} {:>9.1}",
            self.name,
            self.time.median_us,
            self.time.window_us,
            self.window_gb_per_s,
            self.time.enqueue_us,
            self.time.first_us / 1e3
        )
    }
}
