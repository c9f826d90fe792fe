//! Numbers cut to what a narrower type holds, so that what is out of range stays so.

use super::reporter::LARGEST;
use cubecl::prelude::*;

/// A number that is not negative, cut to the largest address; addresses are `long` where they have 64 bits.
#[cube]
pub(super) fn cut<I: Int>(number: I, #[comptime] long: bool) -> usize {
    let elem = elem_type_of::<I>();
    if comptime!(elem.size() == 8 && !long) {
        select(
            number > I::cast_from(u32::MAX),
            4294967295usize,
            usize::cast_from(number),
        )
    } else {
        usize::cast_from(number)
    }
}

/// How far a number is from 0, cut to the largest address.
#[cube]
pub(super) fn distance<I: Int>(number: I, #[comptime] long: bool) -> usize {
    // -1 - number, without the overflow that -number has at the type's minimum.
    let before = !number;
    let below = number < I::from_int(0);
    let last = cut::<I>(select(below, before, number), long);
    let elem = elem_type_of::<I>();
    let more = if comptime!(elem.size() == 8 && !long) {
        below && last < 4294967295usize
    } else {
        below
    };
    select(more, last + 1, last)
}

/// The number in 64 bits, made of its distance from 0.
#[cube]
pub(super) fn widened(number: i32) -> i64 {
    let below = number < 0;
    let last = i64::cast_from(u32::cast_from(select(below, !number, number)));
    select(below, -1i64 - last, last)
}

/// As a signed number, cut to the largest that a report tells from larger ones.
#[cube]
pub(super) fn narrowed(number: u64) -> i64 {
    let most = comptime!(LARGEST as u64);
    let largest = comptime!(LARGEST);
    select(number > most, largest.runtime(), i64::cast_from(number))
}

/// `number * step`, cut to what a report tells apart; `step` is not 0.
#[cube]
pub(super) fn product(number: i64, #[comptime] step: i64) -> i64 {
    let most = comptime!(LARGEST / step);
    let least = comptime!(-(LARGEST / step));
    let largest = comptime!(LARGEST);
    let smallest = comptime!(-LARGEST);
    let above = select(number > most, largest.runtime(), number * step);
    select(number < least, smallest.runtime(), above)
}

/// `first + coordinate`, cut to what a report tells apart.
#[cube]
pub(super) fn sum(first: i64, coordinate: u32) -> i64 {
    let largest = comptime!(LARGEST);
    let most = comptime!(LARGEST - (1 << 32));
    let sum = first + i64::cast_from(coordinate);
    select(first > most, largest.runtime(), sum)
}
