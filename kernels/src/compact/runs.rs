//! A run of a list, compacted by one unit, element after element: for devices whose planes have one unit.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]
// On every target a NaN is not equal to itself; whether it is unequal is not certain.
#![allow(clippy::nonminimal_bool)]

use super::Predicate;
use super::tile::{CompactPlan, Keep, place_of, write_place};
use cubecl::prelude::*;

/// Whether the element at the position is kept.
#[cube]
fn is_kept<E: Numeric, M: Int, P: Predicate>(
    input: &[E],
    mask: &[M],
    at: usize,
    #[comptime] keep: Keep,
) -> bool {
    if comptime!(keep == Keep::Mask) {
        mask[at] != M::from_int(0)
    } else if comptime!(keep == Keep::Predicate) {
        P::holds::<E>(input[at])
    } else {
        let mut is_kept = true;
        if at > 0 {
            is_kept = !(input[at] == input[at - 1]);
        }
        is_kept
    }
}

/// The end of a run.
#[cube]
fn end_of(begin: usize, run: usize, length: usize) -> usize {
    let mut end = begin + run;
    if end > length {
        end = length;
    }
    end
}

/// How many each unit's run keeps.
#[cube]
pub(crate) fn count_run<E: Numeric, M: Int, A: Int, P: Predicate>(
    input: &[E],
    mask: &[M],
    totals: &mut [A],
    length: usize,
    run: usize,
    #[comptime] keep: Keep,
) {
    let begin = ABSOLUTE_POS * run;
    if begin < length {
        let mut total = A::from_int(0);
        for at in begin..end_of(begin, run, length) {
            total += A::cast_from(is_kept::<E, M, P>(input, mask, at, keep));
        }
        totals[ABSOLUTE_POS] = total;
    }
}

/// Writes what each unit's run keeps, after what `totals`, scanned, counts before it.
#[cube]
pub(crate) fn write_run<E: Numeric, M: Int, I: Int, A: Int, P: Predicate>(
    input: &[E],
    mask: &[M],
    values: &mut [E],
    rejected: &mut [E],
    places: &mut [I],
    inverse: &mut [I],
    order: &ComptimeOption<Box<[I]>>,
    count: &mut [A],
    totals: &[A],
    extents: &Sequence<usize>,
    length: usize,
    run: usize,
    #[comptime] compact: CompactPlan,
) {
    let begin = ABSOLUTE_POS * run;
    if begin < length {
        let end = end_of(begin, run, length);
        let mut rank = 0usize;
        if begin > 0 {
            rank = usize::cast_from(totals[ABSOLUTE_POS - 1]);
        }
        for at in begin..end {
            if is_kept::<E, M, P>(input, mask, at, compact.keep) {
                if comptime!(compact.values) {
                    values[rank] = input[at];
                }
                if comptime!(compact.places > 0) {
                    write_place::<I>(places, extents, rank, at, compact.places);
                }
                rank += 1;
            } else if comptime!(compact.rejected) {
                rejected[at - rank] = input[at];
            }
            if comptime!(compact.inverse) {
                inverse[place_of::<I>(order, at)] = I::cast_from(rank - 1);
            }
        }
        if end == length {
            count[0] = A::cast_from(rank);
        }
    }
}
