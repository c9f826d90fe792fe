//! Groups that wait for their units, and what nothing waits for.

use cubecl::prelude::*;
use girih::coop::Sum;
use girih::prelude::*;
use girih_testkit::{DeviceKind, Error, Rt, cases, check::same};

use super::parents::assert_refused;

cases! {
    refuses_several_cubes,
    refuses_what_nothing_waits_for,
    parts_of_a_cube_wait_for_each_other,
}

#[cube(launch_unchecked)]
fn of_the_grid(out: &mut [u32]) {
    out[ABSOLUTE_POS] = this_grid().reduce::<u32, Sum>(1u32);
}

fn refuses_several_cubes(rt: &Rt) {
    let out = rt.poisoned::<u32>(2);
    // SAFETY: each of the two units writes its own element.
    unsafe {
        of_the_grid::launch_unchecked(
            &rt.client,
            CubeCount::new_1d(2),
            CubeDim::new_1d(1),
            out.arg(),
        );
    }
    let text = "girih: Group::reduce: a Grid of several cubes; groups of one cube are allowed";
    assert_refused(rt, &out, text);
}

#[cube(launch_unchecked)]
fn wait_for_the_grid(out: &mut [u32]) {
    this_grid().sync();
    out[ABSOLUTE_POS] = 1u32;
}

fn refuses_what_nothing_waits_for(rt: &Rt) {
    let out = rt.poisoned::<u32>(1);
    // SAFETY: the only unit writes the only element.
    unsafe {
        wait_for_the_grid::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_1d(1),
            out.arg(),
        );
    }
    let text = "girih: Group::sync: a Grid; CubeCL launches no cubes that are sure to run together";
    assert_refused(rt, &out, text);
}

/// Each unit writes to shared memory; after its group has waited, it reads what its mates wrote.
#[cube(launch_unchecked)]
fn relay(out: &mut [u32], #[comptime] count: u32, #[comptime] len: usize) {
    let group = this_cube().partition(group_by(count));
    let mut held = shared::<u32>(len);
    let first = UNIT_POS - group.unit_rank();
    for round in 0u32..8u32 {
        held[UNIT_POS as usize] = 100 * round + UNIT_POS;
        group.sync();
        let next = first + (group.unit_rank() + 1 + round) % count;
        out[(UNIT_POS * 8 + round) as usize] = held[next as usize];
        group.sync();
    }
}

fn parts_of_a_cube_wait_for_each_other(rt: &Rt) -> Result<(), Error> {
    let plane = rt.client.properties().hardware.plane_size_max;
    let units = plane * (rt.units / plane).min(4);
    let named = rt.kind == DeviceKind::Cuda;
    let counts = (1..=units).filter(|count| units % count == 0);
    // One unit, lanes of a plane, the cube; whole planes where they have barriers.
    let waits =
        |count: &u32| plane % count == 0 || *count == units || (named && count % plane == 0);
    for count in counts.filter(waits) {
        let out = rt.poisoned::<u32>(8 * units as usize);
        // SAFETY: each unit writes its own eight elements.
        unsafe {
            relay::launch_unchecked(
                &rt.client,
                CubeCount::new_single(),
                CubeDim::new_1d(units),
                out.arg(),
                count,
                units as usize,
            );
        }
        let right: Vec<u32> = (0..units)
            .flat_map(|unit| {
                let first = unit / count * count;
                (0..8).map(move |round| 100 * round + first + (unit % count + 1 + round) % count)
            })
            .collect();
        if let Err(difference) = same(&rt.read(&out)?, &right) {
            panic!("groups of {count}: {difference}");
        }
    }
    Ok(())
}
