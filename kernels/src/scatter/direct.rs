//! Updates straight to their places: stored, or combined atomically with what is there.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

use super::ScatterMode;
use super::launch::Work;
use crate::plan::{Cut, Place, place, place_strided, rows_of_tile};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;
use girih::view::{Report, Reporter};

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

/// Combines `target[o, index[n], i]` with `updates[o, n, i]`, one tile per cube; `A` elements per atomic.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn combine_kernel<E: Numeric, I: Int, A: Size, N: Size, O: Size, R: Size, C: Size>(
    target: &Tensor<Atomic<Vector<E, A>>>,
    index: &Tensor<I>,
    updates: &Tensor<Vector<E, N>>,
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    row_tiles: usize,
    column_tiles: usize,
    #[comptime] cut: Cut,
    #[comptime] bounds: Bounds,
    #[comptime] mode: ScatterMode,
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
    let to = (chunk(slab), &rows, chunk(column));
    match comptime!(mode) {
        ScatterMode::Set => {
            view.atomic_store_masked::<Relaxed>(&cube, tile, to);
        }
        ScatterMode::Add => {
            view.atomic_add_masked::<Relaxed>(&cube, tile, to);
        }
        ScatterMode::Mul => {
            view.atomic_mul_masked::<Relaxed>(&cube, tile, to);
        }
        ScatterMode::Min => {
            view.atomic_min_masked::<Relaxed>(&cube, tile, to);
        }
        ScatterMode::Max => {
            view.atomic_max_masked::<Relaxed>(&cube, tile, to);
        }
    }
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

/// As `combine_kernel`, for tensors whose axes fold to five.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn combine_strided_kernel<E: Numeric, I: Int, A: Size, N: Size, O: Size, R: Size, C: Size>(
    target: &Tensor<Atomic<Vector<E, A>>>,
    index: &Tensor<I>,
    updates: &Tensor<Vector<E, N>>,
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    tiles: Sequence<usize>,
    #[comptime] bounds: Bounds,
    #[comptime] mode: ScatterMode,
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
    match comptime!(mode) {
        ScatterMode::Set => {
            view.atomic_store_masked::<Relaxed>(&cube, tile, to);
        }
        ScatterMode::Add => {
            view.atomic_add_masked::<Relaxed>(&cube, tile, to);
        }
        ScatterMode::Mul => {
            view.atomic_mul_masked::<Relaxed>(&cube, tile, to);
        }
        ScatterMode::Min => {
            view.atomic_min_masked::<Relaxed>(&cube, tile, to);
        }
        ScatterMode::Max => {
            view.atomic_max_masked::<Relaxed>(&cube, tile, to);
        }
    }
}

/// Launches the kernel that suits; each access moves `width` elements, of which `atomic` are combined at once.
pub(super) fn launch(work: &Work<'_>, width: usize, atomic: usize) {
    let Work {
        device,
        target,
        index,
        updates,
        walk,
        extent,
        mode,
        bounds,
        report,
    } = *work;
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
            (_, true) => combine_kernel::launch_unchecked(
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
                mode,
                types,
            ),
            (_, false) => combine_strided_kernel::launch_unchecked(
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
                mode,
                types,
            ),
        }
    }
}
