//! Scans along every dimension.

use cubecl::prelude::*;
use girih::coop::{Product, Sum};
use girih::prelude::*;
use girih::tile::{Maximum, Minimum};
use girih_testkit::{Rt, cases, needs};
use half::f16;

use super::model::{By, Element, Host, ONE_CUBE, Party, compare, group_of, many};
use crate::random::for_all;

cases! {
    floats,
    halves needs [needs::F16],
    integers,
    bytes needs [needs::U8],
    of_64_bits needs [needs::I64, needs::U64],
}

/// Results of each kernel, one after the other.
const RESULTS: [&str; 6] = [
    "inclusive sum",
    "exclusive sum",
    "inclusive product",
    "inclusive minimum",
    "inclusive maximum",
    "exclusive maximum",
];

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
            let first = E::from_int(5);
            out.store(&group, x.inclusive_scan::<$axis, Sum>(&group), (at, 0, 0));
            out.store(&group, x.exclusive_scan::<$axis, Sum>(&group, first), (at + groups, 0, 0));
            out.store(&group, factors.inclusive_scan::<$axis, Product>(&group), (at + 2 * groups, 0, 0));
            out.store(&group, x.inclusive_scan::<$axis, Minimum>(&group), (at + 3 * groups, 0, 0));
            out.store(&group, x.inclusive_scan::<$axis, Maximum>(&group), (at + 4 * groups, 0, 0));
            let before = x.exclusive_scan::<$axis, Maximum>(&group, first);
            out.store(&group, before, (at + 5 * groups, 0, 0));
        }
    )*};
}
kernels! {
    scan_0 along 0;
    scan_1 along 1;
    scan_2 along 2;
}

fn smaller<T: Element>(a: T, b: T) -> T {
    if a.is_no_number() || a < b { a } else { b }
}
fn larger<T: Element>(a: T, b: T) -> T {
    if a.is_no_number() || a > b { a } else { b }
}

/// What a line has up to each element.
fn inclusive<T: Element>(combine: fn(T, T) -> T) -> impl Fn(&[T]) -> Vec<T> {
    move |line| {
        let mut so_far: Option<T> = None;
        let until = line.iter().map(|&element| {
            let until = so_far.map_or(element, |so_far| combine(so_far, element));
            so_far = Some(until);
            until
        });
        until.collect()
    }
}

/// What a line has before each element, after `first`.
fn exclusive<T: Element>(combine: fn(T, T) -> T, first: T) -> impl Fn(&[T]) -> Vec<T> {
    move |line| {
        let mut so_far = first;
        let before = line.iter().map(|&element| {
            let before = so_far;
            so_far = combine(so_far, element);
            before
        });
        before.collect()
    }
}

fn check<T: Element>(rt: &Rt, tries: Vec<(Party, [usize; 3])>) -> Result<(), String> {
    let first = T::from_int(5);
    for (party, dims) in tries {
        let each: usize = dims.iter().product();
        let count = party.groups() * each;
        for axis in 0..3 {
            let factors = proptest::collection::vec(T::factors(), count);
            for_all((many::<T>(count), factors), |(x, factors)| {
                let got = ask(rt, &party, dims, axis, [&x, &factors])?;
                for group in 0..party.groups() {
                    let of = |values: &[T]| Host::new(dims, &values[group * each..][..each]);
                    let (x, factors) = (of(&x), of(&factors));
                    let want = [
                        x.lines(axis, inclusive(T::plus)),
                        x.lines(axis, exclusive(T::plus, first)),
                        factors.lines(axis, inclusive(T::times)),
                        x.lines(axis, inclusive(smaller)),
                        x.lines(axis, inclusive(larger)),
                        x.lines(axis, exclusive(larger, first)),
                    ];
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
        0 => launch!(scan_0),
        1 => launch!(scan_1),
        _ => launch!(scan_2),
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
    check::<i32>(rt, Party::two_groups(rt))?;
    check::<u32>(rt, Party::two_groups(rt))
}
fn bytes(rt: &Rt) -> Result<(), String> {
    check::<u8>(rt, Party::two_groups(rt))
}
fn of_64_bits(rt: &Rt) -> Result<(), String> {
    check::<i64>(rt, Party::two_groups(rt))?;
    check::<u64>(rt, Party::two_groups(rt))
}
