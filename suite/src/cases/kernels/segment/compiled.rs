//! Segments and bags compiled for an NVIDIA GPU: rows in accesses of 16 bytes, several of them in flight, and no local memory.

use cubecl::ir::ElemType;
use girih::Bounds;
use girih_kernels::raw::segment::{
    ColumnsCompilationArg, Kind, Plan, Rules, add_kernel, finish_kernel, pick_kernel,
    reduce_kernel, spread_kernel, weights_kernel,
};
use girih_testkit::{
    Error, cases,
    offline::{
        Compiled, Toolkit, buffer, hopper, none, optional, settings, target,
        types::{BF16, F32, I32},
    },
};

cases! {
    in Toolkit;
    sums_of_segments_have_eight_rows_in_flight,
    sums_of_bags_have_eight_rows_in_flight,
    runs_in_order_take_few_registers,
    means_of_bags_of_halves_move_16_bytes,
    extremes_keep_to_registers,
    weighted_sums_keep_to_registers,
    wide_rows_have_two_vectors_a_unit,
    long_segments_are_finished_in_registers,
    gradients_of_tables_are_added_16_bytes_at_a_time,
    gradients_of_extremes_are_read_16_bytes_at_a_time,
    gradients_of_segments_move_16_bytes,
    gradients_of_weights_pass_sums_from_lane_to_lane,
}

fn columns() -> ColumnsCompilationArg {
    ColumnsCompilationArg {
        vectors: (),
        step: (),
        tiles: (),
    }
}

/// Of bags, as the launcher plans them on a GPU.
fn plan(kind: Kind, blocks: usize) -> Plan {
    Plan {
        rules: Rules {
            kind,
            bounds: Bounds::Mask,
            has_padding: false,
            zero_of_none: true,
            keeps_args: matches!(kind, Kind::Max | Kind::Min),
            keeps_counts: false,
        },
        team: 32,
        units: 256,
        blocks,
        batch: if blocks == 1 && !matches!(kind, Kind::Max) {
            8
        } else {
            4
        },
        cut: false,
        splits: true,
    }
}

/// What a reduction reads beside rows and offsets.
#[derive(Clone, Copy, Default)]
struct Lists {
    order: bool,
    index: bool,
    weights: bool,
}

/// Segments by offsets.
fn reduce(
    toolkit: &Toolkit,
    element: ElemType,
    width: usize,
    plan: Plan,
    lists: Lists,
) -> Result<Compiled, Error> {
    toolkit.compile(reduce_kernel::ReduceKernel::new(
        settings(plan.units),
        hopper(),
        target(),
        buffer(),
        optional(lists.order),
        optional(lists.index),
        optional(lists.weights),
        none(),
        optional(true),
        none(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        columns(),
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        width,
        plan,
        [element, F32, element, I32, I32],
    ))
}

/// Bags by offsets.
fn bags(
    toolkit: &Toolkit,
    element: ElemType,
    width: usize,
    plan: Plan,
    weights: bool,
) -> Result<Compiled, Error> {
    let lists = Lists {
        index: true,
        weights,
        ..Lists::default()
    };
    reduce(toolkit, element, width, plan, lists)
}

fn sums_of_segments_have_eight_rows_in_flight(toolkit: &Toolkit) -> Result<(), Error> {
    let rows = Plan {
        rules: Rules {
            bounds: Bounds::Assume,
            ..plan(Kind::Sum, 1).rules
        },
        ..plan(Kind::Sum, 1)
    };
    let compiled = reduce(toolkit, F32, 4, rows, Lists::default())?;
    // Eight in the loop of batches; four, two and one of what is left. Parts of windows go by the same loads.
    let loads = compiled.count_sass("LDG.E.128");
    assert_eq!(loads, 15, "{}", compiled.sass);
    compiled.assert_in_registers(64);
    Ok(())
}

fn sums_of_bags_have_eight_rows_in_flight(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = bags(toolkit, F32, 4, plan(Kind::Sum, 1), false)?;
    let loads = compiled.count_sass("LDG.E.128");
    assert!(loads >= 15, "{loads} loads: {}", compiled.sass);
    compiled.assert_sass("STG.E.128");
    compiled.assert_in_registers(80);
    Ok(())
}

/// Rows of a table's gradient, of which few come together.
fn runs_in_order_take_few_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let plan = Plan {
        batch: 4,
        ..plan(Kind::Sum, 1)
    };
    let all = Lists {
        order: true,
        index: true,
        weights: true,
    };
    let without = Lists {
        weights: false,
        ..all
    };
    for (lists, most) in [(all, 64), (without, 56)] {
        reduce(toolkit, F32, 4, plan, lists)?.assert_in_registers(most);
    }
    Ok(())
}

fn means_of_bags_of_halves_move_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = bags(toolkit, BF16, 8, plan(Kind::Mean, 1), false)?;
    compiled.assert_sass("LDG.E.128");
    compiled.assert_sass("STG.E.128");
    compiled.assert_in_registers(128);
    Ok(())
}

fn extremes_keep_to_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = bags(toolkit, F32, 4, plan(Kind::Max, 1), false)?;
    compiled.assert_sass("LDG.E.128");
    compiled.assert_in_registers(128);
    Ok(())
}

fn weighted_sums_keep_to_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = bags(toolkit, F32, 4, plan(Kind::Sum, 1), true)?;
    compiled.assert_sass("FMUL");
    compiled.assert_in_registers(128);
    Ok(())
}

fn wide_rows_have_two_vectors_a_unit(toolkit: &Toolkit) -> Result<(), Error> {
    let wide = Plan {
        cut: true,
        ..plan(Kind::Sum, 2)
    };
    let compiled = bags(toolkit, F32, 4, wide, false)?;
    let loads = compiled.count_sass("LDG.E.128");
    assert!(loads >= 10, "{loads} loads");
    compiled.assert_in_registers(96);
    Ok(())
}

fn long_segments_are_finished_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    for kind in [Kind::Sum, Kind::Max] {
        let plan = plan(kind, 1);
        let compiled = toolkit.compile(finish_kernel::FinishKernel::new(
            settings(plan.units),
            hopper(),
            target(),
            buffer(),
            buffer(),
            buffer(),
            optional(true),
            buffer(),
            buffer(),
            buffer(),
            columns(),
            (),
            (),
            (),
            (),
            (),
            4,
            plan,
            [F32, F32, I32],
        ))?;
        // Eight parts are read at a time.
        let loads = compiled.count_sass("LDG.E.128");
        assert!(loads >= 9, "{loads} loads: {}", compiled.sass);
        compiled.assert_in_registers(128);
    }
    Ok(())
}

fn gradients_of_tables_are_added_16_bytes_at_a_time(toolkit: &Toolkit) -> Result<(), Error> {
    let plan = plan(Kind::Sum, 1);
    let compiled = toolkit.compile(add_kernel::AddKernel::new(
        settings(plan.units),
        hopper(),
        target(),
        buffer(),
        optional(true),
        none(),
        none(),
        none(),
        optional(true),
        buffer(),
        columns(),
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        4,
        plan,
        [F32, F32, F32, I32, I32],
    ))?;
    compiled.assert_sass("REDG.E.ADD.F32x4");
    compiled.assert_in_registers(64);
    Ok(())
}

fn gradients_of_extremes_are_read_16_bytes_at_a_time(toolkit: &Toolkit) -> Result<(), Error> {
    let plan = plan(Kind::Max, 1);
    let compiled = toolkit.compile(pick_kernel::PickKernel::new(
        settings(plan.units),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        none(),
        buffer(),
        columns(),
        (),
        (),
        (),
        4,
        plan,
        [F32, F32, F32, I32],
    ))?;
    // Two loads to four additions, as often as the loop is unrolled: what is looked up in between is of four bytes.
    let [loads, adds] = ["LDG.E.128", "REDG.E.ADD"].map(|name| compiled.count_sass(name));
    assert!(loads > 0 && adds == 2 * loads, "{}", compiled.sass);
    compiled.assert_in_registers(64);
    Ok(())
}

fn gradients_of_segments_move_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    let plan = plan(Kind::Max, 1);
    let compiled = toolkit.compile(spread_kernel::SpreadKernel::new(
        settings(plan.units),
        hopper(),
        target(),
        buffer(),
        none(),
        none(),
        optional(true),
        none(),
        optional(true),
        buffer(),
        columns(),
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        4,
        plan,
        [F32, F32, I32],
    ))?;
    compiled.assert_sass("LDG.E.128");
    compiled.assert_sass("STG.E.128");
    compiled.assert_in_registers(64);
    Ok(())
}

fn gradients_of_weights_pass_sums_from_lane_to_lane(toolkit: &Toolkit) -> Result<(), Error> {
    let plan = plan(Kind::Sum, 1);
    let compiled = toolkit.compile(weights_kernel::WeightsKernel::new(
        settings(plan.units),
        hopper(),
        target(),
        buffer(),
        buffer(),
        optional(true),
        none(),
        none(),
        none(),
        optional(true),
        buffer(),
        columns(),
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        4,
        plan,
        [F32, F32, I32, I32],
    ))?;
    compiled.assert_sass("LDG.E.128");
    compiled.assert_sass("SHFL");
    compiled.assert_in_registers(64);
    Ok(())
}
