//! What tiles refuse while a kernel is expanded, and in what words.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Buffer, Error, Rt, cases, check::assert_same, needs};

use super::model::ONE_CUBE;

cases! {
    broadcasts_of_extents_that_are_not_1,
    orders_that_are_no_permutation,
    extents_of_another_order,
    another_number_of_elements,
    held_tiles_in_another_order,
    extremes_of_nothing,
    tiles_larger_than_shared_memory,
    tiles_larger_than_a_unit_keeps,
    groups_of_several_cubes,
    groups_that_leave_units_over needs [needs::PLANES],
}

fn assert_refused(rt: &Rt, out: &Buffer<u32>, text: &str) {
    match rt.read(out) {
        Err(Error::Kernel { reason, .. }) => {
            assert!(reason.contains(text), "`{text}` is not in: {reason}")
        }
        other => panic!("not refused: {other:?}"),
    }
    // The next call works.
    let fresh = rt.put(&[3u32]);
    assert_same(&rt.read(&fresh).expect("the device still works"), &[3]);
}

macro_rules! refused {
    ($($name:ident: $kernel:ident says $text:expr, |$group:ident, $out:ident| $body:block)*) => {$(
        #[cube(launch_unchecked)]
        fn $kernel(out: &mut [u32]) {
            let $group = this_cube();
            let mut $out = TileViewMut::<u32, shape![8]>::of(out);
            $body
        }

        fn $name(rt: &Rt) {
            let out = rt.put(&[0u32; 8]);
            // SAFETY: the kernel does not compile.
            unsafe {
                $kernel::launch_unchecked(&rt.client, ONE_CUBE, rt.cube_dim(), out.arg());
            }
            assert_refused(rt, &out, $text);
        }
    )*};
}
refused! {
    broadcasts_of_extents_that_are_not_1: broadcast says
        "girih: Tile::broadcast_to: a tile of extents [2, 4] to extents [8, 4]; each extent must be the same, or 1",
    |group, out| {
        let tile = Tile::<u32, shape![2, 4]>::iota().broadcast_to::<shape![8, 4]>();
        out.store(&group, tile.sum::<1>(&group).reshape(), 0);
    }

    orders_that_are_no_permutation: twice says "girih: Tile::permute: [0, 0]; a permutation of 0..2 is needed",
    |group, out| {
        let tile = Tile::<u32, shape![2, 4]>::iota().permute::<shape![2, 4]>([0, 0]);
        out.store(&group, tile.reshape(), 0);
    }

    extents_of_another_order: other_order says
        "girih: Tile::permute: a tile of extents [2, 4] in the order [1, 0] as one of extents [2, 4]; it has extents [4, 2]",
    |group, out| {
        let tile = Tile::<u32, shape![2, 4]>::iota().permute::<shape![2, 4]>([1, 0]);
        out.store(&group, tile.reshape(), 0);
    }

    another_number_of_elements: other_number says
        "girih: Tile::reshape: a tile of extents [2, 3] as one of extents [8]; it has 6 elements, not 8",
    |group, out| {
        out.store(&group, Tile::<u32, shape![2, 3]>::iota().reshape(), 0);
    }

    held_tiles_in_another_order: held says
        "girih: Tile::transpose: a tile in the registers of the units that hold it",
    |group, out| {
        let tile = Tile::<u32, shape![2, 4]>::iota().hold(&group) + 1;
        out.store(&group, tile.transpose().reshape(), 0);
    }

    extremes_of_nothing: of_nothing says
        "girih: Tile::max: a tile of extents [8, 0], with no elements there; at least one is needed",
    |group, out| {
        let tile = Tile::<u32, shape![8, 0]>::iota();
        out.store(&group, tile.max::<1>(&group).reshape(), 0);
    }

    tiles_larger_than_shared_memory: too_large says "of shared memory; the device has",
    |group, out| {
        let tile = Tile::<u32, shape![8, 1000000]>::iota().share(&group);
        out.store(&group, tile.sum::<1>(&group).reshape(), 0);
    }
}

#[cube(launch_unchecked)]
fn of_one_unit(out: &mut [u32]) {
    let group = this_unit();
    let tile = Tile::<u32, shape![8, 32768]>::iota().share(&group);
    let sums = tile.sum::<1>(&group).reshape();
    TileViewMut::<u32, shape![8]>::of(out).store(&group, sums, 0);
}

fn tiles_larger_than_a_unit_keeps(rt: &Rt) {
    let out = rt.put(&[0u32; 8]);
    // SAFETY: the kernel does not compile.
    unsafe {
        of_one_unit::launch_unchecked(&rt.client, ONE_CUBE, CubeDim::new_1d(1), out.arg());
    }
    let text = "girih: Tile::share: a tile of extents [8, 32768] kept by one unit takes 1048576 bytes of its own memory";
    assert_refused(rt, &out, text);
}

#[cube(launch_unchecked)]
fn of_the_grid(out: &mut [u32]) {
    let group = this_grid().partition(group_by(2));
    let tile = Tile::<u32, shape![8]>::iota().share(&group);
    TileViewMut::<u32, shape![8]>::of(out).store(&group, tile, 0);
}

fn groups_of_several_cubes(rt: &Rt) {
    let out = rt.put(&[0u32; 8]);
    // Odd cubes: a pair of units is in two of them.
    // SAFETY: the kernel does not compile.
    unsafe {
        of_the_grid::launch_unchecked(
            &rt.client,
            CubeCount::Static(2, 1, 1),
            CubeDim::new_1d(1),
            out.arg(),
        );
    }
    let text = "of several cubes, which share no memory; a group of one cube is needed";
    assert_refused(rt, &out, text);
}

#[cube(launch_unchecked)]
fn left_over(out: &mut [u32], #[comptime] count: u32) {
    let group = this_cube().partition_non_exhaustive(group_by(count));
    let tile = Tile::<u32, shape![8]>::iota().share(&group);
    TileViewMut::<u32, shape![8]>::of(out).store(&group, tile, 0);
}

fn groups_that_leave_units_over(rt: &Rt) {
    let out = rt.put(&[0u32; 8]);
    let plane = rt.client.properties().hardware.plane_size_max;
    // SAFETY: the kernel does not compile.
    unsafe {
        left_over::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            CubeDim::new_1d(4 * plane),
            out.arg(),
            3 * plane,
        );
    }
    assert_refused(
        rt,
        &out,
        "that leaves units over and goes on from plane to plane",
    );
}
