//! [`LastCube`]: the last one reads what every unit of every cube wrote.

use super::payload::{SECTOR, expected, read, touch, write};
use super::setting::{Fault, Setting};
use cubecl::prelude::*;
use girih::memory::blocks::{LastCube, Ordered, Orders, Unordered};
use girih::prelude::*;
use girih_testkit::{Buffer, check};

/// Units of a launch: what they write fits the cache next to a processor.
const MOST_UNITS: u32 = 2048;

/// Launches over the same cell.
const LAUNCHES: u32 = 3;

/// Each unit writes a sector; the last cube leaves the checksums of all of them, and counts itself.
#[cube(launch_unchecked)]
pub(crate) fn combine<O: Orders>(
    cell: &[Atomic<u32>],
    data: &[Atomic<u32>],
    sums: &mut [u32],
    last_cubes: &[Atomic<u32>],
    seed: u32,
) {
    for cube in 0..CUBE_COUNT as u32 {
        touch(data, cube * CUBE_DIM + UNIT_POS);
    }
    let own = ABSOLUTE_POS as u32;
    write(data, own, seed + own);
    if LastCube::<O>::with_orders(&cell[0]).arrive() {
        for cube in 0..CUBE_COUNT as u32 {
            // Of each cube another unit's.
            let sector = cube * CUBE_DIM + (UNIT_POS + 1u32) % CUBE_DIM;
            sums[sector as usize] = read(data, sector);
        }
        if UNIT_POS == 0 {
            last_cubes[0].at::<Device>().fetch_add::<Relaxed>(1u32);
        }
    }
}

/// Three launches over one cell. Gives the number of cubes.
pub fn round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    setting.launches += u64::from(LAUNCHES);
    let units = setting.units();
    let cubes = setting.cubes().min((MOST_UNITS / units).max(1));
    let seed = setting.draw();
    match setting.mutant {
        false => launches::<Ordered>(setting, cubes, units, seed),
        true => launches::<Unordered>(setting, cubes, units, seed),
    }?;
    Ok(u64::from(LAUNCHES * cubes))
}

fn launches<O: Orders>(
    setting: &Setting<'_>,
    cubes: u32,
    units: u32,
    seed: u32,
) -> Result<(), Fault> {
    let rt = setting.rt;
    let all = cubes * units;
    let (cell, last_cubes) = (setting.zeros(1), setting.zeros(1));
    let data = setting.zeros(all as usize * SECTOR);
    let outputs: Vec<(u32, Buffer<u32>)> = (0..LAUNCHES)
        .map(|launch| {
            let seed = seed.wrapping_add(launch.wrapping_mul(0x1234_5677));
            let sums = rt.poisoned::<u32>(all as usize);
            // SAFETY: `data` has a sector and `sums` an element for each unit.
            unsafe {
                combine::launch_unchecked::<O>(
                    &rt.client,
                    CubeCount::new_1d(cubes),
                    CubeDim::new_1d(units),
                    cell.arg(),
                    data.arg(),
                    sums.arg(),
                    last_cubes.arg(),
                    seed,
                );
            }
            (seed, sums)
        })
        .collect();
    for (seed, sums) in outputs {
        let want: Vec<u32> = (0..all)
            .map(|unit| expected(seed.wrapping_add(unit)))
            .collect();
        check::same(&rt.read(&sums)?, &want)?;
    }
    check::same(&rt.read(&last_cubes)?, &[LAUNCHES])?;
    check::same(&rt.read(&cell)?, &[0])?;
    Ok(())
}
