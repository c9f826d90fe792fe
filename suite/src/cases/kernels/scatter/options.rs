//! Options that rule each other out, and what plans say of the others.

use crate::cases::kernels::model::{handle, list};
use girih::{Bounds, Error};
use girih_kernels::{
    Duplicates, Plan, ScatterMode, ScatterOptions, ScatterPath, explain_scatter, scatter_into,
};
use girih_testkit::{Rt, cases};

cases! {
    a_sum_has_no_winner,
    sums_of_floats_by_atomics_are_not_deterministic,
    plans_say_which_path_and_why,
    a_store_is_not_combined,
}

/// Scatters f32 or i32 of 4 rows.
fn scattered(
    rt: &Rt,
    floats: bool,
    mode: ScatterMode,
    options: ScatterOptions,
) -> Result<Plan, Error> {
    let index = list(&rt.put(&[0i32, 1]));
    let rows = |count: usize| match floats {
        true => handle(&rt.put_tensor(&vec![1f32; count * 3], &[count, 3])),
        false => handle(&rt.put_tensor(&vec![1i32; count * 3], &[count, 3])),
    };
    let (target, updates) = (rows(4), rows(2));
    let plan = explain_scatter(&rt.client, &target, &index, &updates, 0, mode, options);
    let done = scatter_into(&rt.client, &target, &index, &updates, 0, mode, options);
    // A plan is refused as the call is.
    match (plan, done) {
        (Ok(plan), Ok(done)) => done.check().map(|()| plan),
        (Err(plan), Err(done)) => {
            assert_eq!(plan.to_string(), done.to_string());
            Err(done)
        }
        (plan, done) => panic!("planned {plan:?}, done {done:?}"),
    }
}

fn a_sum_has_no_winner(rt: &Rt) {
    let refused = scattered(rt, true, ScatterMode::Add, Duplicates::LastWins.into()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "duplicates is LastWins, of ScatterMode::Add; scatter needs a winner of ScatterMode::Set alone; others \
         combine all updates"
    );
    let empty = list(&rt.put::<i32>(&[]));
    let nothing = handle(&rt.put_tensor::<f32>(&[], &[0, 3]));
    let target = handle(&rt.put_tensor(&[1f32; 3], &[1, 3]));
    let options = ScatterOptions::from(Duplicates::FirstWins);
    let refused = scatter_into(
        &rt.client,
        &target,
        &empty,
        &nothing,
        0,
        ScatterMode::Max,
        options,
    );
    assert!(
        matches!(refused, Err(Error::Argument { .. })),
        "{refused:?}"
    );
}

fn sums_of_floats_by_atomics_are_not_deterministic(rt: &Rt) -> Result<(), Error> {
    let options = ScatterOptions {
        path: Some(ScatterPath::Atomic),
        ..Duplicates::Deterministic.into()
    };
    let refused = scattered(rt, true, ScatterMode::Mul, options)
        .unwrap_err()
        .to_string();
    assert!(
        refused.starts_with(
            "path is Atomic, of f32, whose rounding depends on the run; scatter needs"
        ),
        "{refused}"
    );
    // Sums of integers are the same in any order.
    let plan = scattered(rt, false, ScatterMode::Add, options)?;
    assert_eq!(plan.path, Some(ScatterPath::Atomic));
    Ok(())
}

fn plans_say_which_path_and_why(rt: &Rt) -> Result<(), Error> {
    let options = ScatterOptions::from(Duplicates::Deterministic);
    let plan = scattered(rt, true, ScatterMode::Add, options)?;
    assert_eq!(plan.path, Some(ScatterPath::Sorted));
    assert!(plan.temporary >= 2 * 20, "{plan}");
    let text = plan.to_string();
    assert!(
        text.contains("path           Sorted: the order of floats is fixed"),
        "{text}"
    );
    let plan = scattered(rt, true, ScatterMode::Set, Bounds::Wrap.into())?;
    assert_eq!((plan.path, plan.temporary), (Some(ScatterPath::Atomic), 0));
    let plan = scattered(rt, true, ScatterMode::Set, Duplicates::LastWins.into())?;
    assert_eq!(
        (plan.path, plan.temporary),
        (Some(ScatterPath::Atomic), 4 * 4)
    );
    Ok(())
}

fn a_store_is_not_combined(rt: &Rt) {
    for path in [ScatterPath::Combined, ScatterPath::Privatised] {
        let options = ScatterOptions {
            path: Some(path),
            ..ScatterOptions::default()
        };
        let refused = scattered(rt, true, ScatterMode::Set, options).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "path is {path:?}, of ScatterMode::Set; scatter needs a mode that combines updates, or another path"
            )
        );
    }
}
