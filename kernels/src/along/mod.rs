//! Elements along an axis by an index of the table's rank, and sums at the places that one names.

mod kernels;
mod lines;

use crate::check;
use crate::gather::over;
use crate::plan::cube_units;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::{TensorHandle, into_contiguous};
use girih::device::{Device, Target};
use girih::view::{Bounds, Report};
use girih::{Checked, Error, Result};
use lines::Arguments;
pub(crate) use lines::{Lines, packets_of_unit};

/// The kernels themselves, for tests that compile them without a device.
pub mod raw {
    pub use super::kernels::{Form, add_kernel, take_kernel};
}

/// Takes elements along an axis: `out[.., j, ..] = table[.., index[.., j, ..], ..]`, where `..` stand for the same
/// coordinates on every side; 0 where `bounds` finds an index no place.
///
/// `table` has any rank of at least 1 and any strides. `index` has an integer type, any strides, and the table's shape but
/// along `axis`; the result has the shape of `index`, and is contiguous. Nothing is read back from the device.
///
/// | backend | how |
/// |---|---|
/// | GPU | indices come and results go in vectors of up to 16 bytes, 4 elements of the table in flight per unit |
/// | CPU | the same in vectors of up to 8 elements, many to a unit |
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Bounds, Result, take_along_axis};
///
/// /// The elements that lie at those places of their own rows.
/// fn pick(client: &Client) -> Result<()> {
///     let table = client.create_from_slice(f32::as_bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
///     let table = TensorHandle::new_contiguous(vec![2, 3], table, f32::elem_type_native());
///     let index = client.create_from_slice(i32::as_bytes(&[2, 0, 1, 9]));
///     let index = TensorHandle::new_contiguous(vec![2, 2], index, i32::elem_type_native());
///     let picked = take_along_axis(client, &table, &index, 1, Bounds::Mask)?.into_inner();
///     assert_eq!(f32::from_bytes(&client.read_one(picked.handle)?), [3.0, 1.0, 5.0, 0.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # pick(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// Under [`Bounds::Report`] the position of an index is its row-major one.
///
/// # Errors
///
/// [`Error::Axis`], [`Error::Rank`] and [`Error::Shape`] of `index`, [`Error::Element`], [`Error::Strides`]; [`Error::Device`] where
/// the device does not store a type, or cannot report; [`Error::Size`] of an index too long to report.
pub fn take_along_axis(
    client: &Client,
    table: &TensorHandle,
    index: &TensorHandle,
    axis: usize,
    bounds: Bounds,
) -> Result<Checked<TensorHandle>> {
    let device = Device::of(client);
    check(TAKE, &device, table, index, axis)?;
    let (shape, _) = check::dims(index);
    let output = check::output(TAKE, client, shape, table.dtype)?;
    let checked = take_along_axis_into(client, table, index, &output, axis, bounds)?;
    Ok(checked.map(|()| output))
}

const TAKE: &str = "take_along_axis";
const ADD: &str = "add_along_axis";

/// As [`take_along_axis`], into a tensor that is there: of any strides that do not overlap. It shares no memory with the others; what
/// it would hold then is not defined.
///
/// # Errors
///
/// As [`take_along_axis`]; [`Error::Shape`], [`Error::Element`], [`Error::Strides`] and [`Error::Overlap`] of `output`.
pub fn take_along_axis_into(
    client: &Client,
    table: &TensorHandle,
    index: &TensorHandle,
    output: &TensorHandle,
    axis: usize,
    bounds: Bounds,
) -> Result<Checked<()>> {
    let device = Device::of(client);
    check(TAKE, &device, table, index, axis)?;
    values(TAKE, client, "output", output, table, index)?;
    check::distinct(TAKE, "output", output)?;
    let call = Call::new(&device, TAKE, table, index, axis, bounds)?;
    if call.is_empty() {
        return Ok(call.done());
    }
    // An empty table may have no buffer to bind: it is never read, so that any will do.
    let table = match table.shape()[axis] {
        0 => &over(table, output),
        _ => table,
    };
    let lines = Lines::new(&device, table, &call.index, output, axis);
    let Launch {
        cubes,
        cube,
        address,
        record,
        arguments,
    } = Launch::new(&device, &lines, &call, [table, output]);
    // SAFETY: the axes stay in the index and the output, and an index in the table, all of which were checked to lie in
    // their buffers.
    unsafe {
        kernels::take_kernel::launch_unchecked(
            client,
            cubes,
            cube,
            address,
            lines.width,
            buffer(table),
            buffer(&call.index),
            buffer(output),
            record,
            arguments.axes,
            arguments.packets,
            arguments.lane,
            arguments.extent,
            arguments.step,
            arguments.form,
            [table.dtype, index.dtype],
        );
    }
    Ok(call.done())
}

/// Adds elements along an axis, in place and atomically: `table[.., index[.., j, ..], ..] += updates[.., j, ..]`, where `..`
/// stand for the same coordinates on every side; updates whose index `bounds` finds no place for are dropped.
///
/// The order of additions is not fixed, so that floating point sums may differ in their last bits from run to run; on a CPU each unit
/// has lines of its own, if there are enough of them, and adds in their order.
/// `table` has any strides that do not overlap, `updates` the shape of `index`. It is what the gradient of
/// [`take_along_axis`] is made of.
///
/// # Errors
///
/// As [`take_along_axis`]; [`Error::Overlap`] of `table`, [`Error::Shape`], [`Error::Element`] and [`Error::Strides`] of `updates`;
/// [`Error::Device`] where the device has no atomic addition of the type.
pub fn add_along_axis(
    client: &Client,
    table: &TensorHandle,
    index: &TensorHandle,
    updates: &TensorHandle,
    axis: usize,
    bounds: Bounds,
) -> Result<Checked<()>> {
    let device = Device::of(client);
    check(ADD, &device, table, index, axis)?;
    values(ADD, client, "updates", updates, table, index)?;
    check::distinct(ADD, "table", table)?;
    adds(&device, table.dtype)?;
    let call = Call::new(&device, ADD, table, index, axis, bounds)?;
    if call.is_empty() || table.shape()[axis] == 0 {
        return Ok(call.done());
    }
    let lines = Lines::new(&device, table, &call.index, updates, axis);
    if call.report.is_none() && are_owned(&device, &lines) {
        add_lines(&device, &lines, &call, table, updates);
        return Ok(call.done());
    }
    let Launch {
        cubes,
        cube,
        address,
        record,
        arguments,
    } = Launch::new(&device, &lines, &call, [table, updates]);
    // SAFETY: the axes stay in the index and the updates, and an index in the table, all of which were checked to lie in
    // their buffers.
    unsafe {
        kernels::add_kernel::launch_unchecked(
            client,
            cubes,
            cube,
            address,
            lines.width,
            buffer(table),
            buffer(&call.index),
            buffer(updates),
            record,
            arguments.axes,
            arguments.packets,
            arguments.lane,
            arguments.extent,
            arguments.step,
            arguments.form,
            [table.dtype, index.dtype],
        );
    }
    Ok(call.done())
}

/// Lines that a unit adds to, one after another.
const LINES_OF_UNIT: usize = 64;

/// Whether each line of the table is one unit's: on a CPU, whose atomic additions cost more than loads and stores do, where units that
/// have none are few.
fn are_owned(device: &Device, lines: &Lines) -> bool {
    device.target() == Target::Cpu && 4 * lines.lines() >= cube_units(device) as usize
}

/// Adds by units that own lines.
fn add_lines(
    device: &Device,
    lines: &Lines,
    call: &Call,
    table: &TensorHandle,
    updates: &TensorHandle,
) {
    let units = cube_units(device);
    let mut arguments = lines.arguments(device, call.bounds);
    let count = lines.lines();
    arguments.form.steps = LINES_OF_UNIT;
    let each = units as usize * arguments.form.steps;
    let address = [table, updates, &call.index].map(crate::plan::address);
    // SAFETY: the axes stay in the index and the updates, and an index in the table, all of which were checked to lie in
    // their buffers; a line's elements are those of no other line.
    unsafe {
        kernels::add_lines_kernel::launch_unchecked(
            device.client(),
            crate::plan::cubes(device, count.div_ceil(each)),
            CubeDim::new_1d(units),
            address.into_iter().max().unwrap_or_default(),
            lines.width,
            buffer(table),
            buffer(&call.index),
            buffer(updates),
            arguments.axes,
            count,
            arguments.lane,
            arguments.extent,
            arguments.step,
            arguments.form,
            [table.dtype, call.index.dtype],
        );
    }
}

/// Whether a device adds elements of one type along an axis by indices of another.
///
/// # Errors
///
/// [`Error::Element`] where the indices are no integers, [`Error::Device`] where the device does not store a type, or has no
/// atomic addition of it.
pub fn supports_add_along_axis(client: &Client, element: ElemType, index: ElemType) -> Result<()> {
    let device = Device::of(client);
    check::element(ADD, &device, element)?;
    check::index_type(ADD, &device, "index", index)?;
    adds(&device, element)
}

fn adds(device: &Device, element: ElemType) -> Result<()> {
    match device.adds_atomically(element, 1) {
        true => Ok(()),
        false => device.require(false, ADD, format!("atomic add of {element}")),
    }
}

/// What both calls ask of the table and the index.
pub(crate) fn check(
    call: &'static str,
    device: &Device,
    table: &TensorHandle,
    index: &TensorHandle,
    axis: usize,
) -> Result<()> {
    check::axis(call, "table", table, axis)?;
    check::element(call, device, table.dtype)?;
    check::within(call, device.client(), "table", table)?;
    check::index_type(call, device, "index", index.dtype)?;
    let (mut shape, _) = check::dims(table);
    if index.shape().len() != shape.len() {
        return Err(Error::Rank {
            call,
            argument: "index",
            given: index.shape().len(),
            allowed: format!("{}, as the table has", shape.len()),
        });
    }
    shape[axis] = index.shape()[axis];
    check::shape(call, "index", index, &shape)?;
    check::within(call, device.client(), "index", index)
}

/// The output or the updates: the table's type, the index's shape.
fn values(
    call: &'static str,
    client: &Client,
    argument: &'static str,
    values: &TensorHandle,
    table: &TensorHandle,
    index: &TensorHandle,
) -> Result<()> {
    check::same_type(call, argument, values.dtype, table.dtype)?;
    check::shape(call, argument, values, &check::dims(index).0)?;
    check::within(call, client, argument, values)
}

/// A call's index, and what it reports.
struct Call {
    index: TensorHandle,
    bounds: Bounds,
    report: Option<Report>,
}

impl Call {
    fn new(
        device: &Device,
        call: &'static str,
        table: &TensorHandle,
        index: &TensorHandle,
        axis: usize,
        bounds: Bounds,
    ) -> Result<Self> {
        let count: usize = index.shape().iter().product();
        // The offender is read back by its row-major position.
        let index = match bounds == Bounds::Report && !check::is_row_major(index) && count > 0 {
            true => into_contiguous(device.client(), index.clone().binding(), index.dtype),
            false => index.clone(),
        };
        let list = TensorHandle::new_contiguous([count], index.handle.clone(), index.dtype);
        let extent = table.shape()[axis];
        Ok(Self {
            report: crate::gather::report(call, device, &list, axis, extent, bounds)?,
            index,
            bounds,
        })
    }

    fn is_empty(&self) -> bool {
        self.index.shape().contains(&0)
    }

    fn done(self) -> Checked<()> {
        Checked::new((), self.report)
    }
}

/// What both launches have in common.
struct Launch {
    cubes: CubeCount,
    cube: CubeDim,
    address: AddressType,
    record: ComptimeOptionArgs<Box<[Atomic<u32>]>>,
    arguments: Arguments,
}

impl Launch {
    fn new(device: &Device, lines: &Lines, call: &Call, tensors: [&TensorHandle; 2]) -> Self {
        let units = cube_units(device);
        let arguments = lines.arguments(device, call.bounds);
        let each = units as usize * arguments.form.steps;
        let address = tensors.into_iter().chain([&call.index]);
        Self {
            cubes: crate::plan::cubes(device, arguments.packets.div_ceil(each)),
            cube: CubeDim::new_1d(units),
            address: address.map(crate::plan::address).max().unwrap_or_default(),
            record: call.report.as_ref().map(Report::arg).into(),
            arguments,
        }
    }
}

/// All of a tensor's memory, from its first element on.
fn buffer(tensor: &TensorHandle) -> BufferArg {
    let elements = tensor.handle.size_in_used() as usize / tensor.dtype.size();
    // SAFETY: the buffer has so many.
    unsafe { BufferArg::from_raw_parts(tensor.handle.clone(), elements) }
}
