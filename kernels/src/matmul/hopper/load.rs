//! Loads of tiles by bulk copies.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]

use super::form::{DEPTH, Form, Operand, ROWS};
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
            let shared = comptime!(form.shares(Operand::A));
            load_lines::<E>(a, to, full, k, tile.row, z, rank, Operand::A, shared, form);
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
            load_columns::<E>(b, buffer, full, k, tile, rank, problem, false, form);
        } else {
            load_columns::<E>(b, buffer, full, k, tile, rank, problem, true, form);
        }
    } else {
        let shared = comptime!(form.shares(Operand::B));
        load_columns::<E>(b, buffer, full, k, tile, rank, problem, shared, form);
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
    #[comptime] shared: bool,
    #[comptime] form: Form,
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
        Operand::B,
        shared,
        form,
    );
}

/// Loads an operand's lines of a tile from `line` on, 128 bytes of each: all of them, or where they are `shared` this cube's half,
/// for both cubes.
#[cube]
fn load_lines<E: Float>(
    map: &TensorMap<E, Tiled>,
    to: u32,
    full: u32,
    k: u32,
    line: u32,
    z: u32,
    rank: u32,
    #[comptime] operand: Operand,
    #[comptime] shared: bool,
    #[comptime] form: Form,
) {
    let copies = comptime!(form.copies(operand, shared));
    let of_copy = comptime!(form.lines_of_copy(operand));
    #[unroll]
    for copy in 0..copies {
        let before = if shared {
            (rank * copies + copy) * of_copy
        } else {
            comptime!(copy * of_copy).runtime()
        };
        let (to, line) = (to + 128u32 * before, line + before);
        let (x, y) = if comptime!(form.majors[operand as usize] == Major::K) {
            (k, line)
        } else {
            (line, k)
        };
        if shared {
            tma::load_3d_to_cubes::<E>(map, to, full, x, y, z, 3u16);
        } else {
            tma::load_3d::<E>(map, to, full, x, y, z);
        }
    }
}
