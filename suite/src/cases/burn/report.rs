//! `Bounds::Report`: the first index out of range comes back as an error that names it, when it is asked for.

use burn::tensor::{DType, Int, Tensor, TensorData};
use girih_burn::{Bounds, Error, Offence, Scatter, gather, scatter, scatter_sum};
use girih_testkit::{Rt, cases, needs};

use super::{
    Host, assert_equals, assert_matches, device, floats, host::finite_differences, indices, total,
};

/// The first offence is at position 2, the second at 4.
const WRONG: [i64; 6] = [3, 9, 10, 0, -1, 5];
const OFFENCE: Offence = Offence {
    position: 2,
    index: 10,
    axis: 0,
    extent: 10,
};

cases! {
    names_the_first_offence,
    names_the_axis_and_a_negative_index,
    names_a_64_bit_index needs [needs::I64],
    is_silent_where_every_index_is_in_range,
    leaves_the_rest_right_and_the_device_well,
    of_a_scatter_and_of_sums,
    of_an_integer_table,
    under_autodiff,
    between_fused_chains,
    other_policies_have_nothing_to_report,
}

/// The offence that an op's error names.
#[track_caller]
fn offence<T: std::fmt::Debug>(result: Result<T, Error>) -> Offence {
    match result {
        Err(Error::Kernel(girih::Error::OutOfRange(offence))) => offence,
        other => panic!("no offence was reported: {other:?}"),
    }
}

fn names_the_first_offence(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = floats::<2>(&Host::sample(&[10, 8], 50), &device);
    let error = gather(table, 0, indices(&WRONG, &device), Bounds::Report)?.check();
    assert_eq!(
        error.as_ref().expect_err("10 is out of range").to_string(),
        "index 10 at position 2 is out of range of axis 0, which has extent 10; 0..10 is allowed"
    );
    assert_eq!(offence(error), OFFENCE);
    Ok(())
}

fn names_the_axis_and_a_negative_index(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = floats::<3>(&Host::sample(&[2, 3, 5], 51), &device);
    let error = gather(table, 2, indices(&[4, -7, 5], &device), Bounds::Report)?.check();
    assert_eq!(
        offence(error),
        Offence {
            position: 1,
            index: -7,
            axis: 2,
            extent: 5
        }
    );
    Ok(())
}

fn names_a_64_bit_index(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = floats::<2>(&Host::sample(&[10, 8], 52), &device);
    // As a 32-bit number this is 1.
    let wide = (1_i64 << 32) + 1;
    let data = TensorData::new(vec![0, wide], [2]);
    let index = Tensor::<1, Int>::from_data(data, (&device, DType::I64));
    let error = gather(table, 0, index, Bounds::Report)?.check();
    assert_eq!(
        offence(error),
        Offence {
            position: 1,
            index: wide.into(),
            axis: 0,
            extent: 10
        }
    );
    Ok(())
}

fn is_silent_where_every_index_is_in_range(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = Host::sample(&[10, 8], 53);
    let index = [9, 0, 9];
    let rows = gather(
        floats::<2>(&table, &device),
        0,
        indices(&index, &device),
        Bounds::Report,
    )?
    .check()?;
    assert_equals(rows, &table.gather(0, &index, Bounds::Report));
    Ok(())
}

fn leaves_the_rest_right_and_the_device_well(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = Host::sample(&[10, 8], 54);
    let on_device = floats::<2>(&table, &device);
    let checked = gather(
        on_device.clone(),
        0,
        indices(&WRONG, &device),
        Bounds::Report,
    )?;
    let rows = checked.value().clone();
    assert_eq!(offence(checked.check()), OFFENCE);
    assert_equals(rows, &table.gather(0, &WRONG, Bounds::Report));
    // The next call has a record of its own.
    let index = [1, 2];
    let rows = gather(on_device, 0, indices(&index, &device), Bounds::Report)?.check()?;
    assert_equals(rows, &table.gather(0, &index, Bounds::Report));
    Ok(())
}

fn of_a_scatter_and_of_sums(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (target, updates) = (Host::sample(&[10, 4], 55), Host::sample(&[6, 4], 56));
    for mode in [Scatter::Set, Scatter::Add] {
        let (into, added) = (
            floats::<2>(&target, &device),
            floats::<2>(&updates, &device),
        );
        let checked = scatter(
            into,
            0,
            indices(&WRONG, &device),
            added,
            mode,
            Bounds::Report,
        )?;
        let result = checked.value().clone();
        assert_eq!(offence(checked.check()), OFFENCE);
        assert_equals(
            result,
            &target.scatter(0, &WRONG, &updates, mode, Bounds::Report),
        );
    }
    let checked = scatter_sum(
        floats::<2>(&updates, &device),
        0,
        indices(&WRONG, &device),
        10,
        Bounds::Report,
    )?;
    assert_eq!(offence(checked.check()), OFFENCE);
    Ok(())
}

fn of_an_integer_table(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = super::ints::<2>(&Host::sample(&[10, 4], 57), &device);
    let checked = gather(table, 0, indices(&WRONG, &device), Bounds::Report)?;
    assert_eq!(offence(checked.check()), OFFENCE);
    Ok(())
}

fn under_autodiff(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let table = Host::sample(&[10, 4], 58);
    let leaf = floats::<2>(&table, &device).require_grad();
    let checked = gather(leaf.clone(), 0, indices(&WRONG, &device), Bounds::Report)?;
    // The gradient is there whether or not anybody asks for the report, before or after.
    let gradients = total(checked.value().clone().powi_scalar(2)).backward();
    assert_eq!(offence(checked.check()), OFFENCE);
    let want = finite_differences(&table, |table| {
        table
            .gather(0, &WRONG, Bounds::Report)
            .map(|value| value * value)
            .sum()
    });
    assert_matches(
        leaf.grad(&gradients).expect("the table is a leaf"),
        &want,
        1e-3,
    );
    Ok(())
}

fn between_fused_chains(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = Host::sample(&[10, 4], 59);
    let produced = floats::<2>(&table, &device) * 2.0 + 1.0;
    let index = indices(&WRONG, &device) + 1 - 1;
    let checked = gather(produced, 0, index, Bounds::Report)?;
    let consumed = checked.value().clone() * 0.5 + 3.0;
    assert_eq!(offence(checked.check()), OFFENCE);
    let rows = table
        .map(|value| value * 2.0 + 1.0)
        .gather(0, &WRONG, Bounds::Report);
    assert_equals(consumed, &rows.map(|value| value * 0.5 + 3.0));
    Ok(())
}

fn other_policies_have_nothing_to_report(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = Host::sample(&[10, 4], 60);
    for bounds in [Bounds::Mask, Bounds::Clamp, Bounds::Wrap] {
        let rows = gather(
            floats::<2>(&table, &device),
            0,
            indices(&WRONG, &device),
            bounds,
        )?
        .check()?;
        assert_equals(rows, &table.gather(0, &WRONG, bounds));
    }
    Ok(())
}
