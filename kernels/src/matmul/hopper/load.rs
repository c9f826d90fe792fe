//! Loads of tiles by bulk copies.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]

use super::form::{BLOCK, DEPTH, Form, ROWS, Share};
use super::ring::{Ring, cluster, next};
use super::schedule::{Problem, Tile, count_tiles, find_tile};
use cubecl::prelude::*;
use girih::cuda::wgmma::Major;
use girih::cuda::{mbarrier, tma};

/// Fills buffers with both operands, by one unit.
#[cube]
pub(super) fn load<E: Float>(
    a: &TensorMap<E, Tiled>,
    b: &TensorMap<E, Tiled>,
    memory: &[u32],
    ring: &Ring,
    problem: &Problem,
    #[comptime] form: Form,
) {
    tma::prefetch_map::<E>(a);
    tma::prefetch_map::<E>(b);
    let (rank, first, clusters) = cluster(form);
    let tiles = count_tiles(memory, problem, form);
    let mut slot = 0u32;
    let mut parity = 0u32;
    let mut number = first;
    while number < tiles {
        let tile = find_tile(number, memory, problem, rank, form);
        for step in 0..tile.steps {
            mbarrier::wait(ring.empty + slot * 8u32, parity ^ 1u32);
            let full = ring.full + slot * 8u32;
            mbarrier::expect(full, comptime!(form.stage_bytes()).runtime());
            let to = ring.base + slot * comptime!(form.stage_bytes());
            let k = tile.k + step * DEPTH;
            let z = tile.number * problem.step_a;
            let shared = comptime!(form.share == Share::A);
            load_lines::<E>(
                a,
                to,
                full,
                k,
                tile.row,
                z,
                rank,
                ROWS,
                form.majors[0],
                shared,
            );
            load_b::<E>(b, to, full, k, &tile, rank, problem, form);
            let (slot_after, parity_after) = next(slot, parity, form);
            slot = slot_after;
            parity = parity_after;
        }
        number += clusters;
    }
}

/// Loads this cube's columns of B: its half of those that the cluster shares, or all.
#[cube]
pub(super) fn load_b<E: Float>(
    b: &TensorMap<E, Tiled>,
    buffer: u32,
    full: u32,
    k: u32,
    tile: &Tile,
    rank: u32,
    problem: &Problem,
    #[comptime] form: Form,
) {
    if comptime!(form.parts()) {
        if tile.apart {
            load_columns::<E>(b, buffer, full, k, tile, rank, problem, form, false);
        } else {
            load_columns::<E>(b, buffer, full, k, tile, rank, problem, form, true);
        }
    } else {
        let shared = comptime!(form.share == Share::B);
        load_columns::<E>(b, buffer, full, k, tile, rank, problem, form, shared);
    }
}

#[cube]
fn load_columns<E: Float>(
    b: &TensorMap<E, Tiled>,
    buffer: u32,
    full: u32,
    k: u32,
    tile: &Tile,
    rank: u32,
    problem: &Problem,
    #[comptime] form: Form,
    #[comptime] shared: bool,
) {
    let to = buffer + comptime!(128 * ROWS);
    let z = tile.number * problem.step_b;
    load_lines::<E>(
        b,
        to,
        full,
        k,
        tile.column,
        z,
        rank,
        form.columns,
        form.majors[1],
        shared,
    );
}

/// Loads rows of A or columns of B from `line` on, 128 bytes of each: all `lines` of them, or where the cluster shares them
/// this cube's half, for both cubes.
#[cube]
fn load_lines<E: Float>(
    map: &TensorMap<E, Tiled>,
    to: u32,
    full: u32,
    k: u32,
    line: u32,
    z: u32,
    rank: u32,
    #[comptime] lines: u32,
    #[comptime] major: Major,
    #[comptime] shared: bool,
) {
    if comptime!(major == Major::K) {
        if shared {
            let half = comptime!(lines / 2);
            let to = to + rank * comptime!(128 * half);
            tma::load_3d_to_cubes::<E>(map, to, full, k, line + rank * half, z, 3u16);
        } else {
            tma::load_3d::<E>(map, to, full, k, line, z);
        }
    } else {
        // 64 lines at a time.
        let blocks = comptime!(if shared { lines / 128 } else { lines / 64 });
        #[unroll]
        for block in 0..blocks {
            if shared {
                let block = rank * blocks + block;
                let (to, line) = (to + block * BLOCK, line + block * 64u32);
                tma::load_3d_to_cubes::<E>(map, to, full, line, k, z, 3u16);
            } else {
                let (to, line) = (to + block * BLOCK, line + block * 64u32);
                tma::load_3d::<E>(map, to, full, line, k, z);
            }
        }
    }
}
