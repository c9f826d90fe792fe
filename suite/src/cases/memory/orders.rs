//! Every order at every scope: what the device keeps gives the right values, what it does not is refused by name.

use cubecl::prelude::*;
use girih::device::{Device as Able, Target};
use girih::memory::{
    AtomicAccess, KnownOrder, KnownScope, LoadOrder, MemoryOrder, MemoryScope, Operation,
    StoreOrder, UpdateOrder,
};
use girih::prelude::*;
use girih_testkit::{Rt, cases, check::assert_same};

cases! {
    updates_in_every_order_at_every_scope,
    loads_and_stores_in_every_order_at_every_scope,
    fences_in_every_order_at_every_scope,
    keeps_what_the_table_says,
    reaches_shared_memory,
    stores_weakly,
    works_after_a_refusal,
}

#[cube(launch_unchecked)]
fn update<O: UpdateOrder, S: KnownScope>(cells: &[Atomic<u32>], old: &mut [u32]) {
    old[0] = cells[0].at::<S>().fetch_add::<O>(5u32);
    old[1] = cells[0].at::<S>().exchange::<O>(100u32);
    old[2] = cells[0].at::<S>().fetch_max::<O>(101u32);
    // Nobody reads what this one gives.
    cells[0].at::<S>().fetch_sub::<O>(1u32);
    old[3] = cells[0].at::<S>().fetch_mul::<Relaxed>(1u32);
}

fn access<O: KnownOrder, S: KnownScope>(operation: Operation) -> AtomicAccess {
    AtomicAccess::new(operation, u32::cube_type()).ordered(O::ORDER, S::SCOPE)
}

/// Reads the buffer where the device has the accesses, and the refusal where it has not.
fn expect(rt: &Rt, accesses: &[AtomicAccess], out: &girih_testkit::Buffer<u32>, want: &[u32]) {
    let device = Able::of(&rt.client);
    match accesses.iter().find(|access| !device.has_atomic(access)) {
        None => assert_same(&rt.read(out).expect("the device has it"), want),
        Some(access) => {
            let error = rt.read(out).expect_err("the device lacks it").to_string();
            let named = format!("has no {access}");
            assert!(error.contains(&named), "{error}\nshould say: {named}");
        }
    }
}

fn updates<O: UpdateOrder, S: KnownScope>(rt: &Rt) {
    let cells = rt.put(&[10u32]);
    let old = rt.poisoned::<u32>(4);
    // SAFETY: one unit, and indices within both buffers.
    unsafe {
        update::launch_unchecked::<O, S>(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_single(),
            cells.arg(),
            old.arg(),
        );
    }
    let relaxed = access::<Relaxed, S>(Operation::Mul);
    expect(
        rt,
        &[access::<O, S>(Operation::Add), relaxed],
        &old,
        &[10, 15, 100, 100],
    );
}

#[cube(launch_unchecked)]
fn load_and_store<L: LoadOrder, W: StoreOrder, S: KnownScope>(
    cells: &[Atomic<u32>],
    old: &mut [u32],
) {
    old[0] = cells[0].at::<S>().load::<L>();
    cells[0].at::<S>().store::<W>(77u32);
    old[1] = cells[0].at::<S>().load::<L>();
}

fn loads_and_stores<L: LoadOrder, W: StoreOrder, S: KnownScope>(rt: &Rt) {
    let cells = rt.put(&[10u32]);
    let old = rt.poisoned::<u32>(2);
    // SAFETY: one unit, and indices within both buffers.
    unsafe {
        load_and_store::launch_unchecked::<L, W, S>(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_single(),
            cells.arg(),
            old.arg(),
        );
    }
    let accesses = [
        access::<L, S>(Operation::Load),
        access::<W, S>(Operation::Store),
    ];
    expect(rt, &accesses, &old, &[10, 77]);
}

#[cube(launch_unchecked)]
fn fenced<O: girih::memory::FenceOrder, S: KnownScope>(cells: &[Atomic<u32>], old: &mut [u32]) {
    cells[0].at::<S>().store::<Relaxed>(3u32);
    fence::<O, S>();
    old[0] = cells[0].at::<S>().load::<Relaxed>();
}

fn fences<O: girih::memory::FenceOrder, S: KnownScope>(rt: &Rt) {
    let cells = rt.put(&[10u32]);
    let old = rt.poisoned::<u32>(1);
    // SAFETY: one unit, and indices within both buffers.
    unsafe {
        fenced::launch_unchecked::<O, S>(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_single(),
            cells.arg(),
            old.arg(),
        );
    }
    let accesses = [
        access::<Relaxed, S>(Operation::Store),
        access::<O, S>(Operation::Fence),
    ];
    expect(rt, &accesses, &old, &[3]);
}

/// Calls `$check` of the device at every scope.
macro_rules! at_every_scope {
    ($rt:expr, $check:ident<$($order:ty),*>) => {
        $check::<$($order,)* Unit>($rt);
        $check::<$($order,)* Cube>($rt);
        $check::<$($order,)* Cluster>($rt);
        $check::<$($order,)* Device>($rt);
        $check::<$($order,)* System>($rt);
    };
}

fn updates_in_every_order_at_every_scope(rt: &Rt) {
    at_every_scope!(rt, updates<Relaxed>);
    at_every_scope!(rt, updates<Acquire>);
    at_every_scope!(rt, updates<Release>);
    at_every_scope!(rt, updates<AcqRel>);
    at_every_scope!(rt, updates<SeqCst>);
}

fn loads_and_stores_in_every_order_at_every_scope(rt: &Rt) {
    at_every_scope!(rt, loads_and_stores<Relaxed, Relaxed>);
    at_every_scope!(rt, loads_and_stores<Acquire, Release>);
    at_every_scope!(rt, loads_and_stores<SeqCst, SeqCst>);
}

fn fences_in_every_order_at_every_scope(rt: &Rt) {
    at_every_scope!(rt, fences<Acquire>);
    at_every_scope!(rt, fences<Release>);
    at_every_scope!(rt, fences<AcqRel>);
    at_every_scope!(rt, fences<SeqCst>);
}

/// The table of the module's documentation, cell by cell.
fn keeps_what_the_table_says(rt: &Rt) {
    use MemoryOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst, Weak};
    use MemoryScope::{Cluster, Cube, Device, System, Unit};
    let device = Able::of(&rt.client);
    let clusters = rt.client.properties().features.cube_cluster;
    let (target, name) = (device.target(), device.name());
    for order in [Weak, Relaxed, Acquire, Release, AcqRel, SeqCst] {
        for scope in [Unit, Cube, Cluster, Device, System] {
            let access = AtomicAccess::new(Operation::Load, u32::cube_type());
            let kept = device.has_atomic(&access.ordered(order, scope));
            let plain = matches!(order, Weak | Relaxed);
            let want = match target {
                Target::Cpu => true,
                Target::Cuda => scope != Cluster || clusters,
                Target::Vulkan => order != SeqCst && scope != System,
                Target::Wgsl => plain && scope != System,
                target => panic!("no such target in the table: {target:?}"),
            };
            assert_eq!(kept, want, "{name}: {order:?} at {scope:?}");
            assert_eq!(
                device
                    .require_atomic("test", &access.ordered(order, scope))
                    .is_ok(),
                want
            );
        }
    }
}

/// Units count in shared memory; one of them writes the count.
#[cube(launch_unchecked)]
pub(super) fn count_in_shared(out: &mut [u32]) {
    let counter = shared::<Atomic<u32>>(1usize);
    if UNIT_POS == 0 {
        counter[0].at::<Cube>().store::<Relaxed>(0u32);
    }
    sync_cube();
    counter[0].at::<Cube>().fetch_add::<Relaxed>(UNIT_POS + 1);
    sync_cube();
    if UNIT_POS == 0 {
        out[0] = counter[0].at::<Cube>().load::<Relaxed>();
    }
}

fn reaches_shared_memory(rt: &Rt) {
    let out = rt.poisoned::<u32>(1);
    let dim = rt.cube_dim();
    // SAFETY: the first unit writes the only element.
    unsafe {
        count_in_shared::launch_unchecked(&rt.client, CubeCount::new_single(), dim, out.arg());
    }
    let units = dim.num_elems();
    assert_same(
        &rt.read(&out).expect("shared atomics"),
        &[units * (units + 1) / 2],
    );
}

#[cube(launch_unchecked)]
fn weak(cells: &[Atomic<u32>], old: &mut [u32]) {
    old[0] = cells[0].load_weak();
    cells[0].store_weak(9u32);
    old[1] = cells[0].load_weak();
}

fn stores_weakly(rt: &Rt) {
    let (cells, old) = (rt.put(&[4u32]), rt.poisoned::<u32>(2));
    // SAFETY: one unit, and indices within both buffers.
    unsafe {
        weak::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_single(),
            cells.arg(),
            old.arg(),
        );
    }
    assert_same(&rt.read(&old).expect("weak accesses"), &[4, 9]);
    assert_same(&rt.read(&cells).expect("weak accesses"), &[9]);
}

/// The client serves the next kernel after one that it refused.
fn works_after_a_refusal(rt: &Rt) {
    loads_and_stores::<SeqCst, SeqCst, System>(rt);
    loads_and_stores::<Relaxed, Relaxed, Device>(rt);
}
