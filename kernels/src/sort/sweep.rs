//! The sort that reads keys once a digit: the counts of all digits first, then for each digit one kernel whose cubes learn
//! from the ones before them where their keys go.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

use super::order::{Order, encode};
use super::tile::{self, DIGIT_BITS, DIGITS, Digit, Tile};
use super::write::{self, Orders, Payload, Row};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::memory::blocks::TicketCounter;
use girih::prelude::*;

/// Sets words to 0, four a unit.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn clear_kernel(words: &mut [Vector<u32, Const<4>>]) {
    if ABSOLUTE_POS < words.len() {
        words[ABSOLUTE_POS] = Vector::new(0u32);
    }
}

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

/// Counts all digits of all keys: `counts[row, pass, value] += ..`.
///
/// The cubes of a row take its chunks in turn. `begin` is the lowest bit of the first digit, `last` the mask of the last.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn histogram_kernel<K: Int, W: Int, C: Int, N: Size>(
    keys: &[Vector<K, N>],
    counts: &[Atomic<C>],
    vectors_of_row: usize,
    cubes_of_row: u32,
    begin: u32,
    last: u32,
    #[comptime] counting: Counting,
    #[comptime] order: Option<Order>,
    #[define(K, W, C)] _types: [ElemType; 3],
) {
    let cells = comptime!(counting.passes as usize * DIGITS);
    let bins = shared::<Atomic<u32>>(cells);
    let mut cell = UNIT_POS as usize;
    while cell < cells {
        bins[cell].at::<Cube>().store::<Relaxed>(0u32);
        cell += comptime!(counting.units as usize);
    }
    sync_cube();
    let row = CUBE_POS as u32 / cubes_of_row;
    let start = row as usize * vectors_of_row;
    let chunk = comptime!((counting.units * counting.items) as usize);
    let items = comptime!(counting.items as usize);
    let step = chunk * cubes_of_row as usize;
    let mut at = (CUBE_POS as u32 % cubes_of_row) as usize * chunk;
    while at + chunk <= vectors_of_row {
        let mut held = Array::<Vector<K, N>>::new(items);
        #[unroll]
        for item in 0..items {
            let place = at + UNIT_POS as usize + item * comptime!(counting.units as usize);
            held[item] = keys[start + place];
        }
        #[unroll]
        for item in 0..items {
            add::<K, W, N>(&bins, held[item], begin, last, counting, order);
        }
        at += step;
    }
    // The last chunk may be cut short; one cube has it.
    let mut place = at + UNIT_POS as usize;
    while place < vectors_of_row {
        add::<K, W, N>(&bins, keys[start + place], begin, last, counting, order);
        place += comptime!(counting.units as usize);
    }
    sync_cube();
    let mut cell = UNIT_POS as usize;
    while cell < cells {
        let count = bins[cell].at::<Cube>().load::<Relaxed>();
        if count > 0u32 {
            counts[row as usize * cells + cell]
                .at::<Device>()
                .fetch_add::<Relaxed>(C::cast_from(count));
        }
        cell += comptime!(counting.units as usize);
    }
}

/// Counts the digits of the keys of a vector.
#[cube]
fn add<K: Int, W: Int, N: Size>(
    bins: &Shared<[Atomic<u32>]>,
    keys: Vector<K, N>,
    begin: u32,
    last: u32,
    #[comptime] counting: Counting,
    #[comptime] order: Option<Order>,
) {
    #[unroll]
    for lane in 0..N::value() {
        let key = encode::<W>(W::cast_from(keys.extract(lane)), order);
        #[unroll]
        for pass in 0..counting.passes {
            let mut mask = comptime!((1u32 << DIGIT_BITS) - 1).runtime();
            if comptime!(pass + 1 == counting.passes) {
                mask = last;
            }
            let digit = Digit {
                shift: begin + pass * DIGIT_BITS,
                mask,
            };
            let cell = digit.of::<W>(key) as usize + comptime!(pass as usize * DIGITS);
            bins[cell].at::<Cube>().fetch_add::<Relaxed>(1u32);
        }
    }
}

/// Bits of a word of the state that say what its other bits are.
const FLAG_BITS: u32 = 2;

/// What the words of the state say in a pass. Every word says `through` when a pass has ended, and that is what says nothing
/// in the next: so no pass has to clear the words.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
struct Flags {
    /// How many keys of the tile have the digit.
    alone: u32,
    /// Where the keys of the digit after the tile go.
    through: u32,
    /// The place of the flag.
    shift: u32,
}

#[cube]
impl Flags {
    /// Those of an even pass or of an odd one.
    fn of(odd: u32, #[comptime] count_bits: u32) -> Self {
        Flags {
            alone: 1u32 + 2u32 * odd,
            through: 2u32 - 2u32 * odd,
            shift: comptime!(count_bits - FLAG_BITS).runtime(),
        }
    }

    fn word<C: Int>(&self, flag: u32, count: C) -> C {
        (C::cast_from(flag) << C::cast_from(self.shift)) | count
    }

    fn flag<C: Int>(&self, word: C) -> u32 {
        u32::cast_from(word >> C::cast_from(self.shift))
    }

    fn count<C: Int>(&self, word: C) -> C {
        word & ((C::new(1i64) << C::cast_from(self.shift)) - C::new(1i64))
    }
}

/// Sorts by one digit. Each cube takes the next tile, so that those before it have begun: it waits for none that has not.
///
/// `counts[row, pass, value]` are those of the counting kernel; `state[tile, value]` has one word each, of which the highest
/// bits say what the others are. `tickets[pass]` counts the tiles taken.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn sweep_kernel<K: Int, V: Int, W: Int, C: Int>(
    keys_in: &[K],
    keys_out: &mut [K],
    payload_in: &[V],
    payload_out: &mut [V],
    counts: &[C],
    state: &[Atomic<C>],
    tickets: &[Atomic<u32>],
    row_len: usize,
    tiles_of_row: u32,
    passes: u32,
    pass: u32,
    shift: u32,
    mask: u32,
    #[comptime] tile: Tile,
    #[comptime] payload: Payload,
    #[comptime] order: Orders,
    #[comptime] count_bits: u32,
    #[define(K, V, W, C)] _types: [ElemType; 4],
) {
    let digit = Digit { shift, mask };
    let items = comptime!(tile.items as usize);
    let mut counters = shared::<u32>(comptime!(tile.planes() * DIGITS));
    let mut exchanged = shared::<W>(comptime!(tile.len()));
    let mut offsets = shared::<C>(DIGITS);
    let mut ticket = shared::<u32>(1usize);

    if UNIT_POS == 0u32 {
        ticket[0] = TicketCounter::<Device>::new(&tickets[pass as usize]).take();
    }
    sync_cube();
    let number = ticket[0];
    let row = number / tiles_of_row;
    let index = number % tiles_of_row;
    let place = Row::of(row, index, row_len, tile);

    let seat = tile::seat(tile);
    let mut keys = Array::<W>::new(items);
    tile::load::<K, W>(
        &mut keys,
        keys_in,
        place.start,
        place.valid,
        seat,
        comptime!(order.reading),
        tile,
    );
    let mut ranks = Array::<u32>::new(items);
    tile::rank::<W>(&mut ranks, &mut counters, &keys, digit, seat, tile);
    sync_cube();

    let own = comptime!(tile.digits_of_unit());
    let mut totals = Array::<u32>::new(own);
    let mut held = Array::<u32>::new(comptime!(own * tile.planes()));
    tile::count(&mut totals, &mut held, &counters, tile);
    let flags = Flags::of(pass & 1u32, count_bits);
    let first = UNIT_POS as usize * own;
    let words = number as usize * DIGITS + first;
    // The cubes after this one can go on by what it has, before it knows what the ones before it have.
    if index > 0u32 {
        #[unroll]
        for each in 0..own {
            if first + each < DIGITS {
                let word = flags.word::<C>(flags.alone, C::cast_from(totals[each]));
                state[words + each].at::<Device>().store::<Relaxed>(word);
            }
        }
    }
    let mut starts = Array::<u32>::new(own);
    tile::begin(&mut starts, &mut counters, &totals, &held, tile);
    sync_cube();
    tile::exchange::<W>(
        &mut exchanged,
        &mut ranks,
        &counters,
        &keys,
        digit,
        seat,
        tile,
    );

    let mut before = Array::<C>::new(own);
    if index == 0u32 {
        let counts_of_row = (row * passes + pass) as usize * DIGITS;
        write::begin_row::<C>(&mut before, counts, counts_of_row, tile);
    } else {
        #[unroll]
        for each in 0..own {
            if first + each < DIGITS {
                before[each] = look_back::<C>(state, words + each, flags);
            }
        }
    }
    #[unroll]
    for each in 0..own {
        if first + each < DIGITS {
            let word = flags.word::<C>(flags.through, before[each] + C::cast_from(totals[each]));
            state[words + each].at::<Device>().store::<Relaxed>(word);
            // Wraps: the place in the tile is added to it.
            offsets[first + each] = before[each] - C::cast_from(starts[each]);
        }
    }
    sync_cube();
    write::write::<K, V, W, C>(
        keys_out,
        payload_in,
        payload_out,
        &mut exchanged,
        &offsets,
        &ranks,
        place,
        digit,
        seat,
        payload,
        order,
        tile,
    );
}

/// Where the keys of a digit before the tile end: what the tiles before it say, from the nearest on, until one says it for
/// all that are before itself.
#[cube]
fn look_back<C: Int>(state: &[Atomic<C>], own: usize, flags: Flags) -> C {
    let mut sum = C::new(0i64);
    let mut at = own - DIGITS;
    let mut is_done = false;
    while !is_done {
        let word = state[at].at::<Device>().load::<Relaxed>();
        let flag = flags.flag::<C>(word);
        is_done = flag == flags.through;
        if is_done || flag == flags.alone {
            sum += flags.count::<C>(word);
            // The first tile of a row ends the walk.
            if !is_done {
                at -= DIGITS;
            }
        }
    }
    sum
}
