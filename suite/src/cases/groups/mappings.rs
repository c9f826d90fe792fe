//! Every mapping over planes and cubes, with static counts and with counts of the run, against the definitions.

use girih_testkit::{
    Error, Rt, cases,
    vectors::groups::{Chain, Level, Link, Tag, answer},
};

use super::model;

cases! {
    group_by_of_every_count,
    group_as_of_many_counts,
    take_of_every_count,
    binary_partitions_of_every_kind,
    chains_of_mappings,
    counts_of_the_run,
}

/// A plane of the device and a cube of several planes: their level, units, and units of a plane.
fn parents(rt: &Rt) -> Vec<(Level, u32, u32)> {
    let hardware = &rt.client.properties().hardware;
    let plane = hardware.plane_size_max;
    // A plane that is cut short, where planes can be.
    let cube = rt.units.min(3 * plane + plane.div_ceil(2));
    vec![(Level::Plane, plane, plane), (Level::Cube, cube, plane)]
}

/// Asks the device what each unit is told, and checks that what it knows at comptime is true of all.
fn ask(
    rt: &Rt,
    (level, units, plane): (Level, u32, u32),
    links: &[Link],
    tag: Tag,
) -> Result<(), Error> {
    ask_of(rt, (level, units, plane), links, tag, false)
}

fn ask_of(
    rt: &Rt,
    (level, units, plane): (Level, u32, u32),
    links: &[Link],
    tag: Tag,
    runtime: bool,
) -> Result<(), Error> {
    let chain = Chain {
        level,
        tag,
        runtime,
        links: links.to_vec(),
    };
    let right = model::told(units, plane, &chain);
    let answer = answer(&chain, units, rt)?;
    assert_eq!(answer.units, right, "{chain:?} of {units}");
    let known = answer.properties;
    for told in right.iter().flatten() {
        assert!(
            known
                .group_count
                .is_none_or(|count| count == told.group_count),
            "{chain:?}"
        );
        assert!(
            known
                .unit_count
                .is_none_or(|count| count == told.unit_count),
            "{chain:?}"
        );
    }
    let all = right.iter().all(Option::is_some);
    assert!(all || !known.is_always_exhaustive, "{chain:?}");
    Ok(())
}

fn group_by_of_every_count(rt: &Rt) -> Result<(), Error> {
    for parent in parents(rt) {
        for count in 1..=parent.1.min(32) {
            let link = Link::GroupBy { count };
            let tag = model::tag(parent.1, &link);
            ask(rt, parent, &[link], tag)?;
        }
    }
    Ok(())
}

fn group_as_of_many_counts(rt: &Rt) -> Result<(), Error> {
    let lists = [
        vec![1],
        vec![1, 1],
        vec![2, 1],
        vec![3, 5],
        vec![4, 4],
        vec![1, 6, 1],
        vec![31, 1],
        vec![16, 16],
        vec![3, 5, 1, 1, 22],
        vec![8; 4],
        vec![1; 8],
    ];
    for parent in parents(rt) {
        for counts in lists
            .iter()
            .filter(|counts| counts.iter().sum::<u32>() <= parent.1)
        {
            let link = Link::GroupAs {
                counts: counts.clone(),
            };
            let tag = model::tag(parent.1, &link);
            ask(rt, parent, &[link], tag)?;
        }
    }
    Ok(())
}

fn take_of_every_count(rt: &Rt) -> Result<(), Error> {
    for parent in parents(rt) {
        for count in 0..=parent.1.min(32) {
            ask(rt, parent, &[Link::Take { count }], Tag::Exhaustive)?;
        }
    }
    Ok(())
}

/// Predicates by lane: none, all, one, halves, every other, every third, a bit string.
fn predicates() -> [u128; 8] {
    let odd = u128::MAX / 3 * 2;
    let third = u128::MAX / 7;
    [
        0,
        u128::MAX,
        1,
        0xf,
        odd,
        third,
        u128::MAX << 4,
        0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834,
    ]
}

fn binary_partitions_of_every_kind(rt: &Rt) -> Result<(), Error> {
    let (level, units, plane) = parents(rt)[0];
    for lanes in predicates() {
        let vote = Link::BinaryPartition { lanes };
        ask(
            rt,
            (level, units, plane),
            std::slice::from_ref(&vote),
            Tag::Exhaustive,
        )?;
        // The sides of the sides.
        let again = Link::BinaryPartition { lanes: 0x3333 << 1 };
        ask(rt, (level, units, plane), &[vote, again], Tag::Exhaustive)?;
    }
    Ok(())
}

fn chains_of_mappings(rt: &Rt) -> Result<(), Error> {
    for parent in parents(rt) {
        let (level, units, plane) = parent;
        let quarter = (units / 4).max(1);
        let split = match quarter {
            1 => vec![1],
            _ => vec![1, quarter - 1],
        };
        let left_over = model::tag(units, &Link::GroupBy { count: quarter });
        let quarters = Link::GroupBy { count: quarter };
        ask(
            rt,
            parent,
            &[quarters.clone(), Link::GroupAs { counts: split }],
            left_over,
        )?;
        ask(
            rt,
            parent,
            &[Link::Identity {}, quarters.clone(), Link::Take { count: 1 }],
            left_over,
        )?;
        if units >= 4 {
            let quads = Link::GroupBy { count: 4 };
            let parts = Link::GroupAs { counts: vec![1, 3] };
            ask(
                rt,
                parent,
                &[quads.clone(), parts],
                model::tag(units, &quads),
            )?;
        }
        // Of groups within planes, and of groups whose lanes are no neighbours.
        if level == Level::Plane || plane % quarter == 0 {
            let vote = Link::BinaryPartition {
                lanes: u128::MAX / 3,
            };
            if level == Level::Plane {
                ask(rt, parent, &[quarters.clone(), vote.clone()], left_over)?;
            }
            if units >= 8 && level == Level::Plane {
                let pairs = Link::GroupBy { count: 2 };
                let first = Link::Take { count: 1 };
                ask(rt, parent, &[vote.clone(), pairs.clone()], Tag::Exhaustive)?;
                ask(
                    rt,
                    parent,
                    &[vote.clone(), pairs, first.clone()],
                    Tag::Exhaustive,
                )?;
                ask(rt, parent, &[vote, first], Tag::Exhaustive)?;
            }
        }
    }
    Ok(())
}

fn counts_of_the_run(rt: &Rt) -> Result<(), Error> {
    for parent in parents(rt) {
        let units = parent.1;
        for count in [1, 2, 3, 5, units]
            .into_iter()
            .filter(|count| *count <= units)
        {
            let by = Link::GroupBy { count };
            ask_of(rt, parent, &[by], Tag::NonExhaustive, true)?;
            let counts = vec![count, units - count];
            if count < units {
                ask_of(
                    rt,
                    parent,
                    &[Link::GroupAs { counts }],
                    Tag::Exhaustive,
                    true,
                )?;
            }
            ask_of(rt, parent, &[Link::Take { count }], Tag::Exhaustive, true)?;
        }
    }
    Ok(())
}
