//! [`SpinLock`]: numbers that are not atomic, added to by every unit, one at a time.

use super::setting::{Fault, Setting};
use cubecl::prelude::*;
use girih::memory::blocks::{Ordered, Orders, SpinLock, Unordered};
use girih::prelude::*;
use girih_testkit::check;

/// Numbers that the lock guards.
const GUARDED: u32 = 6;

/// Cells from one to the next: each lies on a cache line of its own.
const STRIDE: u32 = 32;

/// Each unit adds its number, from 1, to each guarded cell, `rounds` times; `ran` counts its turns.
#[cube(launch_unchecked)]
pub(crate) fn contend<O: Orders>(
    lock: &[Atomic<u32>],
    data: &[Atomic<u32>],
    ran: &mut [u32],
    rounds: u32,
    patience: u32,
) {
    let lock = SpinLock::<Device, O>::with_orders(&lock[0]);
    let value = ABSOLUTE_POS as u32 + 1u32;
    let mut turns = 0u32;
    for _ in 0..rounds {
        let done = lock.with_at_most(patience, || {
            for number in 0..GUARDED {
                let at = (number * STRIDE) as usize;
                data[at].store_weak(data[at].load_weak() + value);
            }
        });
        turns += u32::cast_from(done);
    }
    ran[ABSOLUTE_POS] = turns;
}

/// The same in shared memory: each cube has a lock and a number of its own.
#[cube(launch_unchecked)]
pub(crate) fn contend_in_cube<O: Orders>(
    sums: &mut [u32],
    ran: &mut [u32],
    rounds: u32,
    patience: u32,
) {
    let cells = shared::<Atomic<u32>>(2usize);
    if UNIT_POS < 2 {
        cells[UNIT_POS as usize].at::<Cube>().store::<Relaxed>(0u32);
    }
    if CUBE_DIM < 2 {
        cells[1].at::<Cube>().store::<Relaxed>(0u32);
    }
    sync_cube();
    let lock = SpinLock::<Cube, O>::with_orders(&cells[0]);
    let mut turns = 0u32;
    for _ in 0..rounds {
        let done = lock.with_at_most(patience, || {
            cells[1].store_weak(cells[1].load_weak() + UNIT_POS + 1u32);
        });
        turns += u32::cast_from(done);
    }
    ran[ABSOLUTE_POS] = turns;
    sync_cube();
    if UNIT_POS == 0 {
        sums[CUBE_POS] = cells[1].load_weak();
    }
}

/// 1 to `units`, added `rounds` times.
fn sum_to(units: u32, rounds: u32) -> u32 {
    let (units, rounds) = (u64::from(units), u64::from(rounds));
    (units * (units + 1) / 2 * rounds) as u32
}

/// One lock for all units. Gives the number of critical sections.
pub fn round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    setting.launches += 1;
    let (cubes, units) = (setting.contending_cubes(), setting.units());
    let rounds = setting.between(1, 4);
    match setting.mutant {
        false => between_cubes::<Ordered>(setting, cubes, units, rounds),
        true => between_cubes::<Unordered>(setting, cubes, units, rounds),
    }?;
    Ok(u64::from(cubes * units * rounds))
}

/// A lock for each cube, in its shared memory. Gives the number of critical sections.
pub fn round_in_cubes(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    setting.launches += 1;
    let (cubes, units) = (setting.cubes(), setting.units());
    let rounds = setting.between(1, 16);
    match setting.mutant {
        false => in_cubes::<Ordered>(setting, cubes, units, rounds),
        true => in_cubes::<Unordered>(setting, cubes, units, rounds),
    }?;
    Ok(u64::from(cubes * units * rounds))
}

fn between_cubes<O: Orders>(
    setting: &Setting<'_>,
    cubes: u32,
    units: u32,
    rounds: u32,
) -> Result<(), Fault> {
    let rt = setting.rt;
    let all = cubes * units;
    let (lock, data) = (setting.zeros(1), setting.zeros((GUARDED * STRIDE) as usize));
    let ran = rt.poisoned::<u32>(all as usize);
    // SAFETY: `data` holds the guarded cells and `ran` has an element for each unit.
    unsafe {
        contend::launch_unchecked::<O>(
            &rt.client,
            CubeCount::new_1d(cubes),
            CubeDim::new_1d(units),
            lock.arg(),
            data.arg(),
            ran.arg(),
            rounds,
            setting.patience(),
        );
    }
    check::same(&rt.read(&ran)?, &vec![rounds; all as usize])?;
    let data = rt.read(&data)?;
    let guarded: Vec<u32> = data.into_iter().step_by(STRIDE as usize).collect();
    check::same(&guarded, &[sum_to(all, rounds); GUARDED as usize])?;
    check::same(&rt.read(&lock)?, &[0])?;
    Ok(())
}

fn in_cubes<O: Orders>(
    setting: &Setting<'_>,
    cubes: u32,
    units: u32,
    rounds: u32,
) -> Result<(), Fault> {
    let rt = setting.rt;
    let sums = rt.poisoned::<u32>(cubes as usize);
    let ran = rt.poisoned::<u32>((cubes * units) as usize);
    // SAFETY: `sums` has an element for each cube and `ran` one for each unit.
    unsafe {
        contend_in_cube::launch_unchecked::<O>(
            &rt.client,
            CubeCount::new_1d(cubes),
            CubeDim::new_1d(units),
            sums.arg(),
            ran.arg(),
            rounds,
            setting.patience(),
        );
    }
    check::same(&rt.read(&ran)?, &vec![rounds; ran.len()])?;
    check::same(
        &rt.read(&sums)?,
        &vec![sum_to(units, rounds); cubes as usize],
    )?;
    Ok(())
}
