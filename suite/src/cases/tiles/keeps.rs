//! Tiles that are computed once.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Rt, cases, needs};

use super::model::{By, Element, ONE_CUBE, Party, compare, group_of, many};
use crate::random::for_all;

cases! {
    floats,
    bytes needs [needs::U8],
    of_64_bits needs [needs::U64],
    held_vectors,
    a_shared_list_of_indices,
    an_expression_that_uses_itself,
}

/// Results of [`kept`], one after the other.
const RESULTS: usize = 5;

#[cube(launch_unchecked)]
fn kept<E: Numeric>(
    x: &Tensor<E>,
    y: &Tensor<E>,
    out: &mut Tensor<E>,
    #[comptime] by: By,
    #[comptime] size: u32,
    #[comptime] groups: u32,
) {
    let group = group_of(by);
    let at = UNIT_POS / size;
    let x = TileView::<E, shape![2, 8]>::of(x).load(&group, (at, 0));
    let y = TileView::<E, shape![2, 8]>::of(y).load(&group, (at, 0));
    let mut out = TileViewMut::<E, shape![2, 8]>::of(out);
    let held = (&x + &y).hold(&group);
    let shared = (&x * &y).share(&group);
    out.store(&group, &held - &shared, (at, 0));
    // What is shared may be read in another order.
    let turned = shared.transpose().reshape::<shape![2, 8]>();
    out.store(&group, turned.clone(), (at + groups, 0));
    out.store(
        &group,
        held.select(held.lt(&y), turned),
        (at + 2 * groups, 0),
    );
    out.store(
        &group,
        held.share(&group).reshape::<shape![8, 2]>().reshape(),
        (at + 3 * groups, 0),
    );
    // A held tile is shared before it is reduced.
    out.store(
        &group,
        held.max::<1>(&group).broadcast_to(),
        (at + 4 * groups, 0),
    );
}

fn check<T: Element>(rt: &Rt) -> Result<(), String> {
    for party in Party::all(rt) {
        let groups = party.groups();
        for_all(
            (many::<T>(16 * groups), many::<T>(16 * groups)),
            |(x, y)| {
                let put = |values: &[T]| rt.put_tensor(values, &[2 * groups, 8]);
                let out = rt.poisoned_tensor::<T>(&[2 * groups * RESULTS, 8], &[8, 1]);
                // SAFETY: the tiles cover the tensors.
                unsafe {
                    kept::launch_unchecked::<T>(
                        &rt.client,
                        ONE_CUBE,
                        party.dim(),
                        put(&x).arg(),
                        put(&y).arg(),
                        out.arg(),
                        party.by,
                        party.size,
                        groups as u32,
                    );
                }
                let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
                let mut want: [Vec<T>; RESULTS] = Default::default();
                for at in 0..16 * groups {
                    let (sum, product) = (x[at].plus(y[at]), x[at].times(y[at]));
                    let (group, place) = (at / 16 * 16, at % 16);
                    // Row-major position in the transpose, of 8 rows.
                    let from = group + place % 2 * 8 + place / 2;
                    let turned = x[from].times(y[from]);
                    want[0].push(minus(sum, product));
                    want[1].push(turned);
                    want[2].push(if sum < y[at] { sum } else { turned });
                    want[3].push(sum);
                    let row = at / 8 * 8;
                    let sums = (row..row + 8).map(|at| x[at].plus(y[at]));
                    want[4].push(sums.reduce(larger).expect("a row has elements"));
                }
                compare(&format!("on {party:?}"), &got, &want.concat(), T::agrees)
            },
        )?;
    }
    Ok(())
}

fn larger<T: Element>(a: T, b: T) -> T {
    if a.is_no_number() || a > b { a } else { b }
}

/// `a - b`, wrapped where integers do.
fn minus<T: Element>(a: T, b: T) -> T {
    let zero = T::from_int(0);
    // Of unsigned integers the largest number is -1.
    let minus_one = match T::min_value() < zero {
        true => zero - T::from_int(1),
        false => T::max_value(),
    };
    a.plus(b.times(minus_one))
}

fn floats(rt: &Rt) -> Result<(), String> {
    check::<f32>(rt)
}
fn bytes(rt: &Rt) -> Result<(), String> {
    check::<u8>(rt)
}
fn of_64_bits(rt: &Rt) -> Result<(), String> {
    check::<u64>(rt)
}

#[cube(launch_unchecked)]
fn vectors<N: Size>(x: &Tensor<Vector<f32, N>>, out: &mut Tensor<Vector<f32, N>>) {
    let cube = this_cube();
    let x = TileView::<f32, shape![6, 8]>::of(x)
        .load(&cube, (0, 0))
        .hold(&cube);
    let floor = x.floor();
    let mut out = TileViewMut::<f32, shape![6, 8]>::of(out);
    out.store(&cube, &x - &floor, (0, 0));
    out.store(&cube, floor, (1, 0));
    let shared = x.share(&cube);
    out.store(&cube, shared * 2.0, (2, 0));
}

fn held_vectors(rt: &Rt) -> Result<(), String> {
    let x: Vec<f32> = (0..48).map(|at| at as f32 * 0.75 - 10.0).collect();
    let out = rt.poisoned_tensor::<f32>(&[18, 8], &[8, 1]);
    // SAFETY: the tiles cover the tensors.
    unsafe {
        vectors::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            4,
            rt.put_tensor(&x, &[6, 8]).arg(),
            out.arg(),
        );
    }
    let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
    let want: Vec<f32> = x
        .iter()
        .map(|x| x - x.floor())
        .chain(x.iter().map(|x| x.floor()))
        .chain(x.iter().map(|x| x * 2.0))
        .collect();
    compare("vectors", &got, &want, f32::agrees)
}

#[cube(launch_unchecked)]
fn by_shared_list(table: &Tensor<u32>, index: &[u32], out: &mut Tensor<u32>) {
    let cube = this_cube();
    let index = TileView::<u32, shape![8]>::of(index).load(&cube, 0);
    // The index of each row's end, computed once.
    let ends = (index * 2 + 1).share(&cube);
    let view = GatherScatterView::<u32, shape![8, 4], 0>::of(table);
    let tile = view.load_masked(&cube, Zero, (&ends, 0));
    TileViewMut::<u32, shape![8, 4]>::of(out).store(&cube, tile, (0, 0));
}

fn a_shared_list_of_indices(rt: &Rt) -> Result<(), String> {
    let table: Vec<u32> = (100..148).collect();
    let index = [0u32, 5, 2, 9, 3, 3, 1, 6];
    let out = rt.poisoned_tensor::<u32>(&[8, 4], &[4, 1]);
    // SAFETY: the load is masked, the tile covers `out`.
    unsafe {
        by_shared_list::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            rt.put_tensor(&table, &[12, 4]).arg(),
            rt.put(&index).arg(),
            out.arg(),
        );
    }
    let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
    let want: Vec<u32> = index
        .iter()
        .flat_map(|row| {
            let row = (row * 2 + 1) as usize;
            (0..4).map(move |column| (row, column))
        })
        .map(|(row, column)| table.get(row * 4 + column).copied().unwrap_or(0))
        .collect();
    compare("rows", &got, &want, |a, b| a == b)
}

#[cube(launch_unchecked)]
fn towers(x: &[u32], out: &mut [u32]) {
    let cube = this_cube();
    let mut out = TileViewMut::<u32, shape![64]>::of(out);
    let x = TileView::<u32, shape![64]>::of(x).load(&cube, 0);
    // A tree of this would have a million leaves.
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    let x = &x * &x + 1;
    out.store(&cube, x, 0);
}

fn an_expression_that_uses_itself(rt: &Rt) -> Result<(), String> {
    let x: Vec<u32> = (0..64).collect();
    let out = rt.poisoned::<u32>(64);
    // SAFETY: the tiles cover the buffers.
    unsafe {
        towers::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            rt.put(&x).arg(),
            out.arg(),
        );
    }
    let got = rt.read(&out).map_err(|error| error.to_string())?;
    let tower = |x: u32| (0..20).fold(x, |x, _| x.wrapping_mul(x).wrapping_add(1));
    let want: Vec<u32> = x.into_iter().map(tower).collect();
    compare("towers", &got, &want, |a, b| a == b)
}
