//! The way out: tiles are scanned from shared memory, and stored from registers.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use super::super::operator::ScanOperator;
use super::super::place::Row;
use super::super::store::store_tile;
use super::super::tile::{Scanned, position, scan_run};
use super::form::Form;
use super::ring::{List, Ring, next};
use cubecl::prelude::*;
use girih::cuda::mbarrier;

/// Scans this plane's part of every tile and stores it; by one of the cube's first planes. No plane waits for another of them.
#[cube]
pub(super) fn finish<E: Numeric, A: Numeric, N: Size, O: ScanOperator>(
    vectors_out: &mut [Vector<E, N>],
    output: &mut [E],
    stage: &[Vector<E, N>],
    numbers: &[u32],
    prefixes: &[A],
    leads: &[A],
    ring: &Ring,
    list: &List,
    lane: u32,
    #[comptime] form: Form,
) {
    let planes = comptime!(form.tile.planes);
    let row = Row {
        length: list.length,
        input: 0usize,
        output: 0usize,
        flags: 0usize,
        input_step: 1usize,
        output_step: 1usize,
        flags_step: 0usize,
    };
    let mut slot = 0u32;
    let mut parity = 0u32;
    let mut going = true;
    while going {
        mbarrier::wait(ring.full + slot * 8u32, parity);
        let tile = numbers[slot as usize];
        going = tile < list.tiles;
        if going {
            let first = tile as usize * comptime!(form.tile.tile());
            let place = slot as usize * comptime!(form.packets());
            let mut items = Array::<A>::new(comptime!(form.tile.items()));
            load::<E, A, N, O>(stage, &mut items, place, list.length - first, form);
            let run = scan_run::<A, O>(&mut items, 0u32, comptime!(form.tile));
            mbarrier::wait(ring.ready + slot * 8u32, parity);
            let prefix = prefixes[slot as usize];
            // The number of the plane, found anew: kept from tile to tile it would take a register where none is left.
            let plane = UNIT_POS / 32u32;
            let lead = leads[slot as usize * planes + plane as usize];
            let mut scanned = Scanned::<A> {
                items,
                heads: 0u32,
                before: run.before,
                cuts: 0u32,
                lead,
                lead_cut: false,
                total: run.total,
                is_cut: false,
            };
            // All lanes have read before one says so.
            sync_plane();
            mbarrier::arrive_once(ring.empty + slot * 8u32, lane);
            store_tile::<E, A, N, O>(
                &mut scanned,
                prefix,
                vectors_out,
                output,
                row,
                first,
                comptime!(form.tile),
            );
        }
        let (slot_after, parity_after) = next(slot, parity, form);
        slot = slot_after;
        parity = parity_after;
    }
}

/// The unit's elements of the tile at `place`, which has `here` elements or more than a tile; past the end the identity.
#[cube]
fn load<E: Numeric, A: Numeric, N: Size, O: ScanOperator>(
    stage: &[Vector<E, N>],
    items: &mut Array<A>,
    place: usize,
    here: usize,
    #[comptime] form: Form,
) {
    let width = comptime!(form.tile.width);
    #[unroll]
    for vector in 0..comptime!(form.tile.vectors) {
        let packet = stage[place + position(0usize, vector, comptime!(form.tile)) / width];
        #[unroll]
        for lane in 0..width {
            items[comptime!(vector * width + lane)] = A::cast_from(packet.extract(lane));
        }
    }
    if here < comptime!(form.tile.tile()) {
        #[unroll]
        for vector in 0..comptime!(form.tile.vectors) {
            let at = position(0usize, vector, comptime!(form.tile));
            #[unroll]
            for lane in 0..width {
                let item = comptime!(vector * width + lane);
                let is_there = at + lane < here;
                items[item] = select(is_there, items[item], O::identity::<A>());
            }
        }
    }
}
