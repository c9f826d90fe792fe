//! The launches of kernels whose cubes combine updates in shared memory.

use super::CALL;
use super::combine::wide;
use super::path::Case;
use super::private::{PrivatePlan, private_kernel};
use super::slices::Slices;
use super::tile::{BATCH, TilePlan, tile_kernel};
use crate::plan::cubes;
use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;
use girih::device::{Device, Target};
use girih::memory::{AtomicAccess, MemoryOrder, MemoryScope, Operation};
use girih::{Error, Result};

/// Most updates of a tile, and of a team's run.
const ROOM: usize = 1024;
const RUN: usize = 32;
/// Bytes of shared memory that every GPU has by default, of which some goes to what is not sums.
const SHARED: usize = 48 << 10;
const RESERVED: usize = 2 << 10;
/// Cubes that a processor has at once, about.
const RESIDENT: usize = 8;

/// How units of a cube share the packets of a slice and the slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seats {
    units: usize,
    /// Cubes that share the packets.
    column_tiles: usize,
    /// Units of a team, of which each has one packet.
    lanes: usize,
    teams: usize,
}

impl Seats {
    fn new(device: &Device, packets: usize) -> Self {
        let most = device.client().properties().hardware.max_units_per_cube;
        let units = 1usize << most.clamp(1, 256).ilog2();
        let column_tiles = packets.div_ceil(units);
        let lanes = packets.div_ceil(column_tiles);
        Self {
            units,
            column_tiles,
            lanes,
            teams: units / lanes,
        }
    }
}

/// Cubes that decide something together, and atomics of theirs in shared memory.
pub(super) fn require_cubes(device: &Device) -> Result<()> {
    let decides = !matches!(device.target(), Target::Wgsl | Target::Other);
    device.require(
        decides,
        CALL,
        "barriers in branches that a cube takes together",
    )?;
    for operation in [Operation::Load, Operation::Store, Operation::Add] {
        let access = AtomicAccess::new(operation, ElemType::UInt(UIntKind::U32))
            .ordered(MemoryOrder::Relaxed, MemoryScope::Cube);
        device.require_atomic(CALL, &access)?;
    }
    Ok(())
}

/// Updates combined within tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    /// Elements of an access, and of an atomic.
    pub width: usize,
    pub atomic: usize,
    /// Updates that a unit goes through.
    pub run: usize,
}

impl Tile {
    pub(super) fn new(case: &Case<'_>, width: usize, atomic: usize) -> Self {
        let seats = Seats::new(case.device, case.slice / width);
        // Long runs where there are cubes enough, since what is combined at once is one atomic.
        let cubes = RESIDENT * case.device.processors();
        let share = (case.slices[1] / (cubes * seats.teams)).clamp(BATCH, RUN);
        let run = share.min((ROOM / seats.teams).max(BATCH));
        Self {
            width,
            atomic,
            run: 1 << run.ilog2(),
        }
    }

    pub(super) fn launch(&self, slices: &Slices<'_>) {
        let work = &slices.work;
        let (device, element) = (work.device, work.target.dtype);
        let seats = Seats::new(device, slices.packets);
        let rows = seats.teams * self.run;
        let total = slices.count().div_ceil(rows) * seats.column_tiles;
        let plan = TilePlan {
            mode: work.mode,
            bounds: work.bounds,
            is_flat: slices.is_flat,
            units: seats.units as u32,
            run: self.run,
            room: rows.next_power_of_two(),
        };
        // SAFETY: places are masked against the extent, updates by their number, and packets by that of a slice.
        unsafe {
            tile_kernel::launch_unchecked(
                slices.client(),
                cubes(device, total),
                CubeDim::new_1d(plan.units),
                slices.address,
                self.atomic,
                self.width,
                slices.target(),
                slices.index(),
                slices.updates(),
                slices.record(),
                work.extent,
                slices.count(),
                slices.packets,
                seats.lanes,
                seats.teams,
                seats.column_tiles,
                plan,
                [element, wide(element), work.index.dtype],
            );
        }
    }
}

/// Sums of every slice of the target in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Private {
    /// Elements of an access, and of an atomic.
    pub width: usize,
    pub atomic: usize,
    /// Packets that shared memory has room for.
    room: usize,
    /// Teams, of so many that a cube has units for.
    teams: usize,
    most_teams: usize,
}

impl Private {
    /// An error where shared memory has not room for what one team needs.
    pub(super) fn new(case: &Case<'_>, width: usize, atomic: usize) -> Result<Self> {
        let hardware = &case.device.client().properties().hardware;
        let bytes = hardware.max_shared_memory_size.min(SHARED) - RESERVED;
        let seats = Seats::new(case.device, case.slice / width);
        // A flag for each slice, and a packet for each of a team's units.
        let packet = width * wide(case.element).size();
        let of_team = seats.lanes * packet;
        let given = case.slices[0].saturating_mul(of_team + 4);
        if given > bytes {
            return Err(Error::Size {
                call: CALL,
                argument: "the bytes of all slices of the target in shared memory",
                given: given as u64,
                allowed: bytes as u64,
            });
        }
        let room = (bytes - 4 * case.slices[0]) / packet;
        Ok(Self {
            width,
            atomic,
            room,
            teams: seats.teams.min(room / (case.slices[0] * seats.lanes)),
            most_teams: seats.teams,
        })
    }

    /// Whether there is room for teams enough to keep a cube busy, and updates enough for their sums to be worth it.
    pub(super) fn suits(&self, slices: [usize; 2]) -> bool {
        self.teams >= self.most_teams.min(4) && slices[1] >= slices[0].saturating_mul(64)
    }

    pub(super) fn launch(&self, slices: &Slices<'_>) {
        let work = &slices.work;
        let (device, element) = (work.device, work.target.dtype);
        let seats = Seats::new(device, slices.packets);
        let units = (self.teams * seats.lanes).min(seats.units);
        let tiles = slices.count().div_ceil(self.teams * BATCH);
        let shares = (4 * device.processors())
            .div_ceil(seats.column_tiles)
            .min(tiles);
        let plan = PrivatePlan {
            mode: work.mode,
            bounds: work.bounds,
            is_flat: slices.is_flat,
            units: units as u32,
            room: self.room,
            slices: work.extent.next_power_of_two(),
        };
        // SAFETY: places are masked against the extent, updates by their number, and packets by that of a slice; shared
        // memory has room for a packet of each slice for each unit.
        unsafe {
            private_kernel::launch_unchecked(
                slices.client(),
                cubes(device, shares * seats.column_tiles),
                CubeDim::new_1d(plan.units),
                slices.address,
                self.atomic,
                self.width,
                slices.target(),
                slices.index(),
                slices.updates(),
                slices.record(),
                work.extent,
                slices.count(),
                slices.packets,
                seats.lanes,
                self.teams,
                seats.column_tiles,
                shares,
                plan,
                [element, wide(element), work.index.dtype],
            );
        }
    }
}
