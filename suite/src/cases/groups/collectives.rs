//! Collectives of groups of every size, of neighbours and not, within a plane and above, against the host.

use cubecl::prelude::*;
use girih::coop::{Associative, Max, Min, Sum};
use girih::prelude::*;
use girih_testkit::{Error, Rt, case::Need, cases, check::same, needs};

use super::parents::Reverse;

cases! {
    sums_of_integers,
    an_operation_that_does_not_commute,
    least_floats,
    sums_of_64_bits needs [needs::U64],
    largest_bytes needs [needs::U8, MOVES_BYTES],
    votes_and_matches,
    refuses_several_cubes,
    refuses_what_nothing_waits_for,
    parts_of_a_cube_wait_for_each_other,
}

/// Lanes pass bytes as words, which takes arithmetic of 8 bits.
const MOVES_BYTES: Need = Need {
    what: "arithmetic of 8 bits",
    met: |rt| rt.kind != girih_testkit::DeviceKind::Wgsl,
};

/// How a cube is told apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Split {
    /// Each plane by a count.
    Neighbours { count: u32 },
    /// Each plane by a vote that as many lanes answer with yes.
    Scattered { count: u32 },
    /// Each plane by a count, ranked from its end.
    Reversed { count: u32 },
    /// The cube by a count.
    Cube { count: u32 },
    /// The cube by several counts.
    Parts { counts: Vec<u32> },
    /// The planes of the cube by a count.
    Planes { count: u32 },
}

impl Split {
    /// Whether it is one that other elements than the usual are asked for.
    fn is_telling(&self, plane: u32) -> bool {
        match self {
            Self::Neighbours { count } | Self::Scattered { count } => is_telling(*count, plane),
            _ => true,
        }
    }

    /// Whether each group is a part of a plane: its units alone then call collectives.
    fn is_within_planes(&self) -> bool {
        matches!(
            self,
            Self::Neighbours { .. } | Self::Scattered { .. } | Self::Reversed { .. }
        )
    }
}

#[cube]
fn group_of(#[comptime] split: Split) -> Group {
    match split {
        Split::Neighbours { count } => this_plane().partition_non_exhaustive(group_by(count)),
        Split::Scattered { count } => {
            let says_yes = (UNIT_POS_PLANE * 5 + 2) % PLANE_DIM < count;
            this_plane().partition(binary_partition(says_yes))
        }
        Split::Reversed { count } => {
            this_plane().partition_non_exhaustive(own::<Reverse>(Reverse {}) | group_by(count))
        }
        Split::Cube { count } => this_cube().partition_non_exhaustive(group_by(count)),
        Split::Parts { counts } => this_cube().partition(group_as(counts)),
        Split::Planes { count } => this_cube()
            .planes()
            .partition_non_exhaustive(group_by(count)),
    }
}

/// The groups as lists of positions, and how many units count as one.
fn groups(split: &Split, units: u32, plane: u32) -> (Vec<Vec<u32>>, u32) {
    let planes: Vec<Vec<u32>> = (0..units / plane)
        .map(|index| (index * plane..(index + 1) * plane).collect())
        .collect();
    let all: Vec<u32> = (0..units).collect();
    let by = |units: &[u32], count: u32| -> Vec<Vec<u32>> {
        units
            .chunks_exact(count as usize)
            .map(<[u32]>::to_vec)
            .collect()
    };
    match split {
        Split::Neighbours { count } => (
            planes.iter().flat_map(|units| by(units, *count)).collect(),
            1,
        ),
        Split::Scattered { count } => {
            let sides = planes.iter().flat_map(|units| {
                let says_yes = |unit: &u32| (unit % plane * 5 + 2) % plane < *count;
                let (yes, no): (Vec<u32>, Vec<u32>) = units.iter().partition(|unit| says_yes(unit));
                [yes, no]
            });
            (sides.collect(), 1)
        }
        Split::Reversed { count } => {
            let reversed = planes.iter().flat_map(|units| {
                let units: Vec<u32> = units.iter().rev().copied().collect();
                by(&units, *count)
            });
            (reversed.collect(), 1)
        }
        Split::Cube { count } => (by(&all, *count), 1),
        Split::Parts { counts } => {
            let mut rest = all.as_slice();
            let parts = counts.iter().map(|count| {
                let (part, after) = rest.split_at(*count as usize);
                rest = after;
                part.to_vec()
            });
            (parts.collect(), 1)
        }
        Split::Planes { count } => {
            let heads: Vec<u32> = (0..units / plane).map(|index| index * plane).collect();
            (by(&heads, *count), plane)
        }
    }
}

/// Whether a count is one of those at which groups change their ways.
fn is_telling(count: u32, plane: u32) -> bool {
    plane <= 8 || [1, 2, 3, 5, 8, 16, 31, 32].contains(&count) || count == plane
}

/// Every split that a test asks: all sizes within a plane, many above.
fn splits(rt: &Rt) -> (u32, u32, Vec<Split>) {
    let plane = rt.client.properties().hardware.plane_size_max;
    let planes = (rt.units / plane).min(5);
    let units = plane * planes;
    let mut splits = vec![];
    for count in 1..=plane {
        splits.push(Split::Neighbours { count });
        splits.push(Split::Scattered { count });
        if is_telling(count, plane) {
            splits.push(Split::Reversed { count });
        }
    }
    for count in 1..=planes {
        splits.push(Split::Cube {
            count: count * plane,
        });
        splits.push(Split::Planes { count });
    }
    for count in [plane + 1, 2 * plane - 1, units - 1]
        .into_iter()
        .filter(|count| *count > 0)
    {
        splits.push(Split::Cube {
            count: count.min(units),
        });
    }
    if units > 1 {
        splits.push(Split::Parts {
            counts: vec![1, units - 1],
        });
    }
    if units > 3 * plane && plane > 1 {
        splits.push(Split::Parts {
            counts: vec![plane - 1, plane, units - 2 * plane + 1],
        });
    }
    (units, plane, splits)
}

/// Results of a unit, one after the other.
const RESULTS: usize = 8;

/// What the units of a group compute of their values; units in no group compute along, and keep nothing.
#[cube]
fn compute<E: Numeric, O: Associative<E>>(
    group: &Group,
    values: &[E],
    out: &mut [E],
    flags: &mut [u32],
) {
    let unit = UNIT_POS as usize;
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

macro_rules! kernels {
    ($($name:ident: $element:ident by $operation:ident;)*) => {$(
        #[cube(launch_unchecked)]
        fn $name(
            values: &[$element],
            out: &mut [$element],
            flags: &mut [u32],
            #[comptime] split: Split,
            #[comptime] within_planes: bool,
        ) {
            let group = group_of(split);
            if comptime!(within_planes) {
                if group.is_valid() {
                    compute::<$element, $operation>(&group, values, out, flags);
                }
            } else {
                compute::<$element, $operation>(&group, values, out, flags);
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

/// What a unit is to have: the results and which shuffles found someone.
fn expected<T: Copy>(
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

/// Compares every split on the device with the host.
macro_rules! compare {
    ($rt:ident, $kernel:ident of $element:ty, $value:expr, $combine:expr) => {{
        let (units, plane, mut splits) = splits($rt);
        if <$element>::cube_type() != u32::cube_type() {
            splits.retain(|split| split.is_telling(plane));
        }
        let value: fn(u32) -> $element = $value;
        for split in splits {
            let (groups, stride) = groups(&split, units, plane);
            // A plane that counts as one has one value.
            let values: Vec<$element> = (0..units)
                .map(|unit| value(unit / stride * stride))
                .collect();
            let out = $rt.poisoned::<$element>(units as usize * RESULTS);
            let flags = $rt.poisoned::<u32>(units as usize);
            let within_planes = split.is_within_planes();
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
                    within_planes,
                );
            }
            let (out, flags) = ($rt.read(&out)?, $rt.read(&flags)?);
            for group in &groups {
                let members: Vec<$element> =
                    group.iter().map(|unit| values[*unit as usize]).collect();
                for (rank, head) in group.iter().enumerate() {
                    let (right, found) = expected(&members, rank, values[0], $combine);
                    for unit in (*head..head + stride).map(|unit| unit as usize) {
                        let got = &out[unit * RESULTS..][..RESULTS];
                        if let Err(difference) = same(got, &right) {
                            panic!("{split:?}, unit {unit} of {units}: {difference}");
                        }
                        assert_eq!(flags[unit], found, "{split:?}, unit {unit} of {units}");
                    }
                }
            }
        }
        Ok(())
    }};
}

/// Bits without an order.
fn mixed(unit: u32) -> u32 {
    unit.wrapping_mul(0x9e37_79b9) ^ 0x5bd1_e995
}

fn sums_of_integers(rt: &Rt) -> Result<(), Error> {
    compare!(rt, sums of u32, mixed, u32::wrapping_add)
}

/// Composes affine functions modulo 2^16: the factor is in the lower half, the summand in the upper.
struct Compose;

#[cube]
impl Associative<u32> for Compose {
    fn combine(first: u32, second: u32) -> u32 {
        let (a, b) = (first & 0xffff, first >> 16);
        let (c, d) = (second & 0xffff, second >> 16);
        ((a * c) & 0xffff) | (((b * c + d) & 0xffff) << 16)
    }
}

fn compose(first: u32, second: u32) -> u32 {
    let (a, b) = (first & 0xffff, first >> 16);
    let (c, d) = (second & 0xffff, second >> 16);
    (a.wrapping_mul(c) & 0xffff) | (b.wrapping_mul(c).wrapping_add(d) << 16)
}

fn an_operation_that_does_not_commute(rt: &Rt) -> Result<(), Error> {
    compare!(rt, compositions of u32, |unit| mixed(unit) | 1, compose)
}

fn least_floats(rt: &Rt) -> Result<(), Error> {
    compare!(
        rt,
        minima of f32,
                |unit| (mixed(unit) % 1000) as f32 - 500.5,
        f32::min
    )
}

fn sums_of_64_bits(rt: &Rt) -> Result<(), Error> {
    compare!(
        rt,
        wide_sums of u64,
                |unit| u64::from(mixed(unit)) << 20 | 7,
        u64::wrapping_add
    )
}

fn largest_bytes(rt: &Rt) -> Result<(), Error> {
    compare!(rt, maxima of u8, |unit| mixed(unit) as u8, u8::max)
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
fn votes(keys: &[u32], out: &mut [u32], #[comptime] split: Split, #[comptime] within_planes: bool) {
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

#[cube(launch_unchecked)]
fn of_the_grid(out: &mut [u32]) {
    out[ABSOLUTE_POS] = this_grid().reduce::<u32, Sum>(1u32);
}

fn refuses_several_cubes(rt: &Rt) {
    let out = rt.poisoned::<u32>(2);
    // SAFETY: each of the two units writes its own element.
    unsafe {
        of_the_grid::launch_unchecked(
            &rt.client,
            CubeCount::new_1d(2),
            CubeDim::new_1d(1),
            out.arg(),
        );
    }
    let text = "girih: Group::reduce: a Grid of several cubes; groups of one cube are allowed";
    super::parents::assert_refused(rt, &out, text);
}

#[cube(launch_unchecked)]
fn wait_for_the_grid(out: &mut [u32]) {
    this_grid().sync();
    out[ABSOLUTE_POS] = 1u32;
}

fn refuses_what_nothing_waits_for(rt: &Rt) {
    let out = rt.poisoned::<u32>(1);
    // SAFETY: the only unit writes the only element.
    unsafe {
        wait_for_the_grid::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_1d(1),
            out.arg(),
        );
    }
    let text = "girih: Group::sync: a Grid; CubeCL launches no cubes that are sure to run together";
    super::parents::assert_refused(rt, &out, text);
}

/// Each unit writes to shared memory; after its group has waited, it reads what its mates wrote.
#[cube(launch_unchecked)]
fn relay(out: &mut [u32], #[comptime] count: u32, #[comptime] len: usize) {
    let group = this_cube().partition(group_by(count));
    let mut held = shared::<u32>(len);
    let first = UNIT_POS - group.unit_rank();
    for round in 0u32..8u32 {
        held[UNIT_POS as usize] = 100 * round + UNIT_POS;
        group.sync();
        let next = first + (group.unit_rank() + 1 + round) % count;
        out[(UNIT_POS * 8 + round) as usize] = held[next as usize];
        group.sync();
    }
}

fn parts_of_a_cube_wait_for_each_other(rt: &Rt) -> Result<(), Error> {
    let plane = rt.client.properties().hardware.plane_size_max;
    let units = plane * (rt.units / plane).min(4);
    let named = rt.kind == girih_testkit::DeviceKind::Cuda;
    let counts = (1..=units).filter(|count| units % count == 0);
    // One unit, lanes of a plane, the cube; whole planes where they have barriers.
    let waits =
        |count: &u32| plane % count == 0 || *count == units || (named && count % plane == 0);
    for count in counts.filter(waits) {
        let out = rt.poisoned::<u32>(8 * units as usize);
        // SAFETY: each unit writes its own eight elements.
        unsafe {
            relay::launch_unchecked(
                &rt.client,
                CubeCount::new_single(),
                CubeDim::new_1d(units),
                out.arg(),
                count,
                units as usize,
            );
        }
        let right: Vec<u32> = (0..units)
            .flat_map(|unit| {
                let first = unit / count * count;
                (0..8).map(move |round| 100 * round + first + (unit % count + 1 + round) % count)
            })
            .collect();
        if let Err(difference) = same(&rt.read(&out)?, &right) {
            panic!("groups of {count}: {difference}");
        }
    }
    Ok(())
}
