//! The digits of all keys, counted before a sort by sweeps.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]

use super::order::{Order, encode};
use super::tile::{DIGIT_BITS, DIGITS, Digit};
use crate::bins;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// How the counting kernel goes through a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Counting {
    /// Units of the cube.
    pub units: u32,
    /// Vectors that each unit has in flight.
    pub items: u32,
    /// Digits that keys have.
    pub passes: u32,
}

/// Cells of a row behind its counts: how many cubes have added theirs, and which passes have something to do.
pub(crate) const CELLS: usize = 2;

/// Counts all digits of all keys: `counts[row, pass, value] += ..`; behind them each row has `CELLS` more, and the last of its
/// cubes says there, bit by bit, in which passes keys differ.
///
/// The cubes of a row take its chunks in turn. `begin` is the lowest bit of the first digit, `last` the mask of the last. And all
/// words of the state of the sweeps become 0.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn histogram_kernel<K: Int, W: Int, C: Int, N: Size>(
    keys: &[Vector<K, N>],
    counts: &[Atomic<C>],
    state: &mut [Vector<u32, Const<4>>],
    vectors_of_row: usize,
    cubes_of_row: u32,
    begin: u32,
    last: u32,
    #[comptime] counting: Counting,
    #[comptime] order: Option<Order>,
    #[define(K, W, C)] _types: [ElemType; 3],
) {
    let cells = comptime!(counting.passes as usize * DIGITS);
    let cells_of_cube = shared::<Atomic<u32>>(cells);
    bins::clear::<u32>(&cells_of_cube, cells, counting.units);
    let units = comptime!(counting.units as usize);
    let mut word = CUBE_POS * units + UNIT_POS as usize;
    while word < state.len() {
        state[word] = Vector::new(0u32);
        word += CUBE_COUNT * units;
    }
    let row = CUBE_POS as u32 / cubes_of_row;
    let rank = CUBE_POS as u32 % cubes_of_row;
    count_share::<K, W, N>(
        &cells_of_cube,
        keys,
        row as usize * vectors_of_row,
        vectors_of_row,
        rank,
        cubes_of_row,
        begin,
        last,
        counting,
        order,
    );
    bins::add_to::<u32, C>(
        &cells_of_cube,
        counts,
        row as usize * comptime!(cells + CELLS),
        cells.runtime(),
        counting.units,
    );
    let row_len = vectors_of_row * N::value();
    tell::<C>(counts, row as usize, row_len, cubes_of_row, counting);
}

/// Counts all digits of the keys that one of the cubes of a row has: chunks of vectors, in turn with the others.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn count_share<K: Int, W: Int, N: Size>(
    cells: &Shared<[Atomic<u32>]>,
    keys: &[Vector<K, N>],
    start: usize,
    vectors_of_row: usize,
    rank: u32,
    cubes_of_row: u32,
    begin: u32,
    last: u32,
    #[comptime] counting: Counting,
    #[comptime] order: Option<Order>,
) {
    let chunk = comptime!((counting.units * counting.items) as usize);
    let items = comptime!(counting.items as usize);
    let step = chunk * cubes_of_row as usize;
    let mut at = rank as usize * chunk;
    while at + chunk <= vectors_of_row {
        let mut held = Array::<Vector<K, N>>::new(items);
        #[unroll]
        for item in 0..items {
            let place = at + UNIT_POS as usize + item * comptime!(counting.units as usize);
            held[item] = keys[start + place];
        }
        add::<K, W, N>(cells, &held, items, begin, last, counting, order);
        at += step;
    }
    // The last chunk may be cut short; one cube has it.
    let mut place = at + UNIT_POS as usize;
    while place < vectors_of_row {
        let mut held = Array::<Vector<K, N>>::new(1usize);
        held[0] = keys[start + place];
        add::<K, W, N>(cells, &held, 1usize, begin, last, counting, order);
        place += comptime!(counting.units as usize);
    }
}

/// The digit of pass `pass`, of which there are as many as `counting` says.
#[cube]
pub(super) fn digit_of_pass(
    pass: u32,
    begin: u32,
    last: u32,
    #[comptime] counting: Counting,
) -> Digit {
    let full = comptime!((1u32 << DIGIT_BITS) - 1);
    Digit {
        shift: begin + pass * DIGIT_BITS,
        mask: select(pass + 1u32 == comptime!(counting.passes), last, full),
    }
}

/// The cube that comes last of its row says which passes have something to do: those in which not all keys have one value.
#[cube]
fn tell<C: Int>(
    counts: &[Atomic<C>],
    row: usize,
    row_len: usize,
    cubes_of_row: u32,
    #[comptime] counting: Counting,
) {
    let cells = comptime!(counting.passes as usize * DIGITS);
    let begin = row * comptime!(cells + CELLS);
    let idle = shared::<Atomic<u32>>(1usize);
    let mut others = shared::<u32>(1usize);
    // What the units have added is before what the first of them adds here, which the last cube's comes after.
    sync_cube();
    if UNIT_POS == 0u32 {
        idle[0].at::<Cube>().store::<Relaxed>(0u32);
        let before = counts[begin + cells]
            .at::<Device>()
            .fetch_add::<AcqRel>(C::new(1i64));
        others[0] = u32::cast_from(before);
    }
    sync_cube();
    if others[0] + 1u32 == cubes_of_row {
        let mut cell = UNIT_POS as usize;
        while cell < cells {
            let count = counts[begin + cell].at::<Device>().load::<Relaxed>();
            if count == C::cast_from(row_len) {
                let pass = (cell / DIGITS) as u32;
                idle[0].at::<Cube>().fetch_add::<Relaxed>(1u32 << pass);
            }
            cell += comptime!(counting.units as usize);
        }
        sync_cube();
        if UNIT_POS == 0u32 {
            let all = comptime!((1u32 << counting.passes) - 1);
            let busy = all - idle[0].at::<Cube>().load::<Relaxed>();
            counts[begin + cells + 1]
                .at::<Device>()
                .store::<Relaxed>(C::cast_from(busy));
        }
    }
}

/// Counts the digits of the keys of some vectors: one digit of all, then the next, so that there is one piece of code for all digits.
#[cube]
fn add<K: Int, W: Int, N: Size>(
    bins: &Shared<[Atomic<u32>]>,
    held: &Array<Vector<K, N>>,
    #[comptime] items: usize,
    begin: u32,
    last: u32,
    #[comptime] counting: Counting,
    #[comptime] order: Option<Order>,
) {
    // A mask has no such bit, which no compiler can know: so that it does not take the passes apart either.
    let passes = comptime!(counting.passes).runtime() | (last >> 31u32);
    let mut pass = 0u32;
    while pass < passes {
        let digit = digit_of_pass(pass, begin, last, counting);
        let first = pass as usize * DIGITS;
        #[unroll]
        for item in 0..items {
            #[unroll]
            for lane in 0..N::value() {
                let key = encode::<W>(W::cast_from(held[item].extract(lane)), order);
                let cell = first + digit.of::<W>(key) as usize;
                bins[cell].at::<Cube>().fetch_add::<Relaxed>(1u32);
            }
        }
        pass += 1u32;
    }
}
