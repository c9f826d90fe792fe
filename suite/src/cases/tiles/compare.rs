//! Comparisons, masks, and casts.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Rt, cases, needs};
use half::f16;

use super::model::{By, Element, ONE_CUBE, Party, compare, group_of, many};
use crate::random::for_all;

cases! {
    of_floats,
    of_halves needs [needs::F16],
    of_integers,
    of_bytes needs [needs::U8],
    of_64_bits needs [needs::I64, needs::U64],
    masks,
    casts,
    casts_of_small_types needs [needs::U8, needs::F16],
    casts_of_64_bits needs [needs::I64, needs::U64],
}

/// Elements of a tile here.
const LEN: usize = 60;

/// Results of [`comparisons`], one after the other.
const COMPARISONS: usize = 7;

#[cube(launch_unchecked)]
fn comparisons<E: Numeric>(
    a: &Tensor<E>,
    b: &Tensor<E>,
    out: &mut Tensor<u32>,
    chosen: &mut Tensor<E>,
    #[comptime] by: By,
    #[comptime] size: u32,
    #[comptime] groups: u32,
) {
    let group = group_of(by);
    let at = UNIT_POS / size;
    let a = TileView::<E, shape![3, 20]>::of(a).load(&group, (at, 0));
    let b = TileView::<E, shape![3, 20]>::of(b).load(&group, (at, 0));
    let mut out = TileViewMut::<u32, shape![3, 20]>::of(out);
    out.store(&group, a.lt(&b).cast::<u32>(), (at, 0));
    out.store(&group, a.le(&b).cast::<u32>(), (at + groups, 0));
    out.store(&group, a.gt(&b).cast::<u32>(), (at + 2 * groups, 0));
    out.store(&group, a.ge(&b).cast::<u32>(), (at + 3 * groups, 0));
    out.store(&group, a.eq(&b).cast::<u32>(), (at + 4 * groups, 0));
    out.store(&group, a.ne(&b).cast::<u32>(), (at + 5 * groups, 0));
    let between = a.ge(E::from_int(1)) & b.gt(&a) | b.eq(E::from_int(0));
    let between = !between ^ a.eq(&b);
    out.store(&group, between.cast::<u32>(), (at + 6 * groups, 0));
    let less = a.lt(&b);
    let chosen_tile = a.select(less, b);
    TileViewMut::<E, shape![3, 20]>::of(chosen).store(&group, chosen_tile, (at, 0));
}

fn check<T: Element>(rt: &Rt) -> Result<(), String> {
    for party in Party::all(rt) {
        let count = party.groups() * LEN;
        let rows = party.groups() * 3;
        let (zero, one) = (T::from_int(0), T::from_int(1));
        // Pairs that are equal now and then.
        let pairs = (many::<T>(count), many::<T>(count), many::<u8>(count));
        for_all(pairs, |(a, b, same)| {
            let b: Vec<T> = (0..count)
                .map(|at| if same[at] % 4 == 0 { a[at] } else { b[at] })
                .collect();
            let shape = [rows * COMPARISONS, 20];
            let out = rt.poisoned_tensor::<u32>(&shape, &[20, 1]);
            let chosen = rt.poisoned_tensor::<T>(&[rows, 20], &[20, 1]);
            // SAFETY: the tiles cover the tensors.
            unsafe {
                comparisons::launch_unchecked::<T>(
                    &rt.client,
                    ONE_CUBE,
                    party.dim(),
                    rt.put_tensor(&a, &[rows, 20]).arg(),
                    rt.put_tensor(&b, &[rows, 20]).arg(),
                    out.arg(),
                    chosen.arg(),
                    party.by,
                    party.size,
                    party.groups() as u32,
                );
            }
            let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
            let of = |f: fn(T, T, T, T) -> bool| {
                let pairs = a.iter().zip(&b);
                pairs.map(move |(a, b)| u32::from(f(*a, *b, zero, one)))
            };
            let want: Vec<u32> = of(|a, b, _, _| a < b)
                .chain(of(|a, b, _, _| a <= b))
                .chain(of(|a, b, _, _| a > b))
                .chain(of(|a, b, _, _| a >= b))
                .chain(of(|a, b, _, _| a == b))
                .chain(of(|a, b, _, _| a != b))
                .chain(of(|a, b, zero, one| {
                    !(a >= one && b > a || b == zero) ^ (a == b)
                }))
                .collect();
            compare(&format!("{party:?}"), &got, &want, |a, b| a == b)?;
            let got = rt.read_tensor(&chosen).map_err(|error| error.to_string())?;
            let pairs = a.iter().zip(&b);
            let want: Vec<T> = pairs.map(|(a, b)| if a < b { *a } else { *b }).collect();
            compare("select", &got, &want, T::same)
        })?;
    }
    Ok(())
}

fn of_floats(rt: &Rt) -> Result<(), String> {
    check::<f32>(rt)
}
fn of_halves(rt: &Rt) -> Result<(), String> {
    check::<f16>(rt)
}
fn of_integers(rt: &Rt) -> Result<(), String> {
    check::<i32>(rt)?;
    check::<u32>(rt)
}
fn of_bytes(rt: &Rt) -> Result<(), String> {
    check::<u8>(rt)
}
fn of_64_bits(rt: &Rt) -> Result<(), String> {
    check::<i64>(rt)?;
    check::<u64>(rt)
}

#[cube(launch_unchecked)]
fn masked(x: &[f32], out: &mut [u32]) {
    let cube = this_cube();
    let x = TileView::<f32, shape![60]>::of(x).load(&cube, 0);
    // Held and shared masks, masks of literals, and masks of masks.
    let nan = x.is_nan().hold(&cube);
    let mut out = TileViewMut::<u32, shape![60]>::of(out);
    out.store(&cube, nan.cast::<u32>(), 0);
    let positive = x.gt(0.0).share(&cube);
    let either = (positive.clone() | x.lt(-1.0)).ne(&positive);
    out.store(&cube, either.cast::<u32>(), 1);
    let always = Tile::<bool, shape![60]>::full(true) & positive;
    out.store(&cube, always.select(x.ge(1.0), false).cast::<u32>(), 2);
}

fn masks(rt: &Rt) -> Result<(), String> {
    for_all(many::<f32>(LEN), |x| {
        let out = rt.poisoned::<u32>(3 * LEN);
        // SAFETY: the tiles cover the buffers.
        unsafe {
            masked::launch_unchecked(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                rt.put(&x).arg(),
                out.arg(),
            );
        }
        let got = rt.read(&out).map_err(|error| error.to_string())?;
        let nan = x.iter().map(|x| u32::from(x.is_nan()));
        let either = x.iter().map(|x| u32::from(*x < -1.0));
        let always = x.iter().map(|x| u32::from(*x >= 1.0));
        let want: Vec<u32> = nan.chain(either).chain(always).collect();
        compare("masks", &got, &want, |a, b| a == b)
    })
}

#[cube(launch_unchecked)]
fn cast<E: Numeric, F: Numeric>(x: &[E], out: &mut [F], back: &mut [E]) {
    let cube = this_cube();
    let x = TileView::<E, shape![60]>::of(x).load(&cube, 0);
    let flags = x.cast::<bool>().cast::<F>();
    let mut out = TileViewMut::<F, shape![60]>::of(out);
    out.store(&cube, x.cast::<F>(), 0);
    out.store(&cube, flags, 1);
    let back_tile = x.cast::<F>().cast::<E>();
    TileViewMut::<E, shape![60]>::of(back).store(&cube, back_tile, 0);
}

macro_rules! casts {
    ($rt:ident, $($from:ty => $to:ty: $keep:expr, $there:expr, $back:expr;)*) => {{
        $(for_all(many::<$from>(LEN), |x| {
            let keep: fn($from) -> bool = $keep;
            let (there, back): (fn($from) -> $to, fn($to) -> $from) = ($there, $back);
            // What the other type cannot hold is any value.
            let x: Vec<$from> = x
                .into_iter()
                .map(|x| if keep(x) { x } else { <$from as Numeric>::from_int(7) })
                .collect();
            let out = $rt.poisoned::<$to>(2 * LEN);
            let returned = $rt.poisoned::<$from>(LEN);
            // SAFETY: the tiles cover the buffers.
            unsafe {
                cast::launch_unchecked::<$from, $to>(
                    &$rt.client,
                    ONE_CUBE,
                    $rt.cube_dim(),
                    $rt.put(&x).arg(),
                    out.arg(),
                    returned.arg(),
                );
            }
            let converted = x.iter().map(|x| there(*x));
            let flags = x.iter().map(|x| {
                <$to as Numeric>::from_int(i64::from(*x != <$from as Numeric>::from_int(0)))
            });
            let want: Vec<$to> = converted.clone().chain(flags).collect();
            let what = concat!(stringify!($from), " as ", stringify!($to));
            let got = $rt.read(&out).map_err(|error| error.to_string())?;
            compare(what, &got, &want, <$to>::agrees)?;
            let want: Vec<$from> = converted.map(|y| back(y)).collect();
            let got = $rt.read(&returned).map_err(|error| error.to_string())?;
            compare(what, &got, &want, <$from>::agrees)
        })?;)*
        Ok(())
    }};
}

fn casts(rt: &Rt) -> Result<(), String> {
    casts!(rt,
        f32 => i32: |x| x.is_finite(), |x| x as i32, |y| y as f32;
        f32 => u32: |x| x >= 0.0 && x.is_finite(), |x| x as u32, |y| y as f32;
        i32 => f32: |x| x.unsigned_abs() < 1 << 24, |x| x as f32, |y| y as i32;
        u32 => f32: |x| x < 1 << 24, |x| x as f32, |y| y as u32;
        i32 => u32: |_| true, |x| x as u32, |y| y as i32;
        u32 => i32: |_| true, |x| x as i32, |y| y as u32;
        f32 => f32: |_| true, |x| x, |y| y;
    )
}

fn casts_of_small_types(rt: &Rt) -> Result<(), String> {
    casts!(rt,
        u8 => i32: |_| true, |x| x as i32, |y| y as u8;
        u32 => u8: |_| true, |x| x as u8, |y| y as u32;
        f32 => u8: |x| (0.0..=255.0).contains(&x), |x| x as u8, |y| y as f32;
        u8 => f16: |_| true, |x| f16::from_f32(x as f32), |y| y.to_f32() as u8;
        f32 => f16: |_| true, f16::from_f32, |y| y.to_f32();
        f16 => f32: |_| true, |x| x.to_f32(), f16::from_f32;
        f16 => i32: |x| x.is_finite(), |x| x.to_f32() as i32, |y| f16::from_f32(y as f32);
    )
}

fn casts_of_64_bits(rt: &Rt) -> Result<(), String> {
    casts!(rt,
        i64 => i32: |_| true, |x| x as i32, |y| y as i64;
        i32 => i64: |_| true, |x| x as i64, |y| y as i32;
        i32 => u64: |_| true, |x| x as u64, |y| y as i32;
        u64 => i64: |_| true, |x| x as i64, |y| y as u64;
        i64 => f32: |x| x.unsigned_abs() < 1 << 24, |x| x as f32, |y| y as i64;
        f32 => i64: |x| x.is_finite(), |x| x as i64, |y| y as f32;
    )
}
