//! What is reported of indices out of range along every axis.

use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::{
    device::Device,
    prelude::*,
    view::{Offence, Report, Reporter},
};
use girih_testkit::{Rt, cases, check::assert_same, needs};

use super::model::{load, place};
use super::{ONE_CUBE, assert_refused};

cases! {
    the_first_offence_along_each_axis needs [needs::REPORTS_AXES],
    reports_an_index_of_64_bits needs [needs::REPORTS_AXES, needs::I64],
    absent_entries_are_not_reported needs [needs::REPORTS_AXES],
    refuses_a_run_in_a_record_of_positions,
    refuses_a_report_of_other_axes needs [needs::REPORTS_AXES],
}

/// What a tile has where an index is out of range.
const PADDING: u32 = 77;

#[cube(launch_unchecked)]
fn reported(
    x: &Tensor<u32>,
    list: &[i32],
    start: i32,
    record: &[Atomic<u64>],
    out: &mut Tensor<u32>,
    #[comptime] bounds: [Bounds; 2],
) {
    let cube = this_cube();
    let list = TileView::<i32, shape![4]>::of(list).indices(0);
    let view =
        GatherScatterView::<u32, shape![4, 6], 0>::of(x).report(Reporter::axes(record, 10u32));
    let view = view.bounds(bounds);
    let tile = view.load_masked(&cube, comptime!(Pad(77u32)), (&list, start));
    TileViewMut::<u32, shape![4, 6]>::of(out).store(&cube, tile, (0, 0));
}

/// What is reported of four rows of six elements from a start, of three rows of eight elements.
fn offence(
    rt: &Rt,
    indices: &[i32],
    start: i32,
    bounds: [Bounds; 2],
) -> Result<Option<Offence>, String> {
    let values: Vec<u32> = (0..24).collect();
    let x = rt.put_tensor(&values, &[3, 8]);
    // The kernel's list is entries 10 and on of the whole one.
    let whole: Vec<i32> = std::iter::repeat_n(0, 10)
        .chain(indices.iter().copied())
        .collect();
    let (list, whole) = (rt.put(indices), rt.put(&whole));
    let handle = TensorHandle::new_contiguous(
        vec![10 + indices.len()],
        whole.handle(),
        i32::elem_type_native(),
    );
    let device = Device::of(&rt.client);
    let report = Report::axes("offence", &device, &[3, 8], &[Some(handle), None]);
    let report = report.map_err(|error| error.to_string())?;
    let out = rt.poisoned_tensor::<u32>(&[4, 6], &[6, 1]);
    // SAFETY: the load is masked, the store covers `out`.
    unsafe {
        reported::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            list.arg(),
            start,
            report.arg(),
            out.arg(),
            bounds,
        );
    }
    let want = load(&values, &[3, 8], &[4, 6], PADDING, |at| {
        let row = indices
            .get(at[0])
            .and_then(|&row| place(row.into(), 3, bounds[0]));
        vec![row, place(i128::from(start) + at[1] as i128, 8, bounds[1])]
    });
    assert_same(
        &rt.read_tensor(&out).map_err(|error| error.to_string())?,
        &want,
    );
    report.read().map_err(|error| error.to_string())
}

fn the_first_offence_along_each_axis(rt: &Rt) -> Result<(), String> {
    use Bounds::{Mask, Report, Wrap};
    let found = |position, index, axis| {
        let extent = [3, 8][axis];
        Some(Offence {
            position,
            index,
            axis,
            extent,
        })
    };
    let both = [Report, Report];
    assert_eq!(offence(rt, &[2, 0, 1, 2], 2, both)?, None);
    assert_eq!(offence(rt, &[2, 0, -1, 3], 2, both)?, found(12, -1, 0));
    assert_eq!(offence(rt, &[2, 0, 1, 2], 4, both)?, found(8, 8, 1));
    assert_eq!(offence(rt, &[2, 0, 1, 2], -3, both)?, found(0, -3, 1));
    assert_eq!(
        offence(rt, &[2, 0, 1, 2], i32::MAX, both)?,
        found(i32::MAX as u64, i32::MAX.into(), 1)
    );
    assert_eq!(
        offence(rt, &[2, 0, 1, 2], i32::MIN, both)?,
        found(0, i32::MIN.into(), 1)
    );
    // Of both axes, the one of the smaller position.
    assert_eq!(offence(rt, &[2, 9, 1, 2], 4, both)?, found(8, 8, 1));
    assert_eq!(offence(rt, &[2, 9, 1, 2], 7, both)?, found(8, 8, 1));
    assert_eq!(offence(rt, &[2, 9, 1, 2], 12, both)?, found(11, 9, 0));
    // Only the axes that ask are reported.
    assert_eq!(
        offence(rt, &[2, 9, 1, 2], 4, [Report, Mask])?,
        found(11, 9, 0)
    );
    assert_eq!(
        offence(rt, &[2, 9, 1, 2], 4, [Wrap, Report])?,
        found(8, 8, 1)
    );
    assert_eq!(offence(rt, &[2, 9, 1, 2], 4, [Mask, Wrap])?, None);
    Ok(())
}

fn absent_entries_are_not_reported(rt: &Rt) -> Result<(), String> {
    let both = [Bounds::Report, Bounds::Report];
    // Two entries, of four that the tile has.
    assert_eq!(offence(rt, &[2, 0], 1, both)?, None);
    let late = offence(rt, &[2, 5], 1, both)?.map(|offence| (offence.position, offence.index));
    assert_eq!(late, Some((11, 5)));
    Ok(())
}

#[cube(launch_unchecked)]
fn far(x: &[u32], start: &[i64], record: &[Atomic<u64>], out: &mut [u32]) {
    let cube = this_cube();
    let view = TileView::<u32, shape![4]>::of(x)
        .step([1])
        .report(Reporter::axes(record, 0u32));
    let tile = view.load_masked(&cube, Zero, start[0]);
    TileViewMut::<u32, shape![4]>::of(out).store(&cube, tile, 0);
}

fn reports_an_index_of_64_bits(rt: &Rt) -> Result<(), String> {
    let x = rt.put(&[1u32, 2, 3]);
    let largest = i64::MAX - 1;
    for (first, want) in [
        (-1, -1),
        (1, 3),
        ((1 << 40) + 5, (1 << 40) + 5),
        (-(1 << 40), -(1 << 40)),
        // Past what a record tells apart.
        (i64::MAX, largest),
    ] {
        let (start, out) = (rt.put(&[first]), rt.poisoned::<u32>(4));
        let report = Report::axes("far", &Device::of(&rt.client), &[3], &[None]);
        let report = report.map_err(|error| error.to_string())?;
        // SAFETY: the load is masked, the store covers `out`.
        unsafe {
            far::launch_unchecked(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                x.arg(),
                start.arg(),
                report.arg(),
                out.arg(),
            );
        }
        let found = report.read().map_err(|error| error.to_string())?;
        let found = found.map(|offence| (offence.index, offence.axis, offence.extent));
        assert_eq!(found, Some((i128::from(want), 0, 3)), "from {first}");
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn run_in_positions(x: &[u32], record: &[Atomic<u32>], out: &mut [u32]) {
    let cube = this_cube();
    let view = TileView::<u32, shape![4]>::of(x).report(Reporter::new(record, 0u32));
    let tile = view.load_masked(&cube, Zero, 0);
    TileViewMut::<u32, shape![4]>::of(out).store(&cube, tile, 0);
}

fn refuses_a_run_in_a_record_of_positions(rt: &Rt) {
    let (x, record, out) = (rt.put(&[0u32; 4]), rt.put(&[u32::MAX]), rt.put(&[0u32; 4]));
    // SAFETY: the kernel is refused.
    unsafe {
        run_in_positions::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            record.arg(),
            out.arg(),
        );
    }
    assert_refused(
        rt,
        &out,
        "girih: report: a record of positions in a list, for axis 0, which has no list",
    );
}

fn refuses_a_report_of_other_axes(rt: &Rt) {
    let refused = Report::axes("copied", &Device::of(&rt.client), &[3, 8], &[None]);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the lists of indices, under Bounds::Report, has shape [1]; copied needs [2]"
    );
}
