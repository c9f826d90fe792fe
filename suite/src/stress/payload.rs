//! What blocks hand from unit to unit under stress: words whose loss or age a checksum shows.
//!
//! Words are read and written without an order, and on CUDA and the CPU without atomicity, as user data is. A sector of 8
//! words has one that nobody writes: reading it beforehand brings the sector's old words into the reader's cache, where
//! an acquire must keep it from finding them.

use cubecl::prelude::*;
use girih::prelude::*;

/// Words of a sector, of which the first is never written.
pub const SECTOR: usize = 8;

/// Words of a sector that say something.
pub const WORDS: u32 = 7;

/// Brings the sector into the cache of this unit's processor.
#[cube]
pub fn touch(data: &[Atomic<u32>], sector: u32) {
    data[sector as usize * comptime!(SECTOR)].load_weak();
}

/// Writes words that follow from the seed.
#[cube]
pub fn write(data: &[Atomic<u32>], sector: u32, seed: u32) {
    let first = sector as usize * comptime!(SECTOR) + 1;
    for word in 0..WORDS {
        data[first + word as usize].store_weak(mix(seed + word));
    }
}

/// The checksum of the words that are there.
#[cube]
pub fn read(data: &[Atomic<u32>], sector: u32) -> u32 {
    let first = sector as usize * comptime!(SECTOR) + 1;
    let mut sum = 0u32;
    for word in 0..WORDS {
        sum = sum * 3u32 + data[first + word as usize].load_weak();
    }
    sum
}

#[cube]
fn mix(seed: u32) -> u32 {
    let mixed = (seed ^ (seed >> 16u32)) * 0x045d_9f3bu32;
    mixed ^ (mixed >> 16u32)
}

/// The checksum of what [`write`](fn@write) writes, on the host.
pub fn expected(seed: u32) -> u32 {
    let words = (0..WORDS).map(|word| {
        let seed = seed.wrapping_add(word);
        let mixed = (seed ^ (seed >> 16)).wrapping_mul(0x045d_9f3b);
        mixed ^ (mixed >> 16)
    });
    words.fold(0, |sum: u32, word| sum.wrapping_mul(3).wrapping_add(word))
}
