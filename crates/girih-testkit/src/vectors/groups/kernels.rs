//! The kernel that answers the vectors of group mappings: every unit writes what it is told.

use super::{Chain, Level, Link, Tag, Told};
use crate::{Error, Rt};
use cubecl::prelude::*;
use girih::coop::{Group, Properties};
use girih::prelude::*;

/// Words that a unit writes: whether it is in a group, counts and ranks, lanes.
const WORDS: usize = 9;
/// Counts of a mapping that are given by the run.
const COUNTS: usize = 8;
/// What stands for a count that is not known at comptime.
const UNKNOWN: u32 = u32::MAX;

/// What the device says.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Counts and promises that a kernel knows at comptime; the rest of it says nothing.
    pub properties: Properties,
    /// What each unit is told; nothing if it is in no group.
    pub units: Vec<Option<Told>>,
}

#[cube(launch_unchecked)]
fn tell(
    counts: &[u32],
    votes: &[u32],
    out: &mut [u32],
    promised: &mut [u32],
    #[comptime] chain: Chain,
) {
    let parent = parent(comptime!(chain.level));
    let tag = comptime!(chain.tag);
    let mapping = links(counts, votes, chain, 0usize);
    let group = if comptime!(tag == Tag::Exhaustive) {
        parent.partition(mapping)
    } else {
        parent.partition_non_exhaustive(mapping)
    };
    let first = UNIT_POS as usize * comptime!(WORDS);
    out[first] = u32::cast_from(group.is_valid());
    out[first + 1] = group.group_count();
    out[first + 2] = group.group_rank();
    out[first + 3] = group.unit_count();
    out[first + 4] = group.unit_rank();
    let lanes = group.lane_mask();
    out[first + 5] = lanes.word(0u32);
    out[first + 6] = lanes.word(1u32);
    out[first + 7] = lanes.word(2u32);
    out[first + 8] = lanes.word(3u32);
    if UNIT_POS == 0 {
        let properties = group.properties();
        promised[0] = comptime!(properties.group_count.unwrap_or(UNKNOWN));
        promised[1] = comptime!(properties.unit_count.unwrap_or(UNKNOWN));
        promised[2] = comptime!(u32::from(properties.is_always_exhaustive));
        promised[3] = comptime!(u32::from(properties.is_always_contiguous));
    }
}

#[cube]
fn parent(#[comptime] level: Level) -> Group {
    if comptime!(level == Level::Plane) {
        this_plane()
    } else {
        this_cube()
    }
}

/// The chain from link `at` on.
#[cube]
fn links(
    counts: &[u32],
    votes: &[u32],
    #[comptime] chain: Chain,
    #[comptime] at: usize,
) -> Mapping {
    if comptime!(at == chain.links.len()) {
        identity()
    } else {
        let link = comptime!(chain.links[at].clone());
        let first = if comptime!(chain.runtime) {
            link_of_run(counts, votes, link, at)
        } else {
            link_of_comptime(votes, link, at)
        };
        first | links(counts, votes, chain, comptime!(at + 1))
    }
}

#[cube]
fn link_of_comptime(votes: &[u32], #[comptime] link: Link, #[comptime] at: usize) -> Mapping {
    match link {
        Link::Identity {} => identity(),
        Link::GroupBy { count } => group_by(count),
        Link::GroupAs { counts } => group_as(counts),
        Link::Take { count } => take(count),
        Link::BinaryPartition { .. } => binary_partition(vote(votes, at)),
    }
}

#[cube]
fn link_of_run(
    given: &[u32],
    votes: &[u32],
    #[comptime] link: Link,
    #[comptime] at: usize,
) -> Mapping {
    let first = comptime!(at * COUNTS);
    match link {
        Link::Identity {} => identity(),
        Link::GroupBy { .. } => group_by(given[first]),
        Link::GroupAs { counts } => {
            let mut sizes = Sequence::<u32>::new();
            #[unroll]
            for index in 0..comptime!(counts.len()) {
                sizes.push(given[comptime!(first + index)]);
            }
            group_as(sizes)
        }
        Link::Take { .. } => take(given[first]),
        Link::BinaryPartition { .. } => binary_partition(vote(votes, at)),
    }
}

/// What this unit's lane says to the question of link `at`.
#[cube]
fn vote(votes: &[u32], #[comptime] at: usize) -> bool {
    let word = votes[comptime!(at * 4) + (UNIT_POS_PLANE / 32) as usize];
    (word >> (UNIT_POS_PLANE % 32)) & 1 == 1
}

/// What the units of a cube of `units` units are told, where a plane, if it is one that is told apart, has as many.
///
/// # Errors
/// [`Error::Kernel`] with girih's refusal, where what is known at comptime breaks a mapping's condition.
pub fn answer(chain: &Chain, units: u32, rt: &Rt) -> Result<Answer, Error> {
    let (mut counts, mut votes) = (vec![], vec![]);
    for link in &chain.links {
        let (given, lanes) = match link {
            Link::Identity {} => (vec![], 0),
            Link::GroupBy { count } | Link::Take { count } => (vec![*count], 0),
            Link::GroupAs { counts } => (counts.clone(), 0),
            Link::BinaryPartition { lanes } => (vec![], *lanes),
        };
        counts.extend(given.into_iter().chain([0; COUNTS]).take(COUNTS));
        votes.extend([0, 32, 64, 96].map(|first| (lanes >> first) as u32));
    }
    let (counts, votes) = (rt.put(&counts), rt.put(&votes));
    let out = rt.poisoned::<u32>(units as usize * WORDS);
    let promised = rt.poisoned::<u32>(4);
    // SAFETY: each unit writes its own words of `out`, one of them `promised`; each link reads its own counts and votes.
    unsafe {
        tell::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_1d(units),
            counts.arg(),
            votes.arg(),
            out.arg(),
            promised.arg(),
            chain.clone(),
        );
    }
    let [group_count, unit_count, exhaustive, contiguous] = rt.read(&promised)?[..] else {
        unreachable!("four words were read");
    };
    let known = |count: u32| (count != UNKNOWN).then_some(count);
    let units = rt.read(&out)?.chunks(WORDS).map(told).collect();
    Ok(Answer {
        properties: Properties {
            group_count: known(group_count),
            unit_count: known(unit_count),
            is_always_exhaustive: exhaustive == 1,
            is_always_contiguous: contiguous == 1,
            ..Properties::of_one_group(None)
        },
        units,
    })
}

fn told(words: &[u32]) -> Option<Told> {
    let lanes = words[5..].iter().rev();
    (words[0] != 0).then(|| Told {
        group_count: words[1],
        group_rank: words[2],
        unit_count: words[3],
        unit_rank: words[4],
        lanes: lanes.fold(0, |lanes, word| lanes << 32 | u128::from(*word)),
    })
}
