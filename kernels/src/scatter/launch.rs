//! The launches of a scatter.

use super::combine::wide;
use super::path::{Case, WORD, Way, choose};
use super::slices::Slices;
use super::sorted::RUN;
use super::tiled::{Private, Tile};
use super::{ScatterMode, ScatterOptions, ScatterPath, direct};
use crate::Bounds;
use crate::plan::Walk;
use cubecl::ir::ElemType;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::Result;
use girih::device::Device;
use girih::view::Report;

/// One scatter, checked: there is something to write and somewhere to write it.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    pub device: &'a Device,
    pub target: &'a TensorHandle,
    pub index: &'a TensorHandle,
    pub updates: &'a TensorHandle,
    pub walk: &'a Walk,
    /// Slices of the target.
    pub extent: usize,
    pub mode: ScatterMode,
    pub bounds: Bounds,
    pub report: Option<&'a Report>,
}

/// What would be launched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub path: ScatterPath,
    pub reason: &'static str,
    /// Bytes of temporary memory.
    pub temporary: u64,
    /// Elements of an access; of an atomic one where there are such.
    pub width: usize,
    /// Slices that a unit goes through, where the kernel is not one of tiles.
    pub rows: Option<usize>,
}

/// What would be launched for two tensors, of which the first has `extent` slices.
pub(crate) fn route(
    device: &Device,
    element: ElemType,
    mode: ScatterMode,
    extent: usize,
    walk: &Walk,
    handles: [&Handle; 2],
    options: &ScatterOptions,
) -> Result<Route> {
    let size = element.size();
    let width = |widths: &[usize]| walk.width(widths, handles, size);
    let case = Case::new(device, element, mode, extent, walk, &width);
    let (way, reason) = choose(&case, options)?;
    let indices = walk.extents[2];
    let slice = walk.extents.iter().product::<usize>() / indices.max(1);
    let widest = width(&device.vector_widths(size));
    let route = |path, temporary, width, rows| Route {
        path,
        reason,
        temporary: temporary as u64,
        width,
        rows,
    };
    Ok(match way {
        Way::Direct { width, atomic } => {
            let width = if mode == ScatterMode::Set {
                width
            } else {
                atomic
            };
            route(ScatterPath::Atomic, 0, width, None)
        }
        Way::Tile(Tile { atomic, run, .. }) => route(ScatterPath::Combined, 0, atomic, Some(run)),
        Way::Private(Private { atomic, .. }) => route(ScatterPath::Privatised, 0, atomic, Some(1)),
        Way::Vote { .. } => {
            let votes = extent * WORD.size();
            route(ScatterPath::Atomic, votes, widest, Some(1))
        }
        Way::Pick { .. } => {
            let sorted = SORTED * indices;
            route(ScatterPath::Sorted, sorted, widest, Some(1))
        }
        Way::Reduce => {
            let entries = entries(indices) * (slice * wide(element).size() + WORD.size());
            let temporary = SORTED * indices + entries;
            route(ScatterPath::Sorted, temporary, widest, Some(RUN))
        }
    })
}

/// Bytes of keys and order for each index, before and after and between passes.
const SORTED: usize = 20;

/// How many entries the runs of all levels carry.
fn entries(positions: usize) -> usize {
    match positions.div_ceil(RUN) {
        0 | 1 => 0,
        runs => 2 * runs + entries(2 * runs),
    }
}

/// Chooses a way, and goes it.
pub(super) fn launch(work: &Work<'_>, options: &ScatterOptions) -> Result<()> {
    let size = work.target.dtype.size();
    let handles = [&work.target.handle, &work.updates.handle];
    let width = |widths: &[usize]| work.walk.width(widths, handles, size);
    let (element, mode) = (work.target.dtype, work.mode);
    let case = Case::new(work.device, element, mode, work.extent, work.walk, &width);
    let (way, _) = choose(&case, options)?;
    let slices = || Slices::new(*work, width(&work.device.vector_widths(size)));
    match way {
        Way::Direct { width, atomic } => direct::launch(work, width, atomic),
        Way::Tile(tile) => tile.launch(&Slices::new(*work, tile.width)),
        Way::Private(private) => private.launch(&Slices::new(*work, private.width)),
        Way::Vote { last } => slices().vote(last),
        Way::Reduce => slices().reduce()?,
        Way::Pick { last } => slices().pick(last)?,
    }
    Ok(())
}
