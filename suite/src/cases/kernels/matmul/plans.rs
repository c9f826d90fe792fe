//! What products say that they would launch.

use super::host::text;
use super::model::{Operand, Random};
use cubecl::MemoryScope;
use girih_kernels::{
    Bounds, MatmulOptions, MatmulPath, Route, explain_gather_matmul_scatter,
    explain_grouped_matmul, explain_matmul,
};
use girih_testkit::{Rt, cases, needs};

cases! {
    a_product,
    products_of_groups,
    products_by_lists needs [needs::ADD_F32],
    nothing_is_allocated,
}

fn a_product(rt: &Rt) -> Result<(), String> {
    let a = Operand::<f32>::new(rt, &[64, 32], &[32, 1], vec![0.0; 2048]);
    let b = Operand::<f32>::new(rt, &[32, 48], &[48, 1], vec![0.0; 32 * 48]);
    let plan = explain_matmul(&rt.client, &a.tensor, &b.tensor, &MatmulOptions::default())
        .map_err(text)?;
    let said = plan.to_string();
    let parts = [
        "matmul of f32, summed in f32, to f32",
        "A              in vectors along K",
        "B              in vectors across K",
    ];
    match parts.iter().find(|part| !said.contains(*part)) {
        None if plan.flops == 2 * 64 * 32 * 48 && plan.cubes > 0 => Ok(()),
        part => Err(format!("{part:?} is not in\n{said}")),
    }
}
fn products_of_groups(rt: &Rt) -> Result<(), String> {
    let a = Operand::<f32>::new(rt, &[64, 32], &[32, 1], vec![0.0; 2048]);
    let b = Operand::<f32>::new(rt, &[2, 32, 48], &[32 * 48, 48, 1], vec![0.0; 2 * 32 * 48]);
    let ends = Operand::<i32>::new(rt, &[2], &[1], vec![10, 64]);
    let options = MatmulOptions {
        path: Some(MatmulPath::Portable),
        ..Default::default()
    };
    let plan = explain_grouped_matmul(&rt.client, &a.tensor, &b.tensor, &ends.tensor, &options)
        .map_err(text)?;
    match plan.flops == 2 * 64 * 32 * 48 && plan.to_string().starts_with("grouped_matmul of f32") {
        true => Ok(()),
        false => Err(plan.to_string()),
    }
}
fn products_by_lists(rt: &Rt) -> Result<(), String> {
    let mut random = Random::new(2);
    let a = Operand::<f32>::random(rt, &[16, 8], &[8, 1], &mut random);
    let b = Operand::<f32>::random(rt, &[8, 24], &[24, 1], &mut random);
    let target = Operand::<f32>::new(rt, &[16, 24], &[24, 1], vec![0.0; 16 * 24]);
    let plan = explain_gather_matmul_scatter(
        &rt.client,
        &a.tensor,
        &b.tensor,
        &target.tensor,
        &Route::default(),
        Bounds::Mask,
        &MatmulOptions::default(),
    )
    .map_err(text)?;
    match plan.flops == 2 * 16 * 8 * 24 && plan.call == "gather_matmul_scatter" {
        true => Ok(()),
        false => Err(plan.to_string()),
    }
}

/// The results would be of 4 TiB, and lists that are strided are not put together either.
fn nothing_is_allocated(rt: &Rt) -> Result<(), String> {
    let extent = 1 << 20;
    let ones = vec![1.0f32; extent];
    let a = Operand::<f32>::new(rt, &[extent, 1], &[1, 1], ones.clone());
    let b = Operand::<f32>::new(rt, &[1, 1, extent], &[extent, extent, 1], ones);
    let ends = Operand::<i32>::new(rt, &[1], &[2], vec![7, 0]);
    let two_ends = Operand::<i32>::new(rt, &[2], &[2], vec![3, 0, 7]);
    let two = Operand::<f32>::new(rt, &[2, 1, 8], &[8, 8, 1], vec![1.0; 16]);
    // All is there before the memory is looked at.
    rt.client
        .read_one(two.tensor.handle.clone())
        .map_err(text)?;
    let held = || {
        let report = rt.client.memory_report(MemoryScope::CurrentStream);
        let pools = report.streams.into_iter().map(|stream| stream.pools);
        pools.collect::<Vec<_>>()
    };
    let before = held();
    let options = MatmulOptions::default();
    explain_matmul(&rt.client, &a.tensor, &b.tensor, &options).map_err(text)?;
    explain_grouped_matmul(&rt.client, &a.tensor, &b.tensor, &ends.tensor, &options)
        .map_err(text)?;
    explain_grouped_matmul(
        &rt.client,
        &a.tensor,
        &two.tensor,
        &two_ends.tensor,
        &options,
    )
    .map_err(text)?;
    match held() == before {
        true => Ok(()),
        false => Err(format!("{:?} became {:?}", before, held())),
    }
}
