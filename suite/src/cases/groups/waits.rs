//! Groups that wait for their units, and what nothing waits for.

use cubecl::prelude::*;
use girih::coop::{Sum, grid_scratch_len, reduce_grid};
use girih::device;
use girih::memory::{AtomicAccess, MemoryOrder, MemoryScope, Operation};
use girih::prelude::*;
use girih_testkit::{DeviceKind, Error, Rt, case::Need, cases, check::same};

use super::splits::{Compose, compose, mixed};

use super::parents::assert_refused;

cases! {
    refuses_several_cubes,
    refuses_what_nothing_waits_for,
    parts_of_a_cube_wait_for_each_other,
    the_last_cube_has_the_sum_of_the_grid needs [ORDERS],
}

/// An addition that hands on what the cube has written.
const ORDERS: Need = Need {
    what: "additions that acquire and release at the scope of the device",
    met: |rt| {
        let access = AtomicAccess::new(Operation::Add, u32::cube_type())
            .ordered(MemoryOrder::AcqRel, MemoryScope::Device);
        device::Device::of(&rt.client).has_atomic(&access)
    },
};

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
    let counts = (1..=units).filter(|count| units.is_multiple_of(*count));
    // One unit, lanes of a plane, the cube; whole planes where they have barriers.
    let waits = |count: &u32| {
        plane.is_multiple_of(*count) || *count == units || (named && count.is_multiple_of(plane))
    };
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

#[cube(launch_unchecked)]
fn all_of_the_grid(
    values: &[u32],
    wide: &[u64],
    scratch: &[Atomic<u32>],
    wide_scratch: &[Atomic<u32>],
    out: &mut [u64],
) {
    let (composed, is_last) = reduce_grid::<u32, Compose>(values[ABSOLUTE_POS], scratch);
    let (sum, has_sum) = reduce_grid::<u64, Sum>(wide[ABSOLUTE_POS], wide_scratch);
    if is_last && UNIT_POS + 1 == CUBE_DIM {
        out[0] = composed as u64;
    }
    if has_sum && UNIT_POS == 0 {
        out[1] = sum;
    }
}

fn the_last_cube_has_the_sum_of_the_grid(rt: &Rt) -> Result<(), Error> {
    let units = rt.units.min(64);
    for cubes in [1, 2, 7, 3 * units + 1] {
        let values: Vec<u32> = (0..cubes * units).map(|unit| mixed(unit) | 1).collect();
        let wide: Vec<u64> = values.iter().map(|value| u64::from(*value) << 30).collect();
        let scratch = rt.put(&vec![0u32; grid_scratch_len(cubes as usize, 4)]);
        let wide_scratch = rt.put(&vec![0u32; grid_scratch_len(cubes as usize, 8)]);
        let out = rt.poisoned::<u64>(2);
        // What is left in the scratch memory is as at the start.
        for _ in 0..2 {
            // SAFETY: each unit reads its own values; the scratch memories have a place for each cube; one unit writes
            // each result.
            unsafe {
                all_of_the_grid::launch_unchecked(
                    &rt.client,
                    CubeCount::new_1d(cubes),
                    CubeDim::new_1d(units),
                    rt.put(&values).arg(),
                    rt.put(&wide).arg(),
                    scratch.arg(),
                    wide_scratch.arg(),
                    out.arg(),
                );
            }
            let composed = values.iter().copied().reduce(compose).unwrap_or(0);
            let sum = wide
                .iter()
                .fold(0u64, |sum, value| sum.wrapping_add(*value));
            if let Err(difference) = same(&rt.read(&out)?, &[composed.into(), sum]) {
                panic!("{cubes} cubes of {units}: {difference}");
            }
        }
    }
    Ok(())
}
