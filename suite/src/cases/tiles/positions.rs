//! Where the extremes are.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Rt, cases, needs};
use half::f16;

use super::model::{By, Element, Host, ONE_CUBE, Party, compare, group_of, many};
use crate::random::for_all;

cases! {
    of_floats,
    of_halves needs [needs::F16],
    of_integers,
    of_bytes needs [needs::U8],
    of_64_bits needs [needs::I64, needs::U64],
}

/// Results of each kernel, one after the other.
const RESULTS: [&str; 4] = ["arg_min", "arg_max", "arg_min_of_all", "arg_max_of_all"];

macro_rules! kernels {
    ($($name:ident along $axis:literal;)*) => {$(
        #[cube(launch_unchecked)]
        pub(super) fn $name<E: Numeric, A: Size, B: Size, C: Size>(
            x: &Tensor<E>,
            out: &mut Tensor<u32>,
            #[comptime] by: By,
            #[comptime] size: u32,
            #[comptime] groups: u32,
        ) {
            let group = group_of(by);
            let at = UNIT_POS / size;
            let x = TileView::<E, (A, B, C)>::of(x).load(&group, (at, 0, 0));
            let mut out = TileViewMut::<u32, (A, B, C)>::of(out);
            out.store(&group, x.arg_min::<$axis>(&group).broadcast_to(), (at, 0, 0));
            out.store(&group, x.arg_max::<$axis>(&group).broadcast_to(), (at + groups, 0, 0));
            let least = Tile::<u32, (A, B, C)>::full(x.arg_min_of_all(&group));
            out.store(&group, least, (at + 2 * groups, 0, 0));
            let most = Tile::<u32, (A, B, C)>::full(x.arg_max_of_all(&group));
            out.store(&group, most, (at + 3 * groups, 0, 0));
        }
    )*};
}
kernels! {
    positions_0 along 0;
    positions_1 along 1;
    positions_2 along 2;
}

/// The first NaN, or the first of the elements that none is further out than.
fn first<T: Element>(line: &[T], is_further: fn(T, T) -> bool) -> u32 {
    let mut best = 0;
    for (at, element) in line.iter().enumerate() {
        if line[best].is_no_number() {
            break;
        }
        if element.is_no_number() || is_further(*element, line[best]) {
            best = at;
        }
    }
    best as u32
}

fn check<T: Element>(rt: &Rt, tries: Vec<(Party, [usize; 3])>) -> Result<(), String> {
    for (party, dims) in tries {
        let each: usize = dims.iter().product();
        let count = party.groups() * each;
        for axis in 0..3 {
            for_all(many::<T>(count), |x| {
                let got = ask(rt, &party, dims, axis, &x)?;
                for group in 0..party.groups() {
                    let x = Host::new(dims, &x[group * each..][..each]);
                    let least = |line: &[T]| first(line, |a, b| a < b);
                    let most = |line: &[T]| first(line, |a, b| a > b);
                    let want = [
                        x.reduced(axis, least),
                        x.reduced(axis, most),
                        vec![least(&x.values); each],
                        vec![most(&x.values); each],
                    ];
                    for (index, (name, want)) in RESULTS.iter().zip(&want).enumerate() {
                        let what = format!("{name} along {axis} of {dims:?} on {party:?}");
                        let got = &got[index * count + group * each..][..each];
                        compare(&what, got, want, |a, b| a == b)?;
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
    x: &[T],
) -> Result<Vec<u32>, String> {
    let rows = party.groups() * a;
    let x = rt.put_tensor(x, &[rows, b, c]);
    let out = rt.poisoned_tensor::<u32>(&[rows * RESULTS.len(), b, c], &[b * c, c, 1]);
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
                    out.arg(),
                    party.by,
                    party.size,
                    party.groups() as u32,
                )
            }
        };
    }
    match axis {
        0 => launch!(positions_0),
        1 => launch!(positions_1),
        _ => launch!(positions_2),
    }
    rt.read_tensor(&out).map_err(|error| error.to_string())
}

fn of_floats(rt: &Rt) -> Result<(), String> {
    check::<f32>(rt, Party::every_shape(rt))
}
fn of_halves(rt: &Rt) -> Result<(), String> {
    check::<f16>(rt, Party::two_groups(rt))
}
fn of_integers(rt: &Rt) -> Result<(), String> {
    check::<i32>(rt, Party::every_group(rt))?;
    check::<u32>(rt, Party::two_groups(rt))
}
fn of_bytes(rt: &Rt) -> Result<(), String> {
    check::<u8>(rt, Party::two_groups(rt))
}
fn of_64_bits(rt: &Rt) -> Result<(), String> {
    check::<i64>(rt, Party::two_groups(rt))?;
    check::<u64>(rt, Party::two_groups(rt))
}
