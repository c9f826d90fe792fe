//! Gather of rows by bulk copies: the rows pass through shared memory, never through registers. For measurements.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

use crate::check;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::cuda::{bulk, fence_async, mbarrier, shared_address};
use girih::device::Device;
use girih::{Error, Result};

/// Bytes of a packet: what bulk copies are counted in, and aligned to.
const PACKET: usize = 16;
/// Units of a cube, each of which fetches a row.
const UNITS: u32 = 32;
/// Shared memory of a cube that needs no leave.
const SHARED: usize = 48 << 10;

/// `out[n, :] = input[index[n], :]`, zeros where an index is out of range; `rows` rows a cube, of `packets` packets each.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn gather_bulk_kernel<I: Int, N: Size>(
    input: &[Vector<u32, N>],
    index: &[I],
    output: &mut [Vector<u32, N>],
    extent: usize,
    #[comptime] packets: usize,
    #[comptime] rows: usize,
    #[define(I)] _type: ElemType,
) {
    let barriers = Shared::<[u64]>::new_aligned_slice(1usize, 8usize);
    let mut stage =
        Shared::<[Vector<u32, N>]>::new_aligned_slice(comptime!(packets * rows), 128usize);
    let barrier = shared_address::<u64>(barriers.as_ptr());
    let place = shared_address::<Vector<u32, N>>(stage.as_ptr());
    let row = comptime!((packets * PACKET) as u32);
    let unit = UNIT_POS as usize;
    let first = CUBE_POS * rows;
    if unit == 0 {
        mbarrier::init(barrier, comptime!(rows as u32));
        mbarrier::publish();
    }
    sync_cube();
    if unit < rows {
        let mut from = extent;
        if first + unit < index.len() {
            let given = index[first + unit];
            if given >= I::from_int(0) && u64::cast_from(given) < u64::cast_from(extent) {
                from = usize::cast_from(given);
            }
        }
        if from < extent {
            let source = from * packets;
            mbarrier::expect(barrier, row);
            bulk::load::<Vector<u32, N>>(
                place + UNIT_POS * row,
                input[source..source + packets].as_ptr(),
                row,
                barrier,
            );
        } else {
            let mut packet = unit * packets;
            while packet < (unit + 1) * packets {
                stage[packet] = Vector::<u32, N>::new(0u32);
                packet += 1;
            }
            fence_async();
            mbarrier::arrive(barrier);
        }
    }
    mbarrier::wait(barrier, 0u32);
    if unit == 0 {
        let here = min(rows, index.len() - first) * packets;
        let to = first * packets;
        bulk::store::<Vector<u32, N>>(
            output[to..to + here].as_ptr(),
            place,
            here as u32 * comptime!(PACKET as u32),
        );
        bulk::wait_read();
    }
}

/// Gathers rows by bulk copies, `rows` of them a cube, zeros where an index is out of range.
///
/// `input` and `output` are contiguous and of rank 2, their rows of a multiple of 16 bytes.
///
/// # Errors
///
/// As [`gather_into`](crate::gather_into); [`Error::Device`] where the device has no bulk copies, [`Error::Size`] of rows that are no
/// multiple of 16 bytes, or of more rows than a cube holds.
pub fn gather_bulk(
    client: &Client,
    input: &TensorHandle,
    index: &TensorHandle,
    output: &TensorHandle,
    rows: usize,
) -> Result<()> {
    const CALL: &str = "gather_bulk";
    let device = Device::of(client);
    supports_bulk(&device)?;
    check::index(CALL, &device, index)?;
    check::within(CALL, client, "input", input)?;
    let (mut shape, _) = check::dims(input);
    if shape.len() != 2 {
        return Err(Error::Rank {
            call: CALL,
            argument: "input",
            given: shape.len(),
            allowed: "2".into(),
        });
    }
    let extent = std::mem::replace(&mut shape[0], index.shape()[0]);
    check::same_type(CALL, "output", output.dtype, input.dtype)?;
    check::shape(CALL, "output", output, &shape)?;
    let size = |argument, given: usize, allowed: usize| Error::Size {
        call: CALL,
        argument,
        given: given as u64,
        allowed: allowed as u64,
    };
    for (argument, tensor) in [("input", input), ("output", output)] {
        check::within(CALL, client, argument, tensor)?;
        check::row_major(CALL, argument, tensor)?;
    }
    let bytes = shape[1] * input.dtype.size();
    if !bytes.is_multiple_of(PACKET) {
        return Err(size("bytes of a row", bytes, bytes / PACKET * PACKET));
    }
    let most = (SHARED - 128).checked_div(bytes).unwrap_or(0);
    let most = most.min(UNITS as usize);
    if rows == 0 || rows > most {
        return Err(size("rows of a cube", rows, most));
    }
    if shape[0] == 0 {
        return Ok(());
    }
    let packets = bytes / PACKET;
    let buffer = |tensor: &TensorHandle, rows: usize| {
        // SAFETY: contiguous rows that were checked to lie in the buffer.
        unsafe { BufferArg::from_raw_parts(tensor.handle.clone(), rows * packets * 4) }
    };
    let cubes = u32::try_from(shape[0].div_ceil(rows)).unwrap_or(u32::MAX);
    let largest = extent.max(shape[0]) * packets;
    // SAFETY: a row is fetched where its index is below the extent, and written where the list has it.
    unsafe {
        gather_bulk_kernel::launch_unchecked(
            client,
            CubeCount::new_1d(cubes),
            CubeDim::new_1d(UNITS),
            AddressType::from_len(largest),
            4,
            buffer(input, extent),
            BufferArg::from_raw_parts(index.handle.clone(), shape[0]),
            buffer(output, shape[0]),
            extent,
            packets,
            rows,
            index.dtype,
        );
    }
    Ok(())
}

/// An error that names the device, unless it [copies in bulk](Device::copies_in_bulk).
///
/// # Errors
///
/// [`Error::Device`].
pub fn supports_bulk(device: &Device) -> Result<()> {
    device.require(
        device.copies_in_bulk(),
        "gather_bulk",
        "bulk copies to shared memory",
    )
}
