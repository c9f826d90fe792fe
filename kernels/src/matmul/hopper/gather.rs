//! Loads of rows that a list names.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::form::{DEPTH, Form};
use super::load::load_b;
use super::ring::{Ring, cluster, next};
use super::schedule::{Problem, count_tiles, find_tile, listed};
use cubecl::prelude::*;
use girih::cuda::{fence_async, global, mbarrier};

/// Rows of A at the positions of a list.
#[derive(CubeType, Clone)]
pub(super) struct Gathered<E: Float, I: Int> {
    pub rows: ComptimeOption<Box<[Vector<E, Const<8>>]>>,
    pub sources: ComptimeOption<Box<[I]>>,
    /// The first place whose entry is out of range.
    pub record: ComptimeOption<Box<[Atomic<u32>]>>,
    /// Rows that there are.
    pub count: u32,
    /// From a row to the next, in 8 elements.
    pub step: usize,
    /// Elements of a row.
    pub width: u32,
}

/// Buffers whose copies a unit leaves under way behind the one that it starts.
const BEHIND: u32 = 2;

/// Fills buffers with rows of A from a list and with B, by a warpgroup.
///
/// Eight units copy 128 bytes of a row, so that a unit has eight rows of the 128. It arrives for a buffer when its copies to
/// it are done, [`BEHIND`] buffers later; to wait for `empty` before that is safe with more than so many buffers.
#[cube]
pub(super) fn gather_and_load<E: Float, I: Int>(
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
                form,
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
fn source_of<E: Float, I: Int>(
    gathered: &Gathered<E, I>,
    row: u32,
    end: u32,
    #[comptime] form: Form,
) -> u32 {
    let nowhere = gathered.count;
    let mut source = nowhere;
    #[comptime]
    if let ComptimeOption::Some(sources) = &gathered.sources {
        if row < end {
            source = listed::<I>(sources, row, nowhere, &gathered.record, form.bounds);
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
