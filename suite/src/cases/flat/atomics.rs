//! Flat views over atomics: every update, stores and loads.

use cubecl::prelude::*;
use girih::{
    device::Device,
    memory::{AtomicAccess, Operation},
    prelude::*,
};
use girih_testkit::{Error, Rt, case::Need, cases, check::assert_same};

use super::ONE_CUBE;

cases! {
    updates_atomics_and_gives_what_they_held needs [MUL_I32],
    stores_and_loads_atomics,
}

const MUL_I32: Need = Need {
    what: "atomic multiplication of i32",
    met: |rt| {
        Device::of(&rt.client).has_atomic(&AtomicAccess::new(Operation::Mul, i32::cube_type()))
    },
};

/// Each call on a row of its own of `memory`, at the same columns.
#[cube(launch_unchecked)]
fn update_each(memory: &Tensor<Atomic<i32>>, columns: &Tensor<i32>, old: &mut Tensor<i32>) {
    let cube = this_cube();
    let columns = TileView::<i32, shape![1, 4]>::of(columns).load(&cube, (0u32, 0u32));
    let view = AtomicFlatView::<i32, shape![1, 4]>::of(memory);
    let mut to = TileViewMut::<i32, shape![1, 4]>::of(old);
    let six = Tile::<i32, shape![1, 4]>::full(6i32);

    let row = Tile::<i32, shape![1, 1]>::full(0i32);
    let held = view.fetch_add::<Relaxed>(&cube, six.clone(), (&row, &columns));
    to.store(&cube, held, (0u32, 0u32));
    let row = Tile::<i32, shape![1, 1]>::full(1i32);
    let held = view.fetch_sub::<Relaxed>(&cube, six.clone(), (&row, &columns));
    to.store(&cube, held, (1u32, 0u32));
    let row = Tile::<i32, shape![1, 1]>::full(2i32);
    let held = view.fetch_mul::<Relaxed>(&cube, six.clone(), (&row, &columns));
    to.store(&cube, held, (2u32, 0u32));
    let row = Tile::<i32, shape![1, 1]>::full(3i32);
    let held = view.fetch_min::<Relaxed>(&cube, six.clone(), (&row, &columns));
    to.store(&cube, held, (3u32, 0u32));
    let row = Tile::<i32, shape![1, 1]>::full(4i32);
    let held = view.fetch_max::<Relaxed>(&cube, six.clone(), (&row, &columns));
    to.store(&cube, held, (4u32, 0u32));
    let row = Tile::<i32, shape![1, 1]>::full(5i32);
    let held = view.fetch_and::<Relaxed>(&cube, six.clone(), (&row, &columns));
    to.store(&cube, held, (5u32, 0u32));
    let row = Tile::<i32, shape![1, 1]>::full(6i32);
    let held = view.fetch_or::<Relaxed>(&cube, six.clone(), (&row, &columns));
    to.store(&cube, held, (6u32, 0u32));
    let row = Tile::<i32, shape![1, 1]>::full(7i32);
    let held = view.fetch_xor::<Relaxed>(&cube, six.clone(), (&row, &columns));
    to.store(&cube, held, (7u32, 0u32));
    let row = Tile::<i32, shape![1, 1]>::full(8i32);
    let held = view.exchange::<Relaxed>(&cube, six, (&row, &columns));
    to.store(&cube, held, (8u32, 0u32));
}

fn updates_atomics_and_gives_what_they_held(rt: &Rt) -> Result<(), Error> {
    type Update = fn(i32) -> i32;
    let updates: [Update; 9] = [
        |held| held + 6,
        |held| held - 6,
        |held| held * 6,
        |held| held.min(6),
        |held| held.max(6),
        |held| held & 6,
        |held| held | 6,
        |held| held ^ 6,
        |_| 6,
    ];
    let row = [-3i32, 12, 5, 100];
    let memory = rt.put_tensor(&row.repeat(9), &[9, 4]);
    let columns = rt.put_tensor(&[2i32, 4, 0, -1], &[1, 4]);
    let old = rt.poisoned_tensor::<i32>(&[9, 4], &[4, 1]);
    // SAFETY: the load of columns and the stores cover their tensors, the updates are masked.
    unsafe {
        update_each::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            memory.arg(),
            columns.arg(),
            old.arg(),
        );
    }
    let want: Vec<i32> = updates
        .iter()
        .flat_map(|update| [update(row[0]), row[1], update(row[2]), row[3]])
        .collect();
    assert_same(&rt.read_tensor(&memory)?, &want);
    assert_same(&rt.read_tensor(&old)?, &[5, 0, -3, 0].repeat(9));
    Ok(())
}

#[cube(launch_unchecked)]
fn keep(memory: &Tensor<Atomic<u32>>, index: &[i32], values: &[u32], out: &mut [u32]) {
    let cube = this_cube();
    let index = TileView::<i32, shape![4]>::of(index).load(&cube, 0u32);
    let values = TileView::<u32, shape![4]>::of(values).load(&cube, 0u32);
    let view = AtomicFlatView::<u32, shape![4]>::of(memory)
        .bounds(Bounds::Wrap)
        .at::<Cube>();
    view.atomic_store::<Relaxed>(&cube, values, &index);
    sync_cube();
    let held = view.atomic_load::<Relaxed>(&cube, comptime!(Pad(7u32)), &index);
    TileViewMut::<u32, shape![4]>::of(out).store(&cube, held, 0u32);
}

fn stores_and_loads_atomics(rt: &Rt) -> Result<(), Error> {
    let (memory, out) = (rt.put_tensor(&[1u32; 5], &[5]), rt.poisoned::<u32>(4));
    let (index, values) = (rt.put(&[4i32, -5, 5, -2]), rt.put(&[20u32, 21, 22, 23]));
    // SAFETY: the loads and the store cover their buffers, the accesses to `memory` are masked.
    unsafe {
        keep::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            memory.arg(),
            index.arg(),
            values.arg(),
            out.arg(),
        );
    }
    assert_same(&rt.read(&out)?, &[20, 21, 7, 23]);
    assert_same(&rt.read_tensor(&memory)?, &[21, 1, 1, 23, 20]);
    Ok(())
}
