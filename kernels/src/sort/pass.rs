//! A tile of a row on its way through a pass: what a sort by sweeps and one in one launch have in common.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// In a kernel both sides of `&&` and `||` are evaluated, and a branch that is known when the kernel is made is alone in it.
#![allow(clippy::collapsible_if, clippy::if_same_then_else)]

use super::carry::{self, Moved, Target};
use super::look_back::{Flags, look_back};
use super::order::{Order, cheap};
use super::route::{self, Turn};
use super::tally;
use super::tile::{self, DIGITS, Digit, Tile};
use super::write::{self, Count, Row};
use cubecl::prelude::*;
use girih::prelude::*;

/// A tile in a pass.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Step {
    /// The pass among those that have something to do.
    pub turn: Turn,
    /// Where the tile is.
    pub part: Row,
    /// How many tiles of all are before it.
    pub number: u32,
    /// How many tiles of its row are before it.
    pub index: u32,
    /// What the keys are sorted by.
    pub digit: Digit,
    /// Bits of a word of the state.
    #[cube(comptime)]
    pub count_bits: u32,
}

#[cube]
impl Step {
    /// That of tile `number` of all, in pass `pass` of those that are `busy`.
    #[allow(clippy::too_many_arguments)]
    pub fn of(
        number: u32,
        tiles_of_row: u32,
        row_len: usize,
        busy: u32,
        pass: u32,
        digit: Digit,
        #[comptime] count_bits: u32,
        #[comptime] tile: Tile,
    ) -> Self {
        Step {
            turn: Turn::of(busy, pass),
            part: Row::of(number / tiles_of_row, number % tiles_of_row, row_len, tile),
            number,
            index: number % tiles_of_row,
            digit,
            count_bits,
        }
    }

    /// Where the tile's words of the state begin that are this unit's.
    pub fn words(&self, #[comptime] tile: Tile) -> usize {
        let first = UNIT_POS as usize * comptime!(tile.digits_of_unit());
        self.number as usize * DIGITS + first
    }

    /// What words of the state say in the pass.
    pub fn flags(&self) -> Flags {
        Flags::of(self.turn.rank & 1u32, self.count_bits)
    }
}

/// Takes a tile through a pass: sorts it by the digit, learns where its keys go, and writes them there. The first tile of a row learns
/// that from the counts of the pass' digits, the others by look-back.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn pass_tile<K: Int, V: Int, W: Int, C: Int, A: Count<C>>(
    keys_in: &[K],
    keys_between: &mut [K],
    keys_out: &mut [K],
    payload_in: &[V],
    payload_between: &mut [V],
    payload_out: &mut [V],
    counts: &[A],
    counts_of_pass: usize,
    state: &[Atomic<C>],
    counters: &Shared<[Atomic<u32>]>,
    sorted: &mut Shared<[W]>,
    carried: &mut Shared<[V]>,
    offsets: &mut Shared<[C]>,
    step: Step,
    keeps_keys: bool,
    #[comptime] tile: Tile,
    #[comptime] moved: Moved,
    #[comptime] order: Option<Order>,
) {
    let own = comptime!(tile.digits_of_unit());
    let mut totals = Array::<u32>::new(own);
    let mut starts = Array::<u32>::new(own);
    sort_tile::<K, V, W, C>(
        keys_in,
        &*keys_between,
        &*keys_out,
        payload_in,
        &*payload_between,
        &*payload_out,
        state,
        counters,
        sorted,
        carried,
        &mut totals,
        &mut starts,
        step,
        tile,
        moved,
        order,
    );
    let mut before = Array::<C>::new(own);
    if step.index == 0u32 {
        write::begin_row::<C, A>(&mut before, counts, counts_of_pass, tile);
    } else {
        look_back_all::<C>(&mut before, state, step, tile);
    }
    write_tile::<K, V, W, C>(
        keys_between,
        keys_out,
        payload_between,
        payload_out,
        state,
        &*sorted,
        &*carried,
        offsets,
        &totals,
        &starts,
        &before,
        step,
        keeps_keys,
        tile,
        moved,
        order,
    );
}

/// Sorts the tile by the digit in shared memory: its keys, and what goes with them. How many keys have each of this unit's digits
/// goes to `totals`, where in the tile they begin to `starts`; and the tiles after it are told what it has.
#[cube]
#[allow(clippy::too_many_arguments)]
fn sort_tile<K: Int, V: Int, W: Int, C: Int>(
    keys_in: &[K],
    keys_between: &[K],
    keys_out: &[K],
    payload_in: &[V],
    payload_between: &[V],
    payload_out: &[V],
    state: &[Atomic<C>],
    counters: &Shared<[Atomic<u32>]>,
    sorted: &mut Shared<[W]>,
    carried: &mut Shared<[V]>,
    totals: &mut Array<u32>,
    starts: &mut Array<u32>,
    step: Step,
    #[comptime] tile: Tile,
    #[comptime] moved: Moved,
    #[comptime] order: Option<Order>,
) {
    let items = comptime!(tile.items as usize);
    let own = comptime!(tile.digits_of_unit());
    let has_payload = comptime!(moved != Moved::Nothing);
    let (turn, part) = (step.turn, step.part);
    let seat = tile::seat(tile);
    let mut raw = Array::<K>::new(items);
    route::read::<K>(
        &mut raw,
        keys_in,
        keys_between,
        keys_out,
        turn,
        part,
        seat,
        tally::last_key::<K, W>(order),
        tile,
    );
    let mut keys = Array::<W>::new(items);
    tally::encode_all::<K, W>(
        &mut keys,
        &raw,
        turn.is_first(),
        part.valid,
        seat,
        order,
        tile,
    );
    tally::count::<W>(counters, &keys, step.digit, seat, tile);
    sync_cube();

    let mut held = Array::<u32>::new(comptime!(own * tile.planes()));
    tally::add_up(totals, &mut held, counters, tile);
    // The cubes after this one can go on by what it has, before it knows what the ones before it have.
    if step.index > 0u32 {
        let first = UNIT_POS as usize * own;
        let (words, flags) = (step.words(tile), step.flags());
        #[unroll(comptime!(tile.unroll))]
        for each in 0..own {
            if first + each < DIGITS {
                let word = flags.word::<C>(flags.alone, C::cast_from(totals[each]));
                state[words + each].at::<Device>().store::<Relaxed>(word);
            }
        }
    }
    tally::begin(starts, counters, &*totals, &held, tile);
    sync_cube();

    let mut places = Array::<u32>::new(comptime!(if has_payload { items } else { 1 }));
    tally::place::<W>(
        &mut places,
        sorted,
        counters,
        &keys,
        // The digits would take a register of every key from the count on.
        step.digit.again(totals[0]),
        seat,
        has_payload,
        tile,
    );
    if has_payload {
        let mut values = Array::<V>::new(items);
        let mut is_given = true;
        if comptime!(moved == Moved::Places) {
            if turn.is_first() {
                is_given = false;
                carry::make_places::<V>(&mut values, part, seat, tile);
            }
        }
        if is_given {
            route::read::<V>(
                &mut values,
                payload_in,
                payload_between,
                payload_out,
                turn,
                part,
                seat,
                V::new(0i64),
                tile,
            );
        }
        #[unroll(comptime!(tile.unroll))]
        for item in 0..items {
            carried[places[item] as usize] = values[item];
        }
    }
}

/// Where in the row the keys of each of this unit's digits before the tile end, as the tiles before it say.
#[cube]
fn look_back_all<C: Int>(
    before: &mut Array<C>,
    state: &[Atomic<C>],
    step: Step,
    #[comptime] tile: Tile,
) {
    let own = comptime!(tile.digits_of_unit());
    let first = UNIT_POS as usize * own;
    let (words, flags) = (step.words(tile), step.flags());
    #[unroll(comptime!(tile.unroll))]
    for each in 0..own {
        if first + each < DIGITS {
            before[each] = look_back::<C>(state, words + each, step.index, flags, tile.window);
        }
    }
}

/// Tells the tiles after this one where the keys of each digit go on, and writes the tile, which waits until all of it is sorted.
#[cube]
#[allow(clippy::too_many_arguments)]
fn write_tile<K: Int, V: Int, W: Int, C: Int>(
    keys_between: &mut [K],
    keys_out: &mut [K],
    payload_between: &mut [V],
    payload_out: &mut [V],
    state: &[Atomic<C>],
    sorted: &Shared<[W]>,
    carried: &Shared<[V]>,
    offsets: &mut Shared<[C]>,
    totals: &Array<u32>,
    starts: &Array<u32>,
    before: &Array<C>,
    step: Step,
    keeps_keys: bool,
    #[comptime] tile: Tile,
    #[comptime] moved: Moved,
    #[comptime] order: Option<Order>,
) {
    let own = comptime!(tile.digits_of_unit());
    let first = UNIT_POS as usize * own;
    let part = step.part;
    let (words, flags) = (step.words(tile), step.flags());
    #[unroll(comptime!(tile.unroll))]
    for each in 0..own {
        if first + each < DIGITS {
            let through = before[each] + C::cast_from(totals[each]);
            let word = flags.word::<C>(flags.through, through);
            state[words + each].at::<Device>().store::<Relaxed>(word);
            // From the beginning of the buffers. Wraps: the place in the tile is added to it.
            offsets[first + each] =
                C::cast_from(part.begin) + before[each] - C::cast_from(starts[each]);
        }
    }
    sync_cube();
    let keys_target = route::target::<K>(&*keys_between, &*keys_out, step.turn, tile);
    let mut payload_target = 0u64;
    if comptime!(moved != Moved::Nothing) {
        payload_target = route::target::<V>(&*payload_between, &*payload_out, step.turn, tile);
    }
    let target = Target {
        keys: keys_target,
        payload: payload_target,
    };
    if comptime!(tile.has_addresses()) {
        scatter::<K, V, W, C>(
            keys_out,
            payload_out,
            target,
            sorted,
            carried,
            &*offsets,
            step,
            keeps_keys,
            moved,
            order,
            tile,
        );
    } else if step.turn.writes_output() {
        scatter::<K, V, W, C>(
            keys_out,
            payload_out,
            target,
            sorted,
            carried,
            &*offsets,
            step,
            keeps_keys,
            moved,
            order,
            tile,
        );
    } else {
        scatter::<K, V, W, C>(
            keys_between,
            payload_between,
            target,
            sorted,
            carried,
            &*offsets,
            step,
            keeps_keys,
            moved,
            order,
            tile,
        );
    }
}

/// Writes the tile to where the pass writes, out of the order in which keys are only encoded from the first pass to the last.
#[cube]
#[allow(clippy::too_many_arguments)]
fn scatter<K: Int, V: Int, W: Int, C: Int>(
    keys: &mut [K],
    payload: &mut [V],
    target: Target,
    sorted: &Shared<[W]>,
    carried: &Shared<[V]>,
    offsets: &Shared<[C]>,
    step: Step,
    keeps_keys: bool,
    #[comptime] moved: Moved,
    #[comptime] order: Option<Order>,
    #[comptime] tile: Tile,
) {
    let cheap = comptime!(cheap(order));
    let is_last = step.turn.is_last();
    let writes_keys = keeps_keys || !is_last;
    if comptime!(cheap == order) {
        carry::scatter::<K, V, W, C>(
            keys,
            payload,
            target,
            sorted,
            carried,
            offsets,
            step.part,
            step.digit,
            writes_keys,
            moved,
            cheap,
            tile,
        );
    } else if is_last {
        carry::scatter::<K, V, W, C>(
            keys,
            payload,
            target,
            sorted,
            carried,
            offsets,
            step.part,
            step.digit,
            writes_keys,
            moved,
            order,
            tile,
        );
    } else {
        carry::scatter::<K, V, W, C>(
            keys,
            payload,
            target,
            sorted,
            carried,
            offsets,
            step.part,
            step.digit,
            writes_keys,
            moved,
            cheap,
            tile,
        );
    }
}
