//! Reductions along every dimension, and of all elements.

use cubecl::prelude::*;
use girih::coop::Associative;
use girih::prelude::*;
use girih_testkit::{Rt, cases, needs};
use half::f16;

use super::model::{By, Element, Host, ONE_CUBE, Party, compare, group_of, many};
use crate::random::for_all;

cases! {
    floats,
    halves needs [needs::F16],
    integers,
    unsigned_integers,
    bytes needs [needs::U8],
    integers_of_64_bits needs [needs::I64],
    unsigned_integers_of_64_bits needs [needs::U64],
    votes,
    an_operation_that_does_not_commute,
    parts_of_a_cube,
    again_and_again,
    the_same_twice,
}

/// Results of [`reduce`], one after the other.
const RESULTS: [&str; 7] = [
    "sum",
    "product",
    "min",
    "max",
    "sum_of_all",
    "min_of_all",
    "max_of_all",
];

/// One kernel for each dimension; what each gives is repeated along it.
macro_rules! kernels {
    ($($name:ident along $axis:literal;)*) => {$(
        #[cube(launch_unchecked)]
        pub(super) fn $name<E: Numeric, A: Size, B: Size, C: Size>(
            x: &Tensor<E>,
            factors: &Tensor<E>,
            out: &mut Tensor<E>,
            #[comptime] by: By,
            #[comptime] size: u32,
            #[comptime] groups: u32,
        ) {
            let group = group_of(by);
            let at = UNIT_POS / size;
            let x = TileView::<E, (A, B, C)>::of(x).load(&group, (at, 0, 0));
            let factors = TileView::<E, (A, B, C)>::of(factors).load(&group, (at, 0, 0));
            let mut out = TileViewMut::<E, (A, B, C)>::of(out);
            out.store(&group, x.sum::<$axis>(&group).broadcast_to(), (at, 0, 0));
            let product = factors.product::<$axis>(&group);
            out.store(&group, product.broadcast_to(), (at + groups, 0, 0));
            out.store(&group, x.min::<$axis>(&group).broadcast_to(), (at + 2 * groups, 0, 0));
            out.store(&group, x.max::<$axis>(&group).broadcast_to(), (at + 3 * groups, 0, 0));
            let total = Tile::<E, (A, B, C)>::full(x.sum_of_all(&group));
            out.store(&group, total, (at + 4 * groups, 0, 0));
            let least = Tile::<E, (A, B, C)>::full(x.min_of_all(&group));
            out.store(&group, least, (at + 5 * groups, 0, 0));
            let most = Tile::<E, (A, B, C)>::full(x.max_of_all(&group));
            out.store(&group, most, (at + 6 * groups, 0, 0));
        }
    )*};
}
kernels! {
    reduce_0 along 0;
    reduce_1 along 1;
    reduce_2 along 2;
}

fn smaller<T: Element>(a: T, b: T) -> T {
    if a.is_no_number() || a < b { a } else { b }
}
fn larger<T: Element>(a: T, b: T) -> T {
    if a.is_no_number() || a > b { a } else { b }
}

/// What one group's tile is to give.
fn expected<T: Element>(x: &Host<T>, factors: &Host<T>, axis: usize) -> [Vec<T>; RESULTS.len()] {
    let fold = |f: fn(T, T) -> T| {
        move |line: &[T]| {
            line[1..]
                .iter()
                .fold(line[0], |so_far, next| f(so_far, *next))
        }
    };
    let whole = |f| vec![fold(f)(&x.values); x.values.len()];
    [
        x.reduced(axis, fold(T::plus)),
        factors.reduced(axis, fold(T::times)),
        x.reduced(axis, fold(smaller)),
        x.reduced(axis, fold(larger)),
        whole(T::plus),
        whole(smaller),
        whole(larger),
    ]
}

fn check<T: Element>(rt: &Rt, tries: Vec<(Party, [usize; 3])>) -> Result<(), String> {
    for (party, dims) in tries {
        let each: usize = dims.iter().product();
        let count = party.groups() * each;
        for axis in 0..3 {
            let factors = proptest::collection::vec(T::factors(), count);
            for_all((many::<T>(count), factors), |(x, factors)| {
                let got = ask(rt, &party, dims, axis, [&x, &factors])?;
                for group in 0..party.groups() {
                    let of = |values: &[T]| Host::new(dims, &values[group * each..][..each]);
                    let want = expected(&of(&x), &of(&factors), axis);
                    for (index, (name, want)) in RESULTS.iter().zip(&want).enumerate() {
                        let what = format!("{name} along {axis} of {dims:?} on {party:?}");
                        let got = &got[index * count + group * each..][..each];
                        compare(&what, got, want, T::agrees)?;
                    }
                }
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// What the device computes.
fn ask<T: Element>(
    rt: &Rt,
    party: &Party,
    [a, b, c]: [usize; 3],
    axis: usize,
    [x, factors]: [&[T]; 2],
) -> Result<Vec<T>, String> {
    let rows = party.groups() * a;
    let [x, factors] = [x, factors].map(|values| rt.put_tensor(values, &[rows, b, c]));
    let out = rt.poisoned_tensor::<T>(&[rows * RESULTS.len(), b, c], &[b * c, c, 1]);
    macro_rules! launch {
        ($kernel:ident) => {
            // SAFETY: the tiles cover the tensors.
            unsafe {
                $kernel::launch_unchecked::<T>(
                    &rt.client,
                    ONE_CUBE,
                    party.dim(),
                    a,
                    b,
                    c,
                    x.arg(),
                    factors.arg(),
                    out.arg(),
                    party.by,
                    party.size,
                    party.groups() as u32,
                )
            }
        };
    }
    match axis {
        0 => launch!(reduce_0),
        1 => launch!(reduce_1),
        _ => launch!(reduce_2),
    }
    rt.read_tensor(&out).map_err(|error| error.to_string())
}

fn floats(rt: &Rt) -> Result<(), String> {
    check::<f32>(rt, Party::every_shape(rt))
}
fn halves(rt: &Rt) -> Result<(), String> {
    check::<f16>(rt, Party::two_groups(rt))
}
fn integers(rt: &Rt) -> Result<(), String> {
    check::<i32>(rt, Party::every_group(rt))
}
fn unsigned_integers(rt: &Rt) -> Result<(), String> {
    check::<u32>(rt, Party::two_groups(rt))
}
fn bytes(rt: &Rt) -> Result<(), String> {
    check::<u8>(rt, Party::two_groups(rt))
}
fn integers_of_64_bits(rt: &Rt) -> Result<(), String> {
    check::<i64>(rt, Party::two_groups(rt))
}
fn unsigned_integers_of_64_bits(rt: &Rt) -> Result<(), String> {
    check::<u64>(rt, Party::two_groups(rt))
}

#[cube(launch_unchecked)]
fn vote(x: &Tensor<i32>, out: &mut Tensor<u32>, #[comptime] by: By, #[comptime] size: u32) {
    let group = group_of(by);
    let at = UNIT_POS / size * 6;
    let x = TileView::<i32, shape![3, 5, 7]>::of(x).load(&group, (UNIT_POS / size, 0, 0));
    let positive = x.gt(0);
    let small = x.lt(4);
    let any = positive.any::<2>(&group).broadcast_to::<shape![3, 5, 7]>();
    let all = small.all::<0>(&group).broadcast_to::<shape![3, 5, 7]>();
    let mut out = TileViewMut::<u32, shape![3, 5, 7]>::of(out);
    out.store(&group, any.cast::<u32>(), (at, 0, 0));
    out.store(&group, all.cast::<u32>(), (at + 1, 0, 0));
    // Each of these the same in every element.
    let flags = u32::cast_from(positive.any_of_all(&group))
        + 2 * u32::cast_from(positive.all_of_all(&group))
        + 4 * u32::cast_from(small.any_of_all(&group))
        + 8 * u32::cast_from(small.all_of_all(&group));
    out.store(
        &group,
        Tile::<u32, shape![3, 5, 7]>::full(flags),
        (at + 2, 0, 0),
    );
    let count = positive.cast::<u32>().sum::<1>(&group);
    out.store(&group, count.broadcast_to(), (at + 3, 0, 0));
    let all = positive.all::<1>(&group).broadcast_to::<shape![3, 5, 7]>();
    out.store(&group, all.cast::<u32>(), (at + 4, 0, 0));
    let any = (!small).any::<0>(&group).broadcast_to::<shape![3, 5, 7]>();
    out.store(&group, any.cast::<u32>(), (at + 5, 0, 0));
}

fn votes(rt: &Rt) -> Result<(), String> {
    let dims = [3, 5, 7];
    for party in Party::all(rt) {
        let groups = party.groups();
        let element = proptest::strategy::Union::new_weighted(vec![(9, 1i32..4), (1, -1..6)]);
        for_all(proptest::collection::vec(element, 105 * groups), |x| {
            let out = rt.poisoned_tensor::<u32>(&[groups * 18, 5, 7], &[35, 7, 1]);
            // SAFETY: the tiles cover the tensors.
            unsafe {
                vote::launch_unchecked(
                    &rt.client,
                    ONE_CUBE,
                    party.dim(),
                    rt.put_tensor(&x, &[groups * 3, 5, 7]).arg(),
                    out.arg(),
                    party.by,
                    party.size,
                );
            }
            let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
            for group in 0..groups {
                let x = Host::new(dims, &x[group * 105..][..105]);
                let any = |line: &[i32]| u32::from(line.iter().any(|x| *x > 0));
                let all = |line: &[i32]| u32::from(line.iter().all(|x| *x > 0));
                let small = |line: &[i32]| u32::from(line.iter().all(|x| *x < 4));
                let has_small = u32::from(x.values.iter().any(|x| *x < 4));
                let flags =
                    any(&x.values) + 2 * all(&x.values) + 4 * has_small + 8 * small(&x.values);
                let count = |line: &[i32]| line.iter().filter(|x| **x > 0).count() as u32;
                let want = [
                    x.reduced(2, any),
                    x.reduced(0, small),
                    vec![flags; 105],
                    x.reduced(1, count),
                    x.reduced(1, all),
                    x.reduced(0, |line| 1 - small(line)),
                ]
                .concat();
                let got = &got[group * 630..][..630];
                compare(&format!("votes on {party:?}"), got, &want, |a, b| a == b)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// The linear functions `x -> a x + b` of bytes, which do not commute: `a` above `b`.
struct Compose;

#[cube]
impl Associative<u32> for Compose {
    fn combine(first: u32, second: u32) -> u32 {
        let factor = ((first >> 8) * (second >> 8)) & 0xff;
        let term = ((second >> 8) * (first & 0xff) + (second & 0xff)) & 0xff;
        (factor << 8) | term
    }
}

fn compose(first: u32, second: u32) -> u32 {
    let factor = ((first >> 8) * (second >> 8)) & 0xff;
    let term = ((second >> 8) * (first & 0xff) + (second & 0xff)) & 0xff;
    (factor << 8) | term
}

#[cube(launch_unchecked)]
fn composed(x: &Tensor<u32>, out: &mut Tensor<u32>, #[comptime] by: By, #[comptime] size: u32) {
    let group = group_of(by);
    let at = UNIT_POS / size;
    let x = TileView::<u32, shape![2, 6, 11]>::of(x).load(&group, (at, 0, 0));
    let mut out = TileViewMut::<u32, shape![2, 6, 11]>::of(out);
    let rows = x.reduce::<2, Compose>(&group);
    out.store(&group, rows.broadcast_to(), (at * 3, 0, 0));
    let columns = x.reduce::<1, Compose>(&group);
    out.store(&group, columns.broadcast_to(), (at * 3 + 1, 0, 0));
    let all = x.reduce_of_all::<Compose>(&group);
    out.store(
        &group,
        Tile::<u32, shape![2, 6, 11]>::full(all),
        (at * 3 + 2, 0, 0),
    );
}

fn an_operation_that_does_not_commute(rt: &Rt) -> Result<(), String> {
    for party in Party::all(rt) {
        let groups = party.groups();
        for_all(
            proptest::collection::vec(0u32..0x1_0000, 132 * groups),
            |x| {
                let out = rt.poisoned_tensor::<u32>(&[groups * 6, 6, 11], &[66, 11, 1]);
                // SAFETY: the tiles cover the tensors.
                unsafe {
                    composed::launch_unchecked(
                        &rt.client,
                        ONE_CUBE,
                        party.dim(),
                        rt.put_tensor(&x, &[groups * 2, 6, 11]).arg(),
                        out.arg(),
                        party.by,
                        party.size,
                    );
                }
                let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
                let fold = |line: &[u32]| {
                    let rest = line[1..].iter();
                    rest.fold(line[0], |so_far, next| compose(so_far, *next))
                };
                for group in 0..groups {
                    let x = Host::new([2, 6, 11], &x[group * 132..][..132]);
                    let all = vec![fold(&x.values); 132];
                    let want = [x.reduced(2, fold), x.reduced(1, fold), all].concat();
                    let got = &got[group * 396..][..396];
                    compare(&format!("on {party:?}"), got, &want, |a, b| a == b)?;
                }
                Ok(())
            },
        )?;
    }
    Ok(())
}

fn parts_of_a_cube(rt: &Rt) -> Result<(), String> {
    let plane = rt.client.properties().hardware.plane_size_max;
    let units = rt.units.min(4 * plane);
    if units < 2 {
        return Ok(());
    }
    // Two planes of four, or one of two.
    let party = Party {
        by: By::Part(units / 2),
        units,
        size: units / 2,
    };
    check::<i32>(rt, vec![(party, [3, 5, 7])])
}

#[cube(launch_unchecked)]
fn repeated(x: &Tensor<u32>, out: &mut Tensor<u32>, rounds: u32) {
    let cube = this_cube();
    let x = TileView::<u32, shape![4, 32]>::of(x).load(&cube, (0, 0));
    let mut out = TileViewMut::<u32, shape![4, 32]>::of(out);
    for round in 0..rounds {
        // Slow units still read what the last round left while fast ones come to the next.
        let y = &x + round;
        let total = y.sum::<1>(&cube).broadcast_to::<shape![4, 32]>();
        out.store(&cube, total, (round, 0));
    }
}

fn again_and_again(rt: &Rt) -> Result<(), String> {
    let x: Vec<u32> = (0..128).map(|at| at * at % 97).collect();
    let rounds = 20;
    let out = rt.poisoned_tensor::<u32>(&[4 * rounds, 32], &[32, 1]);
    // SAFETY: the tiles cover the tensors.
    unsafe {
        repeated::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            rt.put_tensor(&x, &[4, 32]).arg(),
            out.arg(),
            rounds as u32,
        );
    }
    let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
    let want: Vec<u32> = (0..rounds as u32)
        .flat_map(|round| {
            let row = |row: usize| x[32 * row..][..32].iter().map(|x| x + round).sum::<u32>();
            (0..128).map(|at| row(at / 32)).collect::<Vec<_>>()
        })
        .collect();
    compare("rounds", &got, &want, |a, b| a == b)
}

/// A sum of floats has one order for a group and shape.
fn the_same_twice(rt: &Rt) -> Result<(), String> {
    let party = Party::all(rt)[0];
    let count = 500;
    let values = proptest::collection::vec(-1.0f32..1.0, count);
    for_all(values, |x| {
        let ones = vec![1.0; count];
        let run = || ask::<f32>(rt, &party, [1, 100, 5], 1, [&x, &ones]);
        let (first, second) = (run()?, run()?);
        let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        match bits(&first) == bits(&second) {
            true => Ok(()),
            false => Err("two runs differ".to_owned()),
        }
    })
}
