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
}

/// Lanes pass bytes as words, which takes arithmetic of 8 bits.
const MOVES_BYTES: Need = Need {
    what: "arithmetic of 8 bits",
    met: |rt| rt.kind != girih_testkit::DeviceKind::Wgsl,
};

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

fn sums_of_integers(rt: &Rt) -> Result<(), Error> {
    compare!(rt, sums of u32, mixed, u32::wrapping_add)
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
