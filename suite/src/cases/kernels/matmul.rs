//! Products of matrices against the host in f64.

mod added;
mod groups;
pub(super) mod host;
pub(super) mod lists;
pub(super) mod model;
mod paths;
mod plans;
mod refusals;
mod routes;
#[cfg(feature = "offline")]
pub mod tiled;
mod tuned;

use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih_kernels::{Activation, MatmulOptions, MatmulTile, explain_matmul, matmul, matmul_into};
use girih_testkit::{Rt, case::Case, cases, needs};
use half::{bf16, f16};
use host::{ACTIVATIONS, activated, right, text};
use model::{Element, Operand, Random, compare, read, row_major, strides};

/// Every case of products.
pub fn all_cases() -> Vec<Case> {
    [
        cases(),
        paths::cases(),
        plans::cases(),
        groups::cases(),
        refusals::cases(),
        routes::cases(),
        added::cases(),
        tuned::cases(),
    ]
    .concat()
}

cases! {
    of_every_extent_and_order,
    of_nothing,
    of_random_shapes,
    batches_repeat,
    of_every_element,
    halves_within_a_hundredth needs [needs::F16],
    brain_floats_within_a_hundredth needs [needs::BF16],
    bias_and_activation,
    results_of_other_types,
    numbers_that_are_not,
    into_strides_and_nothing_else,
    by_tiles_of_the_callers_choice,
}

/// A product of random operands, compared with the host's.
pub(super) fn multiply<E: Element>(
    rt: &Rt,
    [rows, columns, inner]: [usize; 3],
    [a_is_transposed, b_is_transposed]: [bool; 2],
    pad: usize,
    options: &MatmulOptions<'_>,
) -> Result<(), String> {
    let mut random = Random::new((rows * 31 + columns * 7 + inner) as u64);
    let (a_shape, b_shape) = ([rows, inner], [inner, columns]);
    let a = Operand::<E>::random(
        rt,
        &a_shape,
        &strides(&a_shape, a_is_transposed, pad),
        &mut random,
    );
    let b = Operand::<E>::random(
        rt,
        &b_shape,
        &strides(&b_shape, b_is_transposed, pad),
        &mut random,
    );
    let out = matmul(&rt.client, &a.tensor, &b.tensor, options).map_err(text)?;
    compare::<E>(&read(rt, &out)?, &right(&a, &b, &[]), E::TOLERANCE).map_err(|error| {
        format!(
            "{rows} x {columns} of {inner}, transposed {a_is_transposed} {b_is_transposed}, padded by {pad}: {error}"
        )
    })
}

fn of_every_extent_and_order(rt: &Rt) -> Result<(), String> {
    let options = MatmulOptions::default();
    for extents in [
        [1, 1, 1],
        [5, 3, 2],
        [64, 64, 64],
        [33, 65, 17],
        [8, 100, 40],
        [130, 12, 70],
    ] {
        for a in [false, true] {
            for b in [false, true] {
                multiply::<f32>(rt, extents, [a, b], 0, &options)?;
            }
        }
    }
    for pad in [1, 4, 8] {
        multiply::<f32>(rt, [40, 48, 32], [false, false], pad, &options)?;
        multiply::<f32>(rt, [40, 48, 32], [true, true], pad, &options)?;
    }
    multiply::<f32>(rt, [300, 200, 150], [false, false], 0, &options)
}

fn of_nothing(rt: &Rt) -> Result<(), String> {
    for [rows, columns, inner] in [[0, 4, 4], [4, 0, 4], [4, 5, 0], [0, 0, 0]] {
        multiply::<f32>(
            rt,
            [rows, columns, inner],
            [false, false],
            0,
            &MatmulOptions::default(),
        )?;
    }
    // A bias alone is left of no products.
    let mut random = Random::new(1);
    let a = Operand::<f32>::random(rt, &[3, 0], &[1, 1], &mut random);
    let b = Operand::<f32>::random(rt, &[0, 2], &[2, 1], &mut random);
    let bias = Operand::new(rt, &[2], &[1], vec![1.5f32, -2.0]);
    let options = MatmulOptions {
        bias: Some(&bias.tensor),
        ..Default::default()
    };
    let out = matmul(&rt.client, &a.tensor, &b.tensor, &options).map_err(text)?;
    let got: Vec<f32> = read(rt, &out)?;
    match got == [1.5, -2.0, 1.5, -2.0, 1.5, -2.0] {
        true => Ok(()),
        false => Err(format!("{got:?}")),
    }
}

fn of_random_shapes(rt: &Rt) -> Result<(), String> {
    let mut random = Random::new(7);
    for _ in 0..crate::random::DEFAULT_DATA_SETS {
        let extents = [random.below(90), random.below(90), random.below(90)];
        let orders = [random.below(2) == 1, random.below(2) == 1];
        let pad = [0, 0, 4, 3][random.below(4)];
        multiply::<f32>(rt, extents, orders, pad, &MatmulOptions::default())?;
    }
    Ok(())
}

fn batches_repeat(rt: &Rt) -> Result<(), String> {
    let mut random = Random::new(3);
    for (a, b, batch) in [
        (vec![3], vec![3], vec![3]),
        (vec![2, 3], vec![3], vec![2, 3]),
        (vec![], vec![4], vec![4]),
        (vec![2, 1], vec![1, 3], vec![2, 3]),
        (vec![2, 1, 2], vec![3, 1], vec![2, 3, 2]),
        (vec![0], vec![1], vec![0]),
    ] {
        for [rows, columns, inner] in [[8, 16, 8], [5, 7, 9]] {
            let a_shape = [a.clone(), vec![rows, inner]].concat();
            let b_shape = [b.clone(), vec![inner, columns]].concat();
            for transposed in [false, true] {
                let (of_a, of_b) = (
                    strides(&a_shape, transposed, 0),
                    strides(&b_shape, false, 0),
                );
                let a = Operand::<f32>::random(rt, &a_shape, &of_a, &mut random);
                let b = Operand::<f32>::random(rt, &b_shape, &of_b, &mut random);
                let options = MatmulOptions::default();
                let out = matmul(&rt.client, &a.tensor, &b.tensor, &options).map_err(text)?;
                let shape: Vec<usize> = out.shape().iter().copied().collect();
                if shape != [batch.clone(), vec![rows, columns]].concat() {
                    return Err(format!("{a_shape:?} times {b_shape:?} has shape {shape:?}"));
                }
                compare::<f32>(&read(rt, &out)?, &right(&a, &b, &batch), f32::TOLERANCE)
                    .map_err(|error| format!("{a_shape:?} times {b_shape:?}: {error}"))?;
            }
        }
    }
    Ok(())
}

/// Integers' sums are of another type than the operands.
fn integers<E: Element, W: Element>(rt: &Rt) -> Result<(), String> {
    if !Device::of(&rt.client).stores(E::elem_type_native()) {
        return Ok(());
    }
    let mut random = Random::new(5);
    for transposed in [false, true] {
        let (a_shape, b_shape) = ([37, 50], [50, 29]);
        let a = Operand::<E>::random(rt, &a_shape, &strides(&a_shape, transposed, 0), &mut random);
        let b = Operand::<E>::random(rt, &b_shape, &strides(&b_shape, transposed, 0), &mut random);
        let options = MatmulOptions::default();
        let out = matmul(&rt.client, &a.tensor, &b.tensor, &options).map_err(text)?;
        if out.dtype != W::elem_type_native() {
            return Err(format!(
                "sums of {} are {}",
                E::elem_type_native(),
                out.dtype
            ));
        }
        compare::<W>(&read(rt, &out)?, &right(&a, &b, &[]), 0.0)
            .map_err(|error| format!("{}: {error}", E::elem_type_native()))?;
    }
    Ok(())
}

fn of_every_element(rt: &Rt) -> Result<(), String> {
    integers::<i8, i32>(rt)?;
    integers::<u8, i32>(rt)?;
    integers::<i16, i32>(rt)?;
    integers::<u16, i32>(rt)?;
    integers::<i32, i32>(rt)?;
    integers::<u32, u32>(rt)?;
    integers::<i64, i64>(rt)?;
    if Device::of(&rt.client).stores(f64::elem_type_native()) {
        multiply::<f64>(
            rt,
            [45, 40, 70],
            [false, true],
            0,
            &MatmulOptions::default(),
        )?;
    }
    Ok(())
}

fn narrow<E: Element>(rt: &Rt) -> Result<(), String> {
    for extents in [[64, 128, 256], [70, 30, 45], [33, 40, 512]] {
        for orders in [[false, false], [true, true], [false, true]] {
            multiply::<E>(rt, extents, orders, 0, &MatmulOptions::default())?;
        }
    }
    // To f32 nothing is rounded but the sums.
    let mut random = Random::new(11);
    let a = Operand::<E>::random(rt, &[64, 1000], &[1000, 1], &mut random);
    let b = Operand::<E>::random(rt, &[1000, 48], &[48, 1], &mut random);
    let options = MatmulOptions {
        output: Some(f32::elem_type_native()),
        ..Default::default()
    };
    let out = matmul(&rt.client, &a.tensor, &b.tensor, &options).map_err(text)?;
    compare::<f32>(&read(rt, &out)?, &right(&a, &b, &[]), 1e-5)
}

fn halves_within_a_hundredth(rt: &Rt) -> Result<(), String> {
    narrow::<f16>(rt)
}

fn brain_floats_within_a_hundredth(rt: &Rt) -> Result<(), String> {
    narrow::<bf16>(rt)
}

fn bias_and_activation(rt: &Rt) -> Result<(), String> {
    let mut random = Random::new(13);
    let (a_shape, b_shape) = ([2, 20, 30], [30, 27]);
    let a = Operand::<f32>::random(rt, &a_shape, &row_major(&a_shape), &mut random);
    let b = Operand::<f32>::random(rt, &b_shape, &row_major(&b_shape), &mut random);
    for shape in [vec![27], vec![2, 27]] {
        let bias = Operand::<f32>::random(rt, &shape, &row_major(&shape), &mut random);
        for activation in ACTIVATIONS {
            let options = MatmulOptions {
                bias: Some(&bias.tensor),
                activation,
                ..Default::default()
            };
            let out = matmul(&rt.client, &a.tensor, &b.tensor, &options).map_err(text)?;
            let mut right = right(&a, &b, &[2]);
            for (at, right) in right.iter_mut().enumerate() {
                let place = [at / (20 * 27), at % 27];
                right.add(bias.at(&place[2 - shape.len()..]));
                right.value = activated(right.value, activation);
            }
            compare::<f32>(&read(rt, &out)?, &right, 1e-5)
                .map_err(|error| format!("{activation:?}, bias {shape:?}: {error}"))?;
        }
    }
    Ok(())
}

fn results_of_other_types(rt: &Rt) -> Result<(), String> {
    let device = Device::of(&rt.client);
    let mut random = Random::new(17);
    let a = Operand::<f32>::random(rt, &[24, 16], &[16, 1], &mut random);
    let b = Operand::<f32>::random(rt, &[16, 40], &[40, 1], &mut random);
    let of = |output: ElemType| MatmulOptions {
        output: Some(output),
        ..Default::default()
    };
    if device.stores(f16::elem_type_native()) {
        let out = matmul(
            &rt.client,
            &a.tensor,
            &b.tensor,
            &of(f16::elem_type_native()),
        );
        let out = read::<f16>(rt, &out.map_err(text)?)?;
        compare(&out, &right(&a, &b, &[]), f16::TOLERANCE)?;
    }
    if device.stores(f64::elem_type_native()) {
        let out = matmul(
            &rt.client,
            &a.tensor,
            &b.tensor,
            &of(f64::elem_type_native()),
        );
        let out = read::<f64>(rt, &out.map_err(text)?)?;
        compare(&out, &right(&a, &b, &[]), f32::TOLERANCE)?;
    }
    Ok(())
}

fn numbers_that_are_not(rt: &Rt) -> Result<(), String> {
    // Row 0 meets NaN, row 1 an infinity, row 2 infinity times 0; past the extents nothing comes in.
    let mut memory = vec![1.0f32; 5 * 3];
    memory[0] = f32::NAN;
    memory[3] = f32::INFINITY;
    memory[6] = f32::INFINITY;
    memory[9] = -0.0;
    let a = Operand::new(rt, &[5, 3], &[3, 1], memory);
    let b = Operand::new(rt, &[3, 2], &[2, 1], vec![1.0f32, 0.0, 1.0, 0.0, 1.0, 0.0]);
    for activation in [Activation::Identity, Activation::Relu] {
        let options = MatmulOptions {
            activation,
            ..Default::default()
        };
        let out = matmul(&rt.client, &a.tensor, &b.tensor, &options).map_err(text)?;
        let got: Vec<f32> = read(rt, &out)?;
        let want = [
            f32::NAN,
            f32::NAN,
            f32::INFINITY,
            f32::NAN,
            f32::INFINITY,
            f32::NAN,
            2.0,
            0.0,
            3.0,
            0.0,
        ];
        girih_testkit::check::close(&got, &want, 0.0)
            .map_err(|error| format!("{activation:?}: {error}"))?;
    }
    Ok(())
}

fn into_strides_and_nothing_else(rt: &Rt) -> Result<(), String> {
    let mut random = Random::new(19);
    let a = Operand::<f32>::random(rt, &[21, 30], &[30, 1], &mut random);
    let b = Operand::<f32>::random(rt, &[30, 18], &[18, 1], &mut random);
    let want = right(&a, &b, &[]);
    for (strides, reach) in [
        ([18, 1], 21 * 18),
        ([1, 21], 21 * 18),
        ([24, 1], 21 * 24),
        ([2, 50], 18 * 50),
    ] {
        let guard = 100;
        let memory = vec![7.5f32; reach + guard];
        let handle = rt.client.create_from_slice(f32::as_bytes(&memory));
        let out = TensorHandle::new(
            handle,
            vec![21usize, 18],
            strides.to_vec(),
            f32::elem_type_native(),
        );
        matmul_into(
            &rt.client,
            &a.tensor,
            &b.tensor,
            &out,
            &MatmulOptions::default(),
        )
        .map_err(text)?;
        let bytes = rt.client.read_one(out.handle.clone()).map_err(text)?;
        let mut got = f32::from_bytes(&bytes).to_vec();
        for row in 0..21 {
            for column in 0..18 {
                let at = row * strides[0] + column * strides[1];
                let found = std::mem::replace(&mut got[at], 7.5);
                compare(&[found], &want[row * 18 + column..][..1], f32::TOLERANCE)
                    .map_err(|error| format!("{strides:?}, row {row}, column {column}: {error}"))?;
            }
        }
        if let Some(at) = got.iter().position(|&value| value != 7.5) {
            return Err(format!(
                "{strides:?}: element {at} of the memory was touched"
            ));
        }
    }
    Ok(())
}

fn by_tiles_of_the_callers_choice(rt: &Rt) -> Result<(), String> {
    let plan = |options: &MatmulOptions<'_>| {
        let a = Operand::<f32>::new(rt, &[8, 8], &[8, 1], vec![0.0; 64]);
        explain_matmul(&rt.client, &a.tensor, &a.tensor, options).map_err(text)
    };
    let vector = plan(&MatmulOptions::default())?.vector;
    for (rows, columns, depth) in [(1, 1, 1), (2, 1, 4), (1, 2, 2)] {
        let unit = [vector, 2 * vector];
        let tile = MatmulTile::new([rows * unit[0], columns * unit[1], depth * vector], unit);
        let options = MatmulOptions {
            tile: Some(tile),
            ..Default::default()
        };
        let found = plan(&options)?.tile;
        if found != [tile.rows, tile.columns, tile.depth] {
            return Err(format!("{tile:?} gives {found:?}"));
        }
        multiply::<f32>(rt, [45, 52, 38], [false, true], 0, &options)?;
        multiply::<f32>(rt, [48, 64, 32], [true, false], 0, &options)?;
    }
    Ok(())
}
