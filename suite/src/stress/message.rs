//! [`Message`]: a chain of cubes, and pairs of cubes that answer each other.

use super::payload::{SECTOR, expected, read, touch, write};
use super::setting::{Fault, Setting};
use cubecl::prelude::*;
use girih::memory::blocks::{Message, Ordered, Orders, TicketCounter, Unordered};
use girih::prelude::*;
use girih_testkit::check;

/// Cells from flag to flag: each lies on a cache line of its own.
const STRIDE: u32 = 32;

/// Units of a chain: what they write fits the cache next to a processor.
const MOST_UNITS: u32 = 2048;

/// A cube takes a ticket, waits for the cube with the one before, and writes what follows from what that wrote. A unit
/// reads what another unit wrote, and leaves its checksum.
#[cube(launch_unchecked)]
pub(crate) fn chain<O: Orders>(
    cells: &[Atomic<u32>],
    data: &[Atomic<u32>],
    sums: &mut [u32],
    gave_up: &[Atomic<u32>],
    seed: u32,
    patience: u32,
) {
    let ticket = shared::<Atomic<u32>>(1usize);
    if UNIT_POS == 0 {
        let taken = TicketCounter::<Device>::new(&cells[0]).take();
        ticket[0].at::<Cube>().store::<Relaxed>(taken);
    }
    sync_cube();
    let rank = ticket[0].at::<Cube>().load::<Relaxed>();
    let mut sum = seed;
    let mut arrived = true;
    if rank > 0u32 {
        let before = (rank - 1u32) * CUBE_DIM + (UNIT_POS + 1u32) % CUBE_DIM;
        touch(data, before);
        let message = Message::<Device, O>::with_orders(&cells[(rank * STRIDE) as usize]);
        arrived = message.wait_in_cube_at_most(1u32, patience);
        sum = read(data, before);
    }
    let own = rank * CUBE_DIM + UNIT_POS;
    sums[own as usize] = sum;
    write(data, own, sum + UNIT_POS);
    let message = Message::<Device, O>::with_orders(&cells[((rank + 1u32) * STRIDE) as usize]);
    message.publish_from_cube(1u32);
    if !arrived {
        gave_up[0].at::<Device>().fetch_add::<Relaxed>(1u32);
    }
}

/// Of each pair of cubes the first sends numbered messages from all of its units, and writes the next one when the
/// second, which leaves the checksums, has answered.
#[cube(launch_unchecked)]
pub(crate) fn converse<O: Orders>(
    cells: &[Atomic<u32>],
    data: &[Atomic<u32>],
    sums: &mut [u32],
    gave_up: &[Atomic<u32>],
    seed: u32,
    messages: u32,
    patience: u32,
) {
    let cube = CUBE_POS as u32;
    let pair = cube / 2u32;
    let sent = Message::<Device, O>::with_orders(&cells[(2u32 * pair * STRIDE) as usize]);
    let answered =
        Message::<Device, O>::with_orders(&cells[((2u32 * pair + 1u32) * STRIDE) as usize]);
    let first = pair * CUBE_DIM;
    let mut number = 1u32;
    let mut arrived = true;
    while arrived && number <= messages {
        let row = (pair * messages + number - 1u32) * CUBE_DIM;
        if cube == 2u32 * pair {
            write(data, first + UNIT_POS, seed + row + UNIT_POS);
            sent.publish_from_cube(number);
            arrived = answered.wait_in_cube_at_most(number, patience);
        } else {
            arrived = sent.wait_in_cube_at_most(number, patience);
            let other = (UNIT_POS + 1u32) % CUBE_DIM;
            sums[(row + other) as usize] = read(data, first + other);
            answered.publish_from_cube(number);
        }
        number += 1u32;
    }
    if !arrived {
        gave_up[0].at::<Device>().fetch_add::<Relaxed>(1u32);
    }
}

/// A chain, and conversations where cubes run at once. Gives the number of messages.
pub fn round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    let chained = chain_round(setting)?;
    match setting.machine.cubes_at_once {
        0 | 1 => Ok(chained),
        _ => Ok(chained + converse_round(setting)?),
    }
}

/// A chain of cubes, each of which has begun before its successors. Gives the number of messages.
pub fn chain_round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    setting.launches += 1;
    let units = setting.units();
    let cubes = setting.contending_cubes().min((MOST_UNITS / units).max(1));
    let seed = setting.draw();
    match setting.mutant {
        false => chained::<Ordered>(setting, cubes, units, seed),
        true => chained::<Unordered>(setting, cubes, units, seed),
    }?;
    Ok(cubes.into())
}

fn chained<O: Orders>(
    setting: &Setting<'_>,
    cubes: u32,
    units: u32,
    seed: u32,
) -> Result<(), Fault> {
    let rt = setting.rt;
    let all = (cubes * units) as usize;
    let cells = setting.zeros(((cubes + 1) * STRIDE) as usize);
    let (data, gave_up) = (setting.zeros(all * SECTOR), setting.zeros(1));
    let sums = rt.poisoned::<u32>(all);
    // SAFETY: there is a flag for each cube, and a sector and an element of `sums` for each unit.
    unsafe {
        chain::launch_unchecked::<O>(
            &rt.client,
            CubeCount::new_1d(cubes),
            CubeDim::new_1d(units),
            cells.arg(),
            data.arg(),
            sums.arg(),
            gave_up.arg(),
            seed,
            setting.patience(),
        );
    }
    setting.stuck(&gave_up)?;
    let mut want = vec![seed; all];
    for unit in units as usize..all {
        let position = unit as u32 % units;
        let other = (position + 1) % units;
        let before = want[unit - units as usize - position as usize + other as usize];
        want[unit] = expected(before.wrapping_add(other));
    }
    check::same(&rt.read(&sums)?, &want)?;
    Ok(())
}

/// Pairs of cubes that run at once. Gives the number of messages.
pub fn converse_round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    setting.launches += 1;
    let most = (setting.machine.cubes_at_once / 2).max(1);
    let (pairs, units) = (setting.between(1, most), setting.units());
    let (messages, seed) = (setting.between(2, 32), setting.draw());
    match setting.mutant {
        false => conversed::<Ordered>(setting, pairs, units, messages, seed),
        true => conversed::<Unordered>(setting, pairs, units, messages, seed),
    }?;
    Ok(u64::from(2 * pairs * messages))
}

fn conversed<O: Orders>(
    setting: &Setting<'_>,
    pairs: u32,
    units: u32,
    messages: u32,
    seed: u32,
) -> Result<(), Fault> {
    let rt = setting.rt;
    let cells = setting.zeros((2 * pairs * STRIDE) as usize);
    let (data, gave_up) = (
        setting.zeros((pairs * units) as usize * SECTOR),
        setting.zeros(1),
    );
    let all = pairs * messages * units;
    let sums = rt.poisoned::<u32>(all as usize);
    // SAFETY: there are two flags for each pair, a sector for each unit, and an element of `sums` for each message of it.
    unsafe {
        converse::launch_unchecked::<O>(
            &rt.client,
            CubeCount::new_1d(2 * pairs),
            CubeDim::new_1d(units),
            cells.arg(),
            data.arg(),
            sums.arg(),
            gave_up.arg(),
            seed,
            messages,
            setting.patience(),
        );
    }
    setting.stuck(&gave_up)?;
    let want: Vec<u32> = (0..all)
        .map(|row| expected(seed.wrapping_add(row)))
        .collect();
    check::same(&rt.read(&sums)?, &want)?;
    Ok(())
}
