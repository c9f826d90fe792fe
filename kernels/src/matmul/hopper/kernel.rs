//! The kernel: one warpgroup loads, two multiply and store, over tiles in turn.
//!
//! A ring of buffers lies between them, with a barrier `full` and one `empty` each ([`mbarrier`]). Both sides go around it
//! across tiles without a stop, so that the loads of the next tile are under way while one is stored. That nobody waits for
//! ever, and nobody overwrites what is still read:
//!
//! * All sides count buffers the same: a side uses buffer `i % stages` in round `i / stages` for the `i`-th buffer of its
//!   cluster's tiles, and every unit of the cluster finds the same tiles with the same number of buffers.
//! * `full` ends its phase `r` when the loader has arrived, once, and as many bytes have come as a buffer has: those of its
//!   own cube's loads and, of the operand that is shared, both halves. Bytes of round `r + 1` come only after `empty` ended
//!   its phase `r`, hence after all who multiply have waited for phase `r` of `full`: they count in their own phase. A
//!   neighbour's bytes may come before the loader arrived, in the same phase: it cannot end without the arrival.
//! * `empty` ends its phase `r` when every plane that multiplies, of every cube whose memory this cube's loader writes, has
//!   arrived for round `r`. The loader waits for phase `r - 1` before it fills in round `r`; in round 0 the wait returns at
//!   once. A plane arrives for a buffer when the multiplications that read it are done.
//! * A parity tells a phase from its neighbours alone. Who multiplies waits for phase `r` of `full` after it arrived at
//!   `empty` for `r - 1`, so that `full` is in phase `r` or `r + 1`, not beyond: phase `r + 2` needs its arrival for `r`.
//!   Likewise the loader, alone in ending phases of `full`, finds `empty` in phase `r - 1` or `r`.
//! * A cube of a cluster ends only when all have: nobody writes to, or arrives in, the memory of one that is gone.

// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if, clippy::too_many_arguments)]

use super::beside::{Beside, ask_ahead};
use super::form::{BLOCK, DEPTH, Form, Groups, ROWS, Routing, STAGING, Share};
use super::schedule::{Problem, Tile, count_tiles, fill_ranges, fill_table, find_tile, listed};
use super::store::{Finish, store_tile};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::cuda::wgmma::{self, Major};
use girih::cuda::{
    cluster_barrier, fence_async, global, mbarrier, registers, shared_address, tma,
    warpgroup_barrier,
};
use girih::memory::shared_aligned;

/// Registers of a unit that loads, and of one that multiplies: together no more than those of 384 units at 168.
const LOADING: u32 = 40;
const MULTIPLYING: u32 = 232;
/// Planes of a cube that multiply.
const PLANES: u32 = 8;

/// Where a cube's ring is in shared memory, and where this unit is in the ring.
#[derive(CubeType, Clone, Copy)]
struct Ring {
    /// The first byte of the first buffer.
    base: u32,
    /// The first barrier that a buffer is full; those that it is empty follow.
    full: u32,
    empty: u32,
}

/// `out = finish(a b)`, a tile after the other. The launcher's `Form` says which operands there are: with
/// [`Routing::Gather`] A is `rows_of_a` at `sources`, and `a` is not read.
#[cube(launch_unchecked, address_type = "dynamic", cluster_dim = CubeDim::new_3d(form.cubes(), 1, 1))]
pub fn hopper_kernel<E: Float, O: Float, P: Float, I: Int, N: Size, W: Size>(
    a: &TensorMap<E, Tiled>,
    b: &TensorMap<E, Tiled>,
    rows_of_a: ComptimeOption<Box<[Vector<E, Const<8>>]>>,
    sources: ComptimeOption<Box<[I]>>,
    ends: ComptimeOption<Box<[I]>>,
    bias: ComptimeOption<Box<[O]>>,
    weights: ComptimeOption<Box<[P]>>,
    targets: ComptimeOption<Box<[I]>>,
    out: &mut [Vector<O, N>],
    beside: &mut [Vector<O, N>],
    problem: Problem,
    source_rows: u32,
    source_step: usize,
    source_width: u32,
    bias_step: usize,
    target_rows: u32,
    row_step: usize,
    product_step: usize,
    #[comptime] form: Form,
    #[define(E, O, P, I)] _types: [ElemType; 4],
) {
    comptime!(assert!(
        form.is_possible(),
        "girih: a product on Hopper has the form {form:?}; those that `Form::is_possible` takes are allowed"
    ));
    let mut memory = shared_aligned::<u32>(comptime!(form.shared_bytes() as usize / 4), 1024usize);
    let base = shared_address::<u32>(memory.as_ptr());
    let ring = Ring {
        base,
        full: base + comptime!(form.barriers_at()),
        empty: base + comptime!(form.barriers_at() + 8 * form.stages),
    };
    let plane = registers::of_first_lane(UNIT_POS / 32u32);
    let lane = UNIT_POS % 32u32;
    if UNIT_POS == 0u32 {
        make_ring(&ring, form);
    }
    #[comptime]
    if let ComptimeOption::Some(ends) = &ends {
        if plane == 1u32 {
            if comptime!(form.groups == Groups::Inner) {
                fill_ranges::<I>(&mut memory, ends, &problem, lane, form);
            } else {
                fill_table::<I>(&mut memory, ends, &problem, lane, form);
            }
        }
    }
    if comptime!(form.cubes() > 1) {
        cluster_barrier();
    } else {
        sync_cube();
    }
    if plane < 4u32 {
        if comptime!(form.trades_registers()) {
            registers::give(LOADING);
        }
        if comptime!(form.routing == Routing::Gather) {
            let gathered = Gathered::<E, I> {
                rows: rows_of_a,
                sources,
                count: source_rows,
                step: source_step,
                width: source_width,
            };
            gather_and_load::<E, I>(b, &gathered, &memory, &ring, &problem, form);
        } else if UNIT_POS == 0u32 {
            load::<E>(a, b, &memory, &ring, &problem, form);
        }
    } else {
        if comptime!(form.trades_registers()) {
            registers::take(MULTIPLYING);
        }
        let finish = Finish::<O, P, I> {
            bias,
            bias_step,
            weights,
            targets,
            rows: target_rows,
            row_step,
            product_step,
        };
        multiply::<E, O, P, I, N, W>(
            out,
            beside,
            &finish,
            &memory,
            &ring,
            plane - 4u32,
            lane,
            &problem,
            form,
        );
    }
    if comptime!(form.cubes() > 1) {
        cluster_barrier();
    }
}

/// Makes the barriers, by one unit.
#[cube]
fn make_ring(ring: &Ring, #[comptime] form: Form) {
    let gathering = comptime!(match form.routing {
        Routing::Gather => 128u32,
        Routing::InOrder => 0u32,
    });
    #[unroll]
    for stage in 0..comptime!(form.stages) {
        mbarrier::init(
            ring.full + comptime!(8 * stage),
            comptime!(1u32 + gathering).runtime(),
        );
        mbarrier::init(
            ring.empty + comptime!(8 * stage),
            comptime!(PLANES * form.cubes()).runtime(),
        );
    }
    mbarrier::publish();
}

/// The next buffer of the ring, and the parity of its round.
#[cube]
fn next(slot: u32, parity: u32, #[comptime] form: Form) -> (u32, u32) {
    let wraps = slot + 1u32 == comptime!(form.stages);
    (
        select(wraps, 0u32, slot + 1u32),
        select(wraps, parity ^ 1u32, parity),
    )
}

/// The rank of this cube in its cluster, and the clusters that there are.
#[cube]
fn cluster(#[comptime] form: Form) -> (u32, u32, u32) {
    let cubes = comptime!(form.cubes());
    let cube = CUBE_POS as u32;
    let count = CUBE_COUNT as u32;
    if comptime!(cubes > 1) {
        (cube % cubes, cube / cubes, count / cubes)
    } else {
        (0u32.runtime(), cube, count)
    }
}

/// Fills buffers with both operands, by one unit.
#[cube]
fn load<E: Float>(
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

/// Loads this cube's part of the columns of B.
#[cube]
fn load_b<E: Float>(
    b: &TensorMap<E, Tiled>,
    buffer: u32,
    full: u32,
    k: u32,
    tile: &Tile,
    rank: u32,
    problem: &Problem,
    #[comptime] form: Form,
) {
    let to = buffer + comptime!(128 * ROWS);
    let z = tile.number * problem.step_b;
    let shared = comptime!(form.share == Share::B);
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

/// Rows of A at the positions of a list.
#[derive(CubeType, Clone)]
struct Gathered<E: Float, I: Int> {
    rows: ComptimeOption<Box<[Vector<E, Const<8>>]>>,
    sources: ComptimeOption<Box<[I]>>,
    /// Rows that there are.
    count: u32,
    /// From a row to the next, in 8 elements.
    step: usize,
    /// Elements of a row.
    width: u32,
}

/// Buffers whose copies a unit leaves under way behind the one that it starts.
const BEHIND: u32 = 2;

/// Fills buffers with rows of A from a list and with B, by a warpgroup.
///
/// Eight units copy 128 bytes of a row, so that a unit has eight rows of the 128. It arrives for a buffer when its copies to
/// it are done, [`BEHIND`] buffers later; to wait for `empty` before that is safe with more than so many buffers.
#[cube]
fn gather_and_load<E: Float, I: Int>(
    b: &TensorMap<E, Tiled>,
    gathered: &Gathered<E, I>,
    memory: &[u32],
    ring: &Ring,
    problem: &Problem,
    #[comptime] form: Form,
) {
    let (rank, first, clusters) = cluster(form);
    let tiles = count_tiles(memory, problem, form);
    let part = UNIT_POS % 8u32;
    let upper = UNIT_POS / 8u32;
    let mut slot = 0u32;
    let mut parity = 0u32;
    let mut done = 0u32;
    let mut started = 0u32;
    let mut number = first;
    while number < tiles {
        let tile = find_tile(number, memory, problem, rank, form);
        let mut sources = Array::<u32>::new(8usize);
        #[unroll]
        for i in 0..8usize {
            sources[i] = source_of::<E, I>(
                gathered,
                tile.row + upper + comptime!(16 * i as u32),
                tile.end,
            );
        }
        for step in 0..tile.steps {
            mbarrier::wait(ring.empty + slot * 8u32, parity ^ 1u32);
            let buffer = ring.base + slot * comptime!(form.stage_bytes());
            if UNIT_POS == 0u32 {
                let full = ring.full + slot * 8u32;
                mbarrier::expect(full, comptime!(128 * form.columns).runtime());
                load_b::<E>(b, buffer, full, step * DEPTH, &tile, rank, problem, form);
            }
            let to = buffer + upper * 128u32 + (part ^ (upper % 8u32)) * 16u32;
            let of_row = step * 8u32 + part;
            #[unroll]
            for i in 0..8usize {
                copy_part::<E, I>(
                    gathered,
                    to + comptime!(2048 * i as u32),
                    sources[i],
                    of_row,
                );
            }
            global::commit_copies();
            started += 1u32;
            if started > BEHIND {
                global::wait_copies(BEHIND);
                fence_async();
                mbarrier::arrive(ring.full + done * 8u32);
                done = select(done + 1u32 == comptime!(form.stages), 0u32, done + 1u32);
            }
            let (slot_after, parity_after) = next(slot, parity, form);
            slot = slot_after;
            parity = parity_after;
        }
        number += clusters;
    }
    global::wait_copies(0u32);
    fence_async();
    let rest = select(started < BEHIND, started, BEHIND.runtime());
    for _ in 0..rest {
        mbarrier::arrive(ring.full + done * 8u32);
        done = select(done + 1u32 == comptime!(form.stages), 0u32, done + 1u32);
    }
}

/// The row that a row of the product is taken from, or as many as there are where it is 0.
#[cube]
fn source_of<E: Float, I: Int>(gathered: &Gathered<E, I>, row: u32, end: u32) -> u32 {
    let nowhere = gathered.count;
    let mut source = nowhere;
    #[comptime]
    if let ComptimeOption::Some(sources) = &gathered.sources {
        if row < end {
            source = listed::<I>(sources, row, nowhere);
        }
    }
    source
}

/// Starts a copy of eight elements of a row, with zeros for those that are not there.
#[cube]
fn copy_part<E: Float, I: Int>(gathered: &Gathered<E, I>, to: u32, source: u32, part: u32) {
    #[comptime]
    if let ComptimeOption::Some(rows) = &gathered.rows {
        let column = part * 8u32;
        let is_there = source < gathered.count && column < gathered.width;
        let at = select(
            is_there,
            source as usize * gathered.step + part as usize,
            0usize,
        );
        let left = 2u32 * (gathered.width - column);
        let bytes = select(is_there, select(left < 16u32, left, 16u32), 0u32);
        global::copy_16::<Vector<E, Const<8>>>(to, rows[at..at + 1].as_ptr(), bytes);
    }
}

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
fn multiply<E: Float, O: Float, P: Float, I: Int, N: Size, W: Size>(
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
