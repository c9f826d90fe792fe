//! `explain_experts`: which way every product of a layer goes.

use cubecl::ir::{ElemType, FloatKind};
use girih::device::Device;
use girih_kernels::{ExpertsPass, ExpertsPlan, ExpertsSize, MatmulPath, explain_experts};
use girih_testkit::{Rt, cases, needs};

cases! {
    passes_of_f32,
    passes_of_bf16 needs [needs::BF16],
    what_is_refused,
}

const SIZE: ExpertsSize = ExpertsSize {
    tokens: 96,
    model: 64,
    hidden: 128,
    experts: 8,
    chosen: 2,
};

fn explained(rt: &Rt, kind: FloatKind) -> Result<ExpertsPlan, String> {
    let plan = explain_experts(&rt.client, ElemType::Float(kind), SIZE);
    let plan = plan.map_err(|error| error.to_string())?;
    let names =
        |passes: &[ExpertsPass]| -> Vec<&str> { passes.iter().map(|pass| pass.name).collect() };
    assert_eq!(
        names(&plan.forward),
        [
            "scores",
            "routes",
            "gathered rows by up",
            "rows by down",
            "sums by token"
        ]
    );
    // Gradients of matrices need the rows that were multiplied: they are gathered once.
    assert_eq!(
        names(&plan.kept),
        [
            "scores",
            "routes",
            "gathered tokens",
            "rows by up",
            "rows by down",
            "sums by token"
        ]
    );
    assert!(!names(&plan.backward).contains(&"gathered tokens"));
    let products = passes(&plan).filter_map(|pass| pass.product.as_ref());
    assert_eq!(products.clone().count(), 12);
    // Gradients of matrices are sums over groups of positions, each a product of its own.
    let inner = products.filter(|plan| plan.call == "grouped_inner_matmul");
    assert_eq!(inner.count(), 2);
    let table = plan.to_string();
    assert!(table.contains("96 tokens, 64 to 128, 2 of 8"), "{table}");
    assert!(table.contains("slopes of down"), "{table}");
    Ok(plan)
}

fn passes(plan: &ExpertsPlan) -> impl Iterator<Item = &ExpertsPass> + Clone {
    [&plan.forward, &plan.kept, &plan.backward]
        .into_iter()
        .flatten()
}

fn paths(plan: &ExpertsPlan) -> Vec<MatmulPath> {
    let plans = passes(plan).filter_map(|pass| pass.product.as_ref());
    plans.map(|plan| plan.path).collect()
}

fn passes_of_f32(rt: &Rt) -> Result<(), String> {
    let plan = explained(rt, FloatKind::F32)?;
    // Hopper's kernel multiplies halves.
    assert!(!paths(&plan).contains(&MatmulPath::Hopper), "{plan}");
    Ok(())
}

/// On a Hopper every product of halves is its kernel's, also those of transposed matrices and of groups of positions.
fn passes_of_bf16(rt: &Rt) -> Result<(), String> {
    let plan = explained(rt, FloatKind::BF16)?;
    let paths = paths(&plan);
    let is_hopper = |path: &MatmulPath| *path == MatmulPath::Hopper;
    match Device::of(&rt.client).has_warpgroup_mma() {
        true => assert!(paths.iter().all(is_hopper), "{plan}"),
        false => assert!(!paths.iter().any(is_hopper), "{plan}"),
    }
    Ok(())
}

fn what_is_refused(rt: &Rt) -> Result<(), String> {
    let size = ExpertsSize { chosen: 9, ..SIZE };
    let error = explain_experts(&rt.client, ElemType::Float(FloatKind::F32), size);
    super::worded(
        &error.map_err(|error| error.to_string()).unwrap_err(),
        "k is 9; explain_experts needs 1 to 8, as many as there are experts",
    )
}
