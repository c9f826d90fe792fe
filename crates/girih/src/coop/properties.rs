//! What is known of a mapping's result while a kernel is expanded, from what is known of the result before it.

use super::mapping::Tag;
use super::result::{Properties, greatest_common_divisor};

/// After `group_by`, whose count may be known.
pub(super) fn group_by(
    p: Properties,
    count: Option<u32>,
    tag: Tag,
    plane: Option<u32>,
) -> Properties {
    let counts = p.unit_count.zip(count);
    let is_even = counts.is_some_and(|(units, count)| units % count == 0);
    let groups = p.group_count.zip(counts);
    Properties {
        group_count: groups.map(|(groups, (units, count))| groups * (units / count)),
        unit_count: count,
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
    let total = known.map(|counts| counts.iter().sum::<u32>());
    let is_all = total.is_some() && total == p.unit_count;
    // Of a run of starts, each is the one before it and a count.
    let starts = |counts: &[u32]| {
        let (_last, counts) = counts.split_last().unwrap_or((&0, &[]));
        counts
            .iter()
            .copied()
            .fold(p.alignment, greatest_common_divisor)
    };
    Properties {
        group_count: p.group_count.map(|groups| groups * counts.len() as u32),
        unit_count: known.and_then(common),
        is_always_exhaustive: p.is_always_exhaustive && (tag == Tag::Exhaustive || is_all),
        alignment: known.map_or(1, starts),
        ..p
    }
    .settled(plane)
}

/// The number that all are.
fn common(counts: &[u32]) -> Option<u32> {
    let (first, rest) = counts.split_first()?;
    rest.iter().all(|count| count == first).then_some(*first)
}

/// After `take`, whose count may be known.
pub(super) fn take(p: Properties, count: Option<u32>, plane: Option<u32>) -> Properties {
    let is_all = count.is_some() && count == p.unit_count;
    Properties {
        unit_count: count,
        is_always_exhaustive: p.is_always_exhaustive && is_all,
        ..p
    }
    .settled(plane)
}

/// After `binary_partition`.
pub(super) fn binary_partition(p: Properties) -> Properties {
    Properties {
        group_count: p.group_count.map(|groups| 2 * groups),
        unit_count: None,
        is_always_contiguous: false,
        ..p
    }
}
