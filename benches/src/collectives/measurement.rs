//! What is known of a collective once it was measured.

use super::prepared::Prepared;
use super::workload::{Element, Members, Op, Workload};
use crate::error::Result;
use crate::timing::{Schedule, Time, timed};
use cubecl::client::Client;
use girih::device::Device;
use serde::Serialize;

/// One collective's times on one device; one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Who was measured: `girih`.
    pub peer: &'static str,
    /// The workload in words.
    pub name: String,
    /// What each group does in a round.
    pub op: Op,
    /// The elements.
    pub dtype: Element,
    /// The units of a group.
    pub group: Members,
    /// How many they are.
    pub units: u32,
    /// Units of a cube.
    pub cube: u32,
    /// Cubes of a launch.
    pub cubes: u32,
    /// Rounds of a launch.
    pub rounds: u32,
    /// Times of a launch.
    #[serde(flatten)]
    pub time: Time,
    /// The window by the rounds: how long all cubes take for one round, in nanoseconds.
    pub ns_per_round: f64,
    /// Of what every unit has left, in hexadecimal.
    pub checksum: String,
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
    /// Whatever [`Prepared::new`], [`Prepared::verify`] and the timing give.
    pub fn take(client: &Client, workload: &Workload, schedule: Schedule) -> Result<Self> {
        let prepared = Prepared::new(client, *workload)?;
        let launch = |prepared: &Prepared, _turn| {
            prepared.launch();
            Ok(())
        };
        let (time, checksum) = timed(client, prepared, launch, Prepared::verify, schedule)?;
        Ok(Self {
            peer: "girih",
            name: workload.name(),
            op: workload.op,
            dtype: workload.element,
            group: workload.members,
            units: workload.group(client),
            cube: workload.cube,
            cubes: workload.cubes,
            rounds: workload.rounds,
            time,
            ns_per_round: time.window_us * 1e3 / f64::from(workload.rounds),
            checksum: format!("{checksum:016x}"),
            launches: schedule.launches,
            device: Device::of(client).name(),
        })
    }

    /// The head of a table of [`row`](Self::row)s.
    pub fn header() -> String {
        format!(
            "{:<54} {:>11} {:>11} {:>12} {:>10}",
            "collective", "median us", "window us", "ns per round", "enqueue us"
        )
    }

    /// A line of the table.
    pub fn row(&self) -> String {
        format!(
            "{:<54} {:>11.2} {:>11.2} {:>12.2} {:>10.2}",
            self.name,
            self.time.median_us,
            self.time.window_us,
            self.ns_per_round,
            self.time.enqueue_us
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::plans;
    use super::*;
    use girih_testkit::Rt;

    #[test]
    fn a_line_of_json_has_the_fields_that_peers_are_compared_by() {
        for rt in Rt::present() {
            let plans = plans(&rt.client);
            let is_there = |plan: &&super::super::Plan| plan.workload.supported(&rt.client).is_ok();
            let plan = plans.iter().find(is_there).unwrap();
            let measurement = Measurement::take(&rt.client, &plan.workload, plan.schedule).unwrap();
            let line = serde_json::to_value(&measurement).unwrap();
            for (field, value) in [
                ("peer", "girih"),
                ("op", "reduce"),
                ("dtype", "u32"),
                ("group", "cube"),
            ] {
                assert_eq!(line[field], value, "{field}");
            }
            for field in ["units", "cube", "cubes", "rounds"] {
                assert!(line[field].as_u64().is_some_and(|n| n > 0), "{field}");
            }
            for time in ["median_us", "window_us", "enqueue_us", "ns_per_round"] {
                assert!(line[time].as_f64().is_some_and(|t| t > 0.0), "{time}");
            }
            assert_eq!(line["checksum"].as_str().map(str::len), Some(16));
        }
    }
}
