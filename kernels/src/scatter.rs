//! Scatter: rows, or slices along any axis, to the places that a list of indices names.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

use crate::check;
use crate::gather::report;
use crate::plan::{Cut, Place, Walk, place, place_strided, rows_of_tile};
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::{TensorHandle, into_contiguous};
use girih::device::Device;
use girih::prelude::*;
use girih::view::{Report, Reporter};
use girih::{Checked, Error, Result};

/// What happens at a place that an update goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScatterMode {
    /// The update replaces what was there. Of several updates to one place, any one stays, element by element.
    Set,
    /// The update is added to what was there, atomically: all updates to one place count. The order is not fixed, so
    /// that floating point sums may differ in their last bits from run to run.
    Add,
}

/// `target[o, index[n], i] = updates[o, n, i]`, one tile per cube.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn set_kernel<E: Numeric, I: Int, N: Size, O: Size, R: Size, C: Size>(
    target: &mut Tensor<Vector<E, N>>,
    index: &Tensor<I>,
    updates: &Tensor<Vector<E, N>>,
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    row_tiles: usize,
    column_tiles: usize,
    #[comptime] cut: Cut,
    #[comptime] bounds: Bounds,
    #[define(E, I)] _types: [ElemType; 2],
) {
    let cube = this_cube();
    let (slab, row, column) = place(row_tiles, column_tiles, cut);
    let tile = TileView::<E, (O, R, C)>::of(updates).load_masked(&cube, Zero, (slab, row, column));
    let rows = TileView::<I, (R,)>::of(index).indices(row);
    let view = GatherScatterViewMut::<E, (O, R, C), 1>::of(target);
    let first = row as u32 * rows_of_tile::<R>();
    let mut view = #[comptime]
    match &record {
        ComptimeOption::Some(record) => view.report(Reporter::new(record, first)),
        ComptimeOption::None => view.bounds(bounds),
    };
    view.store_masked(&cube, tile, (chunk(slab), &rows, chunk(column)));
}

/// `target[o, index[n], i] += updates[o, n, i]`, one tile per cube; `A` elements per atomic.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn add_kernel<E: Numeric, I: Int, A: Size, N: Size, O: Size, R: Size, C: Size>(
    target: &Tensor<Atomic<Vector<E, A>>>,
    index: &Tensor<I>,
    updates: &Tensor<Vector<E, N>>,
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    row_tiles: usize,
    column_tiles: usize,
    #[comptime] cut: Cut,
    #[comptime] bounds: Bounds,
    #[define(E, I)] _types: [ElemType; 2],
) {
    let cube = this_cube();
    let (slab, row, column) = place(row_tiles, column_tiles, cut);
    let tile = TileView::<E, (O, R, C)>::of(updates).load_masked(&cube, Zero, (slab, row, column));
    let rows = TileView::<I, (R,)>::of(index).indices(row);
    let view = AtomicGatherScatterView::<E, (O, R, C), 1>::of(target);
    let first = row as u32 * rows_of_tile::<R>();
    let view = #[comptime]
    match &record {
        ComptimeOption::Some(record) => view.report(Reporter::new(record, first)),
        ComptimeOption::None => view.bounds(bounds),
    };
    view.atomic_add_masked::<Relaxed>(&cube, tile, (chunk(slab), &rows, chunk(column)));
}

/// As `set_kernel`, for tensors whose axes fold to five.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn set_strided_kernel<E: Numeric, I: Int, N: Size, O: Size, R: Size, C: Size>(
    target: &mut Tensor<Vector<E, N>>,
    index: &Tensor<I>,
    updates: &Tensor<Vector<E, N>>,
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    tiles: Sequence<usize>,
    #[comptime] bounds: Bounds,
    #[define(E, I)] _types: [ElemType; 2],
) {
    let cube = this_cube();
    let at = place_strided(&tiles);
    let from = (at.outer, at.slab, at.row, at.head, at.column);
    let tile =
        TileView::<E, (Const<1>, O, R, Const<1>, C)>::of(updates).load_masked(&cube, Zero, from);
    let rows = TileView::<I, (R,)>::of(index).indices(at.row);
    let view = GatherScatterViewMut::<E, (Const<1>, O, R, Const<1>, C), 2>::of(target);
    let first = at.row as u32 * rows_of_tile::<R>();
    let mut view = #[comptime]
    match &record {
        ComptimeOption::Some(record) => view.report(Reporter::new(record, first)),
        ComptimeOption::None => view.bounds(bounds),
    };
    let to = (
        chunk(at.outer),
        chunk(at.slab),
        &rows,
        chunk(at.head),
        chunk(at.column),
    );
    view.store_masked(&cube, tile, to);
}

/// As `add_kernel`, for tensors whose axes fold to five.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn add_strided_kernel<E: Numeric, I: Int, A: Size, N: Size, O: Size, R: Size, C: Size>(
    target: &Tensor<Atomic<Vector<E, A>>>,
    index: &Tensor<I>,
    updates: &Tensor<Vector<E, N>>,
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    tiles: Sequence<usize>,
    #[comptime] bounds: Bounds,
    #[define(E, I)] _types: [ElemType; 2],
) {
    let cube = this_cube();
    let at = place_strided(&tiles);
    let from = (at.outer, at.slab, at.row, at.head, at.column);
    let tile =
        TileView::<E, (Const<1>, O, R, Const<1>, C)>::of(updates).load_masked(&cube, Zero, from);
    let rows = TileView::<I, (R,)>::of(index).indices(at.row);
    let view = AtomicGatherScatterView::<E, (Const<1>, O, R, Const<1>, C), 2>::of(target);
    let first = at.row as u32 * rows_of_tile::<R>();
    let view = #[comptime]
    match &record {
        ComptimeOption::Some(record) => view.report(Reporter::new(record, first)),
        ComptimeOption::None => view.bounds(bounds),
    };
    let to = (
        chunk(at.outer),
        chunk(at.slab),
        &rows,
        chunk(at.head),
        chunk(at.column),
    );
    view.atomic_add_masked::<Relaxed>(&cube, tile, to);
}

/// Scatters slices along an axis, in place: `target[.., index[n], ..]` takes `updates[.., n, ..]` as `mode` says; updates
/// whose index `bounds` finds no place for are dropped.
///
/// `target` has any rank and any strides that do not overlap, `index` rank 1 and an integer type, `updates` the shape of
/// `target` with `index.len()` along `axis` and any strides. Nothing is read back from the device.
///
/// [`ScatterMode::Add`] uses the widest atomics that the device has for the type: vectors of 4 on recent NVIDIA GPUs,
/// scalars elsewhere.
///
/// # Errors
///
/// [`Error::Rank`](crate::Error::Rank), [`Error::Axis`](crate::Error::Axis), [`Error::Element`](crate::Error::Element), [`Error::Shape`](crate::Error::Shape), [`Error::Strides`](crate::Error::Strides), [`Error::Overlap`](crate::Error::Overlap);
/// [`Error::Device`](crate::Error::Device) where the device does not store a type, adds it atomically only in vectors that the tensors' strides
/// do not allow, or cannot report.
pub fn scatter_into(
    client: &Client,
    target: &TensorHandle,
    index: &TensorHandle,
    updates: &TensorHandle,
    axis: usize,
    mode: ScatterMode,
    bounds: Bounds,
) -> Result<Checked<()>> {
    const CALL: &str = "scatter";
    let device = Device::of(client);
    check::axis(CALL, "target", target, axis)?;
    check::index(CALL, &device, index)?;
    check::element(CALL, &device, target.dtype)?;
    check::within(CALL, "target", target)?;
    check::distinct(CALL, "target", target)?;
    let (mut shape, _) = check::dims(target);
    let extent = std::mem::replace(&mut shape[axis], index.shape()[0]);
    check::same_type(CALL, "updates", updates.dtype, target.dtype)?;
    check::shape(CALL, "updates", updates, &shape)?;
    check::within(CALL, "updates", updates)?;
    if mode == ScatterMode::Add && atomic_widths(&device, target.dtype).is_empty() {
        return Err(lacks_add(&device, target.dtype, ""));
    }
    let report = report(CALL, &device, index, axis, extent, bounds)?;
    if extent == 0 || shape.contains(&0) {
        return Ok(Checked::new((), report));
    }
    let packed;
    let (walk, updates) = match Walk::new(target, updates, axis) {
        Some(walk) => (walk, updates),
        None => {
            packed = into_contiguous(client, updates.clone().binding(), updates.dtype);
            let walk = Walk::new(target, &packed, axis).ok_or_else(|| {
                let (_, strides) = check::dims(target);
                let allowed =
                    "strides that fold to two axes on either side of the indexed one".into();
                let given = strides.len();
                Error::Rank {
                    call: CALL,
                    argument: "target, permuted as it is,",
                    given,
                    allowed,
                }
            })?;
            (walk, &packed)
        }
    };
    launch(
        &device,
        target,
        index,
        updates,
        extent,
        &walk,
        mode,
        bounds,
        report.as_ref(),
    )?;
    Ok(Checked::new((), report))
}

/// Whether a device scatters elements of one type by indices of another, in rows of `row` contiguous elements (the
/// product of the extents after the axis).
///
/// # Errors
///
/// [`Error::Element`](crate::Error::Element) where the indices are no integers; [`Error::Device`](crate::Error::Device) where the device does not store a type, or
/// does not add it atomically in such rows.
pub fn supports_scatter(
    client: &Client,
    element: ElemType,
    index: ElemType,
    mode: ScatterMode,
    row: usize,
) -> Result<()> {
    let device = Device::of(client);
    check::element("scatter", &device, element)?;
    check::index_type("scatter", &device, index)?;
    let adds = || {
        atomic_widths(&device, element)
            .iter()
            .any(|&width| row.is_multiple_of(width))
    };
    match mode == ScatterMode::Set || adds() {
        true => Ok(()),
        false => Err(lacks_add(&device, element, &format!(" in rows of {row}"))),
    }
}

fn lacks_add(device: &Device, element: ElemType, rows: &str) -> Error {
    Error::Device {
        call: "scatter",
        device: device.name(),
        feature: format!("atomic add of {element}{rows}"),
    }
}

/// The widths in which the device adds elements of the type atomically, widest first.
pub(crate) fn atomic_widths(device: &Device, element: ElemType) -> Vec<usize> {
    [8, 4, 2, 1]
        .into_iter()
        .filter(|&width| device.adds_atomically(element, width))
        .collect()
}

#[allow(clippy::too_many_arguments)]
fn launch(
    device: &Device,
    target: &TensorHandle,
    index: &TensorHandle,
    updates: &TensorHandle,
    extent: usize,
    walk: &Walk,
    mode: ScatterMode,
    bounds: Bounds,
    report: Option<&Report>,
) -> Result<()> {
    let size = target.dtype.size();
    let handles = [&target.handle, &updates.handle];
    let mut width = walk.width(&device.vector_widths(size), handles, size);
    let mut atomic = 1;
    if mode == ScatterMode::Add {
        let widths = atomic_widths(device, target.dtype);
        atomic = walk.width(&widths, handles, size);
        if !widths.contains(&atomic) {
            return Err(lacks_add(device, target.dtype, " in rows of these strides"));
        }
        // The tile comes in the atomics' width, or in any where the atomics are scalars.
        width = if atomic == 1 { width } else { atomic };
    }
    let Place {
        tiling,
        args,
        index: list,
        address,
    } = Place::new(device, walk, width, extent, [target, updates], index);
    let [target_arg, updates_arg] = args;
    let record = report.map(Report::arg).into();
    let cubes = tiling.cubes(device);
    let cube = CubeDim::new_1d(tiling.units);
    let [slabs, rows, columns] = tiling.tile;
    let types = [target.dtype, index.dtype];
    let client = device.client();
    let (row_tiles, column_tiles) = (tiling.tiles[2], tiling.tiles[4]);
    // SAFETY: every access is masked by the views, against extents that were checked to lie in the buffers.
    unsafe {
        match (mode, walk.is_short()) {
            (ScatterMode::Set, true) => set_kernel::launch_unchecked(
                client,
                cubes,
                cube,
                address,
                width,
                slabs,
                rows,
                columns,
                target_arg,
                list,
                updates_arg,
                record,
                row_tiles,
                column_tiles,
                tiling.cut(),
                bounds,
                types,
            ),
            (ScatterMode::Set, false) => set_strided_kernel::launch_unchecked(
                client,
                cubes,
                cube,
                address,
                width,
                slabs,
                rows,
                columns,
                target_arg,
                list,
                updates_arg,
                record,
                tiling.sequence(),
                bounds,
                types,
            ),
            (ScatterMode::Add, true) => add_kernel::launch_unchecked(
                client,
                cubes,
                cube,
                address,
                atomic,
                width,
                slabs,
                rows,
                columns,
                target_arg,
                list,
                updates_arg,
                record,
                row_tiles,
                column_tiles,
                tiling.cut(),
                bounds,
                types,
            ),
            (ScatterMode::Add, false) => add_strided_kernel::launch_unchecked(
                client,
                cubes,
                cube,
                address,
                atomic,
                width,
                slabs,
                rows,
                columns,
                target_arg,
                list,
                updates_arg,
                record,
                tiling.sequence(),
                bounds,
                types,
            ),
        }
    }
    Ok(())
}
