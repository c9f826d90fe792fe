//! The host: plain integers, for one unit.

use super::super::lanes::WORDS;
use super::super::mapping::Predicate;
use super::Machine;

/// One unit of a plane, on the host.
pub(in crate::coop) struct Host {
    lane: u32,
    plane: u32,
}

impl Host {
    /// The unit at a position of a cube whose planes have 128 units.
    #[cfg(test)]
    pub(in crate::coop) fn at(position: u32) -> Self {
        Self::of_plane(position, 128)
    }

    /// The unit at a position of a cube whose planes have `plane` units.
    pub(in crate::coop) fn of_plane(position: u32, plane: u32) -> Self {
        Self {
            lane: position % plane,
            plane,
        }
    }
}

impl Machine for Host {
    type Number = u32;
    type Flag = bool;
    type Predicate = Predicate;

    fn known(&self, value: u32) -> u32 {
        value
    }
    fn constant(&self, number: u32) -> Option<u32> {
        Some(number)
    }
    fn add(&self, a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn sub(&self, a: u32, b: u32) -> u32 {
        a.wrapping_sub(b)
    }
    fn mul(&self, a: u32, b: u32) -> u32 {
        a.wrapping_mul(b)
    }
    fn div(&self, a: u32, b: u32) -> u32 {
        a.checked_div(b).unwrap_or(0)
    }
    fn rem(&self, a: u32, b: u32) -> u32 {
        a.checked_rem(b).unwrap_or(0)
    }
    fn bitand(&self, a: u32, b: u32) -> u32 {
        a & b
    }
    fn bitxor(&self, a: u32, b: u32) -> u32 {
        a ^ b
    }
    fn shl(&self, a: u32, b: u32) -> u32 {
        a << b
    }
    fn shr(&self, a: u32, b: u32) -> u32 {
        a >> b
    }
    fn count_ones(&self, a: u32) -> u32 {
        a.count_ones()
    }
    fn is_below(&self, a: u32, b: u32) -> bool {
        a < b
    }
    fn both(&self, a: bool, b: bool) -> bool {
        a && b
    }
    fn select(&self, flag: bool, a: u32, b: u32) -> u32 {
        if flag { a } else { b }
    }
    fn lane(&self) -> u32 {
        self.lane
    }
    fn plane(&self) -> Option<u32> {
        Some(self.plane)
    }
    fn words(&self) -> usize {
        WORDS
    }
    fn vote(&self, predicate: &Predicate, _lanes: [u32; WORDS]) -> (bool, [u32; WORDS]) {
        let votes = predicate.lanes();
        (votes.contains(self.lane), votes.words())
    }
    /// One unit does not see what the others have: whoever evaluates all of them fills this in.
    fn matching(&self, _number: u32, lanes: [u32; WORDS]) -> [u32; WORDS] {
        lanes
    }
}
