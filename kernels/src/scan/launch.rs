//! Scans as launches.

use super::kernels::look_back_kernel;
use super::operator::ScanOperator;
use super::path::{Exactness, lanes, prefers_look_back};
use super::pipelined::{self, Pipeline};
use super::rows::Rows;
use super::states::States;
use super::tile::TilePlan;
use super::two_passes::{by_runs, by_tiles, run_of};
use super::{CALL, ScanOptions, ScanPath};
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih::memory::blocks::{Ordered, Orders};
use girih::{Error, Result};

/// Rows of so few elements are not worth a cube each.
const SHORT: usize = 256;
/// Rows of fewer tiles are scanned as segments of one, where they lie one after another.
const FEW_TILES: usize = 8;
/// From so many elements on a list is scanned by cubes that stay. Windows on H200s: both ways take 19 us for 2^20, most of it the launch; for
/// 2^24 cubes that stay take 39.6 us and look-back 49.4, for 2^28 521 and 700: lines through those meet at 2.2 million.
const LONG: usize = 1 << 22;

/// Scans tensors that were checked and have elements, into one that the client has just made or another.
pub(crate) fn scan<O: ScanOperator>(
    device: &Device,
    input: &TensorHandle,
    output: &TensorHandle,
    axis: usize,
    exactness: Exactness,
    options: &ScanOptions<'_>,
    is_made: bool,
) -> Result<ScanPath> {
    let mut rows = Rows::new(input, output, axis, options);
    rows.is_made = is_made;
    if let Some(pipeline) = pipeline(device, &rows, options.path)? {
        pipelined::pipelined::<O>(device, &rows, pipeline);
        return Ok(ScanPath::Pipelined);
    }
    let (rows, plan) = shaped(device, rows, options.path);
    let parts = match &plan {
        Some(plan) => rows.length.div_ceil(plan.tile()),
        None => rows.length.div_ceil(run_of(device, &rows)),
    };
    let path = match options.path {
        Some(ScanPath::Direct) if parts > 1 => {
            return Err(Error::Argument {
                call: CALL,
                argument: "path",
                given: format!("Direct, for rows of {parts} parts"),
                allowed: "LookBack or ReduceThenScan".into(),
            });
        }
        Some(path) => path,
        None if parts == 1 => ScanPath::Direct,
        None => {
            let determinism = options.determinism;
            match plan.is_some() && prefers_look_back(device, rows.sum, exactness, determinism) {
                true => ScanPath::LookBack,
                false => ScanPath::ReduceThenScan,
            }
        }
    };
    match (path, plan) {
        (ScanPath::LookBack, Some(plan)) => {
            look_back::<O, Ordered>(device, &rows, plan);
        }
        (_, Some(plan)) => by_tiles::<O>(device, &rows, plan),
        (_, None) => by_runs::<O>(device, &rows),
    }
    Ok(path)
}

/// How cubes that stay scan the rows, if they do: where that is asked for, or of long lists wherever it can be.
fn pipeline(device: &Device, rows: &Rows, path: Option<ScanPath>) -> Result<Option<Pipeline>> {
    let own = Pipeline::of(device.client().properties().hardware.max_shared_memory_size);
    match path {
        Some(ScanPath::Pipelined) => {
            pipelined::require(device, rows, own)?;
            Ok(Some(own))
        }
        None if rows.length >= LONG => {
            let is_possible = pipelined::require(device, rows, own).is_ok();
            Ok(is_possible.then_some(own))
        }
        _ => Ok(None),
    }
}

/// The rows as they are best scanned, and in what tiles; in runs where there are none.
pub(super) fn shaped(
    device: &Device,
    rows: Rows,
    path: Option<ScanPath>,
) -> (Rows, Option<TilePlan>) {
    let Some(plan) = tile_plan(device, &rows, path) else {
        return (rows, None);
    };
    let is_odd = !plan.aligned && rows.rows > 1;
    if (is_odd || rows.length < FEW_TILES * plan.tile())
        && let Some(flat) = rows.flattened()
    {
        let plan = tile_plan(device, &flat, path);
        return (flat, plan);
    }
    match rows.length < SHORT && rows.rows > 1 && path != Some(ScanPath::LookBack) {
        true => (rows, None),
        false => (rows, Some(plan)),
    }
}

/// The tiles that suit the rows, where planes pass values and elements lie next to each other.
fn tile_plan(device: &Device, rows: &Rows, path: Option<ScanPath>) -> Option<TilePlan> {
    let suits = rows.is_contiguous() && device.target() != Target::Cpu;
    // WGSL passes no f64 from lane to lane.
    let passes = device.target() != Target::Wgsl || rows.element != ElemType::Float(FloatKind::F64);
    let lanes = lanes(device).filter(|_| passes && (suits || path == Some(ScanPath::LookBack)))?;
    let size = rows.element.size();
    let most = device.client().properties().hardware.max_units_per_cube as usize;
    let planes = (most.min(256) / lanes).max(1);
    let planes = 1 << planes.ilog2();
    // 16 bytes at once, where that is not too many elements.
    let widths = device.vector_widths(size);
    let width = widths.into_iter().find(|width| width * size <= 16);
    let width = width.unwrap_or(1);
    let aligned = rows.is_aligned(width);
    let width = if width > 1 {
        width
    } else {
        (16 / size).clamp(1, 4)
    };
    let plan = TilePlan {
        width,
        // Segments take registers of their own.
        vectors: match rows.cuts.any() {
            true => (8 / width).clamp(2, 4),
            false => (32 / width).clamp(2, 8),
        },
        lanes,
        planes,
        aligned,
        single: rows.rows == 1,
        exclusive: rows.exclusive,
        cuts: rows.cuts,
    };
    Some(plan.of_rows(rows.length))
}

/// As many cubes, in rows where the device does not launch so many in one.
pub(crate) fn cubes(device: &Device, count: usize) -> CubeCount {
    let (max_x, max_y, _) = device.client().properties().hardware.max_cube_count;
    let rows = count.div_ceil(max_x as usize);
    let (y, z) = (rows.min(max_y as usize), rows.div_ceil(max_y as usize));
    CubeCount::new_3d(count.div_ceil(y * z) as u32, y as u32, z as u32)
}

/// As many cubes, and whether there are no more than that.
pub(crate) fn exact_cubes(device: &Device, count: usize) -> (CubeCount, bool) {
    let most = device.client().properties().hardware.max_cube_count.0 as usize;
    (cubes(device, count), count <= most)
}

/// What a kernel's arguments are made of.
pub(super) struct Args<'a> {
    rows: &'a Rows,
    pub types: [ElemType; 3],
    pub address: AddressType,
}

impl<'a> Args<'a> {
    pub(super) fn new(rows: &'a Rows) -> Self {
        Self {
            rows,
            types: [rows.element, rows.sum, rows.list_type()],
            address: rows.address(),
        }
    }

    fn elements(&self, handle: &Handle) -> BufferArg {
        let len = handle.size_in_used() as usize / self.rows.element.size();
        // SAFETY: the handle spans the elements.
        unsafe { BufferArg::from_raw_parts(handle.clone(), len) }
    }

    pub(super) fn input(&self) -> BufferArg {
        self.elements(&self.rows.input)
    }

    pub(super) fn output(&self) -> BufferArg {
        self.elements(&self.rows.output)
    }

    pub(super) fn list(&self) -> Option<BufferArg> {
        let list = self.rows.list.as_ref()?;
        Some(buffer(&list.handle, list.len))
    }
}

pub(super) fn buffer(handle: &Handle, len: usize) -> BufferArg {
    // SAFETY: the caller made the handle for so many elements.
    unsafe { BufferArg::from_raw_parts(handle.clone(), len) }
}

/// In one pass over tiles; gives the states that they have published.
pub(crate) fn look_back<O: ScanOperator, R: Orders>(
    device: &Device,
    rows: &Rows,
    plan: TilePlan,
) -> States {
    let tiles = rows.length.div_ceil(plan.tile());
    let all = rows.rows * tiles;
    let made = rows.is_made.then_some(&rows.output);
    let states = States::new(device, all, rows.sum.size(), made);
    let (count, is_exact) = exact_cubes(device, all);
    let args = Args::new(rows);
    // SAFETY: a cube has one of `all` tiles; what lies past the end of a row is masked, in buffers that were checked to hold the
    // rows; each tile has states of its own.
    unsafe {
        look_back_kernel::launch_unchecked::<O, R>(
            device.client(),
            count,
            CubeDim::new_1d(plan.units() as u32),
            args.address,
            if plan.aligned { plan.width } else { 1 },
            args.input(),
            args.input(),
            args.output(),
            args.output(),
            states.arg(),
            args.list().into(),
            rows.axes_arg(),
            states.launch,
            tiles,
            all,
            rows.period,
            plan,
            is_exact,
            args.types,
        );
    }
    states
}

/// Scans a list of sums by look-back, and gives the states that its tiles have published at the end, with the number of the
/// launch and elements of a tile: for tests that look at the path itself, with its orders or without.
///
/// # Errors
///
/// What the device lacks.
pub fn look_back_states<R: Orders>(
    device: &Device,
    input: &TensorHandle,
    output: &TensorHandle,
) -> Result<(TensorHandle, u32, usize)> {
    super::path::require_look_back(device, CALL, super::sum_type(input.dtype))?;
    let options = ScanOptions::inclusive();
    let rows = Rows::new(input, output, 0, &options);
    let (rows, plan) = shaped(device, rows, Some(ScanPath::LookBack));
    let plan = plan.expect("look-back goes by tiles");
    let states = look_back::<super::operator::Sum, R>(device, &rows, plan);
    Ok((states.tensor(), states.launch, plan.tile()))
}
