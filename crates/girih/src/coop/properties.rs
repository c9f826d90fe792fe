//! What is known of a mapping's result while a kernel is expanded, from what is known of the result before it.

use super::mapping::{Count, Step, Tag};
use super::result::{Properties, greatest_common_divisor};

/// After one of girih's mappings.
pub(super) fn after<N, P, O>(
    step: &Step<N, P, O>,
    p: Properties,
    tag: Tag,
    plane: Option<u32>,
) -> Properties {
    match step {
        Step::GroupBy(count) => group_by(p, count.known, tag, plane),
        Step::GroupAs(counts) => group_as(p, &known(counts), tag, plane),
        Step::Take(count) => take(p, count.known, plane),
        Step::BinaryPartition(_) => binary_partition(p),
        Step::Own(_) => p,
    }
}

/// What is known of each count.
pub(super) fn known<N>(counts: &[Count<N>]) -> Vec<Option<u32>> {
    counts.iter().map(|count| count.known).collect()
}

/// After `group_by`, whose count may be known.
pub(super) fn group_by(
    p: Properties,
    count: Option<u32>,
    tag: Tag,
    plane: Option<u32>,
) -> Properties {
    let counts = p.unit_count.zip(count);
    let is_even = counts.is_some_and(|(units, count)| units.checked_rem(count) == Some(0));
    let groups = p.group_count.zip(counts);
    Properties {
        group_count: groups
            .and_then(|(groups, (units, count))| groups.checked_mul(units.checked_div(count)?)),
        unit_count: count,
        unit_count_range: count.map(|count| (count, count)),
        is_always_exhaustive: p.is_always_exhaustive && (tag == Tag::Exhaustive || is_even),
        alignment: count.map_or(1, |count| greatest_common_divisor(p.alignment, count)),
        ..p
    }
    .settled(plane)
}

/// After `group_as`, whose counts may be known.
pub(super) fn group_as(
    p: Properties,
    counts: &[Option<u32>],
    tag: Tag,
    plane: Option<u32>,
) -> Properties {
    let known: Option<Vec<u32>> = counts.iter().copied().collect();
    let known = known.as_deref();
    let total = known.map(|counts| counts.iter().map(|count| u64::from(*count)).sum::<u64>());
    let is_all = total.is_some() && total == p.unit_count.map(u64::from);
    let range = known.and_then(|counts| {
        let (least, most) = (counts.iter().min(), counts.iter().max());
        least.copied().zip(most.copied())
    });
    // Of a run of starts, each is the one before it and a count.
    let starts = |counts: &[u32]| {
        let (_last, counts) = counts.split_last().unwrap_or((&0, &[]));
        counts
            .iter()
            .copied()
            .fold(p.alignment, greatest_common_divisor)
    };
    Properties {
        group_count: p
            .group_count
            .and_then(|groups| groups.checked_mul(counts.len() as u32)),
        unit_count: range.and_then(|(least, most)| (least == most).then_some(least)),
        unit_count_range: range,
        is_always_exhaustive: p.is_always_exhaustive && (tag == Tag::Exhaustive || is_all),
        alignment: known.map_or(1, starts),
        ..p
    }
    .settled(plane)
}

/// After `take`, whose count may be known.
pub(super) fn take(p: Properties, count: Option<u32>, plane: Option<u32>) -> Properties {
    let is_all = count.is_some() && count == p.unit_count;
    Properties {
        unit_count: count,
        unit_count_range: count.map(|count| (count, count)),
        is_always_exhaustive: p.is_always_exhaustive && is_all,
        ..p
    }
    .settled(plane)
}

/// After `binary_partition`.
pub(super) fn binary_partition(p: Properties) -> Properties {
    Properties {
        group_count: p.group_count.and_then(|groups| groups.checked_mul(2)),
        unit_count: None,
        unit_count_range: None,
        is_always_contiguous: false,
        ..p
    }
}
