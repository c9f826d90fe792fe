//! Activations, alone and beside a product: before them, and their slopes.

use super::super::matmul::model::{Element, Operand, Random, read};
use super::worded;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih_kernels::{
    Activation, Bounds, Error, MatmulOptions, MatmulPath, activate, gather_matmul, grouped_matmul,
    matmul, matmul_into,
};
use girih_testkit::{Rt, cases, check, needs};
use half::{bf16, f16};

cases! {
    of_f32,
    of_f16 needs [needs::F16],
    of_numbers_at_the_edges,
    beside_a_product_of_f32,
    beside_a_product_of_f16 needs [needs::F16],
    beside_a_product_of_bf16 needs [needs::BF16],
    beside_products_of_groups,
    beside_products_of_groups_of_bf16 needs [needs::BF16],
    what_is_refused,
}

const ALL: [Activation; 4] = [
    Activation::Identity,
    Activation::Relu,
    Activation::Silu,
    Activation::Gelu,
];

/// The error function, by its series and its continued fraction.
pub fn erf(x: f64) -> f64 {
    if x.abs() > 3.0 {
        // Lentz's algorithm is not needed: from here on 60 terms are exact.
        let fraction = (1..=60)
            .rev()
            .fold(0.0, |rest, term| f64::from(term) / 2.0 / (x.abs() + rest));
        let tail = (-x * x).exp() / (x.abs() + fraction) / std::f64::consts::PI.sqrt();
        return x.signum() * (1.0 - tail);
    }
    let mut term = x;
    let mut sum = x;
    for n in 1..80 {
        let n = f64::from(n);
        term *= -x * x / n;
        sum += term / (2.0 * n + 1.0);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

fn host(x: f64, activation: Activation) -> f64 {
    match activation {
        Activation::Identity => x,
        Activation::Relu => x.max(0.0),
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::Gelu => x * (1.0 + erf(x / 2f64.sqrt())) / 2.0,
    }
}

/// The slope by differences.
fn slope(x: f64, activation: Activation) -> f64 {
    if activation == Activation::Relu {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let step = 1e-4;
    (host(x + step, activation) - host(x - step, activation)) / (2.0 * step)
}

fn values<E: Element>(rt: &Rt, tensor: &TensorHandle) -> Result<Vec<f64>, String> {
    Ok(read::<E>(rt, tensor)?.into_iter().map(E::value).collect())
}

fn alone<E: Element>(rt: &Rt, tolerance: f64) -> Result<(), String> {
    for activation in ALL {
        for shape in [[1, 1], [3, 5], [16, 33], [0, 4]] {
            let count = shape[0] * shape[1];
            let given = (0..count).map(|at| E::of((at as f64 * 0.37) % 12.0 - 6.0));
            let given = Operand::new(rt, &shape, &[shape[1], 1], given.collect());
            let found = activate(&rt.client, &given.tensor, activation);
            let found = found.map_err(|error| error.to_string())?;
            let right: Vec<f64> = given
                .memory
                .iter()
                .map(|x| host(x.value(), activation))
                .collect();
            check::close(&values::<E>(rt, &found)?, &right, tolerance)
                .map_err(|error| format!("{activation:?}: {error}"))?;
        }
    }
    Ok(())
}

fn of_f32(rt: &Rt) -> Result<(), String> {
    alone::<f32>(rt, 2e-6)
}

fn of_f16(rt: &Rt) -> Result<(), String> {
    alone::<f16>(rt, 1e-3)
}

fn of_numbers_at_the_edges(rt: &Rt) -> Result<(), String> {
    let edges = vec![f32::NAN, f32::INFINITY, 0.0, -0.0, 80.0, -80.0, 1e-30];
    let given = Operand::new(rt, &[1, 7], &[7, 1], edges);
    for (activation, right) in [
        (
            Activation::Relu,
            [f64::NAN, f64::INFINITY, 0.0, 0.0, 80.0, 0.0, 1e-30],
        ),
        (
            Activation::Silu,
            [f64::NAN, f64::INFINITY, 0.0, 0.0, 80.0, 0.0, 5e-31],
        ),
        (
            Activation::Gelu,
            [f64::NAN, f64::INFINITY, 0.0, 0.0, 80.0, 0.0, 5e-31],
        ),
    ] {
        let found = activate(&rt.client, &given.tensor, activation);
        let found = values::<f32>(rt, &found.map_err(|error| error.to_string())?)?;
        check::close(&found, &right, 1e-6).map_err(|error| format!("{activation:?}: {error}"))?;
    }
    Ok(())
}

/// A tensor of that shape for a product to fill.
fn room<E: Element>(rt: &Rt, shape: &[usize]) -> TensorHandle {
    let count: usize = shape.iter().product();
    let strides = girih_testkit::buffer::row_major(shape);
    Operand::new(rt, shape, &strides, vec![E::of(9.0); count.max(1)]).tensor
}

/// Every path that the device takes such a product by.
fn paths() -> [Option<MatmulPath>; 4] {
    [
        None,
        Some(MatmulPath::Portable),
        Some(MatmulPath::TensorCores),
        Some(MatmulPath::Hopper),
    ]
}

/// Checks a product with what is before its activation, then one with slopes at that. `multiply` computes the product, of the
/// expected sums, with some options.
fn beside<E: Element>(
    rt: &Rt,
    shape: [usize; 2],
    sums: &[f64],
    tolerance: f64,
    multiply: &dyn Fn(&MatmulOptions<'_>) -> Result<TensorHandle, Error>,
) -> Result<(), String> {
    for path in paths() {
        for activation in ALL {
            let before = room::<E>(rt, &shape);
            let options = MatmulOptions {
                activation,
                path,
                ..MatmulOptions::default()
            };
            let keeping = MatmulOptions {
                before: Some(&before),
                ..options.clone()
            };
            let out = match multiply(&keeping) {
                Ok(out) => out,
                Err(Error::Device { .. }) if path.is_some() => continue,
                Err(error) => return Err(error.to_string()),
            };
            let named =
                |what: &str, error: String| format!("{what}, {path:?}, {activation:?}: {error}");
            let kept = values::<E>(rt, &before)?;
            check::close(&kept, sums, tolerance).map_err(|e| named("before", e))?;
            // Of what was kept, as it was rounded.
            let right: Vec<f64> = kept.iter().map(|&x| host(x, activation)).collect();
            check::close(&values::<E>(rt, &out)?, &right, tolerance)
                .map_err(|e| named("after", e))?;
            let sloping = MatmulOptions {
                slope_at: Some(&before),
                ..options
            };
            let out = multiply(&sloping).map_err(|error| error.to_string())?;
            let right = sums.iter().zip(&kept);
            let right: Vec<f64> = right
                .map(|(sum, &at)| sum * slope(at, activation))
                .collect();
            check::close(&values::<E>(rt, &out)?, &right, 2.0 * tolerance)
                .map_err(|e| named("slopes", e))?;
        }
    }
    Ok(())
}

fn product<E: Element>(rt: &Rt, tolerance: f64) -> Result<(), String> {
    for [rows, inner, columns] in [[1, 1, 1], [7, 9, 5], [64, 32, 72], [130, 40, 264]] {
        let mut random = Random::new(11);
        let a = Operand::<E>::random(rt, &[rows, inner], &[inner, 1], &mut random);
        let b = Operand::<E>::random(rt, &[inner, columns], &[columns, 1], &mut random);
        let mut sums = vec![0.0; rows * columns];
        for (at, sum) in sums.iter_mut().enumerate() {
            *sum = (0..inner)
                .map(|k| a.at(&[at / columns, k]) * b.at(&[k, at % columns]))
                .sum();
        }
        beside::<E>(rt, [rows, columns], &sums, tolerance, &|options| {
            matmul(&rt.client, &a.tensor, &b.tensor, options)
        })?;
    }
    Ok(())
}

fn beside_a_product_of_f32(rt: &Rt) -> Result<(), String> {
    product::<f32>(rt, 1e-5)
}

fn beside_a_product_of_f16(rt: &Rt) -> Result<(), String> {
    product::<f16>(rt, 4e-3)
}

fn beside_a_product_of_bf16(rt: &Rt) -> Result<(), String> {
    product::<bf16>(rt, 3e-2)
}

/// Rows in groups, in order and gathered: empty groups, all in one, rows in none.
fn groups<E: Element>(rt: &Rt, tolerance: f64) -> Result<(), String> {
    let (rows, inner, columns) = (40usize, 24usize, 16usize);
    let mut random = Random::new(12);
    let a = Operand::<E>::random(rt, &[rows, inner], &[inner, 1], &mut random);
    let strides = [inner * columns, columns, 1];
    let b = Operand::<E>::random(rt, &[3, inner, columns], &strides, &mut random);
    let index: Vec<i32> = (0..rows as i32)
        .map(|row| (row * 7) % rows as i32)
        .collect();
    let gather = Operand::new(rt, &[rows], &[1], index.clone());
    for ends in [[10, 10, 40], [0, 40, 40], [12, 20, 31]] {
        let list = Operand::new(rt, &[3], &[1], ends.to_vec());
        let sums = |source: &dyn Fn(usize) -> usize| -> Vec<f64> {
            let of = |at: usize| {
                let (row, column) = (at / columns, at % columns);
                let group = ends.iter().position(|&end| (row as i32) < end);
                let product = |group: usize| -> f64 {
                    (0..inner)
                        .map(|k| a.at(&[source(row), k]) * b.at(&[group, k, column]))
                        .sum()
                };
                group.map_or(0.0, product)
            };
            (0..rows * columns).map(of).collect()
        };
        let in_order = sums(&|row| row);
        beside::<E>(rt, [rows, columns], &in_order, tolerance, &|options| {
            grouped_matmul(&rt.client, &a.tensor, &b.tensor, &list.tensor, options)
        })?;
        let gathered = sums(&|row| index[row] as usize);
        beside::<E>(rt, [rows, columns], &gathered, tolerance, &|options| {
            let (lines, ends) = (&gather.tensor, Some(&list.tensor));
            let (a, b) = (&a.tensor, &b.tensor);
            let bounds = Bounds::Mask;
            Ok(gather_matmul(&rt.client, a, lines, b, ends, bounds, options)?.into_inner())
        })?;
    }
    Ok(())
}

fn beside_products_of_groups(rt: &Rt) -> Result<(), String> {
    groups::<f32>(rt, 1e-5)
}

fn beside_products_of_groups_of_bf16(rt: &Rt) -> Result<(), String> {
    groups::<bf16>(rt, 3e-2)
}

fn what_is_refused(rt: &Rt) -> Result<(), String> {
    let one = room::<f32>(rt, &[2, 2]);
    let refused = |options: &MatmulOptions<'_>, wanted: &str| {
        let error = matmul(&rt.client, &one, &one, options).err();
        let found = error.map(|error| error.to_string()).unwrap_or_default();
        worded(&found, wanted)
    };
    let other = room::<f32>(rt, &[2, 3]);
    let options = MatmulOptions {
        before: Some(&other),
        ..MatmulOptions::default()
    };
    refused(&options, "before has shape [2, 3]; matmul needs [2, 2]")?;
    let (first, second) = (room::<f32>(rt, &[2, 2]), room::<f32>(rt, &[2, 2]));
    let options = MatmulOptions {
        before: Some(&first),
        slope_at: Some(&second),
        ..MatmulOptions::default()
    };
    refused(
        &options,
        "slope_at is a tensor, as before is; matmul needs one of the two",
    )?;
    let turned = TensorHandle::new(
        first.handle.clone(),
        vec![2, 2],
        vec![1usize, 2],
        f32::elem_type_native(),
    );
    let options = MatmulOptions {
        slope_at: Some(&second),
        ..MatmulOptions::default()
    };
    let error = matmul_into(&rt.client, &one, &one, &turned, &options).expect_err("not contiguous");
    worded(
        &error.to_string(),
        "slope_at is of strides [2, 1]; matmul needs a contiguous tensor beside a contiguous result",
    )
}
