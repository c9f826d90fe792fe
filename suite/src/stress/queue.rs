//! [`BoundedQueue`]: every unit pushes records and pops what others pushed.

use super::payload::{SECTOR, expected, read, touch, write};
use super::setting::{Fault, Setting};
use cubecl::prelude::*;
use girih::memory::blocks::{BoundedQueue, Ordered, Orders, Unordered};
use girih::prelude::*;
use girih_testkit::check;

/// Records of a launch: they fit the cache next to a processor.
const MOST_RECORDS: u32 = 4096;

/// Each unit pushes its records, and pops one whenever it has tried to push; `noted` holds how often each record was
/// popped, and the checksum of what was found in it.
#[cube(launch_unchecked)]
pub(crate) fn exchange<O: Orders>(
    cells: &[Atomic<u32>],
    data: &[Atomic<u32>],
    noted: &[Atomic<u32>],
    capacity: u32,
    records: u32,
    seed: u32,
    patience: u32,
) {
    let queue = BoundedQueue::<O>::with_orders(cells, capacity);
    let all = records * CUBE_DIM * CUBE_COUNT as u32;
    let mut sector = UNIT_POS;
    while sector < all {
        touch(data, sector);
        sector += CUBE_DIM;
    }
    let mut pushed = 0u32;
    let mut left = patience;
    while pushed < records && left > 0u32 {
        let record = ABSOLUTE_POS as u32 * records + pushed;
        write(data, record, seed + record);
        pushed += u32::cast_from(queue.try_push(record));
        let got = queue.try_pop();
        if got.is_some {
            note(data, noted, got.value);
        }
        left -= 1u32;
    }
}

/// One unit pops what is left, and counts it.
#[cube(launch_unchecked)]
fn drain(
    cells: &[Atomic<u32>],
    data: &[Atomic<u32>],
    noted: &[Atomic<u32>],
    drained: &mut [u32],
    capacity: u32,
) {
    let queue = BoundedQueue::new(cells, capacity);
    let mut count = 0u32;
    let mut more = true;
    while more && count <= capacity {
        let got = queue.try_pop();
        more = got.is_some;
        if more {
            note(data, noted, got.value);
            count += 1u32;
        }
    }
    drained[0] = count;
}

#[cube]
fn note(data: &[Atomic<u32>], noted: &[Atomic<u32>], record: u32) {
    let sum = read(data, record);
    noted[record as usize * 2]
        .at::<Device>()
        .fetch_add::<Relaxed>(1u32);
    noted[record as usize * 2 + 1]
        .at::<Device>()
        .store::<Relaxed>(sum);
}

/// One queue, from empty to empty. Gives the number of records.
pub fn round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    setting.launches += 1;
    let units = setting.units();
    let cubes = setting
        .contending_cubes()
        .min((MOST_RECORDS / 2 / units).max(1));
    let records = setting.between(2, (MOST_RECORDS / (cubes * units)).clamp(2, 64));
    let load = Load {
        cubes,
        units,
        records,
        capacity: 1 << setting.between(1, 9),
        seed: setting.draw(),
    };
    match setting.mutant {
        false => exchanged::<Ordered>(setting, &load),
        true => exchanged::<Unordered>(setting, &load),
    }?;
    Ok(u64::from(cubes * units * records))
}

struct Load {
    cubes: u32,
    units: u32,
    records: u32,
    capacity: u32,
    seed: u32,
}

fn exchanged<O: Orders>(setting: &Setting<'_>, load: &Load) -> Result<(), Fault> {
    let rt = setting.rt;
    let all = (load.cubes * load.units * load.records) as usize;
    let cells = setting.zeros(BoundedQueue::cells(load.capacity).map_err(|e| e.to_string())?);
    let (data, noted) = (setting.zeros(all * SECTOR), setting.zeros(2 * all));
    let drained = rt.poisoned::<u32>(1);
    // SAFETY: the cells are those of the capacity; each record has a sector, a count and a checksum.
    unsafe {
        exchange::launch_unchecked::<O>(
            &rt.client,
            CubeCount::new_1d(load.cubes),
            CubeDim::new_1d(load.units),
            cells.arg(),
            data.arg(),
            noted.arg(),
            load.capacity,
            load.records,
            load.seed,
            setting.patience().min(1 << 20),
        );
        drain::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_single(),
            cells.arg(),
            data.arg(),
            noted.arg(),
            drained.arg(),
            load.capacity,
        );
    }
    let drained = rt.read(&drained)?[0];
    if drained > load.capacity {
        return Err(Fault::Broken(format!(
            "{drained} values were left in a queue of {}",
            load.capacity
        )));
    }
    let want: Vec<u32> = (0..all as u32)
        .flat_map(|record| [1, expected(load.seed.wrapping_add(record))])
        .collect();
    check::same(&rt.read(&noted)?, &want)?;
    Ok(())
}
