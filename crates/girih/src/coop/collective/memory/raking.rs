//! Reductions to the first unit by raking: every unit puts down its value, and one plane of the group combines them all.
//!
//! Of the other planes it takes a store and the barrier, where combining from lane to lane first takes every plane's
//! instructions for that.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
// The expansions use them.
#![allow(clippy::extra_unused_type_parameters)]

use super::super::super::Level;
use super::super::super::group::{Group, GroupExpand};
use super::super::super::levels::cube_units;
use super::super::super::machine::{Kernel, Machine};
use super::super::super::operators::Associative;
use super::super::super::words;
use super::super::segment;
use super::scratch::{half, halves, wait_for_readers};
use super::teams::{is_of_planes, known_segments, team};
use super::wait_together;
use super::walks::{combined, of_lanes};
use crate::memory::shared_aligned;
use cubecl::prelude::*;

/// The most values that a lane combines.
const MOST: u32 = 32;
/// The same, where the target combines those of all lanes in one instruction.
const MOST_BESIDE_AN_INSTRUCTION: u32 = 8;
/// How many values are a vector, where the target reads them so.
const VECTOR: u32 = 4;
/// A vector of words, which a target reads from a multiple of its size on.
const BYTES_OF_A_VECTOR: usize = 16;
/// How many values are a vector, as a type.
type Four = Const<4>;

/// How the values lie in shared memory: those of a plane in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rows {
    /// How many a group has, and how many neighbours a lane of the plane that rakes combines.
    count: u32,
    plane: u32,
    /// Places left free after each row, so that lanes that read at once read from different banks.
    padding: u32,
    /// Whether a lane reads by vectors, of which it has whole ones.
    has_vectors: bool,
    /// Places of the cube.
    places: usize,
}

impl Rows {
    /// For a group that is worth raking: of few known whole planes, and values of one word.
    pub(super) fn of<E: CubePrimitive, O: Associative<E>>(
        scope: &Scope,
        group: &GroupExpand,
        call: &str,
    ) -> Option<Self> {
        let kernel = Kernel::of(scope);
        let units = cube_units(scope);
        // Every lane of a plane comes along.
        let is_whole = |plane: &u32| *plane > 1 && units.is_multiple_of(*plane);
        let plane = kernel.plane().filter(is_whole)?;
        let is_of_units = group.unit == Level::Unit && is_of_planes(&kernel, group);
        let count = known_segments(&kernel, group).filter(|_| is_of_units)?;
        let most = match segment::has_instruction::<E, O>(&kernel) {
            true => MOST_BESIDE_AN_INSTRUCTION,
            false => MOST,
        };
        if !(2..=most).contains(&count) || words::count::<E>(scope, call) != 1 {
            return None;
        }
        // The lanes' first places are then a multiple of two vectors apart, and half of all banks is not read.
        let is_padded = count.is_multiple_of(2 * VECTOR) && plane.is_multiple_of(count);
        let has_vectors = kernel.is_ptx()
            && segment::word_type::<E>(scope).is_some()
            && [count, plane]
                .iter()
                .all(|units| units.is_multiple_of(VECTOR));
        let padding = if is_padded { VECTOR } else { 0 };
        Some(Self {
            count,
            plane,
            padding,
            has_vectors,
            places: (units / plane * (plane + padding)) as usize,
        })
    }
}

/// Where the value of a unit of the cube lies.
#[cube]
fn place(unit: u32, #[comptime] rows: Rows) -> u32 {
    let padding = comptime!(rows.padding);
    if comptime!(padding == 0) {
        unit
    } else {
        let plane = comptime!(rows.plane);
        unit + unit / plane * padding
    }
}

/// A component of a vector of what `E` is to the target.
#[cube]
#[allow(unused_variables)]
fn component<E: CubePrimitive>(vector: Vector<E::Scalar, Four>, #[comptime] index: usize) -> E {
    intrinsic!(|scope| { vector.__expand_extract_method(scope, index).expand.into() })
}

/// The values that a lane combines, from the place `first` on.
#[cube]
fn run<E: CubePrimitive>(places: &[E], first: u32, #[comptime] rows: Rows) -> Sequence<E> {
    let count = comptime!(rows.count);
    let mut values = Sequence::<E>::new();
    if comptime!(rows.has_vectors) {
        let vectors = places.as_vectorized().with_vector_size::<Four>();
        let first = first / VECTOR;
        #[unroll]
        for index in 0..comptime!(count / VECTOR) {
            let vector = vectors[(first + index) as usize];
            values.push(component::<E>(vector, 0usize));
            values.push(component::<E>(vector, 1usize));
            values.push(component::<E>(vector, 2usize));
            values.push(component::<E>(vector, 3usize));
        }
    } else {
        #[unroll]
        for index in 0..count {
            values.push(places[(first + index) as usize]);
        }
    }
    values
}

/// All values of the group combined, on its first unit at least.
#[cube]
pub(super) fn reduce<E: CubePrimitive, O: Associative<E>>(
    group: &Group,
    value: E,
    #[comptime] rows: Rows,
    #[comptime] call: &'static str,
) -> E {
    let team = team(group, call);
    let len = comptime!(rows.places);
    let count = comptime!(rows.count);
    let halves = halves(group, false);
    let mut places = shared_aligned::<E>(comptime!(len * halves), BYTES_OF_A_VECTOR);
    let start = half(group, len, false);
    places[(start + place(UNIT_POS, rows)) as usize] = value;
    wait_together(group, call);
    let mut total = value;
    if team.index == 0u32 {
        // Neighbours, in the order of ranks, so that the operation need not commute.
        let first = start + place(team.seat + team.rank * count, rows);
        let held = combined::<E, O>(run::<E>(&places, first, rows));
        total = of_lanes::<E, O>(held, comptime!(rows.plane), call);
    }
    wait_for_readers(group, call, false);
    total
}
