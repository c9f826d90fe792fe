//! Mappings by their definitions: groups are lists of positions.

use girih_testkit::vectors::groups::{Chain, Link, Tag, Told};

/// The groups that a chain makes of `units` units, in order.
fn groups(units: u32, chain: &Chain) -> Vec<Vec<u32>> {
    let all = vec![(0..units).collect()];
    chain.links.iter().fold(all, |groups: Vec<Vec<u32>>, link| {
        if let Link::BinaryPartition { lanes } = link {
            let side = |yes: bool| {
                groups.iter().map(move |group| {
                    let agree = |unit: &&u32| (lanes >> **unit & 1 == 1) == yes;
                    group.iter().filter(agree).copied().collect()
                })
            };
            return side(false).chain(side(true)).collect();
        }
        groups.iter().flat_map(|group| parts(group, link)).collect()
    })
}

/// The groups that one mapping makes of one group; units may be left over.
fn parts(group: &[u32], link: &Link) -> Vec<Vec<u32>> {
    match link {
        Link::Identity {} | Link::BinaryPartition { .. } => vec![group.to_vec()],
        Link::GroupBy { count } => {
            let parts = group.chunks_exact(*count as usize);
            parts.map(<[u32]>::to_vec).collect()
        }
        Link::GroupAs { counts } => {
            let mut rest = group;
            let part = |count: &u32| {
                let (part, after) = rest.split_at(*count as usize);
                rest = after;
                part.to_vec()
            };
            counts.iter().map(part).collect()
        }
        Link::Take { count } => vec![group[..*count as usize].to_vec()],
    }
}

/// What each unit is to be told.
pub(super) fn told(units: u32, plane: u32, chain: &Chain) -> Vec<Option<Told>> {
    let groups = groups(units, chain);
    let mut told = vec![None; units as usize];
    for (group_rank, group) in (0..).zip(&groups) {
        for (unit_rank, &unit) in (0..).zip(group) {
            let mates = group.iter().filter(|mate| **mate / plane == unit / plane);
            told[unit as usize] = Some(Told {
                group_count: groups.len() as u32,
                group_rank,
                unit_count: group.len() as u32,
                unit_rank,
                lanes: mates.fold(0, |lanes, mate| lanes | 1u128 << (mate % plane)),
            });
        }
    }
    told
}

/// Whether units of a group of `units` are left over by the mapping, or by a count of it that is too large.
pub(super) fn tag(units: u32, link: &Link) -> Tag {
    let used = match link {
        Link::GroupBy { count } => units / count * count,
        Link::GroupAs { counts } => counts.iter().sum(),
        _ => units,
    };
    match used == units {
        true => Tag::Exhaustive,
        false => Tag::NonExhaustive,
    }
}
