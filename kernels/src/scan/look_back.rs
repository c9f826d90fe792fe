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

use super::ahead::Tuning;
use super::operator::{By, ScanOperator};
use cubecl::prelude::*;
use girih::memory::blocks::Orders;
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

/// What a unit has seen of its tiles, from the nearest on until one knows all.
#[derive(CubeType)]
struct Seen<A: Numeric> {
    value: A,
    /// Whether one of them knows all.
    knows: bool,
    /// Whether one before that has published nothing.
    misses: bool,
}

/// Looks at `deep` tiles, the nearest of which is `back` tiles back.
#[cube]
fn look<A: Numeric, O: ScanOperator, R: Orders>(
    states: &[Atomic<u64>],
    launch: u32,
    tile: usize,
    index: usize,
    back: usize,
    #[comptime] deep: usize,
) -> Seen<A> {
    let mut values = Sequence::<A>::new();
    let mut found = Sequence::<u32>::new();
    #[unroll]
    for step in 0..deep {
        // Before the row there is nothing to add; the row's first tile is looked at in its place.
        let is_there = back + step <= index;
        let far = select(is_there, back + step, index);
        let (value, state) = peek::<A, R>(states, launch, tile - far);
        values.push(select(is_there, value, O::identity::<A>()));
        found.push(select(is_there, state, comptime!(ALL).runtime()));
    }
    let mut value = O::identity::<A>();
    let mut knows = false;
    let mut misses = false;
    #[unroll]
    for step in 0..deep {
        let counts = !knows && !misses;
        let state = found[step];
        let is_published = state != NOTHING;
        let both = O::combine::<A>(values[step], value);
        value = select(counts && is_published, both, value);
        knows = knows || (counts && state == ALL);
        misses = misses || (counts && !is_published);
    }
    Seen::<A> {
        value,
        knows,
        misses,
    }
}

/// What the tiles of a window have that a plane looks at, from the nearest that knows all on, and whether there is one. The
/// nearest tile is `nearest` tiles back.
#[cube]
fn window<A: Numeric, O: ScanOperator, R: Orders>(
    states: &[Atomic<u64>],
    launch: u32,
    tile: usize,
    index: usize,
    nearest: usize,
    #[comptime] deep: usize,
) -> (A, bool) {
    let plane = this_plane();
    let lanes = plane.unit_count();
    let lane = plane.unit_rank();
    // The lanes look at neighbours, the last of them at the nearest.
    let back = nearest + (lanes - 1 - lane) as usize * deep;
    let mut value = O::identity::<A>();
    let mut known = 0u32;
    let mut waiting = true;
    while waiting {
        let seen = look::<A, O, R>(states, launch, tile, index, back, deep);
        value = seen.value;
        known = plane.ballot(seen.knows).word(0u32);
        let missing = plane.ballot(seen.misses).word(0u32);
        // The nearest tile that knows all is enough, if those after it know their own: of two sets without a common
        // lane the one with the highest lane is the larger number.
        waiting = missing > known;
    }
    // From the last lane that knows all, or from the first.
    let is_part = known >> lane <= 1u32;
    let part = select(is_part, value, O::identity::<A>());
    (plane.reduce::<A, By<O>>(part), known != 0u32)
}

/// What the row has before its tile number `index`, whose state is number `tile`: by a whole plane, which looks at several
/// tiles at once.
#[cube]
fn look_back<A: Numeric, O: ScanOperator, R: Orders>(
    states: &[Atomic<u64>],
    launch: u32,
    tile: usize,
    index: usize,
    #[comptime] deep: usize,
) -> A {
    let tiles = this_plane().unit_count() as usize * deep;
    let mut prefix = O::identity::<A>();
    let mut nearest = 1usize;
    let mut looking = index > 0;
    while looking {
        let (part, knows) = window::<A, O, R>(states, launch, tile, index, nearest, deep);
        prefix = O::combine::<A>(part, prefix);
        looking = !knows;
        nearest += tiles;
    }
    prefix
}

/// The same, by all planes of the cube, on all their units.
#[cube]
fn look_back_together<A: Numeric, O: ScanOperator, R: Orders>(
    states: &[Atomic<u64>],
    launch: u32,
    tile: usize,
    index: usize,
    #[comptime] planes: usize,
    #[comptime] deep: usize,
) -> A {
    let mut parts = shared::<A>(planes);
    let mut known = shared::<u32>(planes);
    let lanes = this_plane().unit_count();
    let own = UNIT_POS / lanes;
    let tiles = lanes as usize * deep;
    let mut prefix = O::identity::<A>();
    // The first plane looks at the nearest tiles.
    let mut nearest = own as usize * tiles + 1;
    let mut looking = index > 0;
    while looking {
        let (part, knows) = window::<A, O, R>(states, launch, tile, index, nearest, deep);
        if UNIT_POS % lanes == 0u32 {
            parts[own as usize] = part;
            known[own as usize] = u32::cast_from(knows);
        }
        sync_cube();
        let mut is_found = false;
        #[unroll]
        for place in 0..planes {
            let both = O::combine::<A>(parts[place], prefix);
            prefix = select(is_found, prefix, both);
            is_found = is_found || known[place] == 1u32;
        }
        looking = !is_found;
        if looking {
            // All have read the parts.
            sync_cube();
        }
        nearest += tiles * planes;
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
    #[comptime] planes: usize,
    #[comptime] tuning: Tuning,
) -> A {
    // A tile in which a segment begins knows all that its successors need.
    let knows = index == 0 || is_cut;
    if UNIT_POS == 0u32 {
        if knows {
            publish::<A, R>(states, launch, tile, total, ALL);
        } else {
            publish::<A, R>(states, launch, tile, total, OWN);
        }
    }
    if comptime!(tuning.whole) {
        let prefix =
            look_back_together::<A, O, R>(states, launch, tile, index, planes, tuning.deep);
        if UNIT_POS == 0u32 && !knows {
            publish::<A, R>(states, launch, tile, O::combine::<A>(prefix, total), ALL);
        }
        prefix
    } else {
        let mut handed = shared::<A>(1usize);
        if UNIT_POS < this_plane().unit_count() {
            let prefix = look_back::<A, O, R>(states, launch, tile, index, tuning.deep);
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
}
