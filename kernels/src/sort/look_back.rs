//! What the tiles before one say of where their keys go.

use super::tile::DIGITS;
use cubecl::prelude::*;
use girih::prelude::*;

/// Bits of a word of the state that say what its other bits are.
const FLAG_BITS: u32 = 2;

/// What the words of the state say in a pass. Every word says `through` when a pass has ended, and that is what says nothing
/// in the next: so no pass has to clear the words.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Flags {
    /// How many keys of the tile have the digit.
    pub alone: u32,
    /// Where the keys of the digit after the tile go.
    pub through: u32,
    /// The place of the flag.
    shift: u32,
}

#[cube]
impl Flags {
    /// Those of an even pass or of an odd one.
    pub fn of(odd: u32, #[comptime] count_bits: u32) -> Self {
        Flags {
            alone: 1u32 + 2u32 * odd,
            through: 2u32 - 2u32 * odd,
            shift: comptime!(count_bits - FLAG_BITS).runtime(),
        }
    }

    pub fn word<C: Int>(&self, flag: u32, count: C) -> C {
        (C::cast_from(flag) << C::cast_from(self.shift)) | count
    }

    pub fn flag<C: Int>(&self, word: C) -> u32 {
        u32::cast_from(word >> C::cast_from(self.shift))
    }

    pub fn count<C: Int>(&self, word: C) -> C {
        word & ((C::new(1i64) << C::cast_from(self.shift)) - C::new(1i64))
    }
}

/// Where the keys of a digit before the tile end: what the tiles before it say, from the nearest on, until one says it for
/// all that are before itself. `index` tiles are before it in its row, and the unit looks at `window` of them at once.
#[cube]
pub(super) fn look_back<C: Int>(
    state: &[Atomic<C>],
    own: usize,
    index: u32,
    flags: Flags,
    #[comptime] window: u32,
) -> C {
    let count = comptime!(window as usize);
    let mut sum = C::new(0i64);
    // How many tiles are still to be looked at. The first of the row says what it has for all before itself, so that none
    // beyond it counts, of which this looks at the first once more.
    let mut left = index;
    let first = own - index as usize * DIGITS;
    let mut is_done = false;
    while !is_done {
        let mut words = Array::<C>::new(count);
        #[unroll]
        for each in 0..count {
            let nearer = comptime!(each as u32 + 1);
            let tile = left.max(nearer) - nearer;
            words[each] = state[first + tile as usize * DIGITS]
                .at::<Device>()
                .load::<Relaxed>();
        }
        // Without branches: each of them is a case for the compiler.
        let mut goes_on = true;
        #[unroll]
        for each in 0..count {
            let flag = flags.flag::<C>(words[each]);
            let is_through = flag == flags.through;
            let counts = goes_on && (is_through || flag == flags.alone);
            sum += select(counts, flags.count::<C>(words[each]), C::new(0i64));
            left -= u32::cast_from(counts);
            is_done = is_done || (counts && is_through);
            goes_on = counts && !is_through;
        }
    }
    sum
}
