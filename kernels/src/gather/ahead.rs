//! Gather of rows by cubes that stay: each goes on from tile to tile, and reads the indices of the next one before it moves the rows
//! of this one. For measurements.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use crate::check;
use crate::plan::cube_units;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::cuda::global::stream_16;
use girih::device::{Device, Target};
use girih::view::resolve;
use girih::{Bounds, Error, Result};

const CALL: &str = "gather_ahead";
/// Bytes of a packet, one access of a unit.
const PACKET: usize = 16;

/// How many cubes there are, and what each unit has in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ahead {
    /// Cubes for each processor of the device.
    pub cubes: usize,
    /// Packets that a unit has in flight.
    pub packets: usize,
    /// Whether what is written gives way in caches to what is read; of NVIDIA GPUs.
    pub streams: bool,
}

/// How a cube's units share a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seats {
    /// Packets of a row, each of another unit.
    pub lanes: usize,
    /// Rows that a cube has units for.
    pub teams: usize,
    /// Packets that a unit has in flight.
    pub steps: usize,
    /// Whether what is written gives way in caches.
    pub streams: bool,
}

/// The index of a row of a tile, or an index that is none where the list ends before.
#[cube]
fn index_of<I: Int>(index: &[I], row: usize, count: usize) -> I {
    let mut found = I::from_int(-1);
    if row < count {
        found = index[row];
    }
    found
}

/// `out[n, :] = input[index[n], :]`, zeros where an index is out of range.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn gather_ahead_kernel<I: Int, N: Size>(
    input: &[Vector<u32, N>],
    index: &[I],
    output: &mut [Vector<u32, N>],
    extent: usize,
    count: usize,
    tiles: usize,
    #[comptime] seats: Seats,
    #[define(I)] _type: ElemType,
) {
    let lanes = comptime!(seats.lanes);
    let rows = comptime!(seats.teams * seats.steps);
    let (team, lane) = (UNIT_POS as usize / lanes, UNIT_POS as usize % lanes);
    let mut next = Array::<I>::new(seats.steps);
    let mut tile = CUBE_POS;
    #[unroll]
    for step in 0..seats.steps {
        next[step] = index_of::<I>(index, tile * rows + step * seats.teams + team, count);
    }
    while tile < tiles {
        let mut now = Array::<I>::new(seats.steps);
        #[unroll]
        for step in 0..seats.steps {
            now[step] = next[step];
        }
        let first = tile * rows + team;
        let behind = tile + CUBE_COUNT;
        // Asked for before the rows, so that they are there once these are.
        #[unroll]
        for step in 0..seats.steps {
            next[step] = index_of::<I>(index, behind * rows + step * seats.teams + team, count);
        }
        let mut held = Array::<Vector<u32, N>>::new(seats.steps);
        #[unroll]
        for step in 0..seats.steps {
            held[step] = Vector::<u32, N>::new(0u32);
            let (row, is_row) = resolve::<I>(now[step], extent, Bounds::Mask);
            if is_row {
                held[step] = input[row * lanes + lane];
            }
        }
        #[unroll]
        for step in 0..seats.steps {
            let row = first + step * seats.teams;
            if row < count {
                let place = row * lanes + lane;
                if comptime!(seats.streams) {
                    stream_16::<Vector<u32, N>>(output[place..place + 1].as_ptr(), held[step]);
                } else {
                    output[place] = held[step];
                }
            }
        }
        tile = behind;
    }
}

/// Gathers rows by cubes that stay, zeros where an index is out of range.
///
/// `input` and `output` are contiguous and of rank 2, their rows of a power of two of 16 bytes, at most one for each unit of a cube;
/// `index` is contiguous, of a signed type.
///
/// # Errors
///
/// As [`gather_into`](crate::gather_into); [`Error::Size`] of other rows, [`Error::Argument`] of no cubes or packets, and of indices
/// without a sign.
pub fn gather_ahead(
    client: &Client,
    input: &TensorHandle,
    index: &TensorHandle,
    output: &TensorHandle,
    ahead: Ahead,
) -> Result<()> {
    let device = Device::of(client);
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
    for (argument, tensor) in [("input", input), ("output", output), ("index", index)] {
        check::within(CALL, client, argument, tensor)?;
        check::row_major(CALL, argument, tensor)?;
    }
    let argument = |argument, given: String, allowed: &str| Error::Argument {
        call: CALL,
        argument,
        given,
        allowed: allowed.into(),
    };
    if !matches!(index.dtype, ElemType::Int(_)) {
        return Err(argument("index", index.dtype.to_string(), "a signed type"));
    }
    let Ahead {
        cubes,
        packets: steps,
        streams,
    } = ahead;
    let streaming = device.target() == Target::Cuda || !streams;
    device.require(streaming, CALL, "stores that give way in caches")?;
    if cubes == 0 || steps == 0 {
        return Err(argument("ahead", format!("{ahead:?}"), "1 or more of each"));
    }
    let units = cube_units(&device) as usize;
    let bytes = shape[1] * input.dtype.size();
    let lanes = bytes / PACKET;
    if !bytes.is_multiple_of(PACKET) || !lanes.is_power_of_two() || lanes > units {
        return Err(Error::Size {
            call: CALL,
            argument: "bytes of a row",
            given: bytes as u64,
            allowed: (PACKET * lanes.clamp(1, units).next_power_of_two()) as u64,
        });
    }
    let count = shape[0];
    if count == 0 {
        return Ok(());
    }
    let seats = Seats {
        lanes,
        teams: units / lanes,
        steps,
        streams,
    };
    let tiles = count.div_ceil(seats.teams * steps);
    let hardware = &client.properties().hardware;
    let processors = hardware.num_streaming_multiprocessors.unwrap_or(1) as usize;
    let grid = tiles.min(cubes * processors);
    let buffer = |tensor: &TensorHandle, rows: usize| {
        // SAFETY: contiguous rows that were checked to lie in the buffer.
        unsafe { BufferArg::from_raw_parts(tensor.handle.clone(), rows * lanes) }
    };
    let largest = extent.max(count) * lanes;
    // SAFETY: a row is read where its index is below the extent, and written where the list has it.
    unsafe {
        gather_ahead_kernel::launch_unchecked(
            client,
            CubeCount::new_1d(u32::try_from(grid).unwrap_or(u32::MAX)),
            CubeDim::new_1d(units as u32),
            AddressType::from_len(largest),
            PACKET / 4,
            buffer(input, extent),
            BufferArg::from_raw_parts(index.handle.clone(), count),
            buffer(output, count),
            extent,
            count,
            tiles,
            seats,
            index.dtype,
        );
    }
    Ok(())
}
