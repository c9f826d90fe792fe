//! Lists of indices: along several dimensions, of several axes at once, and from every kind of memory.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Error, Rt, cases};

use super::model::{MASKED, load, place, position};

cases! {
    two_dimensions_list_their_indices,
    the_outer_dimensions_of_three_list_theirs,
    one_dimension_lists_two_axes,
    one_dimension_lists_three_axes,
    a_lone_dimension_lists_two_axes,
    stores_along_two_lists,
    stores_at_pairs,
    lists_of_every_memory,
    five_axes_are_gathered_along_each,
}

const ONE_CUBE: CubeCount = CubeCount::Static(1, 1, 1);

#[cube(launch_unchecked)]
fn crossed(
    x: &Tensor<u32>,
    rows: &[i32],
    columns: &[i32],
    out: &mut Tensor<u32>,
    #[comptime] bounds: Bounds,
) {
    let cube = this_cube();
    let view = GatherScatterView::<u32, shape![3, 5], 0>::of(x).bounds(bounds);
    let tile = view.load_masked(&cube, comptime!(Pad(77u32)), (rows, columns));
    TileViewMut::<u32, shape![3, 5]>::of(out).store(&cube, tile, (0, 0));
}

fn two_dimensions_list_their_indices(rt: &Rt) -> Result<(), Error> {
    let values: Vec<u32> = (0..24).collect();
    let x = rt.put_tensor(&values, &[4, 6]);
    let (rows, columns) = ([3, -1, 1], [5, 0, 6, -6, 2]);
    let (row_list, column_list) = (rt.put(&rows), rt.put(&columns));
    for bounds in MASKED {
        let out = rt.poisoned_tensor::<u32>(&[3, 5], &[5, 1]);
        // SAFETY: the load is masked, the store covers `out`.
        unsafe {
            crossed::launch_unchecked(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                x.arg(),
                row_list.arg(),
                column_list.arg(),
                out.arg(),
                bounds,
            );
        }
        let want = load(&values, &[4, 6], &[3, 5], 77, |at| {
            vec![
                place(rows[at[0]].into(), 4, bounds),
                place(columns[at[1]].into(), 6, bounds),
            ]
        });
        assert_eq!(rt.read_tensor(&out)?, want, "{bounds:?}");
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn crossed_3(x: &Tensor<u32>, first: &[i32], last: &[u32], out: &mut Tensor<u32>) {
    let cube = this_cube();
    let view = GatherScatterView::<u32, shape![2, 3, 4], 2>::of(x);
    let first = TileView::<i32, shape![2]>::of(first).load(&cube, 0);
    let last = TileView::<u32, shape![4]>::of(last).indices(0);
    let tile = view.load_masked(&cube, comptime!(Pad(77u32)), (&first, 1, &last));
    TileViewMut::<u32, shape![2, 3, 4]>::of(out).store(&cube, tile, (0, 0, 0));
}

fn the_outer_dimensions_of_three_list_theirs(rt: &Rt) -> Result<(), Error> {
    let values: Vec<u32> = (0..60).collect();
    let x = rt.put_tensor(&values, &[3, 4, 5]);
    let (first, last) = ([2, -1], [4u32, 0, 3]);
    let (first_list, last_list) = (rt.put(&first), rt.put(&last));
    let out = rt.poisoned_tensor::<u32>(&[2, 3, 4], &[12, 4, 1]);
    // SAFETY: the load is masked, the store covers `out`.
    unsafe {
        crossed_3::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            first_list.arg(),
            last_list.arg(),
            out.arg(),
        );
    }
    let want = load(&values, &[3, 4, 5], &[2, 3, 4], 77, |at| {
        let last = last.get(at[2]).map(|&last| last as usize);
        let middle = (at[1] + 1 < 4).then_some(at[1] + 1);
        vec![place(first[at[0]].into(), 3, Bounds::Mask), middle, last]
    });
    assert_eq!(rt.read_tensor(&out)?, want);
    Ok(())
}

#[cube(launch_unchecked)]
fn paired(
    x: &Tensor<u32>,
    i: &[i32],
    j: &[i32],
    out: &mut Tensor<u32>,
    #[comptime] bounds: Bounds,
) {
    let cube = this_cube();
    let view = GatherScatterView::<u32, shape![5, 4], 0>::of(x).bounds(bounds);
    let tile = view.load_masked(&cube, comptime!(Pad(77u32)), ((i, j), 1));
    TileViewMut::<u32, shape![5, 4]>::of(out).store(&cube, tile, (0, 0));
}

fn one_dimension_lists_two_axes(rt: &Rt) -> Result<(), Error> {
    let values: Vec<u32> = (0..48).collect();
    let x = rt.put_tensor(&values, &[3, 4, 4]);
    let (i, j) = ([2, 0, -1, 3, 1], [3, -4, 2, 1, 0]);
    let (i_list, j_list) = (rt.put(&i), rt.put(&j));
    for bounds in MASKED {
        let out = rt.poisoned_tensor::<u32>(&[5, 4], &[4, 1]);
        // SAFETY: the load is masked, the store covers `out`.
        unsafe {
            paired::launch_unchecked(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                x.arg(),
                i_list.arg(),
                j_list.arg(),
                out.arg(),
                bounds,
            );
        }
        let want = load(&values, &[3, 4, 4], &[5, 4], 77, |at| {
            let (i, j) = (i128::from(i[at[0]]), i128::from(j[at[0]]));
            let column = (at[1] + 1 < 4).then_some(at[1] + 1);
            vec![place(i, 3, bounds), place(j, 4, bounds), column]
        });
        assert_eq!(rt.read_tensor(&out)?, want, "{bounds:?}");
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn tripled(x: &Tensor<u32>, i: &[u32], j: &[i32], k: &[u32], out: &mut Tensor<u32>) {
    let cube = this_cube();
    let view = GatherScatterView::<u32, shape![2, 6], 1>::of(x);
    let j = TileView::<i32, shape![6]>::of(j).load(&cube, 0);
    let tile = view.load_masked(&cube, comptime!(Pad(77u32)), (1, (i, &j, k)));
    TileViewMut::<u32, shape![2, 6]>::of(out).store(&cube, tile, (0, 0));
}

fn one_dimension_lists_three_axes(rt: &Rt) -> Result<(), Error> {
    let extents = [2, 3, 4, 5];
    let values: Vec<u32> = (0..120).collect();
    let x = rt.put_tensor(&values, &extents);
    let (i, j, k) = (
        [0u32, 1, 2, 3, 0, 2],
        [3, 2, -1, 1, 0, 4],
        [4u32, 3, 2, 1, 0, 5],
    );
    let out = rt.poisoned_tensor::<u32>(&[2, 6], &[6, 1]);
    // SAFETY: the load is masked, the store covers `out`.
    unsafe {
        tripled::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            rt.put(&i).arg(),
            rt.put(&j).arg(),
            rt.put(&k).arg(),
            out.arg(),
        );
    }
    let want = load(&values, &extents, &[2, 6], 77, |at| {
        let listed = |index: i128, extent| place(index, extent, Bounds::Mask);
        let n = at[1];
        let first = (at[0] + 1 < 2).then_some(at[0] + 1);
        vec![
            first,
            listed(i[n].into(), 3),
            listed(j[n].into(), 4),
            listed(k[n].into(), 5),
        ]
    });
    assert_eq!(rt.read_tensor(&out)?, want);
    Ok(())
}

#[cube(launch_unchecked)]
fn lone_pairs(x: &Tensor<u32>, i: &[u32], j: &[u32], out: &mut [u32]) {
    let cube = this_cube();
    let tile = GatherScatterView::<u32, shape![4], 0>::of(x).load_masked(&cube, Zero, ((i, j),));
    TileViewMut::<u32, shape![4]>::of(out).store(&cube, tile, 0);
}

fn a_lone_dimension_lists_two_axes(rt: &Rt) -> Result<(), Error> {
    // Columns are neighbours in memory.
    let x = rt.put_strided(&[11u32, 12, 13, 21, 22, 23], &[2, 3], &[1, 2]);
    let out = rt.poisoned::<u32>(4);
    // SAFETY: the load is masked, the store covers `out`.
    unsafe {
        lone_pairs::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            rt.put(&[1u32, 0, 1, 2]).arg(),
            rt.put(&[0u32, 2, 3, 0]).arg(),
            out.arg(),
        );
    }
    assert_eq!(rt.read(&out)?, [21, 13, 0, 0]);
    Ok(())
}

#[cube(launch_unchecked)]
fn store_crossed(values: &Tensor<u32>, rows: &[i32], columns: &[i32], out: &mut Tensor<u32>) {
    let cube = this_cube();
    let tile = TileView::<u32, shape![3, 4]>::of(values).load(&cube, (0, 0));
    GatherScatterViewMut::<u32, shape![3, 4], 1>::of(out).store_masked(
        &cube,
        tile,
        (rows, columns),
    );
}

fn stores_along_two_lists(rt: &Rt) -> Result<(), Error> {
    let values: Vec<u32> = (100..112).collect();
    let (rows, columns) = ([4, 0, 9], [2, -1, 0, 1]);
    let out = rt.put_tensor(&[7u32; 15], &[5, 3]);
    // SAFETY: the load covers `values`, the store is masked.
    unsafe {
        store_crossed::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            rt.put_tensor(&values, &[3, 4]).arg(),
            rt.put(&rows).arg(),
            rt.put(&columns).arg(),
            out.arg(),
        );
    }
    let mut want = [7u32; 15];
    for (i, &row) in rows.iter().enumerate() {
        for (j, &column) in columns.iter().enumerate() {
            if row < 5 && column >= 0 {
                want[position(&[row as usize, column as usize], &[5, 3])] = values[4 * i + j];
            }
        }
    }
    assert_eq!(rt.read_tensor(&out)?, want);
    Ok(())
}

#[cube(launch_unchecked)]
fn store_pairs<N: Size>(
    values: &Tensor<Vector<u32, N>>,
    i: &[i32],
    j: &[i32],
    out: &mut Tensor<Vector<u32, N>>,
) {
    let cube = this_cube();
    let tile = TileView::<u32, shape![4, 8]>::of(values).load(&cube, (0, 0));
    GatherScatterViewMut::<u32, shape![4, 8], 0>::of(out).store_masked(&cube, tile, ((i, j), 0));
}

fn stores_at_pairs(rt: &Rt) -> Result<(), Error> {
    let values: Vec<u32> = (100..132).collect();
    let (i, j) = ([1, 0, 2, 1], [0, 1, 0, -1]);
    for width in [1, 4] {
        let out = rt.put_tensor(&[7u32; 32], &[2, 2, 8]);
        // SAFETY: the load covers `values`, the store is masked.
        unsafe {
            store_pairs::launch_unchecked(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                width,
                rt.put_tensor(&values, &[4, 8]).arg(),
                rt.put(&i).arg(),
                rt.put(&j).arg(),
                out.arg(),
            );
        }
        let mut want = [7u32; 32];
        want[16..24].copy_from_slice(&values[..8]);
        want[8..16].copy_from_slice(&values[8..16]);
        assert_eq!(rt.read_tensor(&out)?, want, "vectors of {width}");
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn from_everywhere(x: &Tensor<u32>, slice: &[u32], tensor: &Tensor<i32>, out: &mut Tensor<u32>) {
    let cube = this_cube();
    let view = GatherScatterView::<u32, shape![4, 2], 0>::of(x);
    let mut out = TileViewMut::<u32, shape![4, 2]>::of(out);
    out.store(&cube, view.load_masked(&cube, Zero, (slice, 0)), (0, 0));
    out.store(&cube, view.load_masked(&cube, Zero, (tensor, 0)), (1, 0));
    let mut memory = shared::<u32>(4usize);
    if UNIT_POS == 0 {
        for i in 0..4usize {
            memory[i] = slice[3 - i];
        }
    }
    sync_cube();
    out.store(&cube, view.load_masked(&cube, Zero, (&*memory, 0)), (2, 0));
    let counted = Tile::<u32, shape![4]>::iota();
    out.store(&cube, view.load_masked(&cube, Zero, (&counted, 0)), (3, 0));
    let loaded = TileView::<u32, shape![4]>::of(slice).load(&cube, 0);
    out.store(&cube, view.load_masked(&cube, Zero, (&loaded, 0)), (4, 0));
    let listed = TileView::<i32, shape![4]>::of(tensor).indices(0);
    out.store(&cube, view.load_masked(&cube, Zero, (&listed, 0)), (5, 0));
}

fn lists_of_every_memory(rt: &Rt) -> Result<(), Error> {
    let values: Vec<u32> = (0..12).collect();
    let (slice, tensor) = ([5u32, 2, 0, 6], [1i32, -1, 3, 4]);
    let out = rt.poisoned_tensor::<u32>(&[24, 2], &[2, 1]);
    // SAFETY: the loads are masked, the stores cover `out`.
    unsafe {
        from_everywhere::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            rt.put_tensor(&values, &[6, 2]).arg(),
            rt.put(&slice).arg(),
            rt.put_tensor(&tensor, &[4]).arg(),
            out.arg(),
        );
    }
    let rows = |list: [i32; 4]| {
        list.into_iter()
            .flat_map(|row| match (0..6).contains(&row) {
                true => [2 * row as u32, 2 * row as u32 + 1],
                false => [0, 0],
            })
    };
    let slice = slice.map(|row| row as i32);
    let reversed = [slice[3], slice[2], slice[1], slice[0]];
    let want: Vec<u32> = [slice, tensor, reversed, [0, 1, 2, 3], slice, tensor]
        .into_iter()
        .flat_map(rows)
        .collect();
    assert_eq!(rt.read_tensor(&out)?, want);
    Ok(())
}

macro_rules! five_axes {
    ($($load:ident $store:ident $dim:literal |$list:ident| $index:tt;)*) => {
        $(
            #[cube(launch_unchecked)]
            fn $load(x: &Tensor<u32>, $list: &[i32], out: &mut Tensor<u32>) {
                let cube = this_cube();
                let view = GatherScatterView::<u32, shape![2, 2, 2, 2, 2], $dim>::of(x);
                let tile = view.load_masked(&cube, comptime!(Pad(77u32)), $index);
                TileViewMut::<u32, shape![2, 2, 2, 2, 2]>::of(out).store(&cube, tile, (0, 0, 0, 0, 0));
            }
            #[cube(launch_unchecked)]
            fn $store(values: &Tensor<u32>, $list: &[i32], out: &mut Tensor<u32>) {
                let cube = this_cube();
                let tile = TileView::<u32, shape![2, 2, 2, 2, 2]>::of(values).load(&cube, (0, 0, 0, 0, 0));
                GatherScatterViewMut::<u32, shape![2, 2, 2, 2, 2], $dim>::of(out).store_masked(&cube, tile, $index);
            }
        )*

        fn five_axes_are_gathered_along_each(rt: &Rt) -> Result<(), Error> {
            let extents = [3, 2, 3, 2, 3];
            let values: Vec<u32> = (0..108).collect();
            let tile: Vec<u32> = (1000..1032).collect();
            let x = rt.put_tensor(&values, &extents);
            $({
                let indices = [1, if extents[$dim] == 2 { -1 } else { 0 }];
                let list = rt.put(&indices);
                let places = |at: &[usize]| -> Vec<Option<usize>> {
                    (0..5).map(|axis| match axis {
                        $dim => place(indices[at[axis]].into(), extents[axis], Bounds::Mask),
                        _ => place(at[axis] as i128 + 1, extents[axis], Bounds::Mask),
                    }).collect()
                };
                let out = rt.poisoned_tensor::<u32>(&[2; 5], &[16, 8, 4, 2, 1]);
                // SAFETY: the load is masked, the store covers `out`.
                unsafe {
                    $load::launch_unchecked(&rt.client, ONE_CUBE, rt.cube_dim(), x.arg(), list.arg(), out.arg());
                }
                assert_eq!(rt.read_tensor(&out)?, load(&values, &extents, &[2; 5], 77, places), "along {}", $dim);

                let stored = rt.put_tensor(&values, &extents);
                // SAFETY: the load covers the tile, the store is masked.
                unsafe {
                    $store::launch_unchecked(
                        &rt.client, ONE_CUBE, rt.cube_dim(), rt.put_tensor(&tile, &[2; 5]).arg(), list.arg(), stored.arg(),
                    );
                }
                let mut want = values.clone();
                for (n, at) in super::model::coordinates(&[2; 5]).iter().enumerate() {
                    let places: Option<Vec<usize>> = places(at).into_iter().collect();
                    if let Some(places) = places {
                        want[position(&places, &extents)] = tile[n];
                    }
                }
                assert_eq!(rt.read_tensor(&stored)?, want, "stored along {}", $dim);
            })*
            Ok(())
        }
    };
}
five_axes! {
    load_5_0 store_5_0 0 |list| (list, 1, 1, 1, 1);
    load_5_1 store_5_1 1 |list| (1, list, 1, 1, 1);
    load_5_2 store_5_2 2 |list| (1, 1, list, 1, 1);
    load_5_3 store_5_3 3 |list| (1, 1, 1, list, 1);
    load_5_4 store_5_4 4 |list| (1, 1, 1, 1, list);
}
