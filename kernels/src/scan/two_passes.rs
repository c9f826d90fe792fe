//! Scans in two passes over the data: parts are combined, their totals scanned, and the parts read again.

use super::kernels::{
    reduce_runs_kernel, reduce_tiles_kernel, scan_runs_kernel, scan_tiles_kernel,
};
use super::launch::{Args, buffer, cubes, shaped};
use super::operator::ScanOperator;
use super::rows::Rows;
use super::runs::{RunPlan, RunsLaunch};
use super::tile::TilePlan;
use super::{ScanOptions, ScanPath};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};

/// Scans a list into another, both contiguous, always in the same way.
pub(crate) fn scan_list<O: ScanOperator>(
    device: &Device,
    input: &TensorHandle,
    output: &TensorHandle,
) {
    let rows = Rows::new(input, output, 0, &ScanOptions::inclusive());
    let (rows, plan) = shaped(device, rows, Some(ScanPath::ReduceThenScan));
    match plan {
        Some(plan) => by_tiles::<O>(device, &rows, plan),
        None => by_runs::<O>(device, &rows),
    }
}

/// Memory for the totals of all parts, for their scan, and for whether segments begin in them.
struct Totals {
    totals: Handle,
    scanned: Handle,
    cuts: Handle,
    all: usize,
}

impl Totals {
    fn new(device: &Device, rows: &Rows, parts: usize) -> Self {
        let client = device.client();
        let all = rows.rows * parts;
        let bytes = all * rows.sum.size();
        Self {
            totals: client.empty(bytes),
            scanned: client.empty(bytes),
            cuts: client.empty(if rows.cuts.any() { 4 * all } else { 4 }),
            all,
        }
    }

    /// Scans the totals of every row's parts.
    fn scan<O: ScanOperator>(&self, device: &Device, rows: &Rows, parts: usize) {
        let inner = rows.of_totals(
            self.totals.clone(),
            self.scanned.clone(),
            self.cuts.clone(),
            parts,
        );
        let (inner, plan) = shaped(device, inner, Some(ScanPath::ReduceThenScan));
        match plan {
            Some(plan) => by_tiles::<O>(device, &inner, plan),
            None => by_runs::<O>(device, &inner),
        }
    }
}

/// By tiles that are combined first, where a row has several.
pub(super) fn by_tiles<O: ScanOperator>(device: &Device, rows: &Rows, plan: TilePlan) {
    let client = device.client();
    let tiles = rows.length.div_ceil(plan.tile());
    let all = rows.rows * tiles;
    let cube = CubeDim::new_1d(plan.units() as u32);
    let args = Args::new(rows);
    let width = if plan.aligned { plan.width } else { 1 };
    let totals = (tiles > 1).then(|| Totals::new(device, rows, tiles));
    if let Some(totals) = &totals {
        // SAFETY: a cube has one of `all` tiles, and a total; what lies past the end of a row is masked, in buffers that were
        // checked to hold the rows.
        unsafe {
            reduce_tiles_kernel::launch_unchecked::<O>(
                client,
                cubes(device, all),
                cube,
                args.address,
                width,
                args.input(),
                args.input(),
                buffer(&totals.totals, all),
                buffer(&totals.cuts, all),
                args.list().into(),
                rows.axes_arg(),
                tiles,
                all,
                rows.period,
                plan,
                args.types,
            );
        }
        totals.scan::<O>(device, rows, tiles);
    }
    let scanned = totals.map(|totals| buffer(&totals.scanned, totals.all));
    // SAFETY: as above; the totals are one for each tile.
    unsafe {
        scan_tiles_kernel::launch_unchecked::<O>(
            client,
            cubes(device, all),
            cube,
            args.address,
            width,
            args.input(),
            args.input(),
            args.output(),
            args.output(),
            scanned.into(),
            args.list().into(),
            rows.axes_arg(),
            tiles,
            all,
            rows.period,
            plan,
            args.types,
        );
    }
}

/// Elements of a run: so few that there is work for every unit of the device, but not so few that a unit's start costs more
/// than its run.
pub(super) fn run_of(device: &Device, rows: &Rows) -> usize {
    let hardware = &device.client().properties().hardware;
    let (units, least, most) = match device.target() {
        Target::Cpu => (hardware.max_units_per_cube as usize, 1024, usize::MAX),
        // A software device ends a unit's loops after 65,536 rounds, those of searches included.
        Target::Vulkan | Target::Wgsl => (1 << 14, 64, 2048),
        _ => (1 << 17, 64, usize::MAX),
    };
    let wanted = units.div_ceil(rows.rows);
    rows.length.div_ceil(wanted).clamp(least, most)
}

/// By runs that are combined first, where a row has several.
pub(super) fn by_runs<O: ScanOperator>(device: &Device, rows: &Rows) {
    let client = device.client();
    let run = run_of(device, rows);
    let count = rows.length.div_ceil(run);
    let all = rows.rows * count;
    let most = client.properties().hardware.max_units_per_cube;
    let units = 1u32 << most.clamp(1, 256).ilog2();
    let cube = CubeDim::new_1d(units);
    let launched = || cubes(device, all.div_ceil(units as usize));
    let runs = || RunsLaunch::new(rows.rows, run, count, rows.period);
    let plan = RunPlan {
        exclusive: rows.exclusive,
        cuts: rows.cuts,
    };
    let args = Args::new(rows);
    let totals = (count > 1).then(|| Totals::new(device, rows, count));
    if let Some(totals) = &totals {
        // SAFETY: a unit has one of `all` runs, if there is one for it, and a total; a run ends with its row, in buffers that
        // were checked to hold the rows.
        unsafe {
            reduce_runs_kernel::launch_unchecked::<O>(
                client,
                launched(),
                cube,
                args.address,
                args.input(),
                buffer(&totals.totals, all),
                buffer(&totals.cuts, all),
                args.list().into(),
                rows.axes_arg(),
                runs(),
                plan,
                args.types,
            );
        }
        totals.scan::<O>(device, rows, count);
    }
    let scanned = totals.map(|totals| buffer(&totals.scanned, totals.all));
    // SAFETY: as above; the totals are one for each run.
    unsafe {
        scan_runs_kernel::launch_unchecked::<O>(
            client,
            launched(),
            cube,
            args.address,
            args.input(),
            args.output(),
            scanned.into(),
            args.list().into(),
            rows.axes_arg(),
            runs(),
            plan,
            args.types,
        );
    }
}
