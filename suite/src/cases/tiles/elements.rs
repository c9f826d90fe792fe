//! Arithmetic and bitwise operations element by element.
// CubeCL's macro writes arguments of its own beside these.
#![allow(clippy::duplicate_underscore_argument)]

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Rt, cases, check::close, needs};
use half::f16;

use super::model::{By, Element, ONE_CUBE, Party, compare, group_of, many};
use crate::random::for_all;

cases! {
    floats,
    halves needs [needs::F16],
    integers,
    unsigned_integers,
    bytes needs [needs::U8],
    integers_of_64_bits needs [needs::I64],
    unsigned_integers_of_64_bits needs [needs::U64],
    bits_of_integers,
    bits_of_bytes needs [needs::U8],
    bits_of_64_bit_integers needs [needs::U64, needs::I64],
    vectors,
    literals_and_elements_on_the_right,
    nothing,
}

/// Results of [`arithmetic`], one after the other.
const ARITHMETIC: [&str; 10] = [
    "a + b", "a - b", "a * b", "a / b", "a % b", "minimum", "maximum", "abs", "clamp", "3 b - a",
];

#[cube(launch_unchecked)]
pub(super) fn arithmetic<E: Numeric, A: Size, B: Size, C: Size>(
    a: &Tensor<E>,
    b: &Tensor<E>,
    out: &mut Tensor<E>,
    #[comptime] by: By,
    #[comptime] size: u32,
    #[comptime] groups: u32,
) {
    let group = group_of(by);
    let at = UNIT_POS / size;
    let a = TileView::<E, (A, B, C)>::of(a).load(&group, (at, 0, 0));
    let b = TileView::<E, (A, B, C)>::of(b).load(&group, (at, 0, 0));
    let mut out = TileViewMut::<E, (A, B, C)>::of(out);
    out.store(&group, &a + &b, (at, 0, 0));
    out.store(&group, &a - &b, (at + groups, 0, 0));
    out.store(&group, &a * &b, (at + 2 * groups, 0, 0));
    out.store(&group, &a / &b, (at + 3 * groups, 0, 0));
    out.store(&group, &a % &b, (at + 4 * groups, 0, 0));
    out.store(&group, a.minimum(&b), (at + 5 * groups, 0, 0));
    out.store(&group, a.maximum(&b), (at + 6 * groups, 0, 0));
    out.store(&group, a.abs(), (at + 7 * groups, 0, 0));
    out.store(&group, a.clamp(E::from_int(1), &b), (at + 8 * groups, 0, 0));
    out.store(&group, b * E::from_int(3) - a, (at + 9 * groups, 0, 0));
}

/// What [`arithmetic`] is to give.
trait Arithmetic: Element {
    fn results(a: Self, b: Self) -> [Self; 10];

    /// Whether a quotient, or a remainder, is near enough: of floats devices may differ in the last digits.
    fn is_near(self, other: Self) -> bool {
        self.agrees(other)
    }
}

fn smaller<T: Element>(a: T, b: T) -> T {
    if a.is_no_number() || a < b { a } else { b }
}
fn larger<T: Element>(a: T, b: T) -> T {
    if a.is_no_number() || a > b { a } else { b }
}

macro_rules! integer_arithmetic {
    ($($ty:ty: $magnitude:expr;)*) => {$(
        impl Arithmetic for $ty {
            fn results(a: Self, b: Self) -> [Self; 10] {
                let magnitude: fn(Self) -> Self = $magnitude;
                [
                    a.wrapping_add(b),
                    a.wrapping_sub(b),
                    a.wrapping_mul(b),
                    if b == 0 { 0 } else { a.wrapping_div(b) },
                    if b == 0 { 0 } else { a.wrapping_rem(b) },
                    a.min(b),
                    a.max(b),
                    magnitude(a),
                    a.max(1).min(b),
                    b.wrapping_mul(3).wrapping_sub(a),
                ]
            }
        }
    )*};
}
integer_arithmetic! {
    u8: |a| a;
    u32: |a| a;
    u64: |a| a;
    i32: i32::wrapping_abs;
    i64: i64::wrapping_abs;
}

macro_rules! float_arithmetic {
    ($($ty:ty as $from:expr, to $tolerance:expr;)*) => {$(
        impl Arithmetic for $ty {
            fn results(a: Self, b: Self) -> [Self; 10] {
                let (one, three) = ($from(1.0), $from(3.0));
                [
                    a + b,
                    a - b,
                    a * b,
                    a / b,
                    a % b,
                    smaller(a, b),
                    larger(a, b),
                    if a < $from(0.0) { -a } else { a },
                    smaller(larger(a, one), b),
                    b * three - a,
                ]
            }
            fn is_near(self, other: Self) -> bool {
                close(&[f32::from(self)], &[f32::from(other)], $tolerance).is_ok()
            }
        }
    )*};
}
float_arithmetic! {
    f32 as |value: f32| value, to 1e-6;
    f16 as f16::from_f32, to 1e-3;
}

fn check<T: Arithmetic>(rt: &Rt, tries: Vec<(Party, [usize; 3])>) -> Result<(), String> {
    for (party, [a, b, c]) in tries {
        let count = party.groups() * a * b * c;
        for_all((many::<T>(count), many::<T>(count)), |(x, y)| {
            let out = ask(rt, &party, [a, b, c], [&x, &y])?;
            for (index, name) in ARITHMETIC.iter().enumerate() {
                let pairs = x.iter().zip(&y);
                let want: Vec<T> = pairs.map(|(x, y)| T::results(*x, *y)[index]).collect();
                let got = &out[index * count..][..count];
                let what = format!("{name} on {party:?} of {:?}", [a, b, c]);
                match *name {
                    // A device may give any remainder of what has none.
                    "a % b" if want.iter().any(|value| value.is_no_number()) => {}
                    "a / b" | "a % b" => compare(&what, got, &want, T::is_near)?,
                    _ => compare(&what, got, &want, T::agrees)?,
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// What the device computes.
fn ask<T: Arithmetic>(
    rt: &Rt,
    party: &Party,
    [a, b, c]: [usize; 3],
    [x, y]: [&[T]; 2],
) -> Result<Vec<T>, String> {
    let rows = party.groups() * a;
    let [x, y] = [x, y].map(|values| rt.put_tensor(values, &[rows, b, c]));
    let shape = [rows * ARITHMETIC.len(), b, c];
    let out = rt.poisoned_tensor::<T>(&shape, &girih_testkit::buffer::row_major(&shape));
    // SAFETY: the tiles cover the tensors.
    unsafe {
        arithmetic::launch_unchecked::<T>(
            &rt.client,
            ONE_CUBE,
            party.dim(),
            a,
            b,
            c,
            x.arg(),
            y.arg(),
            out.arg(),
            party.by,
            party.size,
            party.groups() as u32,
        );
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

/// Results of [`bitwise`], one after the other.
const BITWISE: usize = 6;

#[cube(launch_unchecked)]
fn bitwise<I: Int>(a: &[I], b: &[I], out: &mut [I]) {
    let cube = this_cube();
    let a = TileView::<I, shape![60]>::of(a).load(&cube, 0);
    let b = TileView::<I, shape![60]>::of(b).load(&cube, 0);
    let mut out = TileViewMut::<I, shape![60]>::of(out);
    out.store(&cube, &a & &b, 0);
    out.store(&cube, &a | &b, 1);
    out.store(&cube, &a ^ &b, 2);
    out.store(&cube, !&a, 3);
    out.store(&cube, &a << &b, 4);
    out.store(&cube, a >> b, 5);
}

macro_rules! bits {
    ($rt:ident, $($ty:ty)*) => {{
        $(for_all((many::<$ty>(60), many::<$ty>(60)), |(a, b)| {
            let out = $rt.poisoned::<$ty>(60 * BITWISE);
            // SAFETY: the tiles cover the buffers.
            unsafe {
                bitwise::launch_unchecked::<$ty>(
                    &$rt.client,
                    ONE_CUBE,
                    $rt.cube_dim(),
                    $rt.put(&a).arg(),
                    $rt.put(&b).arg(),
                    out.arg(),
                );
            }
            let got = $rt.read(&out).map_err(|error| error.to_string())?;
            let of = |f: fn($ty, $ty) -> $ty| a.iter().zip(&b).map(move |(a, b)| f(*a, *b));
            let want: Vec<$ty> = of(|a, b| a & b)
                .chain(of(|a, b| a | b))
                .chain(of(|a, b| a ^ b))
                .chain(of(|a, _| !a))
                .chain(of(|a, b| a.wrapping_shl(b as u32)))
                .chain(of(|a, b| a.wrapping_shr(b as u32)))
                .collect();
            compare(stringify!($ty), &got, &want, <$ty>::agrees)
        })?;)*
        Ok(())
    }};
}

fn bits_of_integers(rt: &Rt) -> Result<(), String> {
    bits!(rt, i32 u32)
}
fn bits_of_bytes(rt: &Rt) -> Result<(), String> {
    bits!(rt, u8)
}
fn bits_of_64_bit_integers(rt: &Rt) -> Result<(), String> {
    bits!(rt, i64 u64)
}

#[cube(launch_unchecked)]
pub(super) fn on_vectors<N: Size>(
    x: &Tensor<Vector<f32, N>>,
    y: &Tensor<f32>,
    out: &mut Tensor<Vector<f32, N>>,
) {
    let cube = this_cube();
    let x = TileView::<f32, shape![8, 16]>::of(x).load(&cube, (CUBE_POS, 0));
    let y = TileView::<f32, shape![1, 16]>::of(y).load(&cube, (0, 0));
    let positive = x.gt(0.0);
    let z = (&x * &x - y.broadcast_to()).select(positive, -x);
    TileViewMut::<f32, shape![8, 16]>::of(out).store(&cube, z, (CUBE_POS, 0));
}

fn vectors(rt: &Rt) -> Result<(), String> {
    for_all((many::<f32>(128), many::<f32>(16)), |(x, y)| {
        let out = rt.poisoned_tensor::<f32>(&[8, 16], &[16, 1]);
        // SAFETY: the tile covers `out`.
        unsafe {
            on_vectors::launch_unchecked(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                4,
                rt.put_tensor(&x, &[8, 16]).arg(),
                rt.put_tensor(&y, &[1, 16]).arg(),
                out.arg(),
            );
        }
        let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
        let value = |at: usize| match x[at] {
            x if x > 0.0 => x * x - y[at % 16],
            x => -x,
        };
        let want: Vec<f32> = (0..128).map(value).collect();
        compare("vectors", &got, &want, f32::agrees)
    })
}

#[cube(launch_unchecked)]
fn with_elements<E: Float>(x: &[f32], y: &[E], out: &mut [f32], sums: &mut [E], factor: f32) {
    let cube = this_cube();
    let x = TileView::<f32, shape![8]>::of(x).load(&cube, 0);
    let y = TileView::<E, shape![8]>::of(y).load(&cube, 0);
    let scaled = 1.5 * factor;
    let z = (&x * scaled + 0.25) / 2.0 - factor;
    let within = z.ge(-4.0) & z.lt(factor);
    let z = z.select(within, 100.0).maximum(-2.0);
    TileViewMut::<f32, shape![8]>::of(out).store(&cube, z, 0);
    let sum = (y + E::new(2.0)).minimum(E::new(5.0));
    TileViewMut::<E, shape![8]>::of(sums).store(&cube, sum, 0);
}

fn literals_and_elements_on_the_right(rt: &Rt) -> Result<(), String> {
    let x = [-5.0f32, -1.0, 0.0, 1.0, 2.0, 3.0, 40.0, f32::NAN];
    let factor = 3.0f32;
    let (out, sums) = (rt.poisoned::<f32>(8), rt.poisoned::<f32>(8));
    // SAFETY: the tiles cover the buffers.
    unsafe {
        with_elements::launch_unchecked::<f32>(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            rt.put(&x).arg(),
            rt.put(&x).arg(),
            out.arg(),
            sums.arg(),
            factor,
        );
    }
    let z = |x: f32| {
        let z = (x * (1.5 * factor) + 0.25) / 2.0 - factor;
        let z = if z >= -4.0 && z < factor { z } else { 100.0 };
        z.max(-2.0)
    };
    let got = rt.read(&out).map_err(|error| error.to_string())?;
    compare("tiles", &got, &x.map(z), |a, b| {
        close(&[a], &[b], 1e-6).is_ok()
    })?;
    let got = rt.read(&sums).map_err(|error| error.to_string())?;
    compare("sums", &got, &x.map(|x| smaller(x + 2.0, 5.0)), f32::agrees)
}

#[cube(launch_unchecked)]
fn of_nothing<N: Size>(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    let cube = this_cube();
    let x = TileView::<f32, (N, Const<4>)>::of(x).load(&cube, (0, 0));
    let y = (&x + 1.0).hold(&cube);
    let z = (x * 2.0).share(&cube);
    let sums = TileViewMut::<f32, shape![1, 4]>::of(out);
    let mut sums = sums;
    sums.store(&cube, y.sum::<0>(&cube) + z.product::<0>(&cube), (0, 0));
}

fn nothing(rt: &Rt) -> Result<(), String> {
    let out = rt.poisoned_tensor::<f32>(&[1, 4], &[4, 1]);
    // SAFETY: nothing is loaded, and the tile covers `out`.
    unsafe {
        of_nothing::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            0,
            rt.put_tensor(&[7f32; 4], &[1, 4]).arg(),
            out.arg(),
        );
    }
    let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
    // No elements have the sum 0 and the product 1.
    compare("nothing", &got, &[1.0; 4], f32::agrees)
}
