//! Every operation on every type that the device has it for, on every pair of edges, against the host.

use super::model::{Number, pairs};
use cubecl::prelude::*;
use girih::device::Device as Able;
use girih::memory::{AtomicAccess, Operation};
use girih::prelude::*;
use girih_testkit::{Rt, cases, check};
use half::f16;

cases! {
    updates_32_bit_integers,
    updates_64_bit_integers,
    updates_f32,
    updates_f64,
    updates_f16,
    updates_f32_in_bits_of_u32,
    updates_f64_in_bits_of_u64,
    compares_by_the_bits,
    counts_what_every_unit_adds,
    keeps_the_extremes_of_every_unit,
}

/// `old[i]` is what `cells[i]` held before it met `values[i]`.
#[cube(launch_unchecked)]
fn update<T: Numeric>(
    cells: &[Atomic<T>],
    values: &[T],
    old: &mut [T],
    #[comptime] operation: Operation,
) {
    if ABSOLUTE_POS < values.len() {
        let cell = cells[ABSOLUTE_POS].at::<Device>();
        old[ABSOLUTE_POS] = meet::<T>(cell, values[ABSOLUTE_POS], operation);
    }
}

/// The same, in memory that is declared as integers.
#[cube(launch_unchecked)]
fn update_bits<T: Numeric, U: Numeric>(
    cells: &[Atomic<U>],
    values: &[T],
    old: &mut [T],
    #[comptime] operation: Operation,
) {
    if ABSOLUTE_POS < values.len() {
        let cell = cells[ABSOLUTE_POS].at::<Device>().reinterpret::<T>();
        old[ABSOLUTE_POS] = meet::<T>(cell, values[ABSOLUTE_POS], operation);
    }
}

#[cube]
fn meet<T: Numeric>(cell: AtomicRef<T, Device>, value: T, #[comptime] operation: Operation) -> T {
    match comptime!(operation) {
        Operation::Load => cell.load::<Relaxed>(),
        Operation::Store => {
            let held = cell.load::<Relaxed>();
            cell.store::<Relaxed>(value);
            held
        }
        Operation::Add => cell.fetch_add::<Relaxed>(value),
        Operation::Sub => cell.fetch_sub::<Relaxed>(value),
        Operation::Mul => cell.fetch_mul::<Relaxed>(value),
        Operation::Min => cell.fetch_min::<Relaxed>(value),
        Operation::Max => cell.fetch_max::<Relaxed>(value),
        _ => cell.exchange::<Relaxed>(value),
    }
}

/// Bitwise operations, which only integers have.
#[cube(launch_unchecked)]
fn update_integer<T: Int>(
    cells: &[Atomic<T>],
    values: &[T],
    old: &mut [T],
    #[comptime] operation: Operation,
) {
    if ABSOLUTE_POS < values.len() {
        let cell = cells[ABSOLUTE_POS].at::<Device>();
        old[ABSOLUTE_POS] = match comptime!(operation) {
            Operation::And => cell.fetch_and::<Relaxed>(values[ABSOLUTE_POS]),
            Operation::Or => cell.fetch_or::<Relaxed>(values[ABSOLUTE_POS]),
            _ => cell.fetch_xor::<Relaxed>(values[ABSOLUTE_POS]),
        };
    }
}

const UPDATES: [Operation; 8] = [
    Operation::Load,
    Operation::Store,
    Operation::Exchange,
    Operation::Add,
    Operation::Sub,
    Operation::Mul,
    Operation::Min,
    Operation::Max,
];
const BITWISE: [Operation; 3] = [Operation::And, Operation::Or, Operation::Xor];

/// What the host says memory holds after the operation.
fn left<T: Number>(operation: Operation, held: &[T], values: &[T]) -> Vec<T> {
    let pairs = held.iter().zip(values);
    pairs
        .map(|(&held, &value)| match operation {
            Operation::Load => held,
            _ => T::apply(operation, held, value),
        })
        .collect()
}

/// Runs `launch` for each operation that the device has; that it has one at least is part of the test.
fn every<T: Number>(
    rt: &Rt,
    operations: &[Operation],
    access: impl Fn(Operation) -> AtomicAccess,
    launch: impl Fn(
        &girih_testkit::Buffer<T>,
        &girih_testkit::Buffer<T>,
        &girih_testkit::Buffer<T>,
        Operation,
    ),
) -> Result<(), String> {
    let device = Able::of(&rt.client);
    let (held, values) = pairs::<T>();
    for &operation in operations {
        let access = access(operation);
        if !device.has_atomic(&access) {
            let error = device
                .require_atomic("update", &access)
                .unwrap_err()
                .to_string();
            assert!(error.contains(&operation.to_string()), "{error}");
            continue;
        }
        let (cells, met) = (rt.put(&held), rt.put(&values));
        let old = rt.poisoned::<T>(held.len());
        launch(&cells, &met, &old, operation);
        let text = |error: String| format!("{access}: {error}");
        let read = |buffer| rt.read(buffer).map_err(|error| text(error.to_string()));
        check::same(&read(&old)?, &held).map_err(|error| text(format!("old value: {error}")))?;
        check::same(&read(&cells)?, &left(operation, &held, &values)).map_err(text)?;
    }
    Ok(())
}

fn native<T: Number>(rt: &Rt) -> Result<(), String> {
    let access = |operation| AtomicAccess::new(operation, T::cube_type());
    every::<T>(rt, &UPDATES, access, |cells, values, old, operation| {
        let count = rt.cubes_for(cells.len());
        // SAFETY: the buffers have one length, and each unit has its own element.
        unsafe {
            update::launch_unchecked::<T>(
                &rt.client,
                count,
                rt.cube_dim(),
                cells.arg(),
                values.arg(),
                old.arg(),
                operation,
            );
        }
    })
}

fn bitwise<T: Number + Int>(rt: &Rt) -> Result<(), String> {
    let access = |operation| AtomicAccess::new(operation, T::cube_type());
    every::<T>(rt, &BITWISE, access, |cells, values, old, operation| {
        let count = rt.cubes_for(cells.len());
        // SAFETY: the buffers have one length, and each unit has its own element.
        unsafe {
            update_integer::launch_unchecked::<T>(
                &rt.client,
                count,
                rt.cube_dim(),
                cells.arg(),
                values.arg(),
                old.arg(),
                operation,
            );
        }
    })
}

fn in_bits<T: Number, U: Number>(rt: &Rt) -> Result<(), String> {
    let access =
        |operation| AtomicAccess::new(operation, T::cube_type()).in_bits_of(U::cube_type());
    every::<T>(rt, &UPDATES, access, |cells, values, old, operation| {
        let count = rt.cubes_for(cells.len());
        // SAFETY: the buffers have one length, and each unit has its own element.
        unsafe {
            update_bits::launch_unchecked::<T, U>(
                &rt.client,
                count,
                rt.cube_dim(),
                cells.arg(),
                values.arg(),
                old.arg(),
                operation,
            );
        }
    })
}

fn updates_32_bit_integers(rt: &Rt) -> Result<(), String> {
    native::<i32>(rt)?;
    native::<u32>(rt)?;
    bitwise::<i32>(rt)?;
    bitwise::<u32>(rt)
}

fn updates_64_bit_integers(rt: &Rt) -> Result<(), String> {
    native::<i64>(rt)?;
    native::<u64>(rt)?;
    bitwise::<i64>(rt)?;
    bitwise::<u64>(rt)
}

fn updates_f32(rt: &Rt) -> Result<(), String> {
    native::<f32>(rt)
}

fn updates_f64(rt: &Rt) -> Result<(), String> {
    native::<f64>(rt)
}

fn updates_f16(rt: &Rt) -> Result<(), String> {
    native::<f16>(rt)
}

fn updates_f32_in_bits_of_u32(rt: &Rt) -> Result<(), String> {
    in_bits::<f32, u32>(rt)
}

fn updates_f64_in_bits_of_u64(rt: &Rt) -> Result<(), String> {
    in_bits::<f64, u64>(rt)
}

/// Exchanges where the memory is bit for bit as expected.
#[cube(launch_unchecked)]
fn compare_exchange(cells: &[Atomic<u32>], expected: &[u32], values: &[u32], old: &mut [u32]) {
    if ABSOLUTE_POS < values.len() {
        let cell = cells[ABSOLUTE_POS].at::<Device>();
        old[ABSOLUTE_POS] =
            cell.compare_exchange::<Relaxed>(expected[ABSOLUTE_POS], values[ABSOLUTE_POS]);
    }
}

fn compares_by_the_bits(rt: &Rt) -> Result<(), String> {
    let access = AtomicAccess::new(Operation::CompareExchange, u32::cube_type());
    let device = Able::of(&rt.client);
    let (held, values) = pairs::<u32>();
    let expected: Vec<u32> = held.iter().map(|held| held & !1).collect();
    let (cells, wanted) = (rt.put(&held), rt.put(&expected));
    let (met, old) = (rt.put(&values), rt.poisoned::<u32>(held.len()));
    // SAFETY: the buffers have one length, and each unit has its own element.
    unsafe {
        compare_exchange::launch_unchecked(
            &rt.client,
            rt.cubes_for(held.len()),
            rt.cube_dim(),
            cells.arg(),
            wanted.arg(),
            met.arg(),
            old.arg(),
        );
    }
    if !device.has_atomic(&access) {
        let error = rt.read(&old).expect_err("the device has none").to_string();
        assert!(error.contains(&format!("has no {access}")), "{error}");
        return Ok(());
    }
    let want: Vec<u32> = (0..held.len())
        .map(|at| {
            if held[at] == expected[at] {
                values[at]
            } else {
                held[at]
            }
        })
        .collect();
    check::same(&rt.read(&old).map_err(|error| error.to_string())?, &held)?;
    check::same(&rt.read(&cells).map_err(|error| error.to_string())?, &want)
}

/// Every unit of every cube meets one cell, `rounds` times, with the numbers from 1 on.
#[cube(launch_unchecked)]
fn crowd<T: Numeric>(cells: &[Atomic<T>], rounds: u32, #[comptime] operation: Operation) {
    let value = T::cast_from(ABSOLUTE_POS + 1);
    let cell = cells[0].at::<Device>();
    for _ in 0..rounds {
        meet::<T>(cell, value, operation);
    }
}

fn crowded<T: Number>(rt: &Rt, operation: Operation, first: T) -> Result<Option<T>, String> {
    let access = AtomicAccess::new(operation, T::cube_type());
    if !Able::of(&rt.client).has_atomic(&access) {
        return Ok(None);
    }
    let cells = rt.put(&[first]);
    // SAFETY: only the first cell is touched.
    unsafe {
        crowd::launch_unchecked::<T>(
            &rt.client,
            CubeCount::new_1d(16),
            rt.cube_dim(),
            cells.arg(),
            50,
            operation,
        );
    }
    let held = rt.read(&cells).map_err(|error| error.to_string())?;
    Ok(Some(held[0]))
}

/// The units of 16 cubes.
fn units(rt: &Rt) -> u64 {
    16 * u64::from(rt.cube_dim().num_elems())
}

fn counts_what_every_unit_adds(rt: &Rt) -> Result<(), String> {
    let units = units(rt);
    let sum = 50 * units * (units + 1) / 2;
    let small = sum < 1 << 24;
    assert_eq!(crowded::<u32>(rt, Operation::Add, 7)?, Some(7 + sum as u32));
    assert_eq!(
        crowded::<u32>(rt, Operation::Sub, 7)?,
        Some(7u32.wrapping_sub(sum as u32))
    );
    if let Some(got) = crowded::<u64>(rt, Operation::Add, u64::MAX)? {
        assert_eq!(got, sum - 1);
    }
    // Sums of integers are exact in f64, and in f32 while they are small.
    if let Some(got) = crowded::<f64>(rt, Operation::Add, 0.5)? {
        assert_eq!(got, sum as f64 + 0.5);
    }
    if let (Some(got), true) = (crowded::<f32>(rt, Operation::Add, 0.0)?, small) {
        assert_eq!(got, sum as f32);
    }
    Ok(())
}

fn keeps_the_extremes_of_every_unit(rt: &Rt) -> Result<(), String> {
    let units = units(rt);
    assert_eq!(crowded::<i32>(rt, Operation::Max, -5)?, Some(units as i32));
    assert_eq!(crowded::<i32>(rt, Operation::Min, 1 << 20)?, Some(1));
    if let Some(got) = crowded::<f32>(rt, Operation::Max, f32::NAN)? {
        assert_eq!(got, units as f32);
    }
    if let Some(got) = crowded::<f64>(rt, Operation::Min, f64::INFINITY)? {
        assert_eq!(got, 1.0);
    }
    Ok(())
}
