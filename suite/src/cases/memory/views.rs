//! Views over atomics: each access against the host, with indices out of range and indices that come twice.

use super::model::Number;
use cubecl::prelude::*;
use girih::device::Device as Able;
use girih::memory::{AtomicAccess, Operation};
use girih::prelude::*;
use girih_testkit::{Error, Rt, cases, check::assert_same};

cases! {
    fetches_what_memory_held,
    fetches_within_bounds_without_a_mask,
    fetches_along_the_last_axis,
    fetches_bitwise,
    combines_indices_that_come_twice,
    stores_and_loads_in_order,
    holds_more_packets_than_are_unrolled_elsewhere,
}

pub(super) const ROWS: usize = 6;
pub(super) const COLUMNS: usize = 8;
pub(super) const ONE_CUBE: CubeCount = CubeCount::Static(1, 1, 1);

/// Four rows of memory meet the four of a tile; `old` is what they held.
#[cube(launch_unchecked)]
fn fetch<E: Numeric>(
    memory: &Tensor<Atomic<E>>,
    index: &[i32],
    tile: &Tensor<E>,
    old: &mut Tensor<E>,
    #[comptime] operation: Operation,
    #[comptime] masked: bool,
) {
    let cube = this_cube();
    let view = AtomicGatherScatterView::<E, shape![4, 8], 0>::of(memory);
    let rows = TileView::<i32, shape![4]>::of(index).load(&cube, 0);
    let tile = TileView::<E, shape![4, 8]>::of(tile).load(&cube, (0, 0));
    let held = if comptime!(masked) {
        match comptime!(operation) {
            Operation::Load => view.atomic_load_masked::<Relaxed>(&cube, Zero, (&rows, 0)),
            Operation::Add => view.fetch_add_masked::<Relaxed>(&cube, tile, (&rows, 0)),
            Operation::Sub => view.fetch_sub_masked::<Relaxed>(&cube, tile, (&rows, 0)),
            Operation::Mul => view.fetch_mul_masked::<Relaxed>(&cube, tile, (&rows, 0)),
            Operation::Min => view.fetch_min_masked::<Relaxed>(&cube, tile, (&rows, 0)),
            Operation::Max => view.fetch_max_masked::<Relaxed>(&cube, tile, (&rows, 0)),
            _ => view.exchange_masked::<Relaxed>(&cube, tile, (&rows, 0)),
        }
    } else {
        match comptime!(operation) {
            Operation::Load => view.atomic_load::<Relaxed>(&cube, (&rows, 0)),
            Operation::Add => view.fetch_add::<Relaxed>(&cube, tile, (&rows, 0)),
            Operation::Sub => view.fetch_sub::<Relaxed>(&cube, tile, (&rows, 0)),
            Operation::Mul => view.fetch_mul::<Relaxed>(&cube, tile, (&rows, 0)),
            Operation::Min => view.fetch_min::<Relaxed>(&cube, tile, (&rows, 0)),
            Operation::Max => view.fetch_max::<Relaxed>(&cube, tile, (&rows, 0)),
            _ => view.exchange::<Relaxed>(&cube, tile, (&rows, 0)),
        }
    };
    TileViewMut::<E, shape![4, 8]>::of(old).store(&cube, held, (0, 0));
}

const FETCHES: [Operation; 7] = [
    Operation::Load,
    Operation::Exchange,
    Operation::Add,
    Operation::Sub,
    Operation::Mul,
    Operation::Min,
    Operation::Max,
];

/// Values of the type in turn, from the given one on.
fn values<T: Number>(first: usize, count: usize) -> Vec<T> {
    let values = T::values().into_iter().cycle();
    values.skip(first).take(count).collect()
}

/// The device has the operation on the type; otherwise the case has nothing to ask of it.
fn has<T: Number>(rt: &Rt, operation: Operation) -> bool {
    Able::of(&rt.client).has_atomic(&AtomicAccess::new(operation, T::cube_type()))
}

fn left<T: Number>(operation: Operation, held: T, value: T) -> T {
    match operation {
        Operation::Load => held,
        _ => T::apply(operation, held, value),
    }
}

fn check_fetches<T: Number + Default>(rt: &Rt, index: [i32; 4], masked: bool) -> Result<(), Error> {
    for operation in FETCHES
        .into_iter()
        .filter(|&operation| has::<T>(rt, operation))
    {
        let memory: Vec<T> = values(0, ROWS * COLUMNS);
        let tile: Vec<T> = values(3, 4 * COLUMNS);
        let target = rt.put_tensor(&memory, &[ROWS, COLUMNS]);
        let old = rt.poisoned_tensor::<T>(&[4, COLUMNS], &[COLUMNS, 1]);
        let (list, updates) = (rt.put(&index), rt.put_tensor(&tile, &[4, COLUMNS]));
        // SAFETY: the accesses are masked, or every index is in range; the store covers `old`.
        unsafe {
            fetch::launch_unchecked::<T>(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                target.arg(),
                list.arg(),
                updates.arg(),
                old.arg(),
                operation,
                masked,
            );
        }
        let (mut want_old, mut want) = (vec![], memory.clone());
        for (row, &at) in index.iter().enumerate() {
            for column in 0..COLUMNS {
                let place = usize::try_from(at).ok().filter(|&at| at < ROWS);
                let place = place.map(|at| at * COLUMNS + column);
                want_old.push(place.map_or(T::default(), |place| memory[place]));
                if let Some(place) = place {
                    want[place] = left(operation, memory[place], tile[row * COLUMNS + column]);
                }
            }
        }
        assert_same(&rt.read_tensor(&old)?, &want_old);
        assert_same(&rt.read_tensor(&target)?, &want);
    }
    Ok(())
}

fn fetches_what_memory_held(rt: &Rt) -> Result<(), Error> {
    let index = [5, -1, 6, 2];
    check_fetches::<u32>(rt, index, true)?;
    check_fetches::<i32>(rt, index, true)?;
    check_fetches::<f32>(rt, index, true)?;
    check_fetches::<i64>(rt, index, true)
}

fn fetches_within_bounds_without_a_mask(rt: &Rt) -> Result<(), Error> {
    check_fetches::<u32>(rt, [3, 0, 5, 1], false)?;
    check_fetches::<f32>(rt, [3, 0, 5, 1], false)
}

/// Columns are gathered, and the tile is spread over few units.
#[cube(launch_unchecked)]
fn fetch_columns(memory: &Tensor<Atomic<u32>>, index: &[i32], old: &mut Tensor<u32>) {
    let cube = this_cube();
    let view = AtomicGatherScatterView::<u32, shape![6, 3], 1>::of(memory);
    let columns = TileView::<i32, shape![3]>::of(index).load(&cube, 0);
    let ones = Tile::<u32, shape![6, 3]>::full(1u32);
    let held = view
        .at::<Cube>()
        .fetch_add_masked::<AcqRel>(&cube, ones, (0, &columns));
    TileViewMut::<u32, shape![6, 3]>::of(old).store(&cube, held, (0, 0));
}

fn fetches_along_the_last_axis(rt: &Rt) -> Result<(), Error> {
    let memory: Vec<u32> = (0..48).collect();
    let target = rt.put_tensor(&memory, &[ROWS, COLUMNS]);
    let old = rt.poisoned_tensor::<u32>(&[6, 3], &[3, 1]);
    let index = rt.put(&[7, 8, 0]);
    // SAFETY: the accesses are masked, the store covers `old`.
    unsafe {
        fetch_columns::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            target.arg(),
            index.arg(),
            old.arg(),
        );
    }
    if !Able::of(&rt.client).has_atomic(
        &AtomicAccess::new(Operation::Add, u32::cube_type()).ordered(
            girih::memory::MemoryOrder::AcqRel,
            girih::memory::MemoryScope::Cube,
        ),
    ) {
        let error = rt
            .read_tensor(&old)
            .expect_err("the device has no such order");
        assert!(
            error.to_string().contains("of order AcqRel at scope Cube"),
            "{error}"
        );
        return Ok(());
    }
    let rows = 0..ROWS as u32;
    let want_old: Vec<u32> = rows.flat_map(|row| [8 * row + 7, 0, 8 * row]).collect();
    let want: Vec<u32> = memory
        .iter()
        .map(|&at| at + u32::from(at % 8 == 0 || at % 8 == 7))
        .collect();
    assert_same(&rt.read_tensor(&old)?, &want_old);
    assert_same(&rt.read_tensor(&target)?, &want);
    Ok(())
}

/// The three bitwise operations in turn.
#[cube(launch_unchecked)]
fn bitwise(memory: &Tensor<Atomic<u32>>, index: &[i32], old: &mut Tensor<u32>) {
    let unit = this_unit();
    let view = AtomicGatherScatterView::<u32, shape![2, 8], 0>::of(memory);
    let rows = TileView::<i32, shape![2]>::of(index).load(&unit, 0);
    let bits = Tile::<u32, shape![2, 8]>::full(12u32);
    view.atomic_and_masked::<Relaxed>(&unit, bits, (&rows, 0));
    let bits = Tile::<u32, shape![2, 8]>::full(3u32);
    view.atomic_or_masked::<Relaxed>(&unit, bits, (&rows, 0));
    let bits = Tile::<u32, shape![2, 8]>::full(5u32);
    let held = view.fetch_xor_masked::<Relaxed>(&unit, bits, (&rows, 0));
    TileViewMut::<u32, shape![2, 8]>::of(old).store(&unit, held, (0, 0));
}

fn fetches_bitwise(rt: &Rt) -> Result<(), Error> {
    let memory: Vec<u32> = (0..48).collect();
    let target = rt.put_tensor(&memory, &[ROWS, COLUMNS]);
    let old = rt.poisoned_tensor::<u32>(&[2, 8], &[8, 1]);
    let index = rt.put(&[4, 1]);
    // SAFETY: the accesses are masked, the store covers `old`; the cube has one unit.
    unsafe {
        bitwise::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            CubeDim::new_single(),
            target.arg(),
            index.arg(),
            old.arg(),
        );
    }
    let met = |value: u32| (value & 12) | 3;
    let want_old: Vec<u32> = (32..40).chain(8..16).map(met).collect();
    let want: Vec<u32> = memory
        .iter()
        .map(|&value| match value {
            32..40 | 8..16 => met(value) ^ 5,
            _ => value,
        })
        .collect();
    assert_same(&rt.read_tensor(&old)?, &want_old);
    assert_same(&rt.read_tensor(&target)?, &want);
    Ok(())
}

/// Every row of the tile may go to one row of memory.
#[cube(launch_unchecked)]
fn combine<E: Numeric>(
    memory: &Tensor<Atomic<E>>,
    index: &[i32],
    tile: &Tensor<E>,
    #[comptime] operation: Operation,
) {
    let cube = this_cube();
    let view = AtomicGatherScatterView::<E, shape![4, 8], 0>::of(memory);
    let rows = TileView::<i32, shape![4]>::of(index).load(&cube, 0);
    let tile = TileView::<E, shape![4, 8]>::of(tile).load(&cube, (0, 0));
    match comptime!(operation) {
        Operation::Add => {
            view.atomic_add_masked::<Relaxed>(&cube, tile, (&rows, 0));
        }
        Operation::Sub => {
            view.atomic_sub_masked::<Relaxed>(&cube, tile, (&rows, 0));
        }
        Operation::Mul => {
            view.atomic_mul_masked::<Relaxed>(&cube, tile, (&rows, 0));
        }
        Operation::Min => {
            view.atomic_min_masked::<Relaxed>(&cube, tile, (&rows, 0));
        }
        _ => {
            view.atomic_max_masked::<Relaxed>(&cube, tile, (&rows, 0));
        }
    }
}

fn combines_indices_that_come_twice(rt: &Rt) -> Result<(), Error> {
    const OPERATIONS: [Operation; 5] = [
        Operation::Add,
        Operation::Sub,
        Operation::Mul,
        Operation::Min,
        Operation::Max,
    ];
    let index = [2, 2, 7, 2];
    for operation in OPERATIONS
        .into_iter()
        .filter(|&operation| has::<i32>(rt, operation))
    {
        let memory: Vec<i32> = (0..48).map(|at| at - 20).collect();
        let tile: Vec<i32> = (0..32).map(|at| 3 * at - 40).collect();
        let target = rt.put_tensor(&memory, &[ROWS, COLUMNS]);
        let (list, updates) = (rt.put(&index), rt.put_tensor(&tile, &[4, COLUMNS]));
        // SAFETY: the accesses are masked.
        unsafe {
            combine::launch_unchecked::<i32>(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                target.arg(),
                list.arg(),
                updates.arg(),
                operation,
            );
        }
        let mut want = memory.clone();
        for row in [0, 1, 3] {
            for column in 0..COLUMNS {
                let place = 2 * COLUMNS + column;
                want[place] = i32::apply(operation, want[place], tile[row * COLUMNS + column]);
            }
        }
        assert_same(&rt.read_tensor(&target)?, &want);
    }
    Ok(())
}

/// Stores a tile, then loads it back.
#[cube(launch_unchecked)]
fn store_and_load(memory: &Tensor<Atomic<u32>>, index: &[i32], out: &mut Tensor<u32>) {
    let unit = this_unit();
    let view = AtomicGatherScatterView::<u32, shape![2, 8], 0>::of(memory);
    let rows = TileView::<i32, shape![2]>::of(index).load(&unit, 0);
    let numbers = Tile::<u32, shape![2, 8]>::iota();
    view.atomic_store_masked::<Release>(&unit, numbers, (&rows, 0));
    let back = view.atomic_load_masked::<Acquire>(&unit, comptime!(Pad(9u32)), (&rows, 0));
    TileViewMut::<u32, shape![2, 8]>::of(out).store(&unit, back, (0, 0));
}

fn stores_and_loads_in_order(rt: &Rt) -> Result<(), Error> {
    let target = rt.put_tensor(&[1u32; 48], &[ROWS, COLUMNS]);
    let out = rt.poisoned_tensor::<u32>(&[2, 8], &[8, 1]);
    let index = rt.put(&[5, 100]);
    // SAFETY: the accesses are masked, the store covers `out`; the cube has one unit.
    unsafe {
        store_and_load::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            CubeDim::new_single(),
            target.arg(),
            index.arg(),
            out.arg(),
        );
    }
    let release = AtomicAccess::new(Operation::Store, u32::cube_type()).ordered(
        girih::memory::MemoryOrder::Release,
        girih::memory::MemoryScope::Device,
    );
    if !Able::of(&rt.client).has_atomic(&release) {
        let error = rt
            .read_tensor(&out)
            .expect_err("the device has no such order");
        assert!(error.to_string().contains(&release.to_string()), "{error}");
        return Ok(());
    }
    let rows = (0..8).chain([9; 8]);
    assert_same(&rt.read_tensor(&out)?, &rows.collect::<Vec<u32>>());
    let want = [1; 40].into_iter().chain(0..8);
    assert_same(&rt.read_tensor(&target)?, &want.collect::<Vec<u32>>());
    Ok(())
}

/// One unit holds the whole tile: 12 packets.
#[cube(launch_unchecked)]
fn many_packets(memory: &Tensor<Atomic<u32>>, index: &[i32], out: &mut Tensor<u32>) {
    let unit = this_unit();
    let view = AtomicGatherScatterView::<u32, shape![2, 6], 0>::of(memory);
    let rows = TileView::<i32, shape![2]>::of(index).load(&unit, 0);
    let tile = Tile::<u32, shape![2, 6]>::full(100u32);
    let held = view.fetch_add_masked::<Relaxed>(&unit, tile, (&rows, 1));
    TileViewMut::<u32, shape![2, 6]>::of(out).store(&unit, held, (0, 0));
}

fn holds_more_packets_than_are_unrolled_elsewhere(rt: &Rt) -> Result<(), Error> {
    let memory: Vec<u32> = (0..48).collect();
    let target = rt.put_tensor(&memory, &[ROWS, COLUMNS]);
    let out = rt.poisoned_tensor::<u32>(&[2, 6], &[6, 1]);
    let index = rt.put(&[3, 1]);
    // SAFETY: the accesses are masked, the store covers `out`; the cube has one unit.
    unsafe {
        many_packets::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            CubeDim::new_single(),
            target.arg(),
            index.arg(),
            out.arg(),
        );
    }
    let want: Vec<u32> = (25..31).chain(9..15).collect();
    assert_same(&rt.read_tensor(&out)?, &want);
    Ok(())
}
