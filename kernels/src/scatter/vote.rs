//! The first update to each place, or the last, by a vote: updates say who they are, and the place keeps the largest.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

use super::place::{
    NOWHERE, destination, packet_offset, report, slice_step, unit_of_grid, units_of_grid,
};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// The vote of an update: above 0, and larger than that of any update that it goes before.
#[cube]
fn vote(at: usize, count: usize, #[comptime] last: bool) -> u32 {
    if comptime!(last) {
        at as u32 + 1u32
    } else {
        (count - at) as u32
    }
}

/// Nobody has voted.
#[cube(launch_unchecked)]
pub fn open_kernel(votes: &mut [u32]) {
    let mut at = unit_of_grid();
    while at < votes.len() {
        votes[at] = 0u32;
        at += units_of_grid();
    }
}

/// Each update votes at its place.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn vote_kernel<I: Int>(
    index: &Tensor<I>,
    votes: &[Atomic<u32>],
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    extent: usize,
    count: usize,
    #[comptime] bounds: Bounds,
    #[comptime] last: bool,
    #[define(I)] _type: ElemType,
) {
    let mut at = unit_of_grid();
    while at < count {
        // Those that win come first, so that the others find that they need not vote.
        let update = if comptime!(last) { count - 1 - at } else { at };
        let place = destination::<I>(index, update, extent, bounds);
        report(&record, place, update, bounds);
        if place != NOWHERE {
            let own = vote(update, count, last);
            let votes = votes[place as usize].at::<Device>();
            if votes.load::<Relaxed>() < own {
                votes.fetch_max::<Relaxed>(own);
            }
        }
        at += units_of_grid();
    }
}

/// Each update that won is written. One unit a packet.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn elect_kernel<E: Numeric, I: Int, N: Size>(
    target: &mut Tensor<Vector<E, N>>,
    index: &Tensor<I>,
    updates: &Tensor<Vector<E, N>>,
    votes: &[u32],
    extent: usize,
    count: usize,
    packets: usize,
    #[comptime] bounds: Bounds,
    #[comptime] last: bool,
    #[comptime] is_flat: bool,
    #[define(E, I)] _types: [ElemType; 2],
) {
    let width = N::value();
    let mut at = unit_of_grid();
    while at < count * packets {
        let (update, packet) = (at / packets, at % packets);
        let place = destination::<I>(index, update, extent, bounds);
        if place != NOWHERE && votes[place as usize] == vote(update, count, last) {
            let into = packet_offset::<Vector<E, N>>(&*target, packet, width, is_flat);
            let from = packet_offset::<Vector<E, N>>(updates, packet, width, is_flat);
            let into = into + place as usize * slice_step::<Vector<E, N>>(&*target, width);
            target[into] = updates[from + update * slice_step::<Vector<E, N>>(updates, width)];
        }
        at += units_of_grid();
    }
}
