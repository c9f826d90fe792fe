//! What launchers say that they would do, against what they are given.

use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih_kernels::{Error, ScatterMode, ScatterPath, explain_gather, explain_scatter, gather};
use girih_testkit::{Rt, cases};

cases! {
    plans_move_as_much_as_rows_allow,
    plans_tell_what_is_copied_first,
    plans_of_scatters_follow_the_atomics,
    plans_refuse_what_launchers_refuse,
}

/// A tensor of those strides over memory that is large enough.
fn tensor(rt: &Rt, shape: &[usize], strides: &[usize]) -> TensorHandle {
    let bytes = 4 * girih_testkit::buffer::storage_len(shape, strides);
    TensorHandle::new(
        rt.client.empty(bytes.max(4)),
        shape.to_vec(),
        strides.to_vec(),
        f32::elem_type_native(),
    )
}

fn list(rt: &Rt, len: usize) -> TensorHandle {
    let zeros = rt.client.create_from_slice(&vec![0; 4 * len]);
    TensorHandle::new_contiguous(vec![len], zeros, i32::elem_type_native())
}

fn plans_move_as_much_as_rows_allow(rt: &Rt) -> Result<(), Error> {
    let widest = Device::of(&rt.client).vector_widths(4)[0];
    // Rows, the distance from one to the next, and the widest access that both have room for.
    for (row, apart) in [(64, 64), (64, 72), (62, 62), (63, 63), (64, 65), (1, 1)] {
        let table = tensor(rt, &[1000, row], &[apart, 1]);
        let plan = explain_gather(&rt.client, &table, &list(rt, 500), 0)?;
        let common = (1..=widest).rev().find(|width| {
            width.is_power_of_two() && row.is_multiple_of(*width) && apart.is_multiple_of(*width)
        });
        assert_eq!(Some(plan.width), common, "rows of {row}, {apart} apart");
        assert_eq!(plan.bytes_ideal, (2 * 500 * row * 4 + 500 * 4) as u64);
        assert!(plan.bytes_moved >= plan.bytes_ideal);
        // The tiles cover the slices, and a unit's accesses its share of a tile.
        let tile: usize = plan.tile.iter().product();
        assert!(plan.cubes as usize * tile >= 500 * row);
        assert!(plan.packets * plan.width * plan.units as usize >= tile);
        assert_eq!((plan.axes, plan.copies), (3, false));
        let text = plan.to_string();
        assert!(text.starts_with("gather of f32\n  vector width"), "{text}");
        assert!(
            text.contains(&format!("of {} at least", plan.bytes_ideal)),
            "{text}"
        );
    }
    Ok(())
}

fn plans_tell_what_is_copied_first(rt: &Rt) -> Result<(), Error> {
    // Three axes behind the gathered one that do not fold: what a kernel has no axes for.
    let table = tensor(rt, &[4, 3, 2, 5], &[1, 100, 400, 1000]);
    let plan = explain_gather(&rt.client, &table, &list(rt, 6), 0)?;
    assert!(plan.copies);
    // Two of them are walked as they are.
    let table = tensor(rt, &[4, 3, 5], &[15, 50, 1000]);
    let plan = explain_gather(&rt.client, &table, &list(rt, 6), 0)?;
    assert_eq!((plan.copies, plan.axes), (false, 5));
    Ok(())
}

fn plans_of_scatters_follow_the_atomics(rt: &Rt) -> Result<(), Error> {
    let target = tensor(rt, &[100, 64], &[64, 1]);
    let updates = tensor(rt, &[30, 64], &[64, 1]);
    let plan = |mode| {
        explain_scatter(
            &rt.client,
            &target,
            &list(rt, 30),
            &updates,
            0,
            mode,
            girih::Bounds::Mask,
        )
    };
    let device = Device::of(&rt.client);
    assert_eq!(plan(ScatterMode::Set)?.width, device.vector_widths(4)[0]);
    let adds = |width: &usize| device.adds_atomically(f32::elem_type_native(), *width);
    match [8, 4, 2, 1].into_iter().find(adds) {
        Some(width) => assert_eq!(plan(ScatterMode::Add)?.width, width),
        // What cannot be added atomically is sorted, and moved in whole accesses.
        None => {
            let plan = plan(ScatterMode::Add)?;
            assert_eq!(plan.path, Some(ScatterPath::Sorted));
            assert_eq!(plan.width, device.vector_widths(4)[0]);
        }
    }
    Ok(())
}

fn plans_refuse_what_launchers_refuse(rt: &Rt) -> Result<(), Error> {
    let table = tensor(rt, &[100, 64], &[64, 1]);
    let asked = explain_gather(&rt.client, &table, &list(rt, 3), 2)
        .unwrap_err()
        .to_string();
    let launched = gather(&rt.client, &table, &list(rt, 3), 2, girih::Bounds::Mask);
    assert_eq!(asked, launched.unwrap_err().to_string());
    let overlapping = tensor(rt, &[100, 64], &[0, 1]);
    let updates = tensor(rt, &[3, 64], &[64, 1]);
    let refused = explain_scatter(
        &rt.client,
        &overlapping,
        &list(rt, 3),
        &updates,
        0,
        ScatterMode::Set,
        girih::Bounds::Mask,
    );
    assert!(matches!(refused, Err(Error::Overlap { .. })), "{refused:?}");
    // Nothing to gather is no work.
    let plan = explain_gather(&rt.client, &table, &list(rt, 0), 0)?;
    assert_eq!((plan.cubes, plan.bytes_ideal, plan.bytes_moved), (0, 0, 0));
    Ok(())
}
