//! What is known of a workload once it was measured.

use crate::dtype::Dtype;
use crate::error::Result;
use crate::prepared::Prepared;
use crate::timing::{Schedule, Time, timed};
use crate::workload::{Data, Op, Workload, bounds_name};
use cubecl::client::Client;
use girih::Bounds;
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
    pub op: String,
    /// The elements.
    pub dtype: Dtype,
    /// Rows of the source and of the output, and indices.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// Where the indices point.
    pub data: Data,
    /// The type of the indices.
    pub index: &'static str,
    /// What an index out of range does.
    pub bounds: &'static str,
    /// How it is done, where that is not the launcher's choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way: Option<String>,
    /// Bytes read and written, indices included.
    pub bytes: usize,
    /// Times of a launch.
    #[serde(flatten)]
    pub time: Time,
    /// `bytes` by the median, in 10^9 bytes a second.
    pub median_gb_per_s: f64,
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
        let bytes = workload.bytes();
        let gb_per_s = |us: f64| bytes as f64 / us / 1e3;
        Ok(Self {
            peer: "girih",
            name: workload.name(),
            op: workload.op_name(),
            dtype: workload.dtype,
            rows: workload.rows,
            columns: workload.columns,
            data: workload.data,
            index: match workload.op {
                Op::Copy | Op::Scan | Op::MaskedSelect => "none",
                Op::Nonzero => "i64",
                Op::Gather | Op::ScatterAdd | Op::ScatterSet => "i32",
            },
            bounds: bounds_name(workload.bounds),
            way: workload.way.name(),
            bytes,
            time,
            median_gb_per_s: gb_per_s(time.median_us),
            window_gb_per_s: gb_per_s(time.window_us),
            launches: schedule.launches,
            device: Device::of(client).name(),
        })
    }

    /// The head of a table of [`row`](Self::row)s.
    pub fn header(client: &Client) -> String {
        format!(
            "{}\n{:<42} {:>9} {:>11} {:>11} {:>9} {:>9} {:>10} {:>9}",
            Device::of(client).name(),
            "workload",
            "MB",
            "median us",
            "window us",
            "GB/s",
            "GB/s win",
            "enqueue us",
            "first ms"
        )
    }

    /// A line of the table.
    pub fn row(&self) -> String {
        format!(
            "{:<42} {:>9.1} {:>11.2} {:>11.2} {:>9.1} {:>9.1} {:>10.2} {:>9.1}",
            self.name,
            self.bytes as f64 / 1e6,
            self.time.median_us,
            self.time.window_us,
            self.median_gb_per_s,
            self.window_gb_per_s,
            self.time.enqueue_us,
            self.time.first_us / 1e3
        )
    }

    /// How much longer a launch takes than one of another measurement, in percent: by the median, and by the window.
    pub fn percent_over(&self, other: &Self) -> [f64; 2] {
        let over = |own: f64, other: f64| (own / other - 1.0) * 100.0;
        [
            over(self.time.median_us, other.time.median_us),
            over(self.time.window_us, other.time.window_us),
        ]
    }

    /// The measurement of the same workload under a mask, where this one is under a report.
    fn masked<'a>(&self, measured: &'a [Self]) -> Option<&'a Self> {
        let reports = self.bounds == bounds_name(Bounds::Report);
        let same = |other: &&Self| {
            let workload = |of: &Self| (of.op.clone(), of.dtype, of.rows, of.columns, of.data);
            other.bounds == bounds_name(Bounds::Mask) && workload(other) == workload(self)
        };
        measured.iter().find(|other| reports && same(other))
    }

    /// A line for each gather beside a copy of as many bytes of rows: which part of the copy's rate it has.
    pub fn parts_of_copies(measured: &[Self]) -> Vec<String> {
        let of_rows = |of: &Self| (of.rows, of.columns * of.dtype.size());
        let part = |gather: &Self| {
            let copy = measured
                .iter()
                .find(|copy| copy.op == Op::Copy.name() && of_rows(copy) == of_rows(gather))?;
            let percent = |own: f64, copied: f64| own / copied * 100.0;
            let median = percent(gather.median_gb_per_s, copy.median_gb_per_s);
            let window = percent(gather.window_gb_per_s, copy.window_gb_per_s);
            Some(format!(
                "{} at the rate of {}: {median:.1} % by the median, {window:.1} % by the window",
                gather.name, copy.name
            ))
        };
        let gathers = measured.iter().filter(|one| one.op == Op::Gather.name());
        gathers.filter_map(part).collect()
    }

    /// A line for each workload that was measured under a report and under a mask: what the report costs.
    pub fn costs_of_reports(measured: &[Self]) -> Vec<String> {
        let cost = |report: &Self| {
            let [median, window] = report.percent_over(report.masked(measured)?);
            Some(format!(
                "{} over mask: {median:+.1} % by the median, {window:+.1} % by the window",
                report.name
            ))
        };
        measured.iter().filter_map(cost).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_testkit::Rt;
    use serde_json::json;

    #[test]
    fn a_line_of_json_has_the_fields_that_peers_are_compared_by() {
        let schedule = Schedule {
            warmup: 2,
            launches: 2,
            windows: 1,
        };
        let workload = Workload::scatter(Op::ScatterAdd, 64, 16, Data::Among(4));
        for rt in Rt::present() {
            let measurement = Measurement::take(&rt.client, &workload, schedule).unwrap();
            let line = serde_json::to_value(&measurement).unwrap();
            let expected = [
                ("peer", json!("girih")),
                ("op", json!("scatter_add")),
                ("dtype", json!("f32")),
                ("rows", json!(64)),
                ("columns", json!(16)),
                ("data", json!("4 rows")),
                ("bytes", json!(64 * (3 * 64 + 4))),
            ];
            for (field, value) in expected {
                assert_eq!(line[field], value, "{field}");
            }
            for time in [
                "first_us",
                "median_us",
                "window_us",
                "host_window_us",
                "enqueue_us",
            ] {
                assert!(
                    line[time].as_f64().is_some_and(|us| us > 0.0),
                    "{time}: {line}"
                );
            }
        }
    }

    #[test]
    fn a_report_is_set_beside_the_mask_of_the_same_workload() {
        let schedule = Schedule {
            warmup: 1,
            launches: 1,
            windows: 1,
        };
        let mask = Workload::gather(Dtype::F32, 64, 16);
        for rt in Rt::present() {
            let workloads = [mask, mask.under(Bounds::Report), mask.under(Bounds::Wrap)];
            let mut measured = workloads
                .map(|workload| Measurement::take(&rt.client, &workload, schedule).unwrap());
            measured[0].time.window_us = 100.0;
            measured[1].time.window_us = 103.0;
            let lines = Measurement::costs_of_reports(&measured);
            assert_eq!(lines.len(), 1, "{lines:?}");
            assert!(lines[0].starts_with("gather f32 64x16 report over mask: "));
            assert!(lines[0].ends_with("+3.0 % by the window"), "{lines:?}");
            assert!(Measurement::costs_of_reports(&measured[1..]).is_empty());
        }
    }

    #[test]
    fn a_gather_is_set_beside_the_copy_of_as_many_bytes() {
        let schedule = Schedule {
            warmup: 1,
            launches: 1,
            windows: 1,
        };
        for rt in Rt::present() {
            let workloads = [
                Workload::copy(64, 16),
                Workload::gather(Dtype::F32, 64, 16),
                Workload::gather(Dtype::F32, 64, 8),
            ];
            let mut measured = workloads
                .map(|workload| Measurement::take(&rt.client, &workload, schedule).unwrap());
            measured[0].window_gb_per_s = 100.0;
            measured[1].window_gb_per_s = 97.0;
            let lines = Measurement::parts_of_copies(&measured);
            assert_eq!(lines.len(), 1, "{lines:?}");
            assert!(lines[0].starts_with("gather f32 64x16 at the rate of copy f32 64x16: "));
            assert!(lines[0].ends_with("97.0 % by the window"), "{lines:?}");
        }
    }
}
