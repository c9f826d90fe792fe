//! Tiles that are measured: each class of shapes keeps the fastest, and calls of the class take it.

use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih_kernels::{
    Bounds, MatmulOptions, MatmulPath, MatmulPlan, Route, explain_gather_matmul,
    explain_gather_matmul_scatter, explain_grouped_matmul, explain_matmul, gather_matmul,
    gather_matmul_scatter_into, grouped_matmul,
};
use girih_testkit::{Rt, cases, needs};
use half::bf16;

use super::host::text;
use super::model::{Element, Operand, Random};
use super::multiply;

cases! {
    a_class_keeps_its_fastest_tile,
    groups_and_lists_keep_theirs,
    forms_of_hopper_are_measured needs [needs::WARPGROUP_MMA],
}

fn tuned() -> MatmulOptions<'static> {
    MatmulOptions {
        tune: true,
        ..MatmulOptions::default()
    }
}

/// What a product of such extents would be.
fn explained<E: Element>(
    rt: &Rt,
    [rows, columns, inner]: [usize; 3],
    options: &MatmulOptions<'_>,
) -> Result<MatmulPlan, String> {
    let mut random = Random::new(3);
    let a = Operand::<E>::random(rt, &[rows, inner], &[inner, 1], &mut random);
    let b = Operand::<E>::random(rt, &[inner, columns], &[columns, 1], &mut random);
    explain_matmul(&rt.client, &a.tensor, &b.tensor, options).map_err(text)
}

/// Two sizes of one class: the first is measured, and the second finds what the first has found.
fn kept<E: Element>(rt: &Rt, sizes: [[usize; 3]; 2]) -> Result<MatmulPlan, String> {
    multiply::<E>(rt, sizes[0], [false, false], 0, &tuned())?;
    let [first, second] = sizes.map(|size| explained::<E>(rt, size, &tuned()));
    let (first, second) = (first?, second?);
    if !first.measured || !second.measured {
        return Err(format!("nothing was kept: {first}\n{second}"));
    }
    if (first.path, first.tile) != (second.path, second.tile) {
        return Err(format!("one class, two tiles: {first}\n{second}"));
    }
    multiply::<E>(rt, sizes[1], [false, false], 0, &tuned())?;
    // Only who asks for what was measured gets it.
    let plain = explained::<E>(rt, sizes[0], &MatmulOptions::default())?;
    match plain.measured {
        true => Err(format!("nobody asked: {plain}")),
        false => Ok(first),
    }
}

fn a_class_keeps_its_fastest_tile(rt: &Rt) -> Result<(), String> {
    let found = kept::<f32>(rt, [[60, 70, 40], [61, 72, 39]])?;
    if !found.to_string().contains("of K, measured") {
        return Err(found.to_string());
    }
    // A path or a tile of the caller's choice is not measured.
    let forced = MatmulOptions {
        path: Some(MatmulPath::Portable),
        ..tuned()
    };
    let plan = explained::<f32>(rt, [60, 70, 40], &forced)?;
    match plan.measured {
        true => Err(plan.to_string()),
        false => Ok(()),
    }
}

fn forms_of_hopper_are_measured(rt: &Rt) -> Result<(), String> {
    let found = kept::<bf16>(rt, [[256, 512, 128], [200, 264, 120]])?;
    match found.path {
        MatmulPath::Hopper => Ok(()),
        _ => Err(found.to_string()),
    }
}

fn list(rt: &Rt, values: &[i32]) -> TensorHandle {
    let handle = rt.client.create_from_slice(i32::as_bytes(values));
    TensorHandle::new_contiguous(vec![values.len()], handle, i32::elem_type_native())
}

fn groups_and_lists_keep_theirs(rt: &Rt) -> Result<(), String> {
    let client = &rt.client;
    let [rows, inner, columns] = [50usize, 24, 40];
    let mut random = Random::new(5);
    let a = Operand::<f32>::random(rt, &[rows, inner], &[inner, 1], &mut random);
    let shape = [2, inner, columns];
    let b = Operand::<f32>::random(rt, &shape, &[inner * columns, columns, 1], &mut random);
    let (a, b) = (&a.tensor, &b.tensor);
    let ends = list(rt, &[20, 50]);
    let order: Vec<i32> = (0..rows as i32).rev().collect();
    let order = list(rt, &order);

    let _ = grouped_matmul(client, a, b, &ends, &tuned()).map_err(text)?;
    let grouped = explain_grouped_matmul(client, a, b, &ends, &tuned()).map_err(text)?;

    let mask = Bounds::Mask;
    let _ = gather_matmul(client, a, &order, b, Some(&ends), mask, &tuned()).map_err(text)?;
    let gathered = explain_gather_matmul(client, a, &order, b, Some(&ends), &tuned());

    let target = Operand::<f32>::random(rt, &[rows, columns], &[columns, 1], &mut random);
    let route = Route {
        ends: Some(&ends),
        gather: Some(&order),
        scatter: Some(&order),
        weights: None,
    };
    let target = &target.tensor;
    let _ =
        gather_matmul_scatter_into(client, a, b, target, &route, mask, &tuned()).map_err(text)?;
    let added = explain_gather_matmul_scatter(client, a, b, target, &route, mask, &tuned());

    for plan in [grouped, gathered.map_err(text)?, added.map_err(text)?] {
        if !plan.measured {
            return Err(format!("nothing was kept: {plan}"));
        }
    }
    Ok(())
}
