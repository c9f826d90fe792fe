//! The times of a workload, as JSON and as a line of a table.

use super::prepared::Prepared;
use super::workload::Workload;
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
    pub op: &'static str,
    /// The type of the elements.
    pub dtype: &'static str,
    /// Rows of the table.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// How many rows the gradient has, and how they are drawn.
    pub data: String,
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
    /// What a launch, the device or the comparison gives.
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
            "{:<56} {:>11} {:>11} {:>9} {:>10}",
            "gradients of few rows", "median us", "window us", "GB/s win", "enqueue us"
        )
    }

    /// A line of the table.
    pub fn row(&self) -> String {
        format!(
            "{:<56} {:>11.2} {:>11.2} {:>9.1} {:>10.2}",
            self.name,
            self.time.median_us,
            self.time.window_us,
            self.window_gb_per_s,
            self.time.enqueue_us
        )
    }
}
