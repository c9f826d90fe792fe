//! Which path a sort goes, and what it refuses.

use super::super::keys::{Values, values};
use super::{WAITS, expect, tensor, text};
use crate::stress;
use cubecl::prelude::*;
use girih::Error;
use girih_kernels::{SortOptions, SortPath, argsort, sort, sort_pairs, sort_path};
use girih_testkit::{DeviceKind, Rt, cases};

cases! {
    every_path_runs_as_asked,
    cubes_that_wait_hold_beside_other_kernels needs [WAITS],
    refusals,
}

/// The path of so many rows of so many keys.
fn path_of(rt: &Rt, shape: [usize; 2], path: Option<SortPath>) -> girih::Result<SortPath> {
    let options = SortOptions {
        path,
        ..SortOptions::default()
    };
    sort_path(&rt.client, u32::cube_type(), None, shape, &options)
}

fn every_path_runs_as_asked(rt: &Rt) -> Result<(), String> {
    let long = match rt.kind {
        DeviceKind::Cuda => SortPath::OneSweep,
        _ => SortPath::ThreeKernels,
    };
    let single = match rt.kind {
        DeviceKind::Cuda => SortPath::AtOnce,
        _ => long,
    };
    for (shape, want) in [
        ([1, 100], SortPath::OneCube),
        ([7, 100], SortPath::OneCube),
        ([1, 1 << 16], single),
        ([2, 1 << 16], long),
        ([1, 1 << 26], long),
    ] {
        let chosen = path_of(rt, shape, None).map_err(text)?;
        if chosen != want {
            return Err(format!("chose {chosen:?} for {shape:?}, not {want:?}"));
        }
    }
    match path_of(rt, [1, 1 << 20], Some(SortPath::ThreeKernels)) {
        Ok(SortPath::ThreeKernels) => {}
        other => return Err(format!("{other:?}")),
    }
    let waits = matches!(rt.kind, DeviceKind::Cuda | DeviceKind::Cpu);
    for path in [SortPath::OneSweep, SortPath::AtOnce] {
        match path_of(rt, [1, 1 << 20], Some(path)) {
            Ok(taken) if waits && taken == path => {}
            Err(error @ Error::Device { .. }) if !waits => {
                let text = error.to_string();
                let want = "has no cubes that go on while others wait for them; sort needs it";
                if !text.contains(want) {
                    return Err(text);
                }
            }
            other => return Err(format!("{other:?}")),
        }
    }
    expect(
        path_of(rt, [2, 1 << 16], Some(SortPath::AtOnce))
            .err()
            .map(text),
        "the rows sorted in one launch counts 2; sort takes up to 1",
    )
}

/// Several rounds while kernels on another stream come and go.
fn cubes_that_wait_hold_beside_other_kernels(rt: &Rt) -> Result<(), stress::Fault> {
    let others = stress::beside(rt, &stress::SORT, 2)?;
    assert!(others > 0, "no other kernel ran");
    Ok(())
}

fn refusals(rt: &Rt) -> Result<(), String> {
    let keys = tensor::<u32>(rt, &values(Values::Any, 60_000), &[60_000]);
    let with = |options: SortOptions| sort(&rt.client, &keys, 0, &options).err().map(text);
    let bits = |bits| {
        with(SortOptions {
            bits: Some(bits),
            ..SortOptions::default()
        })
    };
    expect(
        bits(0..33),
        "the end of the range of bits counts 33; sort takes up to 32",
    )?;
    #[allow(clippy::reversed_empty_ranges)]
    expect(
        bits(9..8),
        "the start of the range of bits counts 9; sort takes up to 8",
    )?;
    let one_cube = with(SortOptions {
        path: Some(SortPath::OneCube),
        ..SortOptions::default()
    });
    if !one_cube.as_ref().is_some_and(|text| {
        text.starts_with("the keys of a row sorted in one cube counts 60000; sort takes up to ")
    }) {
        return Err(format!("{one_cube:?}"));
    }
    let axis = sort(&rt.client, &keys, 1, &SortOptions::default());
    expect(
        axis.err().map(text),
        "axis 1 of keys, which has rank 1; sort needs an axis in 0..1",
    )?;
    let short = tensor::<u32>(rt, &[1, 2], &[2]);
    let pairs = sort_pairs(&rt.client, &keys, &short, 0, &SortOptions::default());
    expect(
        pairs.err().map(text),
        "payload has shape [2]; sort_pairs needs [60000]",
    )?;
    let places = argsort(
        &rt.client,
        &keys,
        0,
        f32::cube_type(),
        &SortOptions::default(),
    );
    expect(
        places.err().map(text),
        "index has elements of type f32; argsort needs i32, u32, i64 or u64",
    )
}
