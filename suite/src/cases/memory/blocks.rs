//! The building blocks: what each promises under a light load, its edges one by one, and its refusals.

use crate::stress::{self, BLOCKS, Machine, Setting};
use cubecl::prelude::*;
use girih::Error;
use girih::device::{Device as Able, Target};
use girih::memory::blocks::{BoundedQueue, GridBarrier, Message, SpinLock, TicketCounter};
use girih::prelude::*;
use girih_testkit::{Rt, case::Need, cases, check::assert_same};

cases! {
    a_lock_loses_no_update needs [ORDERS],
    a_lock_in_shared_memory_loses_no_update needs [ORDERS],
    every_ticket_has_one_owner,
    the_last_cube_sees_what_all_wrote needs [ORDERS],
    a_message_is_seen_along_a_chain needs [ORDERS, WAITS],
    a_message_is_seen_and_answered needs [ORDERS, CUBES_AT_ONCE],
    a_grid_barrier_parts_the_phases needs [ORDERS, CUBES_AT_ONCE],
    a_grid_barrier_of_one_cube_is_a_barrier needs [ORDERS],
    every_record_leaves_the_queue_once needs [ORDERS],
    a_lock_is_held_by_one_and_given_up_on needs [ORDERS],
    message_numbers_wrap needs [ORDERS],
    a_barrier_that_is_not_met_is_given_up_on needs [ORDERS],
    a_queue_is_first_in_first_out needs [ORDERS],
    a_capacity_is_a_power_of_two,
    is_refused_where_orders_are_missing,
    grids_are_limited_to_what_runs_at_once needs [ORDERS],
}

/// Acquire and release, without which only the counter works.
const ORDERS: Need = Need {
    what: "acquire and release",
    met: |rt| Message::<Device>::require(&Able::of(&rt.client)).is_ok(),
};

/// Loops that last as long as their condition says.
const WAITS: Need = Need {
    what: "loops without an end of their own",
    met: |rt| Machine::of(rt).waits,
};

/// Cubes that can wait for each other whatever their order.
const CUBES_AT_ONCE: Need = Need {
    what: "cubes that run at once",
    met: |rt| Machine::of(rt).cubes_at_once > 1,
};

/// A few rounds of a block's stress.
fn holds(rt: &Rt, name: &str) -> Result<(), stress::Fault> {
    let block = BLOCKS.iter().find(|block| block.name == name);
    let block = block.expect("a block of that name");
    let mut setting = Setting::light(rt);
    for _ in 0..3 {
        let operations = (block.round)(&mut setting)?;
        assert!(operations > 0);
    }
    Ok(())
}

fn a_lock_loses_no_update(rt: &Rt) -> Result<(), stress::Fault> {
    holds(rt, "spin-lock")
}

fn a_lock_in_shared_memory_loses_no_update(rt: &Rt) -> Result<(), stress::Fault> {
    holds(rt, "spin-lock-in-cube")
}

fn every_ticket_has_one_owner(rt: &Rt) -> Result<(), stress::Fault> {
    holds(rt, "ticket-counter")
}

fn the_last_cube_sees_what_all_wrote(rt: &Rt) -> Result<(), stress::Fault> {
    holds(rt, "last-cube")
}

fn a_message_is_seen_along_a_chain(rt: &Rt) -> Result<(), stress::Fault> {
    let mut setting = Setting::light(rt);
    for _ in 0..3 {
        stress::message::chain_round(&mut setting)?;
    }
    Ok(())
}

fn a_message_is_seen_and_answered(rt: &Rt) -> Result<(), stress::Fault> {
    let mut setting = Setting::light(rt);
    for _ in 0..3 {
        stress::message::converse_round(&mut setting)?;
    }
    Ok(())
}

fn a_grid_barrier_parts_the_phases(rt: &Rt) -> Result<(), stress::Fault> {
    holds(rt, "grid-barrier")
}

fn every_record_leaves_the_queue_once(rt: &Rt) -> Result<(), stress::Fault> {
    holds(rt, "bounded-queue")
}

/// Shared memory that the units write before a barrier and read after it, twice.
#[cube(launch_unchecked)]
fn reverse_twice(cells: &[Atomic<u32>], values: &mut [u32]) {
    let barrier = GridBarrier::new(&cells[0], &cells[1]);
    let row = shared::<Atomic<u32>>(256usize);
    let mirrored = (CUBE_DIM + CUBE_DIM - 1u32 - UNIT_POS) % CUBE_DIM;
    row[UNIT_POS as usize]
        .at::<Cube>()
        .store::<Relaxed>(values[UNIT_POS as usize]);
    barrier.sync();
    values[UNIT_POS as usize] = row[mirrored as usize].at::<Cube>().load::<Relaxed>();
    barrier.sync();
}

fn a_grid_barrier_of_one_cube_is_a_barrier(rt: &Rt) -> Result<(), girih_testkit::Error> {
    let units = Machine::of(rt).units;
    let values: Vec<u32> = (100..100 + units).collect();
    let (cells, reversed) = (rt.put(&[0u32, 7]), rt.put(&values));
    // SAFETY: there is a value for each unit of the one cube, which has at most 256.
    unsafe {
        reverse_twice::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_1d(units),
            cells.arg(),
            reversed.arg(),
        );
    }
    let want: Vec<u32> = values.into_iter().rev().collect();
    assert_same(&rt.read(&reversed)?, &want);
    assert_same(&rt.read(&cells)?, &[0, 9]);
    Ok(())
}

#[cube(launch_unchecked)]
fn hold(cell: &[Atomic<u32>], answers: &mut [u32]) {
    let lock = SpinLock::<Device>::new(&cell[0]);
    answers[0] = u32::cast_from(lock.try_lock());
    answers[1] = u32::cast_from(lock.try_lock());
    answers[2] = 0u32;
    answers[3] = u32::cast_from(lock.with_at_most(3u32, || answers[2] += 1u32));
    lock.unlock();
    answers[4] = u32::cast_from(lock.with_at_most(3u32, || answers[2] += 10u32));
    lock.with(|| answers[2] += 100u32);
    answers[5] = u32::cast_from(lock.try_lock());
}

fn a_lock_is_held_by_one_and_given_up_on(rt: &Rt) -> Result<(), girih_testkit::Error> {
    let (cell, answers) = (rt.put(&[0u32]), rt.poisoned::<u32>(6));
    // SAFETY: one unit, and indices within both buffers.
    unsafe {
        hold::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_single(),
            cell.arg(),
            answers.arg(),
        );
    }
    assert_same(&rt.read(&answers)?, &[1, 0, 110, 0, 1, 1]);
    assert_same(&rt.read(&cell)?, &[1]);
    Ok(())
}

#[cube(launch_unchecked)]
fn count_past_the_end(cell: &[Atomic<u32>], answers: &mut [u32]) {
    let message = Message::<Device>::new(&cell[0]);
    answers[0] = u32::cast_from(message.has_arrived(1u32));
    message.publish(4_294_967_295u32);
    message.wait(4_294_967_295u32);
    answers[1] = u32::cast_from(message.has_arrived(4_294_967_290u32));
    answers[2] = u32::cast_from(message.wait_at_most(1u32, 5u32));
    message.publish_from_cube(1u32);
    message.wait_in_cube(1u32);
    answers[3] = u32::cast_from(message.has_arrived(4_294_967_295u32));
    answers[4] = u32::cast_from(message.wait_in_cube_at_most(2u32, 5u32));
    answers[5] = u32::cast_from(message.wait_in_cube_at_most(1u32, 5u32));
}

fn message_numbers_wrap(rt: &Rt) -> Result<(), girih_testkit::Error> {
    let (cell, answers) = (rt.put(&[0u32]), rt.poisoned::<u32>(6));
    // SAFETY: one unit, and indices within both buffers.
    unsafe {
        count_past_the_end::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_single(),
            cell.arg(),
            answers.arg(),
        );
    }
    assert_same(&rt.read(&answers)?, &[0, 1, 0, 1, 0, 1]);
    Ok(())
}

#[cube(launch_unchecked)]
fn meet_nobody(cells: &[Atomic<u32>], complete: &mut [u32]) {
    if CUBE_POS == 0 {
        let barrier = GridBarrier::new(&cells[0], &cells[1]);
        complete[0] = u32::cast_from(barrier.sync_at_most(100u32));
    }
}

fn a_barrier_that_is_not_met_is_given_up_on(rt: &Rt) -> Result<(), girih_testkit::Error> {
    for (cubes, want) in [(2, 0), (1, 1)] {
        let (cells, complete) = (rt.put(&[0u32, 0]), rt.poisoned::<u32>(1));
        // SAFETY: indices within both buffers.
        unsafe {
            meet_nobody::launch_unchecked(
                &rt.client,
                CubeCount::new_1d(cubes),
                CubeDim::new_single(),
                cells.arg(),
                complete.arg(),
            );
        }
        assert_same(&rt.read(&complete)?, &[want]);
    }
    Ok(())
}

/// One unit fills the queue and empties it, `rounds` times: in `values` what came out, in `counts` how much went in.
#[cube(launch_unchecked)]
fn fill_and_empty(
    cells: &[Atomic<u32>],
    values: &mut [u32],
    counts: &mut [u32],
    capacity: u32,
    rounds: u32,
) {
    let queue = BoundedQueue::new(cells, capacity);
    let mut next = 0u32;
    let mut seen = 0u32;
    for round in 0..rounds {
        let mut pushed = 0u32;
        for _ in 0..capacity + 2u32 {
            if queue.try_push(next) {
                next += 1u32;
                pushed += 1u32;
            }
        }
        counts[round as usize] = pushed;
        // One stays in, so that rounds begin at every slot.
        for _ in 1..capacity {
            let got = queue.try_pop();
            if got.is_some {
                values[seen as usize] = got.value;
                seen += 1u32;
            }
        }
    }
    let got = queue.try_pop();
    values[seen as usize] = got.value;
    let none = queue.try_pop();
    counts[rounds as usize] = u32::cast_from(got.is_some) + 2u32 * u32::cast_from(none.is_some);
}

/// The cells of an empty queue whose next push is of `position`.
fn empty_at(position: u32, capacity: u32) -> Vec<u32> {
    let mut cells = vec![0; BoundedQueue::cells(capacity).expect("a power of two")];
    (cells[0], cells[32]) = (position, position);
    for ahead in 0..capacity {
        let due = position.wrapping_add(ahead);
        let slot = due % capacity;
        cells[64 + 2 * slot as usize] = due.wrapping_sub(slot);
    }
    cells
}

fn a_queue_is_first_in_first_out(rt: &Rt) -> Result<(), girih_testkit::Error> {
    const ROUNDS: u32 = 5;
    for (capacity, position) in [(2, 0), (4, 0), (8, u32::MAX - 20)] {
        // All but one of the slots are free after the first round.
        let in_turn = capacity - 1;
        let total = capacity + (ROUNDS - 1) * in_turn;
        let cells = rt.put(&empty_at(position, capacity));
        let values = rt.poisoned::<u32>(total as usize);
        let counts = rt.poisoned::<u32>(ROUNDS as usize + 1);
        // SAFETY: the cells are those of the capacity, and `values` holds all that can be pushed.
        unsafe {
            fill_and_empty::launch_unchecked(
                &rt.client,
                CubeCount::new_single(),
                CubeDim::new_single(),
                cells.arg(),
                values.arg(),
                counts.arg(),
                capacity,
                ROUNDS,
            );
        }
        let mut want = vec![in_turn; ROUNDS as usize + 1];
        want[0] = capacity;
        want[ROUNDS as usize] = 1;
        assert_same(&rt.read(&counts)?, &want);
        assert_same(&rt.read(&values)?, &(0..total).collect::<Vec<_>>());
    }
    Ok(())
}

fn a_capacity_is_a_power_of_two(_: &Rt) {
    assert_eq!(BoundedQueue::cells(2).ok(), Some(68));
    assert_eq!(BoundedQueue::cells(1 << 30).ok(), Some(64 + (2 << 30)));
    for (given, below) in [
        (0, 2),
        (1, 2),
        (3, 2),
        (1000, 512),
        (1 << 31, 1 << 30),
        (u32::MAX, 1 << 30),
    ] {
        match BoundedQueue::cells(given) {
            Err(Error::Size {
                given: named,
                allowed,
                ..
            }) => assert_eq!((named, allowed), (u64::from(given), below)),
            other => panic!("{given}: {other:?}"),
        }
    }
}

/// What needs an order is refused by name where there is none, and the counter is refused nowhere.
fn is_refused_where_orders_are_missing(rt: &Rt) {
    let device = Able::of(&rt.client);
    let has_orders = device.target() != Target::Wgsl;
    for block in BLOCKS {
        match (block.require)(&device) {
            Ok(()) => assert!(has_orders || !block.is_ordered, "{}", block.name),
            Err(error) => {
                let error = error.to_string();
                assert!(!has_orders && block.is_ordered, "{error}");
                assert!(error.contains("has no atomic"), "{error}");
                assert!(error.contains("at scope"), "{error}");
            }
        }
    }
    assert!(TicketCounter::<Cube>::require(&device).is_ok());
    let beyond = SpinLock::<System>::require(&device);
    assert_eq!(
        beyond.is_ok(),
        matches!(device.target(), Target::Cpu | Target::Cuda)
    );
}

fn grids_are_limited_to_what_runs_at_once(rt: &Rt) {
    let device = Able::of(&rt.client);
    let most = GridBarrier::most_cubes(&device);
    let known = rt
        .client
        .properties()
        .hardware
        .num_streaming_multiprocessors;
    match device.target() {
        Target::Cuda => assert_eq!(Some(most), known),
        _ => assert_eq!(most, 1),
    }
    assert!(GridBarrier::require(&device, most).is_ok());
    match GridBarrier::require(&device, most + 1) {
        Err(Error::Size { given, allowed, .. }) => {
            assert_eq!((given, allowed), (u64::from(most) + 1, most.into()));
        }
        other => panic!("{other:?}"),
    }
}
