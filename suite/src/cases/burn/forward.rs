//! Values of the ops.

use burn::tensor::{DType, Int, Tensor, TensorData};
use girih_burn::{Bounds, Error, IndexOps, Scatter, gather, scatter, scatter_sum};
use girih_testkit::{Rt, cases, needs};

use super::{Host, assert_equals, device, floats, indices, ints};

/// Indices of an axis of 10, three of them more than once.
const REPEATED: [i64; 7] = [3, 0, 3, 9, 5, 0, 3];
/// Indices of an axis of 10, each once.
const DISTINCT: [i64; 4] = [7, 2, 9, 0];
/// Indices of an axis of 10, of every sort: in range, wrapped, and out of range for every policy.
const WILD: [i64; 8] = [4, -1, 10, 0, -10, -11, 2_000_000_000, -2_000_000_000];

const POLICIES: [Bounds; 4] = [Bounds::Mask, Bounds::Clamp, Bounds::Wrap, Bounds::Report];

cases! {
    gathers_rows_of_every_width,
    gathers_along_every_axis,
    gathers_views,
    gathers_under_every_policy,
    gathers_with_i64_indices needs [needs::I64],
    gathers_with_u8_indices needs [needs::U8],
    gathers_and_scatters_f16 needs [needs::F16],
    gathers_and_scatters_integers,
    scatters_by_writing,
    scatters_by_adding,
    scatters_along_every_axis,
    scatters_under_every_policy,
    scatters_into_views,
    scatter_leaves_other_owners_alone,
    sums_slices,
    an_empty_index_gives_an_empty_result,
    an_axis_of_extent_zero_masks_every_index,
    methods_are_the_functions,
}

fn gathers_rows_of_every_width(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for width in [1, 3, 8, 64] {
        let table = Host::sample(&[10, width], width);
        let index = indices(&REPEATED, &device);
        let rows = gather(floats::<2>(&table, &device), 0, index, Bounds::Assume)?.into_inner();
        assert_equals(rows, &table.gather(0, &REPEATED, Bounds::Assume));
    }
    Ok(())
}

fn gathers_along_every_axis(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for (axis, shape) in [[10, 3, 5], [3, 10, 5], [3, 5, 10]].iter().enumerate() {
        let table = Host::sample(shape, axis);
        let index = indices(&REPEATED, &device);
        let slices = gather(floats::<3>(&table, &device), axis, index, Bounds::Mask)?.into_inner();
        assert_equals(slices, &table.gather(axis, &REPEATED, Bounds::Mask));
    }
    Ok(())
}

fn gathers_views(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = Host::sample(&[10, 12], 1);
    let rows = |view: Tensor<2>, want: &Host| -> Result<(), Error> {
        let rows = gather(view, 0, indices(&REPEATED, &device), Bounds::Mask)?.into_inner();
        assert_equals(rows, &want.gather(0, &REPEATED, Bounds::Mask));
        Ok(())
    };
    rows(floats::<2>(&table.transpose(), &device).transpose(), &table)?;
    for first in [3, 4] {
        let view = floats::<2>(&table, &device).slice([0..10, first..12]);
        rows(view, &table.columns_from(first))?;
    }
    let row = Host {
        shape: vec![1, 12],
        values: table.values[..12].to_vec(),
    };
    let expanded = floats::<2>(&row, &device).expand([10, 12]);
    rows(expanded, &row.gather(0, &[0; 10], Bounds::Mask))
}

fn gathers_under_every_policy(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for (axis, shape) in [[10, 6], [6, 10]].iter().enumerate() {
        let table = Host::sample(shape, 2);
        for bounds in POLICIES {
            let index = indices(&WILD, &device);
            let slices = gather(floats::<2>(&table, &device), axis, index, bounds)?.into_inner();
            assert_equals(slices, &table.gather(axis, &WILD, bounds));
        }
    }
    Ok(())
}

fn gathers_with_i64_indices(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = Host::sample(&[10, 8], 3);
    // As 32-bit numbers the last two would be 1 and -1.
    let wide = [3, 9, 0, -1, (1 << 32) + 1, (1 << 32) - 1];
    for bounds in POLICIES {
        let data = TensorData::new(wide.to_vec(), [wide.len()]);
        let index = Tensor::<1, Int>::from_data(data, (&device, DType::I64));
        assert_eq!(index.dtype(), DType::I64);
        let rows = gather(floats::<2>(&table, &device), 0, index, bounds)?.into_inner();
        assert_equals(rows, &table.gather(0, &wide, bounds));
    }
    Ok(())
}

fn gathers_with_u8_indices(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = Host::sample(&[10, 8], 4);
    let index = indices(&REPEATED, &device).cast(DType::U8);
    let rows = gather(floats::<2>(&table, &device), 0, index, Bounds::Mask)?.into_inner();
    assert_equals(rows, &table.gather(0, &REPEATED, Bounds::Mask));
    Ok(())
}

fn gathers_and_scatters_f16(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (table, updates) = (Host::sample(&[10, 16], 5), Host::sample(&[7, 16], 6));
    let half = |host: &Host| floats::<2>(host, &device).cast(DType::F16);
    let index = || indices(&REPEATED, &device);
    let rows = gather(half(&table), 0, index(), Bounds::Mask)?.into_inner();
    assert_eq!(rows.dtype(), DType::F16);
    assert_equals(rows, &table.gather(0, &REPEATED, Bounds::Mask));
    // Quarters up to 64 and their sums are exact in f16.
    let sums = scatter(
        half(&table),
        0,
        index(),
        half(&updates),
        Scatter::Add,
        Bounds::Mask,
    )?
    .into_inner();
    assert_eq!(sums.dtype(), DType::F16);
    assert_equals(
        sums,
        &table.scatter(0, &REPEATED, &updates, Scatter::Add, Bounds::Mask),
    );
    Ok(())
}

fn gathers_and_scatters_integers(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let whole = |shape: &[usize], salt| Host::sample(shape, salt).map(|value| value * 4.0);
    let (table, updates) = (whole(&[10, 6], 7), whole(&[7, 6], 8));
    let index = || indices(&REPEATED, &device);
    let rows = gather(ints::<2>(&table, &device), 0, index(), Bounds::Mask)?.into_inner();
    assert_equals(rows, &table.gather(0, &REPEATED, Bounds::Mask));
    let (target, added) = (ints::<2>(&table, &device), ints::<2>(&updates, &device));
    let sums = scatter(
        target,
        0,
        index(),
        added.clone(),
        Scatter::Add,
        Bounds::Mask,
    )?
    .into_inner();
    assert_equals(
        sums,
        &table.scatter(0, &REPEATED, &updates, Scatter::Add, Bounds::Mask),
    );
    let sums = scatter_sum(added, 0, index(), 10, Bounds::Mask)?.into_inner();
    let zeros = Host::zeros(&[10, 6]);
    assert_equals(
        sums,
        &zeros.scatter(0, &REPEATED, &updates, Scatter::Add, Bounds::Mask),
    );
    Ok(())
}

/// Scatters samples into a sample target and compares with the host.
fn scatters<const D: usize>(
    rt: &Rt,
    shape: [usize; D],
    axis: usize,
    index: &[i64],
    mode: Scatter,
    bounds: Bounds,
) -> Result<(), Error> {
    let device = device(rt);
    let mut slices = shape;
    slices[axis] = index.len();
    let (target, updates) = (Host::sample(&shape, 9), Host::sample(&slices, 10));
    let (on_device, added) = (
        floats::<D>(&target, &device),
        floats::<D>(&updates, &device),
    );
    let got = scatter(
        on_device,
        axis,
        indices(index, &device),
        added,
        mode,
        bounds,
    )?
    .into_inner();
    assert_equals(got, &target.scatter(axis, index, &updates, mode, bounds));
    Ok(())
}

fn scatters_by_writing(rt: &Rt) -> Result<(), Error> {
    for width in [1, 3, 8, 64] {
        scatters(rt, [10, width], 0, &DISTINCT, Scatter::Set, Bounds::Assume)?;
    }
    Ok(())
}

fn scatters_by_adding(rt: &Rt) -> Result<(), Error> {
    for width in [1, 3, 8, 64] {
        scatters(rt, [10, width], 0, &REPEATED, Scatter::Add, Bounds::Assume)?;
    }
    Ok(())
}

fn scatters_along_every_axis(rt: &Rt) -> Result<(), Error> {
    for (mode, index) in [(Scatter::Set, &DISTINCT[..]), (Scatter::Add, &REPEATED[..])] {
        for (axis, shape) in [[10, 3, 5], [3, 10, 5], [3, 5, 10]].into_iter().enumerate() {
            scatters(rt, shape, axis, index, mode, Bounds::Mask)?;
        }
    }
    Ok(())
}

fn scatters_under_every_policy(rt: &Rt) -> Result<(), Error> {
    for bounds in POLICIES {
        for axis in [0, 1] {
            let mut shape = [6, 6];
            shape[axis] = 10;
            scatters(rt, shape, axis, &WILD, Scatter::Add, bounds)?;
        }
    }
    // A write needs indices that stay distinct: -3 wraps to 7 and clamps to 0, 12 clamps to 9.
    for bounds in POLICIES {
        scatters(rt, [10, 6], 0, &[4, -3, 12], Scatter::Set, bounds)?;
    }
    Ok(())
}

fn scatters_into_views(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (target, updates) = (Host::sample(&[10, 12], 11), Host::sample(&[7, 12], 12));
    let transposed = floats::<2>(&target.transpose(), &device).transpose();
    let (added, index) = (
        floats::<2>(&updates.transpose(), &device).transpose(),
        indices(&REPEATED, &device),
    );
    let sums = scatter(transposed, 0, index, added, Scatter::Add, Bounds::Mask)?.into_inner();
    assert_equals(
        sums,
        &target.scatter(0, &REPEATED, &updates, Scatter::Add, Bounds::Mask),
    );

    // An expanded target has one row in memory and is ten.
    let row = Host::sample(&[1, 12], 13);
    let expanded = floats::<2>(&row, &device).expand([10, 12]);
    let (added, index) = (floats::<2>(&updates, &device), indices(&REPEATED, &device));
    let sums = scatter(expanded, 0, index, added, Scatter::Add, Bounds::Mask)?.into_inner();
    let rows = row.gather(0, &[0; 10], Bounds::Mask);
    assert_equals(
        sums,
        &rows.scatter(0, &REPEATED, &updates, Scatter::Add, Bounds::Mask),
    );
    Ok(())
}

fn scatter_leaves_other_owners_alone(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (target, updates) = (Host::sample(&[10, 4], 14), Host::sample(&[4, 4], 15));
    let kept = floats::<2>(&target, &device);
    let index = indices(&DISTINCT, &device);
    let written = scatter(
        kept.clone(),
        0,
        index,
        floats(&updates, &device),
        Scatter::Set,
        Bounds::Mask,
    )?;
    assert_equals(
        written.into_inner(),
        &target.scatter(0, &DISTINCT, &updates, Scatter::Set, Bounds::Mask),
    );
    assert_equals(kept, &target);
    Ok(())
}

fn sums_slices(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for (axis, shape) in [[7, 5], [5, 7]].iter().enumerate() {
        let updates = Host::sample(shape, 16);
        let index = indices(&REPEATED, &device);
        let sums = scatter_sum(
            floats::<2>(&updates, &device),
            axis,
            index,
            10,
            Bounds::Mask,
        )?
        .into_inner();
        let mut zeros = *shape;
        zeros[axis] = 10;
        let want =
            Host::zeros(&zeros).scatter(axis, &REPEATED, &updates, Scatter::Add, Bounds::Mask);
        assert_equals(sums, &want);
    }
    Ok(())
}

fn an_empty_index_gives_an_empty_result(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = Host::sample(&[10, 4], 17);
    for bounds in POLICIES {
        let none = || indices(&[], &device);
        let rows = gather(floats::<2>(&table, &device), 0, none(), bounds)?.check()?;
        assert_eq!(rows.dims(), [0, 4]);
        let updates = floats::<2>(&Host::zeros(&[0, 4]), &device);
        let same = scatter(
            floats::<2>(&table, &device),
            0,
            none(),
            updates.clone(),
            Scatter::Add,
            bounds,
        )?;
        assert_equals(same.check()?, &table);
        assert_equals(
            scatter_sum(updates, 0, none(), 3, bounds)?.check()?,
            &Host::zeros(&[3, 4]),
        );
    }
    Ok(())
}

fn an_axis_of_extent_zero_masks_every_index(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for bounds in [Bounds::Mask, Bounds::Clamp, Bounds::Wrap] {
        let empty = floats::<2>(&Host::zeros(&[0, 4]), &device);
        let rows = gather(empty, 0, indices(&[0, -1, 5], &device), bounds)?.into_inner();
        assert_equals(rows, &Host::zeros(&[3, 4]));
    }
    Ok(())
}

fn methods_are_the_functions(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (table, updates) = (Host::sample(&[10, 4], 18), Host::sample(&[7, 4], 19));
    let (on_device, added) = (floats::<2>(&table, &device), floats::<2>(&updates, &device));
    let index = || indices(&REPEATED, &device);
    let rows = on_device
        .clone()
        .gather_rows(index(), Bounds::Report)?
        .check()?;
    assert_equals(rows, &table.gather(0, &REPEATED, Bounds::Report));
    let columns = on_device
        .clone()
        .gather_along(1, indices(&[3, 1], &device), Bounds::Mask)?;
    assert_equals(
        columns.into_inner(),
        &table.gather(1, &[3, 1], Bounds::Mask),
    );
    let sums = on_device.scatter_along(0, index(), added.clone(), Scatter::Add, Bounds::Mask)?;
    assert_equals(
        sums.into_inner(),
        &table.scatter(0, &REPEATED, &updates, Scatter::Add, Bounds::Mask),
    );
    let sums = added.scatter_sum_along(0, index(), 10, Bounds::Mask)?;
    let want = Host::zeros(&[10, 4]).scatter(0, &REPEATED, &updates, Scatter::Add, Bounds::Mask);
    assert_equals(sums.into_inner(), &want);
    Ok(())
}
