//! Multiplications of what is in the buffers.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]

use super::beside::{Beside, ask_ahead};
use super::form::{BLOCK, DEPTH, Form, Groups, ROWS, STAGING};
use super::ring::{Ring, cluster, next};
use super::schedule::{Problem, count_tiles, find_tile};
use super::store::{Finish, store_tile};
use cubecl::prelude::*;
use girih::cuda::wgmma;
use girih::cuda::{fence_async, mbarrier, registers, warpgroup_barrier};

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

/// Clears what a buffer has of the next group's positions of K: of this warpgroup's rows of A and of all columns of B, which
/// the other clears too.
///
/// Each position is a row of 128 bytes of every block. Both operands are cleared, since 0 times infinity is no 0.
#[cube]
fn clear_rest(lines: u32, buffer: u32, left: u32, plane: u32, lane: u32, #[comptime] form: Form) {
    let unit = plane % 4u32 * 32u32 + lane;
    #[unroll]
    for block in 0..comptime!(form.columns / 64 + 1) {
        let mut start = lines;
        if comptime!(block > 0) {
            start = buffer + comptime!(128 * ROWS + (block - 1) * BLOCK);
        }
        let mut at = left * 128u32 + unit * 8u32;
        while at < BLOCK {
            registers::store_pair(start + at, 0.0f32, 0.0f32);
            at += 1024u32;
        }
    }
    fence_async();
    warpgroup_barrier(1u32 + plane / 4u32);
}

/// Multiplies what is in the buffers and stores the products, by the `plane`-th plane of the two warpgroups that do.
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
    let n = comptime!(form.columns as usize);
    let (rank, first, clusters) = cluster(form);
    let tiles = count_tiles(memory, problem, form);
    let warpgroup = plane / 4u32;
    let staging = ring.base + comptime!(form.staging_at()) + plane * STAGING;
    // In the tile, the plane's first row.
    let below = plane * 16u32;
    let mut acc = wgmma::zeros(n);
    let mut slot = 0u32;
    let mut parity = 0u32;
    let mut number = first;
    while number < tiles {
        let tile = find_tile(number, memory, problem, rank, form);
        if comptime!(form.beside == Beside::SlopeAt) {
            let row = tile.row + below;
            ask_ahead::<O, P, I, N>(&*beside, lane, row, &tile, problem, finish, form);
        }
        let mut before = 0u32;
        for step in 0..tile.steps {
            mbarrier::wait(ring.full + slot * 8u32, parity);
            let buffer = ring.base + slot * comptime!(form.stage_bytes());
            let lines = buffer + warpgroup * BLOCK;
            let a = wgmma::descriptor(lines, BLOCK, form.majors[0]);
            let b = wgmma::descriptor(buffer + comptime!(128 * ROWS), BLOCK, form.majors[1]);
            if comptime!(form.groups == Groups::Inner) {
                let left = tile.depth - step * DEPTH;
                if left < DEPTH {
                    clear_rest(lines, buffer, left, plane, lane, form);
                }
            }
            wgmma::fence(&mut acc, n);
            #[unroll]
            for part in 0..4usize {
                let a = a + comptime!(part as u64 * wgmma::next(form.majors[0]));
                let b = b + comptime!(part as u64 * wgmma::next(form.majors[1]));
                let mut keep = 1u32;
                if comptime!(part == 0) {
                    keep = select(step == 0u32, 0u32, 1u32);
                }
                wgmma::multiply::<E>(&mut acc, a, b, keep, n, form.majors);
            }
            wgmma::commit();
            // All but the group just started are done, hence the buffer before.
            wgmma::wait(&mut acc, n, 1usize);
            let done = select(step == 0u32, 32u32, lane);
            release(before, done, form);
            before = ring.empty + slot * 8u32;
            let (slot_after, parity_after) = next(slot, parity, form);
            slot = slot_after;
            parity = parity_after;
        }
        wgmma::wait(&mut acc, n, 0usize);
        let done = select(tile.steps == 0u32, 32u32, lane);
        release(before, done, form);
        store_tile::<O, P, I, N, W>(
            &acc,
            out,
            beside,
            staging,
            lane,
            tile.row + below,
            &tile,
            problem,
            finish,
            form,
        );
        number += clusters;
    }
}
