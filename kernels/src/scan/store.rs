//! The way out of a tile: its results, each with what is before the tile.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::operator::{ScanOperator, excluded};
use super::place::Row;
use super::tile::{Scanned, TilePlan, has_bits, joined, position};
use cubecl::prelude::*;

/// Writes the results of a tile, before which its row has `prefix`.
#[cube]
pub(crate) fn store_tile<E: Numeric, A: Numeric, N: Size, O: ScanOperator>(
    scanned: &mut Scanned<A>,
    prefix: A,
    vectors: &mut [Vector<E, N>],
    output: &mut [E],
    row: Row,
    first: usize,
    #[comptime] plan: TilePlan,
) {
    let lead = joined::<A, O>(prefix, scanned.lead, scanned.lead_cut, plan);
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        let is_cut = has_bits(scanned.cuts, comptime!(1u32 << vector));
        let before = joined::<A, O>(lead, scanned.before[vector], is_cut, plan);
        if comptime!(plan.exclusive) {
            exclude::<A, O>(scanned, before, vector, plan);
        } else {
            include::<A, O>(scanned, before, vector, plan);
        }
    }
    if comptime!(plan.aligned) {
        if first + comptime!(plan.tile()) <= row.length {
            store_whole::<E, A, N>(&*scanned, vectors, row.output + first, plan);
        } else {
            store_part::<E, A>(&*scanned, output, row, first, plan);
        }
    } else {
        store_part::<E, A>(&*scanned, output, row, first, plan);
    }
}

#[cube]
fn store_whole<E: Numeric, A: Numeric, N: Size>(
    scanned: &Scanned<A>,
    vectors: &mut [Vector<E, N>],
    start: usize,
    #[comptime] plan: TilePlan,
) {
    let width = comptime!(plan.width);
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        let mut packet = Vector::<E, N>::empty();
        #[unroll]
        for lane in 0..width {
            let item = scanned.items[comptime!(vector * width + lane)];
            packet.insert(lane, E::cast_from(item));
        }
        vectors[position(start, vector, plan) / width] = packet;
    }
}

#[cube]
fn store_part<E: Numeric, A: Numeric>(
    scanned: &Scanned<A>,
    output: &mut [E],
    row: Row,
    first: usize,
    #[comptime] plan: TilePlan,
) {
    let width = comptime!(plan.width);
    #[unroll]
    for vector in 0..comptime!(plan.vectors) {
        let at = position(first, vector, plan);
        #[unroll]
        for lane in 0..width {
            if at + lane < row.length {
                let item = scanned.items[comptime!(vector * width + lane)];
                output[row.output + (at + lane) * row.output_step] = E::cast_from(item);
            }
        }
    }
}

/// The results of one vector, each with its own element.
#[cube]
fn include<A: Numeric, O: ScanOperator>(
    scanned: &mut Scanned<A>,
    before: A,
    #[comptime] vector: usize,
    #[comptime] plan: TilePlan,
) {
    let width = comptime!(plan.width);
    #[unroll]
    for lane in 0..width {
        let item = comptime!(vector * width + lane);
        let mask = comptime!((u32::MAX >> (31 - lane)) << (vector * width));
        let is_cut = has_bits(scanned.heads, mask);
        scanned.items[item] = joined::<A, O>(before, scanned.items[item], is_cut, plan);
    }
}

/// The results of one vector, each without its own element; from the last on, since each needs the one before.
#[cube]
fn exclude<A: Numeric, O: ScanOperator>(
    scanned: &mut Scanned<A>,
    before: A,
    #[comptime] vector: usize,
    #[comptime] plan: TilePlan,
) {
    let width = comptime!(plan.width);
    let start = excluded::<A, O>(O::identity::<A>());
    let before = excluded::<A, O>(before);
    #[unroll]
    for step in 0..width {
        let lane = comptime!(width - 1 - step);
        let item = comptime!(vector * width + lane);
        let mut result = before;
        if comptime!(lane > 0) {
            let lower = scanned.items[comptime!(item - 1)];
            result = O::combine::<A>(before, lower);
            if comptime!(plan.cuts.any()) {
                let mask = comptime!((u32::MAX >> (32 - lane)) << (vector * width));
                let alone = excluded::<A, O>(lower);
                result = select(has_bits(scanned.heads, mask), alone, result);
            }
        }
        if comptime!(plan.cuts.any()) {
            let is_head = has_bits(scanned.heads, comptime!(1u32 << item));
            result = select(is_head, start, result);
        }
        scanned.items[item] = result;
    }
}
