//! Multiplications of what is in the buffers.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]

use super::beside::{Beside, ask_ahead};
use super::form::{BLOCK, DEPTH, Form, Groups, MULTIPLIERS, ROWS, STAGING};
use super::ring::{Ring, cluster, next};
use super::schedule::{Problem, Tile, count_tiles, find_tile};
use super::store::{Finish, store_tile};
use cubecl::prelude::*;
use girih::cuda::wgmma;
use girih::cuda::{fence_async, mbarrier, registers, units_barrier};

/// Tells those who fill that this plane is done with a buffer; a plane with lanes from 32 on tells nobody.
#[cube]
fn release(empty: u32, lane: u32, #[comptime] form: Form) {
    let cubes = comptime!(form.cubes());
    if comptime!(cubes > 1) {
        mbarrier::arrive_in_cluster(empty, lane, cubes.runtime());
    } else {
        mbarrier::arrive_once(empty, lane);
    }
}

/// Clears what a buffer has of the next group's positions of K: of all rows of A and all columns of B, shared out between both
/// warpgroups.
///
/// Each position is a row of 128 bytes of every block. Both operands are cleared, since 0 times infinity is no 0.
#[cube]
fn clear_rest(buffer: u32, left: u32, plane: u32, lane: u32, #[comptime] form: Form) {
    let unit = plane * 32u32 + lane;
    #[unroll]
    for block in 0..comptime!((ROWS + form.columns) / 64) {
        let start = buffer + comptime!(block * BLOCK);
        let mut at = left * 128u32 + unit * 8u32;
        while at < BLOCK {
            registers::store_pair(start + at, 0.0f32, 0.0f32);
            at += comptime!(8 * MULTIPLIERS);
        }
    }
    fence_async();
    units_barrier(1u32, MULTIPLIERS);
}

/// Multiplies what is in a tile's buffers and stores the products, by the `plane`-th plane of the two warpgroups that do; then gives
/// the next buffer, and the parity of its round.
#[cube]
fn multiply_tile<E: Float, O: Float, P: Float, I: Int, N: Size, W: Size>(
    acc: &mut Array<f32>,
    out: &mut [Vector<O, N>],
    beside: &mut [Vector<O, N>],
    finish: &Finish<O, P, I>,
    ring: &Ring,
    slot: u32,
    parity: u32,
    plane: u32,
    lane: u32,
    tile: &Tile,
    problem: &Problem,
    #[comptime] form: Form,
) -> (u32, u32) {
    let n = comptime!(form.columns as usize);
    let staging = ring.base + comptime!(form.staging_at()) + plane * STAGING;
    let row = tile.row + plane * 16u32;
    if comptime!(form.beside == Beside::SlopeAt) {
        ask_ahead::<O, P, I, N>(&*beside, lane, row, tile, problem, finish, form);
    }
    let mut slot = slot;
    let mut parity = parity;
    let mut before = 0u32;
    for step in 0..tile.steps {
        mbarrier::wait(ring.full + slot * 8u32, parity);
        let buffer = ring.base + slot * comptime!(form.stage_bytes());
        let lines = buffer + plane / 4u32 * BLOCK;
        let a = wgmma::descriptor(lines, BLOCK, form.majors[0]);
        let b = wgmma::descriptor(buffer + comptime!(128 * ROWS), BLOCK, form.majors[1]);
        if comptime!(form.groups == Groups::Inner) {
            let left = tile.depth - step * DEPTH;
            if left < DEPTH {
                clear_rest(buffer, left, plane, lane, form);
            }
        }
        wgmma::fence(acc, n);
        #[unroll]
        for part in 0..4usize {
            let a = a + comptime!(part as u64 * wgmma::next(form.majors[0]));
            let b = b + comptime!(part as u64 * wgmma::next(form.majors[1]));
            let mut keep = 1u32;
            if comptime!(part == 0) {
                keep = select(step == 0u32, 0u32, 1u32);
            }
            wgmma::multiply::<E>(acc, a, b, keep, n, form.majors);
        }
        wgmma::commit();
        // All but the group just started are done, hence the buffer before.
        wgmma::wait(acc, n, 1usize);
        let done = select(step == 0u32, 32u32, lane);
        release(before, done, form);
        before = ring.empty + slot * 8u32;
        let (slot_after, parity_after) = next(slot, parity, form);
        slot = slot_after;
        parity = parity_after;
    }
    wgmma::wait(acc, n, 0usize);
    let done = select(tile.steps == 0u32, 32u32, lane);
    release(before, done, form);
    store_tile::<O, P, I, N, W>(
        &*acc, out, beside, staging, lane, row, tile, problem, finish, form,
    );
    (slot, parity)
}

/// Passes by the buffers of a tile of which this plane's warpgroup has no element; then gives the next buffer, and the parity of its round.
#[cube]
fn pass_by(
    ring: &Ring,
    slot: u32,
    parity: u32,
    lane: u32,
    tile: &Tile,
    #[comptime] form: Form,
) -> (u32, u32) {
    let mut slot = slot;
    let mut parity = parity;
    for _ in 0..tile.steps {
        // As those who multiply: who fills may not get ahead of a phase that was not waited for.
        mbarrier::wait(ring.full + slot * 8u32, parity);
        release(ring.empty + slot * 8u32, lane, form);
        let (slot_after, parity_after) = next(slot, parity, form);
        slot = slot_after;
        parity = parity_after;
    }
    (slot, parity)
}

/// Multiplies what is in the buffers and stores the products, tile by tile, by the `plane`-th plane of the two warpgroups that do.
#[cube]
pub(super) fn multiply<E: Float, O: Float, P: Float, I: Int, N: Size, W: Size>(
    out: &mut [Vector<O, N>],
    beside: &mut [Vector<O, N>],
    finish: &Finish<O, P, I>,
    memory: &[u32],
    ring: &Ring,
    plane: u32,
    lane: u32,
    problem: &Problem,
    #[comptime] form: Form,
) {
    let (rank, first, clusters) = cluster(form);
    let tiles = count_tiles(memory, problem, form);
    let mut acc = wgmma::zeros(comptime!(form.columns as usize));
    let mut slot = 0u32;
    let mut parity = 0u32;
    let mut number = first;
    while number < tiles {
        let tile = find_tile(number, memory, problem, rank, form);
        let mut is_live = true.runtime();
        if comptime!(form.passes_by()) {
            let row = tile.row + plane / 4u32 * 64u32;
            is_live = row < tile.end && tile.column < problem.columns;
        }
        if is_live {
            let (slot_after, parity_after) = multiply_tile::<E, O, P, I, N, W>(
                &mut acc, out, beside, finish, ring, slot, parity, plane, lane, &tile, problem,
                form,
            );
            slot = slot_after;
            parity = parity_after;
        } else {
            let (slot_after, parity_after) = pass_by(ring, slot, parity, lane, &tile, form);
            slot = slot_after;
            parity = parity_after;
        }
        number += clusters;
    }
}
