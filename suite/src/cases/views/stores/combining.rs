//! Stores of several elements to one place that are combined in their order.

use cubecl::prelude::*;
use girih::{
    coop::{Associative, Sum},
    prelude::*,
};
use girih_testkit::{Error, Rt, cases};

use super::super::assert_refused;
use super::super::model::place;
use super::ONE_CUBE;

cases! {
    combines_in_order,
    combines_of_pairs_and_crossed_lists,
    sums_floats_the_same_in_every_run,
    refuses_to_combine_a_tile_in_registers,
}

/// An operation that shows the order of what it combines, if it is given as `first * 3 + second`.
struct Ternary;

#[cube]
impl Associative<u32> for Ternary {
    fn combine(first: u32, second: u32) -> u32 {
        first * 3 + second
    }
}

#[cube(launch_unchecked)]
fn in_order<N: Size>(
    values: &Tensor<Vector<u32, N>>,
    list: &[i32],
    out: &mut Tensor<Vector<u32, N>>,
    #[comptime] bounds: Bounds,
) {
    let cube = this_cube();
    let tile = TileView::<u32, shape![8, 4]>::of(values).load(&cube, (0, 0));
    let list = TileView::<i32, shape![8]>::of(list).indices(0);
    let mut view = GatherScatterViewMut::<u32, shape![8, 4], 0>::of(out).bounds(bounds);
    view.combine_masked::<Ternary>(&cube, tile, (&list, 0));
}

fn combines_in_order(rt: &Rt) -> Result<(), Error> {
    let tile: Vec<u32> = (100..132).collect();
    let lists: [&[i32]; 4] = [
        &[3, 1, 3, 0, 1, 3, 2, 0],
        &[2; 8],
        &[-1, 3, -4, 0, 9, 1],
        &[9; 8],
    ];
    for (list, bounds) in lists
        .iter()
        .flat_map(|list| super::super::model::MASKED.map(|bounds| (*list, bounds)))
    {
        for width in [1, 4] {
            let mut want: Vec<u32> = (0..16).collect();
            let out = rt.put_tensor(&want, &[4, 4]);
            // SAFETY: the load covers the tile, the store is masked.
            unsafe {
                in_order::launch_unchecked(
                    &rt.client,
                    ONE_CUBE,
                    rt.cube_dim(),
                    width,
                    rt.put_tensor(&tile, &[8, 4]).arg(),
                    rt.put(list).arg(),
                    out.arg(),
                    bounds,
                );
            }
            for (n, row) in list.iter().enumerate() {
                if let Some(row) = place((*row).into(), 4, bounds) {
                    for column in 0..4 {
                        let held = &mut want[4 * row + column];
                        *held = held.wrapping_mul(3).wrapping_add(tile[4 * n + column]);
                    }
                }
            }
            assert_eq!(
                rt.read_tensor(&out)?,
                want,
                "{list:?} under {bounds:?}, vectors of {width}"
            );
        }
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn crossed_in_order(
    values: &Tensor<u32>,
    i: &[i32],
    j: &[i32],
    out: &mut Tensor<u32>,
    pairs: &mut Tensor<u32>,
) {
    let cube = this_cube();
    let tile = TileView::<u32, shape![4, 4]>::of(values).load(&cube, (0, 0));
    GatherScatterViewMut::<u32, shape![4, 4], 0>::of(out).combine_masked::<Ternary>(
        &cube,
        tile,
        (i, j),
    );
    let tile = TileView::<u32, shape![4, 4]>::of(values).load(&cube, (0, 0));
    GatherScatterViewMut::<u32, shape![4, 4], 0>::of(pairs).combine_masked::<Ternary>(
        &cube,
        tile,
        ((i, j), 0),
    );
}

fn combines_of_pairs_and_crossed_lists(rt: &Rt) -> Result<(), Error> {
    let tile: Vec<u32> = (100..116).collect();
    let (i, j) = ([1i32, 0, 1, 1], [2i32, 2, 0, 2]);
    let out = rt.put_tensor(&[5u32; 6], &[2, 3]);
    let pairs = rt.put_tensor(&[5u32; 24], &[2, 3, 4]);
    // SAFETY: the loads cover the tile, the stores are masked.
    unsafe {
        crossed_in_order::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            rt.put_tensor(&tile, &[4, 4]).arg(),
            rt.put(&i).arg(),
            rt.put(&j).arg(),
            out.arg(),
            pairs.arg(),
        );
    }
    let mut want = [5u32; 6];
    let mut want_pairs = [5u32; 24];
    for n in 0..4 {
        for m in 0..4 {
            let value = tile[4 * n + m];
            let at = |i: i32, j: i32| (3 * i + j) as usize;
            let held = &mut want[at(i[n], j[m])];
            *held = held.wrapping_mul(3).wrapping_add(value);
            let held = &mut want_pairs[4 * at(i[n], j[n]) + m];
            *held = held.wrapping_mul(3).wrapping_add(value);
        }
    }
    assert_eq!(rt.read_tensor(&out)?, want);
    assert_eq!(rt.read_tensor(&pairs)?, want_pairs);
    Ok(())
}

#[cube(launch_unchecked)]
fn summed(values: &[f32], list: &[u32], out: &mut [f32]) {
    let cube = this_cube();
    let tile = TileView::<f32, shape![64]>::of(values).load(&cube, 0);
    let list = TileView::<u32, shape![64]>::of(list).load(&cube, 0);
    GatherScatterViewMut::<f32, shape![64], 0>::of(out).combine_masked::<Sum>(&cube, tile, &list);
}

fn sums_floats_the_same_in_every_run(rt: &Rt) -> Result<(), Error> {
    // Sums that depend on the order in their last bits.
    let values: Vec<f32> = (0..64)
        .map(|i| 1.0 / (i as f32 + 0.7) * [1e-3, 1e3, 1.0][i % 3])
        .collect();
    let list: Vec<u32> = (0..64).map(|i| (i * 7) % 5).collect();
    let mut want = [0.25f32; 5];
    for (value, &bin) in values.iter().zip(&list) {
        want[bin as usize] += value;
    }
    for _ in 0..3 {
        let out = rt.put(&[0.25f32; 5]);
        // SAFETY: the loads cover their memory, the store is masked.
        unsafe {
            summed::launch_unchecked(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                rt.put(&values).arg(),
                rt.put(&list).arg(),
                out.arg(),
            );
        }
        let bits = rt.read(&out)?.into_iter().map(f32::to_bits);
        assert!(
            bits.eq(want.iter().map(|sum| sum.to_bits())),
            "{:?}, not {want:?}",
            rt.read(&out)?
        );
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn combined_in_registers(x: &mut [u32], list: &[u32]) {
    let cube = this_cube();
    let mut view = GatherScatterViewMut::<u32, shape![4], 0>::of(x);
    let list = TileView::<u32, shape![4]>::of(list).load(&cube, 0);
    let tile = view.load(&cube, &list);
    view.combine::<Sum>(&cube, tile, &list);
}

fn refuses_to_combine_a_tile_in_registers(rt: &Rt) {
    let (x, list) = (rt.put(&[0u32; 4]), rt.put(&[0u32; 4]));
    // SAFETY: the kernel is refused.
    unsafe {
        combined_in_registers::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            list.arg(),
        );
    }
    assert_refused(
        rt,
        &x,
        "girih: GatherScatterViewMut::combine: a tile that units hold in registers",
    );
}
