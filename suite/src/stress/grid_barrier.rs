//! [`GridBarrier`]: cubes that write, meet, and read what another wrote, over and over.

use super::payload::{SECTOR, expected, read, write};
use super::setting::{Fault, Setting};
use cubecl::prelude::*;
use girih::memory::blocks::{GridBarrier, Ordered, Orders, Unordered};
use girih::prelude::*;
use girih_testkit::{Buffer, check};

/// Cells from the count to the generation: each lies on a cache line of its own.
const STRIDE: usize = 32;

/// Each unit writes a sector, reads another cube's after a barrier, and writes anew after one more.
#[cube(launch_unchecked)]
pub(crate) fn phases<O: Orders>(
    cells: &[Atomic<u32>],
    data: &[Atomic<u32>],
    sums: &mut [u32],
    gave_up: &[Atomic<u32>],
    seed: u32,
    rounds: u32,
    patience: u32,
) {
    let barrier = GridBarrier::<O>::with_orders(&cells[0], &cells[comptime!(STRIDE)]);
    let all = CUBE_COUNT as u32 * CUBE_DIM;
    let own = ABSOLUTE_POS as u32;
    let next_cube = (CUBE_POS as u32 + 1u32) % CUBE_COUNT as u32;
    let other = next_cube * CUBE_DIM + (UNIT_POS + 1u32) % CUBE_DIM;
    let mut complete = true;
    let mut round = 0u32;
    while complete && round < rounds {
        let row = round * all;
        write(data, own, seed + row + own);
        complete = barrier.sync_at_most(patience);
        sums[(row + other) as usize] = read(data, other);
        if complete {
            complete = barrier.sync_at_most(patience);
        }
        round += 1u32;
    }
    if !complete {
        gave_up[0].at::<Device>().fetch_add::<Relaxed>(1u32);
    }
}

/// Two launches over the same cells, of different grids. Gives the number of barriers that cubes came to.
pub fn round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    let cells = setting.zeros(STRIDE + 1);
    let mut meetings = 0;
    for _ in 0..2 {
        setting.launches += 1;
        let most = setting.machine.cubes_at_once;
        let (cubes, units) = (setting.between(most.min(2), most), setting.units());
        let (rounds, seed) = (setting.between(1, 16), setting.draw());
        let grid = [cubes, units, rounds];
        match setting.mutant {
            false => phased::<Ordered>(setting, &cells, grid, seed),
            true => phased::<Unordered>(setting, &cells, grid, seed),
        }?;
        meetings += u64::from(2 * cubes * rounds);
    }
    Ok(meetings)
}

fn phased<O: Orders>(
    setting: &Setting<'_>,
    cells: &Buffer<u32>,
    [cubes, units, rounds]: [u32; 3],
    seed: u32,
) -> Result<(), Fault> {
    let rt = setting.rt;
    let all = cubes * units;
    let (data, gave_up) = (setting.zeros(all as usize * SECTOR), setting.zeros(1));
    let sums = rt.poisoned::<u32>((all * rounds) as usize);
    // SAFETY: there is a sector for each unit, and an element of `sums` for each round of it.
    unsafe {
        phases::launch_unchecked::<O>(
            &rt.client,
            CubeCount::new_1d(cubes),
            CubeDim::new_1d(units),
            cells.arg(),
            data.arg(),
            sums.arg(),
            gave_up.arg(),
            seed,
            rounds,
            setting.patience(),
        );
    }
    setting.stuck(&gave_up)?;
    let want: Vec<u32> = (0..all * rounds)
        .map(|row| expected(seed.wrapping_add(row)))
        .collect();
    check::same(&rt.read(&sums)?, &want)?;
    Ok(())
}
