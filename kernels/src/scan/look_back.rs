//! Decoupled look-back: a tile that has its own total looks at what the tiles before it have published, and goes on back
//! until one knows all that is before it (Merrill and Garland, 2016).
//!
//! A tile publishes twice: its total, then its total with all before. A value of up to 32 bits is published with its state
//! in one word of 64 bits, so that a relaxed store and load hand it on whole; a wider one lies in words of its own, each
//! written once, which the state's release hands on to an acquire.
//!
//! A tile waits for tiles before it alone, and a cube does the tile of its own number. So whoever waits must know that the
//! cubes before it have begun: CUDA begins the cubes of a launch in the order of their numbers (single-pass scans of NVIDIA's
//! own libraries rest on that as well), and the CPU runs them one after another. A ticket would not need it, but it is a round
//! trip to memory before a cube's first load.
//!
//! A state has the number of its launch, so that the memory of states is used again without being cleared.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// The expansions use them.
#![allow(clippy::extra_unused_type_parameters)]
// A kernel has no such method.
#![allow(clippy::manual_is_multiple_of)]

use super::operator::{By, ScanOperator};
use cubecl::prelude::*;
use girih::memory::blocks::{Ordered, Orders};
use girih::prelude::*;

/// Nothing is known of the tile yet.
const NOTHING: u32 = 0;
/// The tile's own total is known.
const OWN: u32 = 1;
/// The total of the row up to the end of the tile is known.
const ALL: u32 = 2;

/// Words of 64 bits for each tile, of values of so many bytes.
pub(crate) const fn words(bytes: usize) -> usize {
    if bytes <= 4 { 1 } else { 3 }
}

/// Launches that states tell apart.
pub(crate) const LAUNCHES: u32 = 1 << 30;

/// Words of 64 bits that each tile's state has.
#[cube]
fn words_of<A: Numeric>() -> comptime_type!(usize) {
    intrinsic!(|scope| { words(A::elem_type(scope).size()) })
}

/// The value's bits.
#[cube]
#[allow(unused_variables)]
fn to_bits<A: Numeric>(value: A) -> u64 {
    intrinsic!(|scope| {
        match A::elem_type(scope).size() {
            1 => {
                let bits = u8::__expand_reinterpret::<A>(scope, value);
                u64::__expand_cast_from(scope, bits)
            }
            2 => {
                let bits = u16::__expand_reinterpret::<A>(scope, value);
                u64::__expand_cast_from(scope, bits)
            }
            4 => {
                let bits = u32::__expand_reinterpret::<A>(scope, value);
                u64::__expand_cast_from(scope, bits)
            }
            _ => u64::__expand_reinterpret::<A>(scope, value),
        }
    })
}

/// The value of these bits.
#[cube]
#[allow(unused_variables)]
fn of_bits<A: Numeric>(bits: u64) -> A {
    intrinsic!(|scope| {
        match A::elem_type(scope).size() {
            1 => {
                let bits = u8::__expand_cast_from(scope, bits);
                A::__expand_reinterpret::<u8>(scope, bits).expand.into()
            }
            2 => {
                let bits = u16::__expand_cast_from(scope, bits);
                A::__expand_reinterpret::<u16>(scope, bits).expand.into()
            }
            4 => {
                let bits = u32::__expand_cast_from(scope, bits);
                A::__expand_reinterpret::<u32>(scope, bits).expand.into()
            }
            _ => A::__expand_reinterpret::<u64>(scope, bits).expand.into(),
        }
    })
}

/// Publishes a total of the tile, `OWN` or `ALL`; by one unit.
#[cube]
fn publish<A: Numeric, R: Orders>(
    states: &[Atomic<u64>],
    launch: u32,
    tile: usize,
    value: A,
    #[comptime] state: u32,
) {
    let words = words_of::<A>();
    let at = tile * words;
    let bits = to_bits::<A>(value);
    let mark = u64::cast_from(launch * 4u32 + comptime!(state));
    if comptime!(words == 1) {
        states[at]
            .at::<Device>()
            .store::<Relaxed>(bits << 32u64 | mark);
    } else if comptime!(R::WRITES_FIRST) {
        let slot = at + comptime!(state as usize);
        states[slot].at::<Device>().store::<Relaxed>(bits);
        states[at].at::<Device>().store::<R::Releasing>(mark);
    } else {
        let slot = at + comptime!(state as usize);
        states[at].at::<Device>().store::<R::Releasing>(mark);
        states[slot]
            .at::<Device>()
            .store::<Relaxed>(bits | some_time_later(states, at));
    }
}

/// Nothing, after the device has gone to memory for it a few times, one after another: the highest bit of a mark, which is 0. So
/// late may a value come that no order holds to its place; a device seldom shows it by itself.
#[cube]
fn some_time_later(states: &[Atomic<u64>], at: usize) -> u64 {
    let mut nothing = 0u64;
    for _ in 0..8u32 {
        let mark = states[at + usize::cast_from(nothing)].at::<Device>();
        nothing = mark.load::<Relaxed>() >> 63u64;
    }
    nothing
}

/// What a tile has published last, and its state.
#[cube]
fn peek<A: Numeric, R: Orders>(states: &[Atomic<u64>], launch: u32, tile: usize) -> (A, u32) {
    let words = words_of::<A>();
    let at = tile * words;
    if comptime!(words == 1) {
        let word = states[at].at::<Device>().load::<Relaxed>();
        let state = state_of(u32::cast_from(word), launch);
        (of_bits::<A>(word >> 32u64), state)
    } else {
        let mark = states[at].at::<Device>().load::<R::Acquiring>();
        let state = state_of(u32::cast_from(mark), launch);
        // What nothing was published of is read as well, and not used.
        let slot = at + select(state == ALL, 2usize, 1usize);
        let bits = states[slot].at::<Device>().load::<Relaxed>();
        (of_bits::<A>(bits), state)
    }
}

/// The state that a mark says, which may be that of an earlier launch.
#[cube]
fn state_of(mark: u32, launch: u32) -> u32 {
    // Of this launch it is above the launch's number by the state; of an earlier one it wraps, or is 0.
    let state = mark - launch * 4u32;
    select(state <= ALL, state, NOTHING)
}

/// Publishes the own total of a tile, of up to 32 bits; by one unit.
#[cube]
pub(super) fn publish_own<A: Numeric>(states: &[Atomic<u64>], launch: u32, tile: usize, total: A) {
    publish::<A, Ordered>(states, launch, tile, total, OWN);
}

/// The word that a tile has published last, of totals of up to 32 bits.
#[cube]
pub(super) fn peek_word(states: &[Atomic<u64>], tile: usize) -> u64 {
    states[tile].at::<Device>().load::<Relaxed>()
}

/// Whether a word says a total in this launch.
#[cube]
pub(super) fn says_total(word: u64, launch: u32) -> bool {
    state_of(u32::cast_from(word), launch) != NOTHING
}

/// The total that a word says.
#[cube]
pub(super) fn total_of<A: Numeric>(word: u64) -> A {
    of_bits::<A>(word >> 32u64)
}

/// What the row has before its tile number `index`, whose state is number `tile`: by a whole plane, which looks at as many
/// tiles at once as it has lanes.
#[cube]
fn look_back<A: Numeric, O: ScanOperator, R: Orders>(
    states: &[Atomic<u64>],
    launch: u32,
    tile: usize,
    index: usize,
) -> A {
    let plane = this_plane();
    let lanes = plane.unit_count() as usize;
    let lane = plane.unit_rank();
    let mut prefix = O::identity::<A>();
    // How many tiles back the plane has seen.
    let mut seen = 0usize;
    let mut looking = index > 0;
    while looking {
        // The lanes look at neighbours, the last of them at the nearest.
        let back = seen + lanes - lane as usize;
        let mut value = O::identity::<A>();
        // Before the row there is nothing to add.
        let mut state = comptime!(ALL).runtime();
        let mut known = 0u32;
        let mut waiting = true;
        while waiting {
            if back <= index {
                let (found, found_state) = peek::<A, R>(states, launch, tile - back);
                value = found;
                state = found_state;
            }
            known = plane.ballot(state == ALL).word(0u32);
            let missing = plane.ballot(state == NOTHING).word(0u32);
            // The nearest tile that knows all is enough, if those after it know their own: of two sets without a common
            // lane the one with the highest lane is the larger number.
            waiting = missing > known;
        }
        // From the last lane that knows all, or from the first.
        let is_part = known >> lane <= 1u32;
        let part = select(is_part, value, O::identity::<A>());
        let window = plane.reduce::<A, By<O>>(part);
        prefix = O::combine::<A>(window, prefix);
        looking = known == 0u32;
        seen += lanes;
    }
    prefix
}

/// What the row has before this cube's tile, on every unit of the cube; what the tile has is published. `tile` is the number
/// of its state, `index` its place in the row; `is_cut` says that a segment begins in it, and `total` is what it has since.
#[cube]
pub(crate) fn prefix_of<A: Numeric, O: ScanOperator, R: Orders>(
    states: &[Atomic<u64>],
    launch: u32,
    tile: usize,
    index: usize,
    total: A,
    is_cut: bool,
) -> A {
    let mut handed = shared::<A>(1usize);
    if UNIT_POS < this_plane().unit_count() {
        // A tile in which a segment begins knows all that its successors need.
        let knows = index == 0 || is_cut;
        if UNIT_POS == 0u32 {
            if knows {
                publish::<A, R>(states, launch, tile, total, ALL);
            } else {
                publish::<A, R>(states, launch, tile, total, OWN);
            }
        }
        let prefix = look_back::<A, O, R>(states, launch, tile, index);
        if UNIT_POS == 0u32 {
            if !knows {
                publish::<A, R>(states, launch, tile, O::combine::<A>(prefix, total), ALL);
            }
            handed[0] = prefix;
        }
    }
    sync_cube();
    handed[0]
}
