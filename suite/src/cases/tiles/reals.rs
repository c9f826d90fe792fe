//! Functions of real numbers.
// A kernel expands a closure, and no path to a function.
#![allow(clippy::redundant_closure)]

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Rt, cases, check::close, needs};
use half::f16;
use proptest::prelude::{Strategy, prop_oneof};

use super::model::{ONE_CUBE, compare};
use crate::random::for_all;

cases! {
    of_floats,
    of_halves needs [needs::F16],
    whole_numbers_of_halves_are_even,
    functions_of_ones_own,
}

/// Results of [`functions`], one after the other: a name, what it is, and how near devices come.
type Function = (&'static str, fn(f64) -> f64, f64);
const FUNCTIONS: [Function; 17] = [
    ("neg", |x| -x, 0.0),
    ("exp", f64::exp, 1e-5),
    ("ln", f64::ln, 1e-5),
    ("sqrt", f64::sqrt, 1e-6),
    ("inverse_sqrt", |x| 1.0 / x.sqrt(), 1e-5),
    ("recip", |x| 1.0 / x, 1e-5),
    ("sin", f64::sin, 1e-4),
    ("cos", f64::cos, 1e-4),
    ("tanh", f64::tanh, 1e-4),
    ("erf", erf, 1e-4),
    ("floor", f64::floor, 0.0),
    ("ceil", f64::ceil, 0.0),
    ("trunc", f64::trunc, 0.0),
    ("round", f64::round_ties_even, 0.0),
    ("powf", |x| x.powf(1.5), 1e-4),
    ("fma", |x| x * 0.5 + x, 1e-6),
    ("abs", f64::abs, 0.0),
];

/// The error function by its series, whose terms fall fast below 4; beyond it is 1 to the digits asked for.
fn erf(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x.abs() > 4.5 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..120 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

#[cube(launch_unchecked)]
fn functions<F: Float>(x: &[F], out: &mut [F]) {
    let cube = this_cube();
    let x = TileView::<F, shape![40]>::of(x).load(&cube, 0);
    let mut out = TileViewMut::<F, shape![40]>::of(out);
    out.store(&cube, -&x, 0);
    out.store(&cube, x.exp(), 1);
    out.store(&cube, x.ln(), 2);
    out.store(&cube, x.sqrt(), 3);
    out.store(&cube, x.inverse_sqrt(), 4);
    out.store(&cube, x.recip(), 5);
    out.store(&cube, x.sin(), 6);
    out.store(&cube, x.cos(), 7);
    out.store(&cube, x.tanh(), 8);
    out.store(&cube, x.erf(), 9);
    out.store(&cube, x.floor(), 10);
    out.store(&cube, x.ceil(), 11);
    out.store(&cube, x.trunc(), 12);
    out.store(&cube, x.round(), 13);
    out.store(&cube, x.powf(F::new(1.5)), 14);
    out.store(&cube, x.fma(F::new(0.5), &x), 15);
    out.store(&cube, x.abs(), 16);
}

/// Compares every function on the device with the host's, where `is_defined` says that devices agree on it.
fn check<F: Float + CubeElement + Into<f64>>(
    rt: &Rt,
    from: fn(f32) -> F,
    coarser: f64,
) -> Result<(), String> {
    let ordinary = prop_oneof![
        (-80i32..80).prop_map(|eighth| eighth as f32 / 8.0),
        (1i32..200).prop_map(|part| part as f32 / 50.0),
    ];
    for_all(proptest::collection::vec(ordinary, 36), |mut x| {
        x.extend([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0]);
        let x: Vec<F> = x.into_iter().map(from).collect();
        let out = rt.poisoned::<F>(40 * FUNCTIONS.len());
        // SAFETY: the tiles cover the buffers.
        unsafe {
            functions::launch_unchecked::<F>(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                rt.put(&x).arg(),
                out.arg(),
            );
        }
        let got = rt.read(&out).map_err(|error| error.to_string())?;
        for (index, (name, function, tolerance)) in FUNCTIONS.iter().enumerate() {
            for (at, value) in x.iter().enumerate() {
                let value: f64 = (*value).into();
                if !is_defined(name, value) {
                    continue;
                }
                let got: f64 = got[index * 40 + at].into();
                let want: f64 = from(function(value) as f32).into();
                close(&[got], &[want], tolerance + coarser)
                    .map_err(|difference| format!("{name} of {value}: {difference}"))?;
            }
        }
        Ok(())
    })
}

/// Whether every device gives the same for it: of what has no value, or no finite one, some give another than others.
fn is_defined(name: &str, x: f64) -> bool {
    match name {
        "powf" => x > 0.0 && x.is_finite(),
        "recip" | "inverse_sqrt" | "ln" => x.is_nan() || x > 0.0,
        "sin" | "cos" => x.is_nan() || x.is_finite(),
        _ => true,
    }
}

fn of_floats(rt: &Rt) -> Result<(), String> {
    check::<f32>(rt, |x| x, 0.0)
}

fn of_halves(rt: &Rt) -> Result<(), String> {
    check::<f16>(rt, f16::from_f32, 1e-2)
}

#[cube(launch_unchecked)]
fn rounded(x: &[f32], out: &mut [f32]) {
    let cube = this_cube();
    let x = TileView::<f32, shape![8]>::of(x).load(&cube, 0);
    TileViewMut::<f32, shape![8]>::of(out).store(&cube, x.round(), 0);
}

fn whole_numbers_of_halves_are_even(rt: &Rt) -> Result<(), String> {
    let x = [-2.5f32, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 4.5];
    let out = rt.poisoned::<f32>(8);
    // SAFETY: the tiles cover the buffers.
    unsafe {
        rounded::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            rt.put(&x).arg(),
            out.arg(),
        );
    }
    let got = rt.read(&out).map_err(|error| error.to_string())?;
    let want = [-2.0f32, -2.0, 0.0, 0.0, 2.0, 2.0, 4.0, 4.0];
    compare("round", &got, &want, |a, b| a == b)
}

#[cube]
fn swish(x: f32) -> f32 {
    x / (1.0 + (-x).exp())
}

#[cube(launch_unchecked)]
fn own(x: &[f32], counts: &[u32], out: &mut [f32], odd: &mut [u32], slope: f32) {
    let cube = this_cube();
    let x = TileView::<f32, shape![12]>::of(x).load(&cube, 0);
    let counts = TileView::<u32, shape![12]>::of(counts).load(&cube, 0);
    let slope = Tile::<f32, shape![12]>::full(slope);
    let y = x.map(|x| swish(x)).zip(&slope, |x, slope| x * slope);
    let y = y.zip(&counts, |y, count| y + count as f32);
    TileViewMut::<f32, shape![12]>::of(out).store(&cube, y, 0);
    let odd_tile = counts.map(|count| count % 2u32 == 1u32).cast::<u32>();
    TileViewMut::<u32, shape![12]>::of(odd).store(&cube, odd_tile, 0);
}

fn functions_of_ones_own(rt: &Rt) -> Result<(), String> {
    let x: Vec<f32> = (0..12).map(|i| i as f32 / 2.0 - 3.0).collect();
    let counts: Vec<u32> = (0..12).map(|i| i * i % 7).collect();
    let (out, odd) = (rt.poisoned::<f32>(12), rt.poisoned::<u32>(12));
    // SAFETY: the tiles cover the buffers.
    unsafe {
        own::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            rt.put(&x).arg(),
            rt.put(&counts).arg(),
            out.arg(),
            odd.arg(),
            2.5,
        );
    }
    let pairs = x.iter().zip(&counts);
    let want: Vec<f32> = pairs
        .map(|(x, count)| x / (1.0 + (-x).exp()) * 2.5 + *count as f32)
        .collect();
    let got = rt.read(&out).map_err(|error| error.to_string())?;
    compare("own", &got, &want, |a, b| close(&[a], &[b], 1e-5).is_ok())?;
    let got = rt.read(&odd).map_err(|error| error.to_string())?;
    let want: Vec<u32> = counts.iter().map(|count| count % 2).collect();
    compare("odd", &got, &want, |a, b| a == b)
}
