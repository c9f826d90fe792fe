//! Stores of several elements to one place, of which the first or the last stays.

use cubecl::prelude::*;
use girih::{prelude::*, view::Winner};
use girih_testkit::{Error, Rt, cases};

use super::super::model::{coordinates, place, position};
use super::ONE_CUBE;

cases! {
    keeps_the_first_or_the_last,
    keeps_the_first_or_the_last_of_vectors,
    keeps_the_first_or_the_last_of_crossed_lists,
    keeps_the_first_or_the_last_at_the_edges,
}

/// Stores a tile of `dims` in order: `places` says where each coordinate leads in a tensor of these extents.
fn store_in_order<T: Copy>(
    memory: &mut [T],
    extents: &[usize],
    tile: &[T],
    dims: &[usize],
    winner: Winner,
    places: impl Fn(&[usize]) -> Vec<Option<usize>>,
) {
    let order: Vec<usize> = match winner {
        Winner::First => (0..tile.len()).rev().collect(),
        _ => (0..tile.len()).collect(),
    };
    let coordinates = coordinates(dims);
    for n in order {
        let places: Option<Vec<_>> = places(&coordinates[n]).into_iter().collect();
        if let Some(places) = places {
            memory[position(&places, extents)] = tile[n];
        }
    }
}

const ONE: [Winner; 2] = [Winner::First, Winner::Last];

#[cube(launch_unchecked)]
fn kept<N: Size>(
    values: &Tensor<Vector<u32, N>>,
    list: &[i32],
    out: &mut Tensor<Vector<u32, N>>,
    #[comptime] bounds: Bounds,
    #[comptime] winner: Winner,
) {
    let cube = this_cube();
    let tile = TileView::<u32, shape![8, 4]>::of(values).load(&cube, (0, 0));
    let list = TileView::<i32, shape![8]>::of(list).indices(0);
    let view = GatherScatterViewMut::<u32, shape![8, 4], 0>::of(out).bounds(bounds);
    view.keep(winner).store_masked(&cube, tile, (&list, 0));
}

fn rows_kept(rt: &Rt, width: usize) -> Result<(), Error> {
    let tile: Vec<u32> = (100..132).collect();
    let values = rt.put_tensor(&tile, &[8, 4]);
    // Lists shorter than the tile, with one place for all, with none, and with places that only a rule makes the same.
    let lists: [&[i32]; 5] = [
        &[3, 1, 3, 0, 1, 3, 2, 0],
        &[2; 8],
        &[0, 1, 2, 3, 4, 5, 6, 7],
        &[-1, 3, -4, 0, 9, 1],
        &[-9, 9, -8, 8, -7, 7],
    ];
    for list in lists {
        for bounds in super::super::model::MASKED {
            for winner in ONE {
                let mut want = vec![7u32; 16];
                let out = rt.put_tensor(&want, &[4, 4]);
                // SAFETY: the load covers `values`, the store is masked.
                unsafe {
                    kept::launch_unchecked(
                        &rt.client,
                        ONE_CUBE,
                        rt.cube_dim(),
                        width,
                        values.arg(),
                        rt.put(list).arg(),
                        out.arg(),
                        bounds,
                        winner,
                    );
                }
                store_in_order(&mut want, &[4, 4], &tile, &[8, 4], winner, |at| {
                    let row = list
                        .get(at[0])
                        .and_then(|&row| place(row.into(), 4, bounds));
                    vec![row, Some(at[1])]
                });
                assert_eq!(
                    rt.read_tensor(&out)?,
                    want,
                    "{winner:?} of {list:?} under {bounds:?}"
                );
            }
        }
    }
    Ok(())
}

fn keeps_the_first_or_the_last(rt: &Rt) -> Result<(), Error> {
    rows_kept(rt, 1)
}

fn keeps_the_first_or_the_last_of_vectors(rt: &Rt) -> Result<(), Error> {
    rows_kept(rt, 4)
}

#[cube(launch_unchecked)]
fn kept_crossed(
    values: &Tensor<u32>,
    rows: &[i32],
    columns: &[i32],
    out: &mut Tensor<u32>,
    #[comptime] winner: Winner,
) {
    let cube = this_cube();
    let tile = TileView::<u32, shape![4, 5]>::of(values).load(&cube, (0, 0));
    let view = GatherScatterViewMut::<u32, shape![4, 5], 0>::of(out);
    view.keep(winner).store_masked(&cube, tile, (rows, columns));
}

fn keeps_the_first_or_the_last_of_crossed_lists(rt: &Rt) -> Result<(), Error> {
    let tile: Vec<u32> = (100..120).collect();
    let (rows, columns) = ([1, 0, 1, -1], [2, 2, 0, 5, 0]);
    for winner in ONE {
        let mut want = vec![7u32; 6];
        let out = rt.put_tensor(&want, &[2, 3]);
        // SAFETY: the load covers the tile, the store is masked.
        unsafe {
            kept_crossed::launch_unchecked(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                rt.put_tensor(&tile, &[4, 5]).arg(),
                rt.put(&rows).arg(),
                rt.put(&columns).arg(),
                out.arg(),
                winner,
            );
        }
        store_in_order(&mut want, &[2, 3], &tile, &[4, 5], winner, |at| {
            let listed = |index: i32, extent| place(index.into(), extent, Bounds::Mask);
            vec![listed(rows[at[0]], 2), listed(columns[at[1]], 3)]
        });
        assert_eq!(rt.read_tensor(&out)?, want, "{winner:?}");
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn kept_run(
    values: &Tensor<u32>,
    start: i32,
    out: &mut Tensor<u32>,
    #[comptime] bounds: Bounds,
    #[comptime] winner: Winner,
) {
    let cube = this_cube();
    let tile = TileView::<u32, shape![2, 9]>::of(values).load(&cube, (0, 0));
    let rows = Tile::<u32, shape![2]>::iota();
    let view = GatherScatterViewMut::<u32, shape![2, 9], 0>::of(out).bounds([Bounds::Mask, bounds]);
    view.keep(winner).store_masked(&cube, tile, (&rows, start));
}

fn keeps_the_first_or_the_last_at_the_edges(rt: &Rt) -> Result<(), Error> {
    let tile: Vec<u32> = (100..118).collect();
    let values = rt.put_tensor(&tile, &[2, 9]);
    for bounds in [Bounds::Clamp, Bounds::Wrap] {
        for (start, winner) in [-12, -5, -4, -2, 0, 3, 8]
            .into_iter()
            .flat_map(|start| ONE.map(|one| (start, one)))
        {
            let mut want = vec![7u32; 8];
            let out = rt.put_tensor(&want, &[2, 4]);
            // SAFETY: the load covers `values`, the store is masked.
            unsafe {
                kept_run::launch_unchecked(
                    &rt.client,
                    ONE_CUBE,
                    rt.cube_dim(),
                    values.arg(),
                    start,
                    out.arg(),
                    bounds,
                    winner,
                );
            }
            store_in_order(&mut want, &[2, 4], &tile, &[2, 9], winner, |at| {
                vec![
                    Some(at[0]),
                    place(i128::from(start) + at[1] as i128, 4, bounds),
                ]
            });
            assert_eq!(
                rt.read_tensor(&out)?,
                want,
                "{winner:?} from {start} under {bounds:?}"
            );
        }
    }
    Ok(())
}
