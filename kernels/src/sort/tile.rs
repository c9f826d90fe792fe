//! A tile of keys in one cube: where each goes, digit by digit, and the way there through shared memory.

use super::order::{Order, encode};
use cubecl::prelude::*;
use girih::coop::Sum;
use girih::prelude::*;

/// Bits of a digit.
pub(crate) const DIGIT_BITS: u32 = 8;
/// Values of a digit.
pub(crate) const DIGITS: usize = 256;

/// How the lanes of a plane find those that have the same digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matching {
    /// A vote for each bit of the digit.
    Votes,
    /// The same in PTX, where what is voted on is a number.
    Ptx,
    /// The device's own instruction, if it has one.
    Instruction,
}

/// How a cube holds a tile of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// Units of the cube.
    pub units: u32,
    /// Keys of a unit.
    pub items: u32,
    /// Units of the device's smallest plane.
    pub plane: u32,
    /// Words of 32 lanes that the device's largest plane has.
    pub words: u32,
    /// Whether keys are in registers, which have no index, so that every walk over them is unrolled.
    pub unroll: bool,
    /// How lanes find their like.
    pub matching: Matching,
    /// How many tiles before it a unit of [`SortPath::OneSweep`](crate::SortPath::OneSweep) looks at, at once.
    pub window: u32,
}

impl Tile {
    /// Keys of the cube.
    pub const fn len(&self) -> usize {
        self.units as usize * self.items as usize
    }

    /// Whether it has no keys.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Most planes that the cube has.
    pub(crate) const fn planes(&self) -> usize {
        self.units.div_ceil(self.plane) as usize
    }

    /// Whether it is for CUDA, whose buffers have addresses.
    pub(crate) const fn has_addresses(&self) -> bool {
        matches!(self.matching, Matching::Ptx)
    }

    /// Values of a digit that each unit counts.
    pub(crate) const fn digits_of_unit(&self) -> usize {
        DIGITS.div_ceil(self.units as usize)
    }
}

/// Which bits of an encoded key are the digit.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Digit {
    /// The place of the lowest.
    pub shift: u32,
    /// That many ones.
    pub mask: u32,
}

#[cube]
impl Digit {
    /// The digit of a key.
    pub fn of<W: Int>(&self, key: W) -> u32 {
        u32::cast_from(key >> W::cast_from(self.shift)) & self.mask
    }

    /// The same by a number below 2^31 that the compiler does not know to be below it: it cannot keep the digits of all keys
    /// in registers from their first use to the next, but computes them anew.
    pub fn again(&self, number: u32) -> Digit {
        Digit {
            shift: self.shift | number >> 31u32,
            mask: self.mask,
        }
    }
}

/// Where a unit's keys are in the tile: each plane has a run of them, which its lanes take in turn.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Seat {
    /// The first key's place.
    pub first: u32,
    /// How much further the next one's is.
    pub step: u32,
    /// Where the counters of the plane begin.
    pub counters: u32,
}

/// The seat of this unit.
#[cube]
pub(crate) fn seat(#[comptime] tile: Tile) -> Seat {
    let plane = this_plane();
    let step = plane.unit_count();
    let index = this_cube().planes().unit_rank();
    Seat {
        first: index * step * comptime!(tile.items) + plane.unit_rank(),
        step,
        counters: index * comptime!(DIGITS as u32),
    }
}

/// Loads the unit's keys, encoded; past the first `valid` places of the tile, keys that come last.
#[cube]
pub(crate) fn load<K: Int, W: Int>(
    keys: &mut Array<W>,
    input: &[K],
    start: usize,
    valid: u32,
    seat: Seat,
    #[comptime] order: Option<Order>,
    #[comptime] tile: Tile,
) {
    #[unroll(comptime!(tile.unroll))]
    for item in 0..comptime!(tile.items as usize) {
        let place = seat.first + item as u32 * seat.step;
        let mut key = !W::new(0i64);
        if place < valid {
            key = encode::<W>(W::cast_from(input[start + place as usize]), order);
        }
        keys[item] = key;
    }
}

/// How many lanes of the plane have the unit's digit: before this one, and in all.
#[cube]
pub(crate) fn peers(plane: &Group, digit: u32, #[comptime] tile: Tile) -> (u32, u32) {
    if comptime!(tile.plane == 1 && tile.words == 1) {
        (0u32.runtime(), 1u32.runtime())
    } else {
        let lane = plane.unit_rank();
        let mut before = 0u32;
        let mut count = 0u32;
        #[unroll]
        for word in 0..comptime!(tile.words) {
            let same = same_digit(plane, digit, word, tile);
            let first = comptime!(32 * word);
            let mut below = (1u32 << (lane & 31u32)) - 1u32;
            if comptime!(tile.words > 1) {
                below = select(lane < first, 0u32, below);
                below = select(lane >= comptime!(first + 32), 0xffff_ffffu32, below);
            }
            before += (same & below).count_ones();
            count += same.count_ones();
        }
        (before, count)
    }
}

/// The lanes of one word of the plane's mask that have the unit's digit.
#[cube]
fn same_digit(plane: &Group, digit: u32, #[comptime] word: u32, #[comptime] tile: Tile) -> u32 {
    if comptime!(tile.matching == Matching::Instruction) {
        plane.match_any::<u32>(digit).word(word)
    } else if comptime!(tile.matching == Matching::Ptx) {
        like_digits(digit)
    } else {
        let mut same = plane.lane_mask().word(word);
        #[unroll]
        for bit in 0..comptime!(DIGIT_BITS) {
            let has = digit & comptime!(1u32 << bit) != 0u32;
            let votes = plane.ballot(has).word(word);
            same &= select(has, votes, !votes);
        }
        same
    }
}

/// The lanes of a plane of 32, all of which are here, that have the unit's digit of 8 bits.
///
/// As girih's `ballot` does it, the votes would be on truth values: those pass through numbers on their way to PTX, which costs
/// three instructions for each bit of a digit, of about eight. And here one instruction joins the votes of two bits.
#[cube]
fn like_digits(digit: u32) -> u32 {
    let same: u32;
    gpu_asm!(
        "{{ .reg .pred y; .reg .b32 a, b, s;",
        "and.b32 a, {digit}, 1; setp.ne.u32 y, a, 0; vote.sync.ballot.b32 a, y, 0xffffffff; @!y not.b32 a, a;",
        "and.b32 b, {digit}, 2; setp.ne.u32 y, b, 0; vote.sync.ballot.b32 b, y, 0xffffffff; @!y not.b32 b, b;",
        "and.b32 s, a, b;",
        "and.b32 a, {digit}, 4; setp.ne.u32 y, a, 0; vote.sync.ballot.b32 a, y, 0xffffffff; @!y not.b32 a, a;",
        "and.b32 b, {digit}, 8; setp.ne.u32 y, b, 0; vote.sync.ballot.b32 b, y, 0xffffffff; @!y not.b32 b, b;",
        "lop3.b32 s, s, a, b, 0x80;",
        "and.b32 a, {digit}, 16; setp.ne.u32 y, a, 0; vote.sync.ballot.b32 a, y, 0xffffffff; @!y not.b32 a, a;",
        "and.b32 b, {digit}, 32; setp.ne.u32 y, b, 0; vote.sync.ballot.b32 b, y, 0xffffffff; @!y not.b32 b, b;",
        "lop3.b32 s, s, a, b, 0x80;",
        "and.b32 a, {digit}, 64; setp.ne.u32 y, a, 0; vote.sync.ballot.b32 a, y, 0xffffffff; @!y not.b32 a, a;",
        "and.b32 b, {digit}, 128; setp.ne.u32 y, b, 0; vote.sync.ballot.b32 b, y, 0xffffffff; @!y not.b32 b, b;",
        "lop3.b32 {same}, s, a, b, 0x80; }}",
        digit = in(_) digit, same = out(_) same,
        options(nomem),
    );
    same
}

/// Gives each key its rank among the keys of its plane that have its digit, and counts those of each.
#[cube]
pub(crate) fn rank<W: Int>(
    ranks: &mut Array<u32>,
    counters: &mut Shared<[u32]>,
    keys: &Array<W>,
    digit: Digit,
    seat: Seat,
    #[comptime] tile: Tile,
) {
    let plane = this_plane();
    let mut bin = plane.unit_rank();
    while bin < comptime!(DIGITS as u32) {
        counters[(seat.counters + bin) as usize] = 0u32;
        bin += seat.step;
    }
    plane.sync();
    let mut none = 0u32;
    #[unroll(comptime!(tile.unroll))]
    for item in 0..comptime!(tile.items as usize) {
        // No bit of `none` is ever set, but no compiler can know that. It holds the votes on a key back until the one before
        // it is counted: all of them at once would take all registers. And it makes one number of a sum, that otherwise is
        // two until it is added to a third.
        let value = digit.of::<W>(keys[item]) | none;
        let (before, count) = peers(&plane, value, tile);
        let at = (seat.counters + value) as usize;
        let seen = counters[at];
        plane.sync();
        if before == 0u32 {
            counters[at] = seen + count;
        }
        plane.sync();
        ranks[item] = (seen + before) | none;
        none = seen >> 31u32;
    }
}

/// How many keys of the tile have each of the digits that this unit counts, of which `counts` has a place for each; every
/// plane's share goes to `held`.
#[cube]
pub(crate) fn count(
    counts: &mut Array<u32>,
    held: &mut Array<u32>,
    counters: &Shared<[u32]>,
    #[comptime] tile: Tile,
) {
    let planes = comptime!(tile.planes());
    let first = UNIT_POS as usize * comptime!(tile.digits_of_unit());
    #[unroll(comptime!(tile.unroll))]
    for own in 0..comptime!(tile.digits_of_unit()) {
        let mut total = 0u32;
        if first + own < DIGITS {
            #[unroll(comptime!(tile.unroll))]
            for plane in 0..planes {
                let count = counters[plane * DIGITS + first + own];
                held[own * planes + plane] = count;
                total += count;
            }
        }
        counts[own] = total;
    }
}

/// Where the keys of each of this unit's digits begin in the sorted tile goes to `starts`, and to the counters where those
/// of each plane do.
#[cube]
pub(crate) fn begin(
    starts: &mut Array<u32>,
    counters: &mut Shared<[u32]>,
    counts: &Array<u32>,
    held: &Array<u32>,
    #[comptime] tile: Tile,
) {
    let planes = comptime!(tile.planes());
    let first = UNIT_POS as usize * comptime!(tile.digits_of_unit());
    let mut total = 0u32;
    #[unroll(comptime!(tile.unroll))]
    for own in 0..comptime!(tile.digits_of_unit()) {
        starts[own] = total;
        total += counts[own];
    }
    let before = this_cube().exclusive_scan::<u32, Sum>(total, 0u32);
    #[unroll(comptime!(tile.unroll))]
    for own in 0..comptime!(tile.digits_of_unit()) {
        let mut next = before + starts[own];
        starts[own] = next;
        if first + own < DIGITS {
            #[unroll(comptime!(tile.unroll))]
            for plane in 0..planes {
                counters[plane * DIGITS + first + own] = next;
                next += held[own * planes + plane];
            }
        }
    }
}

/// Adds to each rank where the keys of its plane and digit begin, and puts the keys there.
#[cube]
pub(crate) fn exchange<W: Int>(
    exchanged: &mut Shared<[W]>,
    ranks: &mut Array<u32>,
    counters: &Shared<[u32]>,
    keys: &Array<W>,
    digit: Digit,
    seat: Seat,
    #[comptime] tile: Tile,
) {
    let digit = digit.again(counters[seat.counters as usize]);
    #[unroll(comptime!(tile.unroll))]
    for item in 0..comptime!(tile.items as usize) {
        let value = digit.of::<W>(keys[item]);
        let place = ranks[item] + counters[(seat.counters + value) as usize];
        exchanged[place as usize] = keys[item];
        ranks[item] = place;
    }
}
