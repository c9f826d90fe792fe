//! The machinery itself: a kernel that copies, one that cannot compile, one that writes where it should not.

use cubecl::prelude::*;
use girih_testkit::{Error, Rt, cases, check::assert_same, poison};

cases! {
    copies,
    copies_part,
    reports_a_kernel_that_cannot_compile,
    reports_a_write_past_the_end,
    reports_a_write_into_a_hole,
}

/// `destination[i] = source[i]` for each `i` below `count`.
#[cube(launch_unchecked)]
pub(super) fn copy<E: Numeric>(source: &[E], destination: &mut [E], count: u32) {
    if ABSOLUTE_POS < count as usize {
        destination[ABSOLUTE_POS] = source[ABSOLUTE_POS];
    }
}

fn copies(rt: &Rt) -> Result<(), Error> {
    let values: Vec<f32> = (0..1000).map(|i| i as f32 - 500.0).collect();
    let source = rt.put(&values);
    let destination = rt.poisoned(values.len());
    // SAFETY: both buffers hold `count` elements.
    unsafe {
        copy::launch_unchecked::<f32>(
            &rt.client,
            rt.cubes_for(values.len()),
            rt.cube_dim(),
            source.arg(),
            destination.arg(),
            1000,
        );
    }
    assert_same(&rt.read(&destination)?, &values);
    assert_same(&rt.read(&source)?, &values);
    Ok(())
}

fn copies_part(rt: &Rt) -> Result<(), Error> {
    let source = rt.put(&[1u32, 2, 3, 4]);
    let destination = rt.poisoned(4);
    // SAFETY: both buffers hold more than `count` elements.
    unsafe {
        copy::launch_unchecked::<u32>(
            &rt.client,
            rt.cubes_for(4),
            rt.cube_dim(),
            source.arg(),
            destination.arg(),
            3,
        );
    }
    assert_same(&rt.read(&destination)?, &[1, 2, 3, poison()]);
    Ok(())
}

#[cube(launch)]
fn cannot_compile(out: &mut [u32], #[comptime] refused: bool) {
    comptime!(assert!(!refused, "smoke: this kernel cannot be expanded"));
    out[ABSOLUTE_POS] = 0u32;
}

fn reports_a_kernel_that_cannot_compile(rt: &Rt) {
    let out = rt.poisoned::<u32>(1);
    cannot_compile::launch(
        &rt.client,
        rt.cubes_for(1),
        CubeDim::new_1d(1),
        out.arg(),
        true,
    );
    match rt.read(&out) {
        Err(Error::Kernel { reason, .. }) => {
            assert!(
                reason.contains("smoke: this kernel cannot be expanded"),
                "{reason}"
            );
        }
        other => panic!("the failure was not reported: {other:?}"),
    }
    // The device is as good as before.
    copies(rt).expect("a kernel after the failed one");
}

#[cube(launch_unchecked)]
fn write_at(out: &mut Tensor<u32>, position: u32) {
    out[position as usize] = 1u32;
}

fn reports_a_write_past_the_end(rt: &Rt) {
    let out = rt.poisoned_tensor::<u32>(&[4], &[1]);
    // SAFETY: the argument reaches into the guard row, so position 4 is inside the allocation.
    unsafe {
        write_at::launch_unchecked(
            &rt.client,
            rt.cubes_for(1),
            CubeDim::new_1d(1),
            out.arg_with_guard(),
            4,
        );
    }
    let expected = Error::Guard {
        kind: rt.kind,
        side: "after",
        offset: 1,
        bytes: 16,
    };
    assert_eq!(rt.read_tensor(&out), Err(expected));
}

fn reports_a_write_into_a_hole(rt: &Rt) {
    let out = rt.poisoned_tensor::<u32>(&[2, 2], &[3, 1]);
    // SAFETY: position 2 lies between the rows, inside the storage of 5 elements.
    unsafe {
        write_at::launch_unchecked(
            &rt.client,
            rt.cubes_for(1),
            CubeDim::new_1d(1),
            out.arg(),
            2,
        );
    }
    match rt.read_tensor(&out) {
        Err(Error::Hole { position: 2, .. }) => {}
        other => panic!("the write was not reported: {other:?}"),
    }
}
