//! Times of a sort.

use super::{Op, Prepared, Workload};
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
    /// The type of the keys.
    pub dtype: &'static str,
    /// How many keys.
    pub rows: usize,
    /// One key in a row of the table.
    pub columns: usize,
    /// The keys: each any number.
    pub data: &'static str,
    /// The least bytes read and written.
    pub bytes: usize,
    /// Times of a launch.
    #[serde(flatten)]
    pub time: Time,
    /// Keys by the window, in 10^9 a second.
    pub items_per_ns: f64,
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
            op: workload.op,
            dtype: "u32",
            rows: workload.length,
            columns: 1,
            data: "uniform",
            bytes: workload.bytes(),
            time,
            items_per_ns: workload.length as f64 / time.window_us / 1e3,
            launches: schedule.launches,
            device: Device::of(client).name(),
        })
    }

    /// The head of a table of [`row`](Self::row)s.
    pub fn header() -> String {
        format!(
            "{:<62} {:>11} {:>11} {:>12} {:>10} {:>9}",
            "sort", "median us", "window us", "keys per ns", "enqueue us", "first ms"
        )
    }

    /// A line of the table.
    pub fn row(&self) -> String {
        format!(
            "{:<62} {:>11.2} {:>11.2} {:>12.3} {:>10.2} {:>9.1}",
            self.name,
            self.time.median_us,
            self.time.window_us,
            self.items_per_ns,
            self.time.enqueue_us,
            self.time.first_us / 1e3
        )
    }
}
