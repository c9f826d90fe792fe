//! Indices out of range under every policy.

use cubecl::prelude::*;
use girih::{prelude::*, view::Reporter};
use girih_testkit::{Error, Rt, cases, check::assert_same, needs};

use super::{ONE_CUBE, assert_refused};

cases! {
    follows_every_bounds_policy,
    keeps_the_smallest_offence,
    takes_the_extremes_of_32_bit_indices,
    takes_the_extremes_of_64_bit_indices needs [needs::I64, needs::U64],
    refuses_report_without_a_reporter,
}

#[cube(launch_unchecked)]
fn by_policy<I: Int>(x: &[u32], indices: &[I], out: &mut [u32], #[comptime] bounds: Bounds) {
    let cube = this_cube();
    let list = TileView::<I, shape![8]>::of(indices).load(&cube, 0);
    let view = GatherScatterView::<u32, shape![8], 0>::of(x).bounds(bounds);
    let tile = view.load_masked(&cube, comptime!(Pad(77u32)), &list);
    TileViewMut::<u32, shape![8]>::of(out).store(&cube, tile, 0);
}

fn under<I: Int + CubeElement>(
    rt: &Rt,
    x: &[u32],
    indices: [I; 8],
    bounds: Bounds,
) -> Result<Vec<u32>, Error> {
    let (x, list, out) = (rt.put(x), rt.put(&indices), rt.poisoned::<u32>(8));
    // SAFETY: the load is masked, the store covers `out`.
    unsafe {
        by_policy::launch_unchecked::<I>(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            list.arg(),
            out.arg(),
            bounds,
        );
    }
    rt.read(&out)
}

fn follows_every_bounds_policy(rt: &Rt) -> Result<(), Error> {
    let x = [10, 11, 12];
    let indices = [0i32, 2, 3, -1, -3, -4, i32::MAX, i32::MIN];
    let p = 77;
    assert_same(
        &under(rt, &x, indices, Bounds::Mask)?,
        &[10, 12, p, p, p, p, p, p],
    );
    assert_same(
        &under(rt, &x, indices, Bounds::Clamp)?,
        &[10, 12, 12, 10, 10, 10, 12, 10],
    );
    assert_same(
        &under(rt, &x, indices, Bounds::Wrap)?,
        &[10, 12, p, 12, 10, p, p, p],
    );
    Ok(())
}

fn takes_the_extremes_of_32_bit_indices(rt: &Rt) -> Result<(), Error> {
    let x: Vec<u32> = (0..200).collect();
    let p = 77;
    assert_same(
        &under(
            rt,
            &x,
            [0u32, 199, 200, u32::MAX, 1 << 31, 3, 4, 5],
            Bounds::Mask,
        )?,
        &[0, 199, p, p, p, 3, 4, 5],
    );
    assert_same(
        &under(
            rt,
            &x,
            [0i32, 199, 200, i32::MAX, i32::MIN, -1, -200, -201],
            Bounds::Wrap,
        )?,
        &[0, 199, p, p, p, 199, 0, p],
    );
    Ok(())
}

fn takes_the_extremes_of_64_bit_indices(rt: &Rt) -> Result<(), Error> {
    let x: Vec<u32> = (0..200).collect();
    let p = 77;
    assert_same(
        &under(
            rt,
            &x,
            [
                0i64,
                199,
                200,
                -1,
                i64::MAX,
                i64::MIN,
                1 << 32,
                (1 << 32) + 1,
            ],
            Bounds::Mask,
        )?,
        &[0, 199, p, p, p, p, p, p],
    );
    assert_same(
        &under(
            rt,
            &x,
            [
                -1i64,
                -200,
                -201,
                i64::MAX,
                i64::MIN,
                -(1 << 32),
                5,
                -(1 << 32) - 1,
            ],
            Bounds::Wrap,
        )?,
        &[199, 0, p, p, p, p, 5, p],
    );
    assert_same(
        &under(
            rt,
            &x,
            [0u64, 199, 200, u64::MAX, 1 << 32, 1 << 63, 7, 8],
            Bounds::Mask,
        )?,
        &[0, 199, p, p, p, p, 7, 8],
    );
    Ok(())
}

#[cube(launch_unchecked)]
fn reporting(x: &[u32], indices: &[i32], record: &[Atomic<u32>], out: &mut [u32]) {
    let cube = this_cube();
    let list = TileView::<i32, shape![8]>::of(indices).load(&cube, 0);
    let view = GatherScatterView::<u32, shape![8], 0>::of(x).report(Reporter::new(record, 100u32));
    let tile = view.load_masked(&cube, Zero, &list);
    TileViewMut::<u32, shape![8]>::of(out).store(&cube, tile, 0);
}

fn keeps_the_smallest_offence(rt: &Rt) -> Result<(), Error> {
    let x = rt.put(&[10u32, 11, 12]);
    for (indices, want) in [([0, 1, 2, 9, 1, -1, 0, 4], 103), ([0; 8], u32::MAX)] {
        let (list, record, out) = (rt.put(&indices), rt.put(&[u32::MAX]), rt.poisoned::<u32>(8));
        // SAFETY: the load is masked, the store covers `out`.
        unsafe {
            reporting::launch_unchecked(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                x.arg(),
                list.arg(),
                record.arg(),
                out.arg(),
            );
        }
        let in_range = |index: i32| {
            usize::try_from(index)
                .ok()
                .and_then(|index| [10, 11, 12].get(index).copied())
        };
        let values: Vec<u32> = indices.map(|index| in_range(index).unwrap_or(0)).into();
        assert_same(&rt.read(&out)?, &values);
        assert_same(&rt.read(&record)?, &[want]);
    }
    Ok(())
}

fn refuses_report_without_a_reporter(rt: &Rt) {
    let (x, list, out) = (rt.put(&[1u32]), rt.put(&[0i32; 8]), rt.put(&[0u32; 8]));
    // SAFETY: the kernel is refused.
    unsafe {
        by_policy::launch_unchecked::<i32>(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            list.arg(),
            out.arg(),
            Bounds::Report,
        );
    }
    assert_refused(
        rt,
        &out,
        "girih: GatherScatterView::bounds: Bounds::Report; call `report(reporter)`",
    );
}
