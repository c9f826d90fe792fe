//! The mappings, once for the host and for kernels.
//!
//! What a mapping does to a unit's result is [`apply`]; what it does to what is known at comptime is in `properties`.

use super::Level;
use super::lanes::{self, WORDS};
use super::machine::Machine;
use super::mapping::{Count, Step, Tag};
use super::properties;
use super::result::Placement;
use crate::error::{Error, Precondition, Result};

/// Where a mapping is applied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    /// What the group that is split counts.
    pub unit: Level,
    /// How the new groups are made.
    pub tag: Tag,
    /// The size of planes, where they have one, the group counts units, and cubes are whole planes or the group is of one
    /// cube.
    pub plane: Option<u32>,
}

/// The result after one of girih's mappings.
///
/// # Errors
/// [`Error::Mapping`] with the first precondition that is known to be broken.
pub(super) fn apply<M: Machine, O>(
    m: &M,
    step: &Step<M::Number, M::Predicate, O>,
    site: Site,
    previous: Placement<M>,
) -> Result<Placement<M>> {
    match step {
        Step::GroupBy(count) => group_by(m, *count, site, previous),
        Step::GroupAs(counts) => group_as(m, counts, site, previous),
        Step::Take(count) => take(m, *count, site, previous),
        Step::BinaryPartition(predicate) => binary_partition(m, predicate, site, previous),
        Step::Own(_) => Ok(previous),
    }
}

fn broken<T>(rule: Precondition, mapping: String, given: String) -> Result<T> {
    Err(Error::Mapping {
        rule,
        mapping,
        given,
    })
}

/// The sizes of the smallest and the largest group, where they are known and there are groups.
fn sizes<M: Machine>(m: &M, p: Placement<M>) -> Option<(u32, u32)> {
    match (m.constant(p.group_count), m.constant(p.unit_count)) {
        (Some(0), _) => None,
        (_, Some(units)) => Some((units, units)),
        _ => p.properties.unit_count_range,
    }
}

fn group_by<M: Machine>(
    m: &M,
    count: Count<M::Number>,
    site: Site,
    p: Placement<M>,
) -> Result<Placement<M>> {
    let named = || format!("group_by({count})");
    let known = m.constant(count.number);
    if known == Some(0) {
        return broken(Precondition::ZeroCount, named(), "a count of 0".to_owned());
    }
    let units = match sizes(m, p) {
        Some((least, most)) if least != most => {
            let given = format!("groups of {least} to {most} units");
            return broken(Precondition::UnequalGroups, named(), given);
        }
        sizes => sizes.map(|(units, _)| units),
    };
    let is_even = units.zip(known).map(|(units, known)| units % known == 0);
    if let (Tag::Exhaustive, Some(false), Some(units)) = (site.tag, is_even, units) {
        let given = format!("groups of {units} units");
        return broken(Precondition::NotExhaustive, named(), given);
    }
    let (groups, outer, unit_rank) = match units.is_some() && units == known {
        true => (m.known(1), m.known(0), p.unit_rank),
        false => (
            m.div(p.unit_count, count.number),
            m.div(p.unit_rank, count.number),
            m.rem(p.unit_rank, count.number),
        ),
    };
    let is_valid = match site.tag == Tag::Exhaustive || is_even == Some(true) {
        true => p.is_valid,
        false => m.both(p.is_valid, m.is_below(outer, groups)),
    };
    let next = Placement {
        properties: properties::group_by(p.properties, count.known, site.tag, site.plane),
        group_count: m.mul(p.group_count, groups),
        group_rank: m.add(m.mul(p.group_rank, groups), outer),
        unit_count: count.number,
        unit_rank,
        is_valid,
        lanes: p.lanes,
    };
    Ok(masked(m, site, p, next))
}

fn group_as<M: Machine>(
    m: &M,
    counts: &[Count<M::Number>],
    site: Site,
    p: Placement<M>,
) -> Result<Placement<M>> {
    let total = require_counts(m, counts, site, p)?;
    let (rank, start, unit_count) = find(m, counts, p.unit_rank);
    let is_all = match (m.constant(total), m.constant(p.unit_count)) {
        (Some(total), Some(units)) => total == units,
        _ => false,
    };
    let is_valid = match site.tag == Tag::Exhaustive || is_all {
        true => p.is_valid,
        false => m.both(p.is_valid, m.is_below(p.unit_rank, total)),
    };
    let groups = m.known(counts.len() as u32);
    let known = properties::known(counts);
    let next = Placement {
        properties: properties::group_as(p.properties, &known, site.tag, site.plane),
        group_count: m.mul(p.group_count, groups),
        group_rank: m.add(m.mul(p.group_rank, groups), rank),
        unit_count,
        unit_rank: m.sub(p.unit_rank, start),
        is_valid,
        lanes: p.lanes,
    };
    Ok(masked(m, site, p, next))
}

/// The sum of the counts, if nothing that is known of them speaks against it.
fn require_counts<M: Machine>(
    m: &M,
    counts: &[Count<M::Number>],
    site: Site,
    p: Placement<M>,
) -> Result<M::Number> {
    let named = || {
        let counts: Vec<_> = counts.iter().map(Count::to_string).collect();
        format!("group_as([{}])", counts.join(", "))
    };
    if counts.is_empty() {
        return broken(Precondition::ZeroCount, named(), "no counts".to_owned());
    }
    let is_zero = |count: &Count<M::Number>| m.constant(count.number) == Some(0);
    if counts.iter().any(is_zero) {
        return broken(Precondition::ZeroCount, named(), "a count of 0".to_owned());
    }
    let numbers = counts.iter().map(|count| count.number);
    let total = numbers.fold(m.known(0), |total, count| m.add(total, count));
    let known = counts
        .iter()
        .map(|count| m.constant(count.number).map(u64::from));
    if let (Some(total), Some((least, most))) = (known.sum::<Option<u64>>(), sizes(m, p)) {
        let (least, most) = (u64::from(least), u64::from(most));
        if total > least {
            let given = format!("{total} units of groups of {least}");
            return broken(Precondition::TooManyUnits, named(), given);
        }
        if total < most && site.tag == Tag::Exhaustive {
            let given = format!("{total} units of groups of {most}");
            return broken(Precondition::NotExhaustive, named(), given);
        }
    }
    Ok(total)
}

/// Which group of these counts has the rank, where the group starts, and how many units it has.
fn find<M: Machine>(
    m: &M,
    counts: &[Count<M::Number>],
    rank: M::Number,
) -> (M::Number, M::Number, M::Number) {
    let first = counts[0];
    let known = m.constant(first.number);
    if known.is_some() && counts.iter().all(|count| m.constant(count.number) == known) {
        let index = m.div(rank, first.number);
        return (index, m.mul(index, first.number), first.number);
    }
    let (mut index, mut start, mut count) = (m.known(0), m.known(0), first.number);
    let mut end = first.number;
    for (next, candidate) in (1..).zip(&counts[1..]) {
        let is_before = m.is_below(rank, end);
        index = m.select(is_before, index, m.known(next));
        start = m.select(is_before, start, end);
        count = m.select(is_before, count, candidate.number);
        end = m.add(end, candidate.number);
    }
    (index, start, count)
}

fn take<M: Machine>(
    m: &M,
    count: Count<M::Number>,
    site: Site,
    p: Placement<M>,
) -> Result<Placement<M>> {
    let (units, known) = (m.constant(p.unit_count), m.constant(count.number));
    if let (Some((units, _)), Some(known)) = (sizes(m, p), known)
        && known > units
    {
        let given = format!("groups of {units} units");
        return broken(Precondition::TooManyUnits, format!("take({count})"), given);
    }
    let is_valid = match units.is_some() && units == known {
        true => p.is_valid,
        false => m.both(p.is_valid, m.is_below(p.unit_rank, count.number)),
    };
    let next = Placement {
        properties: properties::take(p.properties, count.known, site.plane),
        unit_count: count.number,
        is_valid,
        ..p
    };
    Ok(masked(m, site, p, next))
}

fn binary_partition<M: Machine>(
    m: &M,
    predicate: &M::Predicate,
    site: Site,
    p: Placement<M>,
) -> Result<Placement<M>> {
    let named = || "binary_partition".to_owned();
    if site.unit != Level::Unit {
        let given = format!("groups that count a {:?} as one", site.unit);
        return broken(Precondition::AcrossPlanes, named(), given);
    }
    if !p.properties.is_always_within_planes {
        let given = "groups that may go on from plane to plane".to_owned();
        return broken(Precondition::AcrossPlanes, named(), given);
    }
    let (mine, votes) = m.vote(predicate, p.lanes);
    // Those who say no are those who do not say yes.
    let flipped = m.select(mine, m.known(0), m.known(u32::MAX));
    let lanes = lanes::each_word(m, |index| {
        let index = index as usize;
        m.bitand(p.lanes[index], m.bitxor(votes[index], flipped))
    });
    let before = lanes::below(m, m.lane());
    let lower = lanes::each_word(m, |index| {
        let index = index as usize;
        m.bitand(lanes[index], before[index])
    });
    let passed = m.select(mine, p.group_count, m.known(0));
    Ok(Placement {
        properties: properties::binary_partition(p.properties),
        group_count: m.mul(p.group_count, m.known(2)),
        group_rank: m.add(p.group_rank, passed),
        unit_count: lanes::count(m, lanes),
        unit_rank: lanes::count(m, lower),
        is_valid: p.is_valid,
        lanes,
    })
}

/// `next` with the lanes of this unit's plane that are in its group, which is a part of its group in `p`.
fn masked<M: Machine>(m: &M, site: Site, p: Placement<M>, next: Placement<M>) -> Placement<M> {
    let units = (m.constant(p.unit_count), m.constant(next.unit_count));
    let is_same = units.0.is_some() && units.0 == units.1;
    if site.unit != Level::Unit || is_same {
        return next;
    }
    let lanes = if p.properties.is_always_contiguous {
        neighbours(m, p, next)
    } else if p.properties.is_always_ascending && p.properties.is_always_within_planes {
        // The ranks of the group in the one that it is a part of, whose lanes are in their order.
        let first = m.sub(p.unit_rank, next.unit_rank);
        lanes::ranked(m, p.lanes, first, m.add(first, next.unit_count))
    } else {
        let key = m.select(next.is_valid, next.group_rank, m.known(u32::MAX));
        m.matching(key, p.lanes)
    };
    Placement { lanes, ..next }
}

/// The lanes of a group of neighbours.
fn neighbours<M: Machine>(m: &M, p: Placement<M>, next: Placement<M>) -> [M::Number; WORDS] {
    if next.properties.is_always_within_planes {
        let first = m.sub(m.lane(), next.unit_rank);
        return lanes::run(m, first, next.unit_count);
    }
    let first = m.saturating_sub(m.lane(), next.unit_rank);
    let end = m.add(m.lane(), m.sub(next.unit_count, next.unit_rank));
    let lanes = lanes::between(m, first, end);
    lanes::each_word(m, |index| {
        let index = index as usize;
        m.bitand(lanes[index], p.lanes[index])
    })
}
