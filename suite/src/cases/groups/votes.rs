//! Votes and matches of groups of every size, against the host.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Error, Rt, cases};

use super::splits::{Split, group_of, groups, mixed, splits};

cases! {
    votes_and_matches,
}

#[cube]
fn vote(group: &Group, keys: &[u32], out: &mut [u32], #[comptime] within_planes: bool) {
    let unit = UNIT_POS as usize;
    let says_yes = keys[unit] % 2 == 1;
    let (count, any) = (group.count(says_yes), group.any(says_yes));
    let (all, none) = (group.all(says_yes), group.none(says_yes));
    let lanes = group.ballot(says_yes);
    if group.is_valid() {
        let first = unit * 4;
        out[first] = count;
        out[first + 1] = u32::cast_from(any) + 2 * u32::cast_from(all) + 4 * u32::cast_from(none);
        out[first + 2] = lanes.word(0u32);
        out[first + 3] = 0u32;
    }
    if comptime!(within_planes) {
        out[unit * 4 + 3] = group.match_any::<u32>(keys[unit]).word(0u32);
    }
}

#[cube(launch_unchecked)]
pub(super) fn votes(
    keys: &[u32],
    out: &mut [u32],
    #[comptime] split: Split,
    #[comptime] within_planes: bool,
) {
    let group = group_of(split);
    if comptime!(within_planes) {
        if group.is_valid() {
            vote(&group, keys, out, true);
        }
    } else {
        vote(&group, keys, out, false);
    }
}

fn votes_and_matches(rt: &Rt) -> Result<(), Error> {
    let (units, plane, splits) = splits(rt);
    let keys: [fn(u32) -> u32; 3] = [|unit| mixed(unit) >> 5 & 3, |_| 1, |_| 2];
    for split in splits {
        let (groups, stride) = groups(&split, units, plane);
        if stride > 1 {
            continue;
        }
        let within_planes = split.is_within_planes();
        for key in keys {
            let keys: Vec<u32> = (0..units).map(key).collect();
            let out = rt.poisoned::<u32>(4 * units as usize);
            // SAFETY: each unit reads its own key, and writes its own results.
            unsafe {
                votes::launch_unchecked(
                    &rt.client,
                    CubeCount::new_single(),
                    CubeDim::new_1d(units),
                    rt.put(&keys).arg(),
                    out.arg(),
                    split.clone(),
                    within_planes,
                );
            }
            let out = rt.read(&out)?;
            for group in &groups {
                for unit in group {
                    let mates = || group.iter().filter(|mate| **mate / plane == unit / plane);
                    let lanes = |has: &dyn Fn(u32) -> bool| {
                        let lanes = mates().filter(|mate| has(keys[**mate as usize]));
                        lanes.fold(0, |lanes, mate| lanes | 1u32 << (mate % plane))
                    };
                    let says_yes = |key: u32| key % 2 == 1;
                    let yes = group
                        .iter()
                        .filter(|mate| says_yes(keys[**mate as usize]))
                        .count();
                    let all = 2 * u32::from(yes == group.len());
                    let flags = u32::from(yes > 0) + all + 4 * u32::from(yes == 0);
                    let own = keys[*unit as usize];
                    let alike = if within_planes {
                        lanes(&|key| key == own)
                    } else {
                        0
                    };
                    let right = [yes as u32, flags, lanes(&says_yes), alike];
                    assert_eq!(
                        out[4 * *unit as usize..][..4],
                        right,
                        "{split:?}, unit {unit}"
                    );
                }
            }
        }
    }
    Ok(())
}
