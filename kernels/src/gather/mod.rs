//! Gather: rows, or slices along any axis, by a list of indices.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

pub mod bulk;

use crate::check;
use crate::plan::{Cut, Place, Walk, place, place_strided, rows_of_tile};
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::{TensorHandle, copy_into, into_contiguous};
use girih::device::Device;
use girih::prelude::*;
use girih::view::{Report, Reporter};
use girih::{Checked, Result};

/// `out[o, n, i] = input[o, index[n], i]`, one tile per cube.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn gather_kernel<E: Numeric, I: Int, N: Size, O: Size, R: Size, C: Size>(
    input: &Tensor<Vector<E, N>>,
    index: &Tensor<I>,
    output: &mut Tensor<Vector<E, N>>,
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    row_tiles: usize,
    column_tiles: usize,
    #[comptime] cut: Cut,
    #[comptime] bounds: Bounds,
    #[define(E, I)] _types: [ElemType; 2],
) {
    let cube = this_cube();
    let (slab, row, column) = place(row_tiles, column_tiles, cut);
    let rows = TileView::<I, (R,)>::of(index).indices(row);
    let view = GatherScatterView::<E, (O, R, C), 1>::of(input);
    let first = row as u32 * rows_of_tile::<R>();
    let view = #[comptime]
    match &record {
        ComptimeOption::Some(record) => view.report(Reporter::new(record, first)),
        ComptimeOption::None => view.bounds(bounds),
    };
    let tile = view.load_masked(&cube, Zero, (chunk(slab), &rows, chunk(column)));
    TileViewMut::<E, (O, R, C)>::of(output).store_masked(&cube, tile, (slab, row, column));
}

/// As `gather_kernel`, for tensors whose axes fold to five: `out[o, p, n, h, i] = input[o, p, index[n], h, i]`.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn gather_strided_kernel<E: Numeric, I: Int, N: Size, O: Size, R: Size, C: Size>(
    input: &Tensor<Vector<E, N>>,
    index: &Tensor<I>,
    output: &mut Tensor<Vector<E, N>>,
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    tiles: Sequence<usize>,
    #[comptime] bounds: Bounds,
    #[define(E, I)] _types: [ElemType; 2],
) {
    let cube = this_cube();
    let at = place_strided(&tiles);
    let rows = TileView::<I, (R,)>::of(index).indices(at.row);
    let view = GatherScatterView::<E, (Const<1>, O, R, Const<1>, C), 2>::of(input);
    let first = at.row as u32 * rows_of_tile::<R>();
    let view = #[comptime]
    match &record {
        ComptimeOption::Some(record) => view.report(Reporter::new(record, first)),
        ComptimeOption::None => view.bounds(bounds),
    };
    let from = (
        chunk(at.outer),
        chunk(at.slab),
        &rows,
        chunk(at.head),
        chunk(at.column),
    );
    let tile = view.load_masked(&cube, Zero, from);
    let to = (at.outer, at.slab, at.row, at.head, at.column);
    TileViewMut::<E, (Const<1>, O, R, Const<1>, C)>::of(output).store_masked(&cube, tile, to);
}

/// Gathers slices along an axis: `out[.., n, ..] = input[.., index[n], ..]`, 0 where `bounds` finds an index no place.
///
/// `input` has any rank and strides, `index` rank 1 and an integer type; the result has the shape of `input` with
/// `index.len()` along `axis`, and is contiguous. Nothing is read back from the device.
///
/// | backend | how |
/// |---|---|
/// | GPU | 16-byte accesses along the contiguous axis where alignment allows; two in flight per unit |
/// | CPU | vectors as wide as the processor's |
///
/// # Errors
///
/// [`Error::Rank`](crate::Error::Rank), [`Error::Axis`](crate::Error::Axis), [`Error::Element`](crate::Error::Element), [`Error::Strides`](crate::Error::Strides); [`Error::Device`](crate::Error::Device) where the device does not
/// store a type, or cannot report.
pub fn gather(
    client: &Client,
    input: &TensorHandle,
    index: &TensorHandle,
    axis: usize,
    bounds: Bounds,
) -> Result<Checked<TensorHandle>> {
    const CALL: &str = "gather";
    check::axis(CALL, "input", input, axis)?;
    let device = Device::of(client);
    check::index(CALL, &device, index)?;
    check::element(CALL, &device, input.dtype)?;
    let (mut shape, _) = check::dims(input);
    shape[axis] = index.shape()[0];
    let output = check::output(CALL, client, shape, input.dtype)?;
    let checked = gather_on(&device, input, index, &output, axis, bounds)?;
    Ok(checked.map(|()| output))
}

/// As [`gather`], into a tensor that is there: of any strides that do not overlap. It shares no memory with the others; what it would
/// hold then is not defined.
///
/// # Errors
///
/// As [`gather`]; [`Error::Shape`](crate::Error::Shape), [`Error::Element`](crate::Error::Element), [`Error::Strides`](crate::Error::Strides) and [`Error::Overlap`](crate::Error::Overlap) of `output`.
pub fn gather_into(
    client: &Client,
    input: &TensorHandle,
    index: &TensorHandle,
    output: &TensorHandle,
    axis: usize,
    bounds: Bounds,
) -> Result<Checked<()>> {
    gather_on(&Device::of(client), input, index, output, axis, bounds)
}

fn gather_on(
    device: &Device,
    input: &TensorHandle,
    index: &TensorHandle,
    output: &TensorHandle,
    axis: usize,
    bounds: Bounds,
) -> Result<Checked<()>> {
    const CALL: &str = "gather";
    let client = device.client();
    check::axis(CALL, "input", input, axis)?;
    check::index(CALL, device, index)?;
    check::element(CALL, device, input.dtype)?;
    check::within(CALL, client, "input", input)?;
    let (mut shape, _) = check::dims(input);
    let extent = std::mem::replace(&mut shape[axis], index.shape()[0]);
    check::same_type(CALL, "output", output.dtype, input.dtype)?;
    check::shape(CALL, "output", output, &shape)?;
    check::within(CALL, client, "output", output)?;
    check::distinct(CALL, "output", output)?;
    let report = report(CALL, device, index, axis, extent, bounds)?;
    if shape.contains(&0) {
        return Ok(Checked::new((), report));
    }
    // An empty tensor may have no buffer to bind: it is never read, so that any will do.
    let input = if extent == 0 {
        &over(input, output)
    } else {
        input
    };
    match Walk::new(input, output, axis) {
        Some(walk) => launch(
            device,
            input,
            index,
            output,
            extent,
            &walk,
            bounds,
            report.as_ref(),
        ),
        None => {
            let input = into_contiguous(client, input.clone().binding(), input.dtype);
            let staged = TensorHandle::new_contiguous(
                shape,
                client.empty(output_bytes(output)),
                output.dtype,
            );
            let walk =
                Walk::new(&input, &staged, axis).expect("contiguous tensors fold to three axes");
            launch(
                device,
                &input,
                index,
                &staged,
                extent,
                &walk,
                bounds,
                report.as_ref(),
            );
            copy_into(
                client,
                staged.binding(),
                output.clone().binding(),
                output.dtype,
            );
        }
    }
    Ok(Checked::new((), report))
}

/// Whether a device gathers elements of one type by indices of another.
///
/// # Errors
///
/// [`Error::Element`](crate::Error::Element) where the indices are no integers, [`Error::Device`](crate::Error::Device) where the device does not store a type.
pub fn supports_gather(client: &Client, element: ElemType, index: ElemType) -> Result<()> {
    let device = Device::of(client);
    check::element("gather", &device, element)?;
    check::index_type("gather", &device, "index", index)
}

/// The record that `bounds` asks for.
pub(crate) fn report(
    call: &'static str,
    device: &Device,
    index: &TensorHandle,
    axis: usize,
    extent: usize,
    bounds: Bounds,
) -> Result<Option<Report>> {
    if bounds != Bounds::Report {
        return Ok(None);
    }
    let report = Report::new(call, device, index, axis, extent)?;
    let all_are_out = extent == 0 && index.shape()[0] > 0;
    Ok(Some(if all_are_out {
        report.first_entry()
    } else {
        report
    }))
}

fn output_bytes(output: &TensorHandle) -> usize {
    output.shape().iter().product::<usize>() * output.dtype.size()
}

/// The tensor over another's buffer.
pub(crate) fn over(tensor: &TensorHandle, buffer: &TensorHandle) -> TensorHandle {
    let (shape, strides) = check::dims(tensor);
    TensorHandle::new(buffer.handle.clone(), shape, strides, tensor.dtype)
}

#[allow(clippy::too_many_arguments)]
fn launch(
    device: &Device,
    input: &TensorHandle,
    index: &TensorHandle,
    output: &TensorHandle,
    extent: usize,
    walk: &Walk,
    bounds: Bounds,
    report: Option<&Report>,
) {
    let size = input.dtype.size();
    let width = walk.width(
        &device.vector_widths(size),
        [&input.handle, &output.handle],
        size,
    );
    let Place {
        tiling,
        args,
        index: list,
        address,
    } = Place::new(device, walk, width, extent, [input, output], index);
    let [input_arg, output_arg] = args;
    let record = report.map(Report::arg).into();
    let cubes = tiling.cubes(device);
    let cube = CubeDim::new_1d(tiling.units);
    let [slabs, rows, columns] = tiling.tile;
    let types = [input.dtype, index.dtype];
    let client = device.client();
    // SAFETY: every access is masked by the views, against extents that were checked to lie in the buffers.
    unsafe {
        if walk.is_short() {
            gather_kernel::launch_unchecked(
                client,
                cubes,
                cube,
                address,
                width,
                slabs,
                rows,
                columns,
                input_arg,
                list,
                output_arg,
                record,
                tiling.tiles[2],
                tiling.tiles[4],
                tiling.cut(),
                bounds,
                types,
            );
        } else {
            gather_strided_kernel::launch_unchecked(
                client,
                cubes,
                cube,
                address,
                width,
                slabs,
                rows,
                columns,
                input_arg,
                list,
                output_arg,
                record,
                tiling.sequence(),
                bounds,
                types,
            );
        }
    }
}
