//! What a call costs the host: tiny tensors, many launches, nobody waits for the device.

use crate::error::{Error, Result};
use crate::timing::{median, microseconds};
use crate::workload::{INDEX, bounds_name};
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih::device::Device;
use girih_kernels::{
    CompactOptions, ScanOperation, ScanOptions, ScatterMode, SortOptions, UniqueOptions, bincount,
    gather, gather_into, nonzero, paged_gather, scan, scatter_into, sort, sort_with_indices,
    take_along_axis, unique,
};
use serde::Serialize;
use std::time::Instant;

/// Launches of a burst: few enough that no queue fills up, after which the host would wait for the device.
const LAUNCHES: usize = 32;
/// Calls of a window, and windows, of which the median counts.
const CALLS: usize = 64;
const WINDOWS: usize = 5;
/// Bursts, of which the median counts.
const BURSTS: usize = 40;
/// Rows, and elements of a row.
const ROWS: usize = 16;
const COLUMNS: usize = 16;

/// Something that enqueues one launch.
pub struct Call<'a> {
    /// The name in tables.
    pub name: String,
    /// What is called.
    pub call: &'static str,
    /// Through what: `launcher`, or another layer.
    pub way: &'static str,
    /// What an index out of range does.
    pub bounds: &'static str,
    /// Calls it; what went wrong, where something did.
    pub run: Box<dyn Fn() -> std::result::Result<(), String> + 'a>,
    /// Waits until all that was called has run, where the client's own wait does not.
    wait: Option<Box<dyn Fn() -> std::result::Result<(), String> + 'a>>,
    /// Calls of a burst.
    launches: usize,
}

/// What one call costs; one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Who was measured: `girih`.
    pub peer: &'static str,
    /// The call in words.
    pub name: String,
    /// `host`.
    pub op: &'static str,
    /// What is called.
    pub call: &'static str,
    /// Through what.
    pub way: &'static str,
    /// What an index out of range does.
    pub bounds: &'static str,
    /// What the caller spends on one call; the median of bursts.
    pub enqueue_us: f64,
    /// The same in the shortest burst.
    pub least_us: f64,
    /// What a call costs whichever thread or device has most to do, in windows of many calls that end with a wait.
    pub through_us: f64,
    /// Calls of a burst.
    pub launches: usize,
    /// The device's own name.
    pub device: String,
}

impl Measurement {
    /// Times a call, after one burst that compiles what there is to compile.
    ///
    /// # Errors
    ///
    /// [`Error::Call`] where the call fails, [`Error::Server`] where the device does.
    pub fn take(client: &Client, call: &Call) -> Result<Self> {
        let failed = |error| Error::Call(call.name.clone(), error);
        let wait = || match &call.wait {
            Some(wait) => wait().map_err(failed),
            None => Ok(block_on(client.sync())?),
        };
        // So many calls, and then a wait: until before it, and until after it.
        let burst = |calls: usize| {
            let start = Instant::now();
            (0..calls).try_for_each(|_| (call.run)().map_err(failed))?;
            let spent = start.elapsed();
            wait()?;
            let each = |time| microseconds(time) / calls as f64;
            Ok::<_, Error>((each(spent), each(start.elapsed())))
        };
        burst(call.launches)?;
        let bursts = (0..BURSTS).map(|_| burst(call.launches).map(|(enqueued, _)| enqueued));
        let times: Vec<f64> = bursts.collect::<Result<_>>()?;
        let windows = (0..WINDOWS).map(|_| burst(CALLS).map(|(_, through)| through));
        let windows: Vec<f64> = windows.collect::<Result<_>>()?;
        Ok(Self {
            peer: "girih",
            name: call.name.clone(),
            op: "host",
            call: call.call,
            way: call.way,
            bounds: call.bounds,
            least_us: times.iter().copied().fold(f64::INFINITY, f64::min),
            enqueue_us: median(times),
            through_us: median(windows),
            launches: call.launches,
            device: Device::of(client).name(),
        })
    }

    /// The head of a table of [`row`](Self::row)s.
    pub fn header() -> String {
        format!(
            "{:<42} {:>10} {:>10} {:>10}",
            "call", "enqueue us", "least us", "through us"
        )
    }

    /// A line of the table.
    pub fn row(&self) -> String {
        let Self {
            name,
            enqueue_us,
            least_us,
            through_us,
            ..
        } = self;
        format!("{name:<42} {enqueue_us:>10.2} {least_us:>10.2} {through_us:>10.2}")
    }
}

impl<'a> Call<'a> {
    /// A call through a launcher, or another layer, under a policy of bounds.
    pub fn new(
        call: &'static str,
        way: &'static str,
        bounds: Option<Bounds>,
        run: impl Fn() -> std::result::Result<(), String> + 'a,
    ) -> Self {
        let bounds = bounds.map_or("none", bounds_name);
        Self {
            name: format!("host {way} {call} {bounds}"),
            call,
            way,
            bounds,
            run: Box::new(run),
            wait: None,
            launches: LAUNCHES,
        }
    }

    /// Bursts of so many calls, after which `wait` is what waits for them.
    pub fn in_bursts(
        self,
        launches: usize,
        wait: impl Fn() -> std::result::Result<(), String> + 'a,
    ) -> Self {
        Self {
            launches,
            wait: Some(Box::new(wait)),
            ..self
        }
    }
}

/// Every policy.
pub const POLICIES: [Bounds; 5] = [
    Bounds::Assume,
    Bounds::Mask,
    Bounds::Clamp,
    Bounds::Wrap,
    Bounds::Report,
];

/// A kernel that does next to nothing: what CubeCL's own launch costs.
#[cube(launch_unchecked)]
fn one_kernel(out: &mut [f32]) {
    if ABSOLUTE_POS == 0 {
        out[0] = 1.0f32;
    }
}

/// Calls of launchers on tiny tensors, and a launch of CubeCL's to hold them against.
pub fn launchers(client: &Client) -> Vec<Call<'_>> {
    let table = || {
        let zeros = client.create_from_slice(&[0; ROWS * COLUMNS * 4]);
        TensorHandle::new_contiguous([ROWS, COLUMNS], zeros, f32::elem_type_native())
    };
    let index = || {
        let zeros = client.create_from_slice(&[0; ROWS * 4]);
        TensorHandle::new_contiguous([ROWS], zeros, INDEX)
    };
    let out = table();
    let mut calls = vec![Call::new("one element", "cubecl", None, move || {
        // SAFETY: the buffer has an element to write.
        unsafe {
            one_kernel::launch_unchecked(
                client,
                CubeCount::new_single(),
                CubeDim::new_1d(1),
                BufferArg::from_raw_parts(out.handle.clone(), ROWS * COLUMNS),
            );
        }
        Ok(())
    })];
    let text = |error: girih::Error| error.to_string();
    for bounds in POLICIES {
        let (source, list, out) = (table(), index(), table());
        calls.push(Call::new(
            "gather_into",
            "launcher",
            Some(bounds),
            move || {
                gather_into(client, &source, &list, &out, 0, bounds)
                    .map(drop)
                    .map_err(text)
            },
        ));
        let (source, list) = (table(), index());
        calls.push(Call::new("gather", "launcher", Some(bounds), move || {
            gather(client, &source, &list, 0, bounds)
                .map(drop)
                .map_err(text)
        }));
    }
    for (name, mode) in [
        ("scatter_into set", ScatterMode::Set),
        ("scatter_into add", ScatterMode::Add),
    ] {
        let (target, list, updates) = (table(), index(), table());
        calls.push(Call::new(name, "launcher", Some(Bounds::Mask), move || {
            scatter_into(client, &target, &list, &updates, 0, mode, Bounds::Mask)
                .map(drop)
                .map_err(text)
        }));
    }
    let (source, places) = (table(), table());
    let places = TensorHandle {
        dtype: INDEX,
        ..places
    };
    calls.push(Call::new(
        "take_along_axis",
        "launcher",
        Some(Bounds::Mask),
        move || {
            take_along_axis(client, &source, &places, 0, Bounds::Mask)
                .map(drop)
                .map_err(text)
        },
    ));
    let (pages, list) = (table(), table());
    let pages = TensorHandle::new_contiguous([4, 4, COLUMNS], pages.handle, pages.dtype);
    let entries = TensorHandle::new_contiguous([1, 4], list.handle.clone(), INDEX);
    let offsets = TensorHandle::new_contiguous([2], list.handle, INDEX);
    calls.push(Call::new(
        "paged_gather",
        "launcher",
        Some(Bounds::Mask),
        move || {
            paged_gather(client, &pages, &entries, &offsets, ROWS, Bounds::Mask)
                .map(drop)
                .map_err(text)
        },
    ));
    calls.extend(lists(client));
    calls
}

/// Elements of a list that is more than one cube has.
const LIST: usize = 8192;

/// Calls on lists, most of which are several launches.
fn lists(client: &Client) -> Vec<Call<'_>> {
    let text = |error: girih::Error| error.to_string();
    let list = || {
        let numbers: Vec<u32> = (0..LIST as u32)
            .map(|at| at.wrapping_mul(0x9e37_79b1))
            .collect();
        let handle = client.create_from_slice(u32::as_bytes(&numbers));
        TensorHandle::new_contiguous([LIST], handle, u32::elem_type_native())
    };
    let index = u32::elem_type_native();
    let keys = list();
    let of_sort = move || {
        sort(client, &keys, 0, &SortOptions::default())
            .map(drop)
            .map_err(text)
    };
    let keys = list();
    let of_places = move || {
        sort_with_indices(client, &keys, 0, index, &SortOptions::default())
            .map(drop)
            .map_err(text)
    };
    let keys = list();
    let of_unique = move || {
        unique(client, &keys, UniqueOptions::default())
            .map(drop)
            .map_err(text)
    };
    let numbers = list();
    let of_nonzero = move || {
        nonzero(client, &numbers, CompactOptions::default())
            .map(drop)
            .map_err(text)
    };
    let numbers = list();
    let of_scan = move || {
        let options = ScanOptions::inclusive();
        scan(client, &numbers, 0, ScanOperation::Sum, options)
            .map(drop)
            .map_err(text)
    };
    let numbers = list();
    let of_bincount = move || {
        bincount(client, &numbers, None, 256)
            .map(drop)
            .map_err(text)
    };
    vec![
        Call::new("sort", "launcher", None, of_sort),
        Call::new("sort_with_indices", "launcher", None, of_places),
        Call::new("unique", "launcher", None, of_unique),
        Call::new("nonzero", "launcher", None, of_nonzero),
        Call::new("scan", "launcher", None, of_scan),
        Call::new("bincount", "launcher", None, of_bincount),
    ]
}

/// Times the calls whose name contains one of the filters, all where there are none, and prints a table of them.
pub fn run(client: &Client, calls: &[Call], filters: &[String], run: &mut crate::Run) {
    let wanted =
        |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter));
    let mut calls = calls.iter().filter(|call| wanted(&call.name)).peekable();
    if calls.peek().is_some() {
        println!("{}", Measurement::header());
    }
    for call in calls {
        match Measurement::take(client, call) {
            Ok(measurement) => {
                println!("{}", measurement.row());
                run.host.push(measurement);
            }
            Err(error) => {
                println!("{:<42} FAILED: {error}", call.name);
                run.failed.push((call.name.clone(), error));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_testkit::Rt;

    #[test]
    fn every_call_has_a_name_of_its_own_and_a_cost() {
        for rt in Rt::present() {
            let calls = launchers(&rt.client);
            let names: std::collections::HashSet<_> = calls.iter().map(|call| &call.name).collect();
            assert_eq!(names.len(), calls.len());
            let mut done = crate::Run::default();
            let filters = ["host launcher gather report".to_owned()];
            run(&rt.client, &calls, &filters, &mut done);
            assert!(done.failed.is_empty(), "{:?}", done.failed);
            assert_eq!(done.host.len(), 1);
            assert!(done.host[0].enqueue_us >= done.host[0].least_us);
            assert!(done.host[0].least_us > 0.0);
            assert!(done.host[0].through_us > 0.0);
        }
    }

    #[test]
    fn a_call_that_fails_says_so() {
        for rt in Rt::present() {
            let call = Call::new("nothing", "launcher", None, || Err("no such thing".into()));
            let failed = Measurement::take(&rt.client, &call).unwrap_err();
            assert_eq!(
                failed.to_string(),
                "host launcher nothing none: no such thing"
            );
        }
    }
}
