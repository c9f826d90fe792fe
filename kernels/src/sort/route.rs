//! Which buffers a pass reads and writes, as only the kernel knows.

use super::tile::{Seat, Tile};
use super::write::Row;
use cubecl::prelude::*;
use girih::cuda::global::{address, further, load_at, store_at};

/// Which of the passes that have something to do one is, of how many.
///
/// They read the input, or what the one before wrote, and write the output and the buffers between in turn, so that the last writes the
/// output.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Turn {
    /// How many are before it.
    pub rank: u32,
    /// How many there are.
    pub count: u32,
}

#[cube]
impl Turn {
    /// That of pass `pass` of those that are `busy`.
    pub fn of(busy: u32, pass: u32) -> Self {
        Turn {
            rank: (busy & ((1u32 << pass) - 1u32)).count_ones(),
            count: busy.count_ones(),
        }
    }

    /// Whether it reads what the caller gave.
    pub fn is_first(&self) -> bool {
        self.rank == 0u32
    }

    /// Whether it writes what the caller gets.
    pub fn is_last(&self) -> bool {
        self.rank + 1u32 == self.count
    }

    /// Whether it writes the output, as the last does, or the buffer between; what is not written is read, but by the first.
    pub fn writes_output(&self) -> bool {
        (self.count - self.rank) & 1u32 == 1u32
    }
}

/// Reads the unit's elements of a tile, `fill` past the end of its row.
///
/// Where buffers have addresses, it is one piece of code that goes by the address of the one that is read: three of them, and three
/// more for what goes with the keys, are half of what takes a compiler its time.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn read<T: Int>(
    values: &mut Array<T>,
    input: &[T],
    between: &[T],
    output: &[T],
    turn: Turn,
    row: Row,
    seat: Seat,
    fill: T,
    #[comptime] tile: Tile,
) {
    if comptime!(tile.has_addresses()) {
        let written = select(
            turn.writes_output(),
            address::<T>(between[0usize..1usize].as_ptr()),
            address::<T>(output[0usize..1usize].as_ptr()),
        );
        let given = address::<T>(input[0usize..1usize].as_ptr());
        let from = select(turn.is_first(), given, written);
        read_at::<T>(values, from, row, seat, fill, tile);
    } else if turn.is_first() {
        read_buffer::<T>(values, input, row, seat, fill, tile);
    } else if turn.writes_output() {
        read_buffer::<T>(values, between, row, seat, fill, tile);
    } else {
        read_buffer::<T>(values, output, row, seat, fill, tile);
    }
}

/// The same from a buffer at an address.
#[cube]
fn read_at<T: Int>(
    values: &mut Array<T>,
    from: u64,
    row: Row,
    seat: Seat,
    fill: T,
    #[comptime] tile: Tile,
) {
    // From one address on, so that each load has its own place in the instruction.
    let first = further::<T>(from, row.start + seat.first as usize);
    if row.valid == comptime!(tile.len() as u32) {
        #[unroll]
        for item in 0..comptime!(tile.items as usize) {
            values[item] = load_at::<T>(first, comptime!(item * tile.plane as usize));
        }
    } else {
        #[unroll]
        for item in 0..comptime!(tile.items as usize) {
            let mut value = fill;
            if seat.first + comptime!(item as u32 * tile.plane) < row.valid {
                value = load_at::<T>(first, comptime!(item * tile.plane as usize));
            }
            values[item] = value;
        }
    }
}

/// The same from a buffer.
#[cube]
fn read_buffer<T: Int>(
    values: &mut Array<T>,
    buffer: &[T],
    row: Row,
    seat: Seat,
    fill: T,
    #[comptime] tile: Tile,
) {
    #[unroll(comptime!(tile.unroll))]
    for item in 0..comptime!(tile.items as usize) {
        let place = seat.first + item as u32 * seat.step;
        let mut value = fill;
        if place < row.valid {
            value = buffer[row.start + place as usize];
        }
        values[item] = value;
    }
}

/// The address that a pass writes to, where buffers have one.
#[cube]
pub(super) fn target<T: Int>(
    between: &[T],
    output: &[T],
    turn: Turn,
    #[comptime] tile: Tile,
) -> u64 {
    let mut target = 0u64;
    if comptime!(tile.has_addresses()) {
        target = select(
            turn.writes_output(),
            address::<T>(output[0usize..1usize].as_ptr()),
            address::<T>(between[0usize..1usize].as_ptr()),
        );
    }
    target
}

/// Writes an element of a buffer, which is at the address `target` where buffers have one.
#[cube]
pub(super) fn put<T: Int>(
    buffer: &mut [T],
    target: u64,
    at: usize,
    value: T,
    #[comptime] tile: Tile,
) {
    if comptime!(tile.has_addresses()) {
        store_at::<T>(further::<T>(target, at), value);
    } else {
        buffer[at] = value;
    }
}
