//! Reductions to the first unit of a cube, and of its halves, for every number of planes: those that one plane does alone, and
//! those that are too large for it.

use cubecl::prelude::*;
use girih::coop::{Associative, Max, Sum};
use girih::prelude::*;
use girih_testkit::{Error, Rt, case::Need, cases, needs};

use super::splits::{Compose, compose, mixed};

cases! {
    sums_of_integers,
    sums_of_floats,
    compositions,
    largest_bytes needs [needs::U8, MOVES_BYTES],
}

/// Lanes pass bytes as words, which takes arithmetic of 8 bits.
const MOVES_BYTES: Need = Need {
    what: "arithmetic of 8 bits",
    met: |rt| rt.kind != girih_testkit::DeviceKind::Wgsl,
};

const ROUNDS: u32 = 5;

/// Once outside a loop, then rounds with nothing that waits between them: what the first unit has after each, and what it
/// makes of its value for the next.
#[cube]
fn go_round<E: Numeric, O: Associative<E>>(group: &Group, value: E, out: &mut [E], rounds: u32) {
    let first = group.reduce_to_first::<E, O>(value);
    let group_place = group.group_rank() * (rounds + 1);
    if group.elect() && group.is_valid() {
        out[group_place as usize] = first;
    }
    let mut value = value;
    for round in 0..rounds {
        let first = group.reduce_to_first::<E, O>(value);
        if group.elect() && group.is_valid() {
            out[(group_place + 1 + round) as usize] = first;
            value = first;
        }
    }
}

/// A kernel for each element and operation: the cube, then groups of `count` units of it.
macro_rules! kernels {
    ($($name:ident: $element:ident by $operation:ident;)*) => {$(
        #[cube(launch_unchecked)]
        fn $name(
            values: &[$element],
            whole: &mut [$element],
            parts: &mut [$element],
            rounds: u32,
            #[comptime] count: u32,
        ) {
            let value = values[UNIT_POS as usize];
            go_round::<$element, $operation>(&this_cube(), value, whole, rounds);
            let part = this_cube().partition_non_exhaustive(group_by(count));
            go_round::<$element, $operation>(&part, value, parts, rounds);
        }
    )*};
}
kernels! {
    integers: u32 by Sum;
    floats: f32 by Sum;
    composed: u32 by Compose;
    bytes: u8 by Max;
}

/// What the first unit has before the loop and after each round of it.
fn expected<T: Copy>(group: &[T], combine: fn(T, T) -> T) -> Vec<T> {
    let mut group = group.to_vec();
    let all = |group: &[T]| group[1..].iter().fold(group[0], |a, b| combine(a, *b));
    let mut firsts = vec![all(&group)];
    for _ in 0..ROUNDS {
        group[0] = all(&group);
        firsts.push(group[0]);
    }
    firsts
}

/// Compares cubes of every number of planes with the host.
macro_rules! compare {
    ($rt:ident, $kernel:ident of $element:ty, $value:expr, $combine:expr) => {{
        let plane = $rt.client.properties().hardware.plane_size_max;
        let most = $rt.client.properties().hardware.max_units_per_cube / plane;
        let most = if plane == 1 { $rt.units } else { most };
        let value: fn(u32) -> $element = $value;
        for planes in [1, 2, 3, 4, 6, 7, 8, 12, 16, 24, 31, 32, 33].into_iter().filter(|planes| *planes <= most) {
            let units = planes * plane;
            let count = planes.div_ceil(2) * plane;
            let values: Vec<$element> = (0..units).map(value).collect();
            let whole = $rt.poisoned::<$element>(ROUNDS as usize + 1);
            let parts = $rt.poisoned::<$element>((ROUNDS as usize + 1) * (units / count) as usize);
            // SAFETY: each unit reads its own value, and the first of each group writes the group's results.
            unsafe {
                $kernel::launch_unchecked(
                    &$rt.client,
                    CubeCount::new_single(),
                    CubeDim::new_1d(units),
                    $rt.put(&values).arg(),
                    whole.arg(),
                    parts.arg(),
                    ROUNDS,
                    count,
                );
            }
            assert_eq!($rt.read(&whole)?, expected(&values, $combine), "{planes} planes");
            let right: Vec<$element> = values
                .chunks_exact(count as usize)
                .flat_map(|group| expected(group, $combine))
                .collect();
            assert_eq!($rt.read(&parts)?, right, "{count} of {units} units");
        }
        Ok(())
    }};
}

fn sums_of_integers(rt: &Rt) -> Result<(), Error> {
    compare!(rt, integers of u32, mixed, u32::wrapping_add)
}

/// Integers so small that every order of adding them is exact.
fn sums_of_floats(rt: &Rt) -> Result<(), Error> {
    compare!(rt, floats of f32, |unit| (mixed(unit) % 64) as f32 - 31.0, |a, b| a + b)
}

fn compositions(rt: &Rt) -> Result<(), Error> {
    compare!(rt, composed of u32, |unit| mixed(unit) | 1, compose)
}

fn largest_bytes(rt: &Rt) -> Result<(), Error> {
    compare!(rt, bytes of u8, |unit| (mixed(unit) >> 7) as u8, u8::max)
}
