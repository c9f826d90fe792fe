//! Pipelined scans as launches.

use super::super::launch::Args;
use super::super::operator::{ScanOperator, Sum};
use super::super::path::require_pipelined;
use super::super::place::Cuts;
use super::super::rows::Rows;
use super::super::states::States;
use super::super::{CALL, ScanOptions};
use super::form::{Pipeline, WIDTH};
use super::kernel::pipelined_kernel;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};

/// Tiles that a launch may have at the most, so that tickets past them still are numbers.
const MOST_TILES: usize = 1 << 31;

/// Nothing, where rows are scanned so; else what about them is in the way.
pub(crate) fn obstacle(rows: &Rows) -> Option<&'static str> {
    if rows.rows != 1 {
        Some("several rows")
    } else if rows.cuts != Cuts::Rows {
        Some("segments")
    } else if rows.element.size() != 4 {
        Some("elements that do not have 4 bytes")
    } else if !rows.is_contiguous() {
        Some("elements that do not lie next to each other")
    } else if !rows.is_aligned(WIDTH) {
        Some("memory that does not begin on a multiple of 16 bytes")
    } else {
        None
    }
}

/// In one pass over tiles that are fetched ahead, of rows without an [`obstacle`]; gives the states that tiles have published.
pub(crate) fn pipelined<O: ScanOperator>(
    device: &Device,
    rows: &Rows,
    pipeline: Pipeline,
) -> States {
    let tiles = rows.length.div_ceil(pipeline.tile());
    let processors = device.processors();
    let form = pipeline.form(processors, rows.exclusive);
    let cubes = (processors * pipeline.cubes).min(tiles);
    let made = rows.is_made.then_some(&rows.output);
    let states = States::new(device, tiles, rows.sum.size(), made);
    let args = Args::new(rows);
    let [element, sum, _] = args.types;
    // SAFETY: bulk copies end with the list, in buffers that were checked to hold it, and what is stored past its end is masked;
    // a tile has a state of its own, and the count of tickets is beside them.
    unsafe {
        pipelined_kernel::launch_unchecked::<O>(
            device.client(),
            CubeCount::new_1d(cubes as u32),
            CubeDim::new_1d(pipeline.units() as u32),
            args.address,
            form.tile.width,
            args.input(),
            args.input(),
            args.output(),
            args.output(),
            states.arg(),
            rows.length,
            tiles as u32,
            states.launch,
            states.tickets(),
            form,
            [element, sum],
        );
    }
    states
}

/// That the device can run the pipeline over rows of that kind.
pub(crate) fn require(device: &Device, rows: &Rows, pipeline: Pipeline) -> Result<()> {
    require_pipelined(device, CALL)?;
    if let Some(obstacle) = obstacle(rows) {
        return Err(Error::Argument {
            call: CALL,
            argument: "path",
            given: format!("Pipelined, of {obstacle}"),
            allowed: "LookBack or ReduceThenScan for those".into(),
        });
    }
    let most = device.client().properties().hardware.max_shared_memory_size;
    if !pipeline.is_possible(most) || rows.length.div_ceil(pipeline.tile()) > MOST_TILES {
        return Err(Error::Argument {
            call: CALL,
            argument: "pipeline",
            given: format!("{pipeline:?}"),
            allowed: format!("one that a multiprocessor with {most} bytes for a cube has room for"),
        });
    }
    Ok(())
}

/// Sums a list by that pipeline, and gives the states that its tiles have published, with the number of the launch: for
/// measurements, and for tests that look at the path itself.
///
/// # Errors
///
/// As of [`ScanPath::Pipelined`](crate::ScanPath::Pipelined), and [`Error::Argument`] of a pipeline that does not fit.
pub fn pipelined_states(
    device: &Device,
    input: &TensorHandle,
    output: &TensorHandle,
    exclusive: bool,
    pipeline: Pipeline,
) -> Result<(TensorHandle, u32)> {
    let options = ScanOptions {
        exclusive,
        ..ScanOptions::default()
    };
    let rows = Rows::new(input, output, 0, &options);
    require(device, &rows, pipeline)?;
    let states = pipelined::<Sum>(device, &rows, pipeline);
    Ok((states.tensor(), states.launch))
}
