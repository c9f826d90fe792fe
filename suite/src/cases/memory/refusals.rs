//! What views over atomics refuse of tiles that are held in registers.

use cubecl::prelude::*;
use girih::device::{Device as Able, Target};
use girih::prelude::*;
use girih_testkit::{self as testkit, Buffer, Error, Rt, cases, check::assert_same};

use super::views::{COLUMNS, ONE_CUBE, ROWS};

cases! {
    refuses_more_packets_than_registers_hold,
    refuses_a_held_tile_as_indices,
    refuses_a_held_tile_by_another_group,
}

/// A kernel's refusal, as its first read gives it.
fn assert_refused(rt: &Rt, out: &testkit::Tensor<u32>, text: &str) {
    let error = rt.read_tensor(out).expect_err("it is refused").to_string();
    assert!(error.contains(text), "{error}");
}

fn memory(rt: &Rt) -> (testkit::Tensor<u32>, Buffer<i32>, testkit::Tensor<u32>) {
    let memory = rt.put_tensor(&[0u32; 48], &[ROWS, COLUMNS]);
    let out = rt.poisoned_tensor::<u32>(&[4, 8], &[8, 1]);
    (memory, rt.put(&[0, 1, 2, 3]), out)
}

/// One unit is to hold 32 packets.
#[cube(launch_unchecked)]
fn too_many_packets(memory: &Tensor<Atomic<u32>>, index: &[i32], out: &mut Tensor<u32>) {
    let unit = this_unit();
    let view = AtomicGatherScatterView::<u32, shape![4, 8], 0>::of(memory);
    let rows = TileView::<i32, shape![4]>::of(index).load(&unit, 0);
    let tile = view.atomic_load_masked::<Relaxed>(&unit, Zero, (&rows, 0));
    TileViewMut::<u32, shape![4, 8]>::of(out).store(&unit, tile, (0, 0));
}

fn refuses_more_packets_than_registers_hold(rt: &Rt) -> Result<(), Error> {
    let (target, index, out) = memory(rt);
    // SAFETY: the accesses are masked, the store covers `out`; the cube has one unit.
    unsafe {
        too_many_packets::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            CubeDim::new_single(),
            target.arg(),
            index.arg(),
            out.arg(),
        );
    }
    // A CPU's registers are memory, which has an index.
    if Able::of(&rt.client).target() == Target::Cpu {
        assert_same(&rt.read_tensor(&out)?, &[0; 32]);
        return Ok(());
    }
    assert_refused(
        rt,
        &out,
        "is 32 packets of 1 elements each; at most 16 stay in a unit's registers",
    );
    Ok(())
}

#[cube(launch_unchecked)]
fn held_as_indices(
    memory: &Tensor<Atomic<u32>>,
    list: &Tensor<Atomic<u32>>,
    out: &mut Tensor<u32>,
) {
    let cube = this_cube();
    let numbers = Tile::<u32, shape![4]>::iota();
    let lists = AtomicGatherScatterView::<u32, shape![4], 0>::of(list);
    let rows =
        lists.fetch_add_masked::<Relaxed>(&cube, numbers, (&Tile::<u32, shape![4]>::iota(),));
    let view = AtomicGatherScatterView::<u32, shape![4, 8], 0>::of(memory);
    let tile = view.atomic_load_masked::<Relaxed>(&cube, Zero, (&rows, 0));
    TileViewMut::<u32, shape![4, 8]>::of(out).store(&cube, tile, (0, 0));
}

fn refuses_a_held_tile_as_indices(rt: &Rt) {
    let (target, _, out) = memory(rt);
    let list = rt.put_tensor(&[0u32; 4], &[4]);
    // SAFETY: the kernel does not compile.
    unsafe {
        held_as_indices::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            target.arg(),
            list.arg(),
            out.arg(),
        );
    }
    assert_refused(
        rt,
        &out,
        "used as a list of indices; only the unit that holds an element",
    );
}

#[cube(launch_unchecked)]
fn held_by_another_group(memory: &Tensor<Atomic<u32>>, index: &[i32], out: &mut Tensor<u32>) {
    let (cube, unit) = (this_cube(), this_unit());
    let view = AtomicGatherScatterView::<u32, shape![4, 8], 0>::of(memory);
    let rows = TileView::<i32, shape![4]>::of(index).load(&cube, 0);
    let tile = view.atomic_load_masked::<Relaxed>(&cube, Zero, (&rows, 0));
    TileViewMut::<u32, shape![4, 8]>::of(out).store(&unit, tile, (0, 0));
}

fn refuses_a_held_tile_by_another_group(rt: &Rt) {
    let (target, index, out) = memory(rt);
    // SAFETY: the kernel does not compile.
    unsafe {
        held_by_another_group::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            target.arg(),
            index.arg(),
            out.arg(),
        );
    }
    assert_refused(
        rt,
        &out,
        "a tile in registers is stored by those that hold it",
    );
}
