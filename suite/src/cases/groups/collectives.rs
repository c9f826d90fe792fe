//! Collectives of groups of every size, of neighbours and not, within a plane and above, against the host.

use cubecl::prelude::*;
use girih::coop::{Associative, Max, Min, Sum};
use girih::prelude::*;
use girih_testkit::{Error, Rt, case::Need, cases, check::same, needs};

use super::splits::{Compose, Split, compose, group_of, groups, mixed, splits};

cases! {
    sums_of_integers,
    an_operation_that_does_not_commute,
    least_floats,
    sums_of_64_bits needs [needs::U64],
    largest_bytes needs [needs::U8, MOVES_BYTES],
    rounds_of_a_loop,
}

/// Lanes pass bytes as words, which takes arithmetic of 8 bits.
const MOVES_BYTES: Need = Need {
    what: "arithmetic of 8 bits",
    met: |rt| rt.kind != girih_testkit::DeviceKind::Wgsl,
};

/// Results of a unit, one after the other.
pub(super) const RESULTS: usize = 8;

/// What the units of a group compute of their values, of which `unit` is this unit's place; units in no group compute along, and keep nothing.
#[cube]
pub(super) fn compute<E: Numeric, O: Associative<E>>(
    group: &Group,
    unit: usize,
    values: &[E],
    out: &mut [E],
    flags: &mut [u32],
) {
    let (value, given) = (values[unit], values[0]);
    let reduced = group.reduce::<E, O>(value);
    let to_first = group.reduce_to_first::<E, O>(value);
    let inclusive = group.inclusive_scan::<E, O>(value);
    let exclusive = group.exclusive_scan::<E, O>(value, given);
    let last = group.broadcast::<E>(value, group.unit_count() - 1);
    let (up, has_up) = group.shuffle_up::<E>(value, 1u32);
    let (down, has_down) = group.shuffle_down::<E>(value, 2u32);
    let (xor, has_xor) = group.shuffle_xor::<E>(value, 1u32);
    if group.is_valid() {
        let first = unit * comptime!(RESULTS);
        out[first] = reduced;
        out[first + 1] = select(group.elect(), to_first, reduced);
        out[first + 2] = inclusive;
        out[first + 3] = exclusive;
        out[first + 4] = last;
        out[first + 5] = up;
        out[first + 6] = down;
        out[first + 7] = xor;
        flags[unit] =
            u32::cast_from(has_up) + 2 * u32::cast_from(has_down) + 4 * u32::cast_from(has_xor);
    }
}

/// A kernel for each element and operation.
macro_rules! kernels {
    ($($name:ident: $element:ident by $operation:ident;)*) => {$(
        #[cube(launch_unchecked)]
        pub(super) fn $name(
            values: &[$element],
            out: &mut [$element],
            flags: &mut [u32],
            #[comptime] split: Split,
            #[comptime] within_planes: bool,
        ) {
            let group = group_of(split);
            if comptime!(within_planes) {
                if group.is_valid() {
                    compute::<$element, $operation>(&group, UNIT_POS as usize, values, out, flags);
                }
            } else {
                compute::<$element, $operation>(&group, UNIT_POS as usize, values, out, flags);
            }
        }
    )*};
}
kernels! {
    sums: u32 by Sum;
    compositions: u32 by Compose;
    minima: f32 by Min;
    wide_sums: u64 by Sum;
    maxima: u8 by Max;
}
pub(super) use kernels;

/// What a unit is to have: the results and which shuffles found someone.
pub(super) fn expected<T: Copy>(
    group: &[T],
    rank: usize,
    first: T,
    combine: fn(T, T) -> T,
) -> ([T; RESULTS], u32) {
    let own = group[rank];
    let fold = |values: &[T]| values[1..].iter().fold(values[0], |a, b| combine(a, *b));
    let there = [rank.checked_sub(1), Some(rank + 2), Some(rank ^ 1)]
        .map(|rank| rank.and_then(|rank| group.get(rank).copied()));
    let [up, down, xor] = there.map(|value| value.unwrap_or(own));
    let flags = (0..)
        .zip(there)
        .map(|(bit, value)| u32::from(value.is_some()) << bit)
        .sum();
    let before = group[..rank].iter().fold(first, |a, b| combine(a, *b));
    let (all, until) = (fold(group), fold(&group[..=rank]));
    (
        [
            all,
            all,
            until,
            before,
            group[group.len() - 1],
            up,
            down,
            xor,
        ],
        flags,
    )
}

/// Launches one split of so many units in planes of `plane`, and says how the device differs from the host.
macro_rules! check_split {
    ($rt:ident, $kernel:ident of $element:ty, $split:expr, $units:expr, $plane:expr, $value:expr, $combine:expr) => {{
        let (split, units, value) = ($split, $units, $value);
        let (groups, stride) = groups(split, units, $plane);
        // A plane that counts as one has one value.
        let values: Vec<$element> = (0..units)
            .map(|unit| value(unit / stride * stride))
            .collect();
        let out = $rt.poisoned::<$element>(units as usize * RESULTS);
        let flags = $rt.poisoned::<u32>(units as usize);
        // SAFETY: each unit reads its own value and the first, and writes its own results.
        unsafe {
            $kernel::launch_unchecked(
                &$rt.client,
                CubeCount::new_single(),
                CubeDim::new_1d(units),
                $rt.put(&values).arg(),
                out.arg(),
                flags.arg(),
                split.clone(),
                split.is_within_planes(),
            );
        }
        let read = || Ok::<_, Error>(($rt.read(&out)?, $rt.read(&flags)?));
        read()
            .map_err(|error| error.to_string())
            .and_then(|(out, flags)| {
                for group in &groups {
                    let members: Vec<$element> =
                        group.iter().map(|unit| values[*unit as usize]).collect();
                    for (rank, head) in group.iter().enumerate() {
                        let (right, found) = expected(&members, rank, values[0], $combine);
                        for unit in (*head..head + stride).map(|unit| unit as usize) {
                            let place = format!("{split:?}, unit {unit} of {units}");
                            same(&out[unit * RESULTS..][..RESULTS], &right)
                                .map_err(|difference| format!("{place}: {difference}"))?;
                            if flags[unit] != found {
                                return Err(format!("{place}: {} is not {found}", flags[unit]));
                            }
                        }
                    }
                }
                Ok(())
            })
    }};
}
pub(super) use check_split;

/// Compares every split on the device with the host.
macro_rules! compare {
    ($rt:ident, $kernel:ident of $element:ty, $value:expr, $combine:expr) => {{
        let (units, plane, mut splits) = splits($rt);
        if <$element>::cube_type() != u32::cube_type() {
            splits.retain(|split| split.is_telling(plane));
        }
        let value: fn(u32) -> $element = $value;
        splits.iter().try_for_each(|split| {
            check_split!($rt, $kernel of $element, split, units, plane, value, $combine)
        })
    }};
}

fn sums_of_integers(rt: &Rt) -> Result<(), String> {
    compare!(rt, sums of u32, mixed, u32::wrapping_add)
}

fn an_operation_that_does_not_commute(rt: &Rt) -> Result<(), String> {
    compare!(rt, compositions of u32, |unit| mixed(unit) | 1, compose)
}

fn least_floats(rt: &Rt) -> Result<(), String> {
    compare!(
        rt,
        minima of f32,
                |unit| (mixed(unit) % 1000) as f32 - 500.5,
        f32::min
    )
}

fn sums_of_64_bits(rt: &Rt) -> Result<(), String> {
    compare!(
        rt,
        wide_sums of u64,
                |unit| u64::from(mixed(unit)) << 20 | 7,
        u64::wrapping_add
    )
}

fn largest_bytes(rt: &Rt) -> Result<(), String> {
    compare!(rt, maxima of u8, |unit| mixed(unit) as u8, u8::max)
}

/// Collectives in a loop, each round on what the last one left, with nothing that waits between them.
#[cube]
fn go_round(group: &Group, unit: usize, values: &mut [u32], rounds: u32) {
    let mut value = values[unit];
    for round in 0..rounds {
        let sum = group.reduce::<u32, Sum>(value);
        let first = select(
            group.elect(),
            group.reduce_to_first::<u32, Compose>(value | 1),
            0u32,
        );
        let until = group.inclusive_scan::<u32, Compose>(value | 1);
        let before = group.exclusive_scan::<u32, Sum>(value, round);
        let told = group.broadcast::<u32>(value, round % group.unit_count());
        let (up, _) = group.shuffle_up::<u32>(value, 1u32);
        value = value * 3 + sum * 5 + first * 7 + until * 11 + before * 13 + told * 17 + up * 19;
    }
    if group.is_valid() {
        values[unit] = value;
    }
}

#[cube(launch_unchecked)]
fn loops(
    values: &mut [u32],
    rounds: u32,
    #[comptime] split: Split,
    #[comptime] within_planes: bool,
) {
    let group = group_of(split);
    if comptime!(within_planes) {
        if group.is_valid() {
            go_round(&group, UNIT_POS as usize, values, rounds);
        }
    } else {
        go_round(&group, UNIT_POS as usize, values, rounds);
    }
}

/// The same on the host.
fn gone_round(mut group: Vec<u32>, rounds: u32) -> Vec<u32> {
    for round in 0..rounds {
        let odd: Vec<u32> = group.iter().map(|value| value | 1).collect();
        let composed = |count: usize| odd[1..count].iter().copied().fold(odd[0], compose);
        let sum_of = |values: &[u32]| values.iter().fold(0u32, |sum, v| sum.wrapping_add(*v));
        let told = group[round as usize % group.len()];
        let next = (0..group.len()).map(|rank| {
            let first = if rank == 0 { composed(group.len()) } else { 0 };
            let before = sum_of(&group[..rank]).wrapping_add(round);
            let up = group[rank.saturating_sub(1)];
            [
                (group[rank], 3u32),
                (sum_of(&group), 5),
                (first, 7),
                (composed(rank + 1), 11),
                (before, 13),
                (told, 17),
                (up, 19),
            ]
            .into_iter()
            .fold(0u32, |sum, (value, factor)| {
                sum.wrapping_add(value.wrapping_mul(factor))
            })
        });
        group = next.collect();
    }
    group
}

fn rounds_of_a_loop(rt: &Rt) -> Result<(), Error> {
    let (units, plane, mut splits) = splits(rt);
    splits.retain(|split| split.is_telling(plane));
    for split in splits {
        let (groups, stride) = groups(&split, units, plane);
        let values: Vec<u32> = (0..units)
            .map(|unit| mixed(unit / stride * stride))
            .collect();
        let held = rt.put(&values);
        // SAFETY: each unit reads and writes its own value.
        unsafe {
            loops::launch_unchecked(
                &rt.client,
                CubeCount::new_single(),
                CubeDim::new_1d(units),
                held.arg(),
                9u32,
                split.clone(),
                split.is_within_planes(),
            );
        }
        let out = rt.read(&held)?;
        // A side of a vote may have nobody.
        for group in groups.iter().filter(|group| !group.is_empty()) {
            let members = group.iter().map(|unit| values[*unit as usize]).collect();
            for (head, right) in group.iter().zip(gone_round(members, 9)) {
                for unit in *head..head + stride {
                    let got = out[unit as usize];
                    assert_eq!(got, right, "{split:?}, unit {unit} of {units}");
                }
            }
        }
    }
    Ok(())
}
