//! The tiles of a partition one after another.
// A kernel has no `enumerate`.
#![allow(clippy::explicit_counter_loop)]

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Error, Rt, cases};

use super::model::load;

cases! {
    each_tile_of_steps_and_orders,
    each_tile_in_turns,
    counts_tiles,
    copies_tiles_through_copies_of_a_view,
}

/// Each tile of a matrix, one below the other.
#[cube(launch_unchecked)]
fn stacked(
    x: &Tensor<f32>,
    out: &mut Tensor<f32>,
    #[comptime] order: Vec<usize>,
    #[comptime] step: Vec<usize>,
) {
    let cube = this_cube();
    let view = TileView::<f32, shape![3, 4]>::of(x).order(order).step(step);
    let mut out = TileViewMut::<f32, shape![3, 4]>::of(out);
    let mut place = 0u32;
    for number in view.eachtile() {
        let tile = view.load_masked(&cube, NegInf, number);
        out.store(&cube, tile, (place, 0));
        place += 1u32;
    }
}

fn each_tile_of_steps_and_orders(rt: &Rt) -> Result<(), Error> {
    let extents = [7usize, 9];
    let values: Vec<f32> = (0..63).map(|value| value as f32).collect();
    let x = rt.put_tensor(&values, &extents);
    // Steps as long as the tile, shorter and longer.
    for step in [[3, 4], [2, 3], [1, 4], [5, 6], [3, 11]] {
        for order in [[0, 1], [1, 0]] {
            let counts = [0, 1].map(|dim: usize| extents[order[dim]].div_ceil(step[dim]));
            let tiles = counts[0] * counts[1];
            let out = rt.poisoned_tensor::<f32>(&[3 * tiles, 4], &[4, 1]);
            // SAFETY: the loads are masked, and `out` has as many rows as the tiles have.
            unsafe {
                stacked::launch_unchecked(
                    &rt.client,
                    CubeCount::new_single(),
                    rt.cube_dim(),
                    x.arg(),
                    out.arg(),
                    order.to_vec(),
                    step.to_vec(),
                );
            }
            let of_tile = |tile: usize| {
                let number = [tile / counts[1], tile % counts[1]];
                load(&values, &extents, &[3, 4], f32::NEG_INFINITY, |at| {
                    let mut places = vec![None; 2];
                    for dim in 0..2 {
                        let index = number[dim] * step[dim] + at[dim];
                        places[order[dim]] = (index < extents[order[dim]]).then_some(index);
                    }
                    places
                })
            };
            let want: Vec<f32> = (0..tiles).flat_map(of_tile).collect();
            assert_eq!(
                rt.read_tensor(&out)?,
                want,
                "step {step:?}, order {order:?}"
            );
        }
    }
    Ok(())
}

/// Doubles nothing but copies: each cube takes every third tile.
#[cube(launch_unchecked)]
fn in_turns(x: &Tensor<u32>, out: &mut Tensor<u32>) {
    let cube = this_cube();
    let from = TileView::<u32, shape![2, 4]>::of(x);
    let mut to = TileViewMut::<u32, shape![2, 4]>::of(out);
    for number in from.eachtile().turns(CUBE_POS, CUBE_COUNT) {
        let tile = from.load_masked(&cube, Zero, number);
        to.store_masked(&cube, tile, number);
    }
}

fn each_tile_in_turns(rt: &Rt) -> Result<(), Error> {
    for (extents, cubes) in [([5, 9], 3), ([2, 3], 4), ([8, 8], 1)] {
        let count = (extents[0] * extents[1]) as u32;
        let values: Vec<u32> = (0..count).collect();
        let x = rt.put_tensor(&values, &extents);
        let out = rt.poisoned_tensor::<u32>(&extents, &[extents[1], 1]);
        // SAFETY: every access is masked.
        unsafe {
            in_turns::launch_unchecked(
                &rt.client,
                CubeCount::Static(cubes, 1, 1),
                rt.cube_dim(),
                x.arg(),
                out.arg(),
            );
        }
        assert_eq!(rt.read_tensor(&out)?, values, "{extents:?} by {cubes}");
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn counted(x: &Tensor<u32>, out: &mut [u32], #[comptime] step: Vec<usize>) {
    let tiles = TileView::<u32, shape![3, 4]>::of(x)
        .order([1, 0])
        .step(step)
        .eachtile();
    if UNIT_POS == 0 {
        out[0] = tiles.len() as u32;
        out[1] = tiles.along(0u32) as u32;
        out[2] = tiles.along(1u32) as u32;
        out[3] = u32::cast_from(tiles.is_empty());
    }
}

fn counts_tiles(rt: &Rt) -> Result<(), Error> {
    let memory = rt.put(&[0u32; 64]);
    for (extents, step, want) in [
        ([7, 9], [3, 4], [6, 3, 2, 0]),
        ([7, 9], [1, 1], [63, 9, 7, 0]),
        ([7, 9], [100, 8], [1, 1, 1, 0]),
        ([0, 9], [3, 4], [0, 3, 0, 1]),
        ([8, 1], [3, 4], [2, 1, 2, 0]),
    ] {
        let x = memory.tensor(&extents, &[extents[1], 1]);
        let out = rt.poisoned::<u32>(4);
        // SAFETY: nothing is loaded, and `out` has four elements.
        unsafe {
            counted::launch_unchecked(
                &rt.client,
                CubeCount::new_single(),
                rt.cube_dim(),
                x.arg(),
                out.arg(),
                step.to_vec(),
            );
        }
        assert_eq!(rt.read(&out)?, want, "{extents:?} in steps of {step:?}");
    }
    Ok(())
}

/// A view is copied where it is used twice.
#[cube(launch_unchecked)]
fn twice(x: &Tensor<u32>, out: &mut Tensor<u32>) {
    let cube = this_cube();
    let view = TileView::<u32, shape![2, 2]>::of(x);
    let plain = view.clone().load_masked(&cube, Zero, (0, 0));
    let turned = view.order([1, 0]).load_masked(&cube, Zero, (0, 0));
    let mut out = TileViewMut::<u32, shape![2, 2]>::of(out);
    out.store(&cube, plain, (0, 0));
    out.store(&cube, turned, (1, 0));
}

fn copies_tiles_through_copies_of_a_view(rt: &Rt) -> Result<(), Error> {
    let x = rt.put_tensor(&[1u32, 2, 3, 4], &[2, 2]);
    let out = rt.poisoned_tensor::<u32>(&[4, 2], &[2, 1]);
    // SAFETY: the loads are masked, the stores cover `out`.
    unsafe {
        twice::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            rt.cube_dim(),
            x.arg(),
            out.arg(),
        );
    }
    assert_eq!(rt.read_tensor(&out)?, [1, 2, 3, 4, 1, 3, 2, 4]);
    Ok(())
}
