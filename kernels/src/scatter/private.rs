//! Few places: each team of a cube's units has sums of its own for all of them in shared memory, which meet what memory holds
//! when the cube has been through its share of the updates.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]

use super::ScatterMode;
use super::combine::{combine, identity};
use super::place::{NOWHERE, destination, packet_offset, report, slice_step};
use super::strike::strike;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// Updates that a unit has in flight.
const BATCH: usize = 4;

/// A cube's share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PrivatePlan {
    /// How updates to one place become one.
    pub mode: ScatterMode,
    /// What an index out of range does.
    pub bounds: Bounds,
    /// Whether slices of both tensors are rows.
    pub is_flat: bool,
    /// Units of the cube.
    pub units: u32,
    /// Packets that shared memory has room for: of every slice of the target that each team has.
    pub room: usize,
    /// Slices that it has room for.
    pub slices: usize,
}

/// Combines the target with updates, whose tiles of `BATCH` a team the cubes take in turn. `column_tiles` cubes share the
/// packets of a slice.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn private_kernel<E: Numeric, A: Numeric, I: Int, W: Size, N: Size>(
    target: &Tensor<Atomic<Vector<E, W>>>,
    index: &Tensor<I>,
    updates: &Tensor<Vector<E, N>>,
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    extent: usize,
    count: usize,
    packets: usize,
    lanes: usize,
    teams: usize,
    column_tiles: usize,
    shares: usize,
    #[comptime] plan: PrivatePlan,
    #[define(E, A, I)] _types: [ElemType; 3],
) {
    let width = N::value();
    let is_flat = comptime!(plan.is_flat);
    let (column, share) = (CUBE_POS % column_tiles, CUBE_POS / column_tiles);
    let mut sums = shared::<Vector<A, N>>(plan.room);
    let mut touched = shared::<u32>(plan.slices);
    let units = comptime!(plan.units as usize);
    let mut at = UNIT_POS as usize;
    while at < teams * extent * lanes {
        sums[at] = Vector::<A, N>::new(identity::<A>(comptime!(plan.mode)));
        at += units;
    }
    at = UNIT_POS as usize;
    while at < extent {
        touched[at] = 0u32;
        at += units;
    }
    sync_cube();
    let (team, lane) = (UNIT_POS as usize / lanes, UNIT_POS as usize % lanes);
    let packet = column * lanes + lane;
    if team < teams && packet < packets && share < shares {
        let from = packet_offset::<Vector<E, N>>(updates, packet, width, is_flat);
        let from_step = slice_step::<Vector<E, N>>(updates, width);
        let own = team * extent * lanes + lane;
        let mut tile = share * teams * BATCH;
        while tile < count {
            let mut places = Array::<u32>::new(BATCH);
            let mut values = Array::<Vector<E, N>>::new(BATCH);
            #[unroll]
            for item in 0..BATCH {
                let row = tile + item * teams + team;
                places[item] = NOWHERE.runtime();
                values[item] = Vector::<E, N>::new(E::from_int(0));
                if row < count {
                    places[item] = destination::<I>(index, row, extent, comptime!(plan.bounds));
                    report(&record, places[item], row, comptime!(plan.bounds));
                    if places[item] != NOWHERE {
                        values[item] = updates[from + row * from_step];
                    }
                }
            }
            #[unroll]
            for item in 0..BATCH {
                if places[item] != NOWHERE {
                    let place = places[item] as usize;
                    let value = Vector::<A, N>::cast_from(values[item]);
                    let at = own + place * lanes;
                    sums[at] = combine::<A, N>(sums[at], value, comptime!(plan.mode));
                    touched[place] = 1u32;
                }
            }
            tile += shares * teams * BATCH;
        }
    }
    sync_cube();
    let into_step = slice_step::<Atomic<Vector<E, W>>>(target, width);
    let mut at = UNIT_POS as usize;
    while at < extent * lanes {
        let (place, lane) = (at / lanes, at % lanes);
        let packet = column * lanes + lane;
        if touched[place] != 0 && packet < packets {
            let mut sum = sums[at];
            let mut team = 1usize;
            while team < teams {
                let other = sums[team * extent * lanes + at];
                sum = combine::<A, N>(sum, other, comptime!(plan.mode));
                team += 1;
            }
            let into = packet_offset::<Atomic<Vector<E, W>>>(target, packet, width, is_flat);
            let to = into + place * into_step;
            let sum = Vector::<E, N>::cast_from(sum);
            strike::<E, W, N>(target, to, sum, comptime!(plan.mode));
        }
        at += units;
    }
}
