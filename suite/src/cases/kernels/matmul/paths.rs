//! Every path against the host: orders, batches, bias, activation. A path that a case needs computes all of it; one that it
//! does not need computes it or is refused by name.

use super::host::{activated, right, text};
use super::model::{Element, Operand, Random, Right, compare, read, row_major, strides};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih_kernels::{
    Activation, MatmulOptions, MatmulPath, Precision, explain_matmul, matmul, supports_matmul,
};
use girih_testkit::{Rt, cases, needs};
use half::{bf16, f16};

cases! {
    f32_by_units,
    f16_by_units needs [needs::F16],
    bf16_by_units needs [needs::BF16],
    i8_by_units needs [needs::I8],
    u8_by_units needs [needs::U8],
    f16_by_fragments needs [needs::F16, needs::MMA_F16],
    bf16_by_fragments needs [needs::BF16, needs::MMA_BF16],
    tf32_by_fragments needs [needs::MMA_TF32],
    i8_by_fragments needs [needs::I8, needs::MMA_I8],
    u8_by_fragments needs [needs::U8, needs::MMA_U8],
    f16_by_warpgroups needs [needs::F16, needs::WARPGROUP_MMA],
    bf16_by_warpgroups needs [needs::BF16, needs::WARPGROUP_MMA],
    halves_by_every_path needs [needs::F16],
    brain_floats_by_every_path needs [needs::BF16],
    nothing_is_lost_unless_asked,
    tf32_rounds_to_the_nearest needs [needs::MMA_TF32],
    sums_of_bytes_wrap needs [needs::U8],
    extremes_of_bytes_are_exact needs [needs::I8],
}

/// One product: the batches of A and B and of the result, extents, and whether each operand is column-major.
struct Product<'a> {
    batches: [&'a [usize]; 3],
    extents: [usize; 3],
    transposed: [bool; 2],
}

/// What becomes of an operand's elements before they are multiplied.
type Rounding = fn(f64) -> f64;

/// An operand with elements as they are multiplied, for the host alone.
fn rounded<E: Element>(operand: &Operand<E>, rounding: Rounding) -> Operand<E> {
    let memory = operand.memory.iter();
    Operand {
        shape: operand.shape.clone(),
        strides: operand.strides.clone(),
        memory: memory
            .map(|element| E::exactly(rounding(element.value())))
            .collect(),
        tensor: operand.tensor.clone(),
    }
}

/// A product with a bias for each column, and one for each column of each matrix, and each activation.
fn product<E: Element, O: Element>(
    rt: &Rt,
    product: &Product<'_>,
    options: &MatmulOptions<'_>,
    rounding: Rounding,
    tolerance: f64,
) -> Result<(), String> {
    let Product {
        batches: [batch_a, batch_b, batch],
        extents: [rows, columns, inner],
        transposed,
    } = *product;
    let mut random = Random::new((rows * 31 + columns * 7 + inner) as u64);
    let a_shape = [batch_a, &[rows, inner]].concat();
    let b_shape = [batch_b, &[inner, columns]].concat();
    let (of_a, of_b) = (
        strides(&a_shape, transposed[0], 0),
        strides(&b_shape, transposed[1], 0),
    );
    let a = Operand::<E>::random(rt, &a_shape, &of_a, &mut random);
    let b = Operand::<E>::random(rt, &b_shape, &of_b, &mut random);
    let sums = right(&rounded(&a, rounding), &rounded(&b, rounding), batch);
    let is_integer = matches!(O::elem_type_native(), ElemType::Int(_));
    let curved = match is_integer {
        true => Activation::Identity,
        false => Activation::Silu,
    };
    let own = [batch, &[columns]].concat();
    for (shape, activation) in [
        (None, curved),
        (Some(vec![columns]), Activation::Identity),
        (Some(own), curved),
    ] {
        let bias =
            shape.map(|shape| Operand::<O>::random(rt, &shape, &row_major(&shape), &mut random));
        let options = MatmulOptions {
            bias: bias.as_ref().map(|bias| &bias.tensor),
            activation,
            output: Some(O::elem_type_native()),
            ..options.clone()
        };
        let out = matmul(&rt.client, &a.tensor, &b.tensor, &options).map_err(text)?;
        let mut want: Vec<Right> = sums.clone();
        for (at, right) in want.iter_mut().enumerate() {
            if let Some(bias) = &bias {
                let matrix = at / columns / rows;
                let column = at % columns;
                right.add(match bias.shape.len() {
                    1 => bias.at(&[column]),
                    _ => bias.memory[matrix * columns + column].value(),
                });
            }
            right.value = activated(right.value, activation);
        }
        compare::<O>(&read(rt, &out)?, &want, tolerance).map_err(|error| {
            format!(
                "{batch_a:?} x {batch_b:?} of {:?}, transposed {transposed:?}, bias {:?}, {activation:?}: {error}",
                product.extents,
                bias.as_ref().map(|bias| &bias.shape),
            )
        })?;
    }
    Ok(())
}

/// Batches of A and B, and of both.
const BATCHES: [[&[usize]; 3]; 3] = [[&[], &[], &[]], [&[3], &[3], &[3]], [&[], &[2], &[2]]];
/// A batch of two axes, along each of which another operand repeats.
const TWO_AXES: [&[usize]; 3] = [&[2, 1], &[3], &[2, 3]];

/// By a path, in every order, in batches, with extents that divide and others.
fn by_path<E: Element, O: Element>(
    rt: &Rt,
    path: MatmulPath,
    precision: Precision,
    rounding: Rounding,
    tolerance: f64,
) -> Result<(), String> {
    let options = MatmulOptions {
        path: Some(path),
        precision,
        ..Default::default()
    };
    // Bulk copies begin on multiples of 16 bytes, of something.
    let extents: &[[usize; 3]] = match path {
        MatmulPath::Hopper => &[[64, 128, 64], [72, 40, 88], [136, 264, 24]],
        _ => &[
            [64, 128, 64],
            [37, 31, 45],
            [5, 70, 100],
            [8, 8, 0],
            [1, 1, 1],
        ],
    };
    let mut all = BATCHES.to_vec();
    if path != MatmulPath::Hopper {
        all.push(TWO_AXES);
    }
    // Every order without a batch, and one order for each way of batches: kernels differ by the order, not by the batch.
    let orders = [[false, false], [true, false], [false, true], [true, true]];
    for &extents in extents {
        for (way, &batches) in all.iter().enumerate() {
            let orders = match way {
                0 => &orders[..],
                _ => &orders[way..=way],
            };
            for &transposed in orders {
                let of = Product {
                    batches,
                    extents,
                    transposed,
                };
                product::<E, O>(rt, &of, &options, rounding, tolerance)
                    .map_err(|error| format!("{path:?}: {error}"))?;
            }
        }
    }
    Ok(())
}

/// As the elements are.
fn exact(value: f64) -> f64 {
    value
}

/// To the nearest number of `tf32`, away from 0 where two are as near.
fn to_tf32(value: f64) -> f64 {
    let bits = (value as f32).to_bits();
    f64::from(f32::from_bits((bits + 0x1000) & !0x1fff))
}

fn f32_by_units(rt: &Rt) -> Result<(), String> {
    by_path::<f32, f32>(rt, MatmulPath::Portable, Precision::Full, exact, 1e-5)
}

fn f16_by_units(rt: &Rt) -> Result<(), String> {
    by_path::<f16, f16>(rt, MatmulPath::Portable, Precision::Full, exact, 2e-3)
}

fn bf16_by_units(rt: &Rt) -> Result<(), String> {
    by_path::<bf16, f32>(rt, MatmulPath::Portable, Precision::Full, exact, 1e-5)
}

fn i8_by_units(rt: &Rt) -> Result<(), String> {
    by_path::<i8, i32>(rt, MatmulPath::Portable, Precision::Full, exact, 0.0)
}

fn u8_by_units(rt: &Rt) -> Result<(), String> {
    by_path::<u8, i32>(rt, MatmulPath::Portable, Precision::Full, exact, 0.0)
}

fn f16_by_fragments(rt: &Rt) -> Result<(), String> {
    by_path::<f16, f32>(rt, MatmulPath::TensorCores, Precision::Full, exact, 1e-5)?;
    by_path::<f16, f16>(rt, MatmulPath::TensorCores, Precision::Full, exact, 2e-3)
}

fn bf16_by_fragments(rt: &Rt) -> Result<(), String> {
    by_path::<bf16, f32>(rt, MatmulPath::TensorCores, Precision::Full, exact, 1e-5)
}

fn tf32_by_fragments(rt: &Rt) -> Result<(), String> {
    by_path::<f32, f32>(rt, MatmulPath::TensorCores, Precision::Tf32, to_tf32, 1e-5)
}

fn i8_by_fragments(rt: &Rt) -> Result<(), String> {
    by_path::<i8, i32>(rt, MatmulPath::TensorCores, Precision::Full, exact, 0.0)
}

fn u8_by_fragments(rt: &Rt) -> Result<(), String> {
    by_path::<u8, i32>(rt, MatmulPath::TensorCores, Precision::Full, exact, 0.0)
}

fn f16_by_warpgroups(rt: &Rt) -> Result<(), String> {
    one_batch::<f16>(rt)
}

fn bf16_by_warpgroups(rt: &Rt) -> Result<(), String> {
    one_batch::<bf16>(rt)
}

/// Hopper's kernel takes a batch along one axis; of two that do not fold it is refused by name.
fn one_batch<E: Element>(rt: &Rt) -> Result<(), String> {
    by_path::<E, f32>(rt, MatmulPath::Hopper, Precision::Full, exact, 1e-5)?;
    let of = Product {
        batches: TWO_AXES,
        extents: [64, 128, 64],
        transposed: [false; 2],
    };
    let options = MatmulOptions {
        path: Some(MatmulPath::Hopper),
        ..Default::default()
    };
    match product::<E, f32>(rt, &of, &options, exact, 1e-5) {
        Err(lacking) if lacking.contains("groups, or batches along one axis") => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// By each path, in every order; or refused by name.
fn by_every_path<E: Element>(rt: &Rt) -> Result<(), String> {
    for path in [
        MatmulPath::Portable,
        MatmulPath::TensorCores,
        MatmulPath::Hopper,
    ] {
        let options = MatmulOptions {
            path: Some(path),
            ..Default::default()
        };
        for extents in [
            [64, 128, 64],
            [200, 136, 72],
            [70, 31, 45],
            [1, 8, 8],
            [8, 8, 0],
        ] {
            for orders in [[false, false], [true, false], [false, true], [true, true]] {
                match super::multiply::<E>(rt, extents, orders, 0, &options) {
                    Err(lacking) if lacking.contains(&format!("no path {path:?}")) => {}
                    found => found.map_err(|error| format!("{path:?}: {error}"))?,
                }
            }
        }
    }
    Ok(())
}

fn halves_by_every_path(rt: &Rt) -> Result<(), String> {
    by_every_path::<f16>(rt)
}

fn brain_floats_by_every_path(rt: &Rt) -> Result<(), String> {
    by_every_path::<bf16>(rt)
}

/// Products of f32 are by tensor cores only where the caller allows it; where the device has none, the same call is exact.
fn nothing_is_lost_unless_asked(rt: &Rt) -> Result<(), String> {
    let mut random = Random::new(29);
    let a = Operand::<f32>::random(rt, &[70, 64], &[64, 1], &mut random);
    let b = Operand::<f32>::random(rt, &[64, 72], &[72, 1], &mut random);
    let full = MatmulOptions::default();
    let plan = explain_matmul(&rt.client, &a.tensor, &b.tensor, &full).map_err(text)?;
    if plan.path != MatmulPath::Portable || plan.factor != f32::elem_type_native() {
        return Err(plan.to_string());
    }
    let forced = MatmulOptions {
        path: Some(MatmulPath::TensorCores),
        ..Default::default()
    };
    match matmul(&rt.client, &a.tensor, &b.tensor, &forced) {
        Err(error) if error.to_string().contains("no path TensorCores for f32") => {}
        other => return Err(format!("{:?}", other.map(|_| ()))),
    }
    let allowed = MatmulOptions {
        precision: Precision::Tf32,
        ..Default::default()
    };
    let plan = explain_matmul(&rt.client, &a.tensor, &b.tensor, &allowed).map_err(text)?;
    let has_any = (needs::MMA_TF32.met)(rt);
    let said = plan.to_string().starts_with("matmul of f32 as tf32");
    if has_any != (plan.path == MatmulPath::TensorCores) || has_any != said {
        return Err(plan.to_string());
    }
    let rounding = if has_any { to_tf32 } else { exact };
    let out = matmul(&rt.client, &a.tensor, &b.tensor, &allowed).map_err(text)?;
    let want = right(&rounded(&a, rounding), &rounded(&b, rounding), &[]);
    compare::<f32>(&read(rt, &out)?, &want, 1e-5)
}

/// Of one product, which shows each bit: halves go away from 0, NaN and infinities stay.
fn tf32_rounds_to_the_nearest(rt: &Rt) -> Result<(), String> {
    let values = [
        1.0f32,
        f32::from_bits(0x3f80_0fff),
        f32::from_bits(0x3f80_1000),
        f32::from_bits(0xbf80_1000),
        f32::from_bits(0x3f80_3000),
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        1e-30,
    ];
    let a = Operand::new(rt, &[values.len(), 1], &[1, 1], values.to_vec());
    let b = Operand::new(rt, &[1, 1], &[1, 1], vec![1.0f32]);
    let options = MatmulOptions {
        path: Some(MatmulPath::TensorCores),
        precision: Precision::Tf32,
        ..Default::default()
    };
    let out = matmul(&rt.client, &a.tensor, &b.tensor, &options).map_err(text)?;
    let got: Vec<f32> = read(rt, &out)?;
    for (&value, got) in values.iter().zip(got) {
        let want = match value.is_finite() {
            true => to_tf32(f64::from(value)) as f32,
            false => value,
        };
        if got != want && !(got.is_nan() && want.is_nan()) {
            return Err(format!("{value:e} is {got:e}, not {want:e}"));
        }
    }
    Ok(())
}

/// By the path that is chosen, and by units.
fn by_both_paths<E: Element>(
    rt: &Rt,
    a: &Operand<E>,
    b: &Operand<E>,
    want: &[i32],
) -> Result<(), String> {
    for path in [None, Some(MatmulPath::Portable)] {
        let options = MatmulOptions {
            path,
            ..Default::default()
        };
        let out = matmul(&rt.client, &a.tensor, &b.tensor, &options).map_err(text)?;
        let got: Vec<i32> = read(rt, &out)?;
        if got != want {
            return Err(format!("by {path:?}: {got:?}, not {want:?}"));
        }
    }
    Ok(())
}

fn sums_of_bytes_wrap(rt: &Rt) -> Result<(), String> {
    supports_matmul(&rt.client, u8::elem_type_native()).map_err(text)?;
    let inner = 33_100;
    let a = Operand::new(rt, &[3, inner], &[inner, 1], vec![255u8; 3 * inner]);
    let b = Operand::new(rt, &[inner, 5], &[5, 1], vec![255u8; 5 * inner]);
    let sum = (0..inner).fold(0i32, |sum, _| sum.wrapping_add(255 * 255));
    if sum >= 0 {
        return Err("the sum does not wrap".into());
    }
    by_both_paths(rt, &a, &b, &[sum; 15])
}

fn extremes_of_bytes_are_exact(rt: &Rt) -> Result<(), String> {
    let inner = 70;
    let value = |at: usize| [-128i8, 127, 0, -1, 1][at % 5];
    let a: Vec<i8> = (0..20 * inner).map(value).collect();
    let b: Vec<i8> = (0..inner * 18).map(|at| value(at / 3)).collect();
    let want: Vec<i32> = (0..20 * 18)
        .map(|at| {
            let (row, column) = (at / 18, at % 18);
            let of = |k: usize| i32::from(a[row * inner + k]) * i32::from(b[k * 18 + column]);
            (0..inner).map(of).sum()
        })
        .collect();
    let a = Operand::new(rt, &[20, inner], &[inner, 1], a);
    let b = Operand::new(rt, &[inner, 18], &[18, 1], b);
    by_both_paths(rt, &a, &b, &want)
}
