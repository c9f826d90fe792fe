//! Tiles of other shapes, and tiles of counts.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Rt, cases};

use super::model::{By, ONE_CUBE, Party, compare, group_of};

cases! {
    permutations,
    broadcasts,
    reshapes,
    counts,
    shapes_of_vectors,
}

/// Results of [`permuted`], one after the other.
const PERMUTATIONS: [[usize; 3]; 3] = [[2, 0, 1], [1, 0, 2], [2, 1, 0]];

#[cube(launch_unchecked)]
fn permuted<A: Size, B: Size, C: Size>(
    x: &Tensor<u32>,
    first: &mut Tensor<u32>,
    second: &mut Tensor<u32>,
    third: &mut Tensor<u32>,
    #[comptime] by: By,
    #[comptime] size: u32,
) {
    let group = group_of(by);
    let at = UNIT_POS / size;
    let x = TileView::<u32, (A, B, C)>::of(x).load(&group, (at, 0, 0));
    let y = x.permute::<(C, A, B)>([2, 0, 1]);
    TileViewMut::<u32, (C, A, B)>::of(first).store(&group, y, (at, 0, 0));
    let y = x.permute::<(B, A, C)>([1, 0, 2]);
    TileViewMut::<u32, (B, A, C)>::of(second).store(&group, y, (at, 0, 0));
    let y = x.permute::<(C, B, A)>([2, 1, 0]);
    TileViewMut::<u32, (C, B, A)>::of(third).store(&group, y, (at, 0, 0));
}

fn permutations(rt: &Rt) -> Result<(), String> {
    for party in Party::all(rt) {
        for dims in [[1, 1, 1], [3, 5, 7], [2, 4, 8], [1, 12, 3]] {
            let [a, b, c] = dims;
            let (groups, each) = (party.groups(), a * b * c);
            let x: Vec<u32> = (0..(groups * each) as u32).collect();
            let out = PERMUTATIONS.map(|order| {
                let [a, b, c] = order.map(|axis| dims[axis]);
                rt.poisoned_tensor::<u32>(&[groups * a, b, c], &[b * c, c, 1])
            });
            // SAFETY: the tiles cover the tensors.
            unsafe {
                permuted::launch_unchecked(
                    &rt.client,
                    ONE_CUBE,
                    party.dim(),
                    a,
                    b,
                    c,
                    rt.put_tensor(&x, &[groups * a, b, c]).arg(),
                    out[0].arg(),
                    out[1].arg(),
                    out[2].arg(),
                    party.by,
                    party.size,
                );
            }
            for (order, out) in PERMUTATIONS.iter().zip(&out) {
                let got = rt.read_tensor(out).map_err(|error| error.to_string())?;
                let strides = [b * c, c, 1];
                let [i, j, k] = order.map(|axis| (dims[axis], strides[axis]));
                let mut want = vec![];
                for group in 0..groups {
                    for at in 0..each {
                        let (p, q, r) = (at / (j.0 * k.0), at / k.0 % j.0, at % k.0);
                        want.push((group * each + p * i.1 + q * j.1 + r * k.1) as u32);
                    }
                }
                compare(&format!("{order:?}, {party:?}"), &got, &want, |a, b| a == b)?;
            }
        }
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn broadcast<A: Size, B: Size, C: Size>(
    whole: &Tensor<u32>,
    row: &Tensor<u32>,
    column: &Tensor<u32>,
    one: &Tensor<u32>,
    out: &mut Tensor<u32>,
) {
    let cube = this_cube();
    let whole = TileView::<u32, (A, B, C)>::of(whole).load(&cube, (0, 0, 0));
    let row = TileView::<u32, (Const<1>, Const<1>, C)>::of(row).load(&cube, (0, 0, 0));
    let column = TileView::<u32, (A, B, Const<1>)>::of(column).load(&cube, (0, 0, 0));
    let one = TileView::<u32, shape![1, 1, 1]>::of(one).load(&cube, (0, 0, 0));
    // Through shapes between, and with a tile that has the shape already.
    let row = row.broadcast_to::<(A, Const<1>, C)>().broadcast_to();
    let sum = whole.broadcast_to() * row + column.broadcast_to() - one.broadcast_to();
    TileViewMut::<u32, (A, B, C)>::of(out).store(&cube, sum, (0, 0, 0));
}

fn broadcasts(rt: &Rt) -> Result<(), String> {
    for [a, b, c] in [[1, 1, 1], [3, 5, 7], [2, 1, 12], [4, 8, 1]] {
        let numbers = |count: usize, step: u32| -> Vec<u32> {
            (0..count as u32).map(|at| at * step + 3).collect()
        };
        let whole = numbers(a * b * c, 1);
        let (row, column) = (numbers(c, 5), numbers(a * b, 7));
        let out = rt.poisoned_tensor::<u32>(&[a, b, c], &[b * c, c, 1]);
        // SAFETY: the tiles cover the tensors.
        unsafe {
            broadcast::launch_unchecked(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                a,
                b,
                c,
                rt.put_tensor(&whole, &[a, b, c]).arg(),
                rt.put_tensor(&row, &[1, 1, c]).arg(),
                rt.put_tensor(&column, &[a, b, 1]).arg(),
                rt.put_tensor(&[2u32], &[1, 1, 1]).arg(),
                out.arg(),
            );
        }
        let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
        let want: Vec<u32> = (0..a * b * c)
            .map(|at| whole[at] * row[at % c] + column[at / c] - 2)
            .collect();
        compare("broadcast", &got, &want, |a, b| a == b)?;
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn reshaped(x: &Tensor<u32>, out: &mut Tensor<u32>, lines: &mut [u32], squeezed: &mut Tensor<u32>) {
    let cube = this_cube();
    let x = TileView::<u32, shape![6, 10]>::of(x).load(&cube, (0, 0));
    let y = x.reshape::<shape![4, 3, 5]>();
    TileViewMut::<u32, shape![4, 3, 5]>::of(out).store(&cube, y.clone(), (0, 0, 0));
    TileViewMut::<u32, shape![60]>::of(lines).store(&cube, y.reshape(), 0);
    let z = x
        .reshape::<shape![1, 6, 1, 10]>()
        .reshape::<shape![6, 10, 1]>();
    TileViewMut::<u32, shape![6, 10]>::of(squeezed).store(&cube, z.reshape(), (0, 0));
}

fn reshapes(rt: &Rt) -> Result<(), String> {
    let x: Vec<u32> = (0..60).map(|at| at * 3 + 1).collect();
    let out = rt.poisoned_tensor::<u32>(&[4, 3, 5], &[15, 5, 1]);
    let lines = rt.poisoned::<u32>(60);
    let squeezed = rt.poisoned_tensor::<u32>(&[6, 10], &[10, 1]);
    // SAFETY: the tiles cover the buffers.
    unsafe {
        reshaped::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            rt.put_tensor(&x, &[6, 10]).arg(),
            out.arg(),
            lines.arg(),
            squeezed.arg(),
        );
    }
    let error = |error: girih_testkit::Error| error.to_string();
    compare("out", &rt.read_tensor(&out).map_err(error)?, &x, |a, b| {
        a == b
    })?;
    compare("lines", &rt.read(&lines).map_err(error)?, &x, |a, b| a == b)?;
    let got = rt.read_tensor(&squeezed).map_err(error)?;
    compare("squeezed", &got, &x, |a, b| a == b)
}

#[cube(launch_unchecked)]
fn counting<E: Numeric>(out: &mut Tensor<E>) {
    let cube = this_cube();
    let mut out = TileViewMut::<E, shape![5, 7]>::of(out);
    out.store(&cube, Tile::<E, shape![5, 7]>::iota(), (0, 0));
    out.store(&cube, Tile::<E, shape![5, 7]>::iota_along::<0>(), (1, 0));
    out.store(&cube, Tile::<E, shape![5, 7]>::iota_along::<1>(), (2, 0));
    out.store(&cube, Tile::<E, shape![5, 7]>::zeros(), (3, 0));
    let transposed = Tile::<E, shape![7, 5]>::iota().transpose();
    out.store(&cube, transposed, (4, 0));
}

fn counts(rt: &Rt) -> Result<(), String> {
    let at = || (0..35u32).map(|at| (at / 7, at % 7));
    let want: Vec<u32> = (0..35)
        .chain(at().map(|(row, _)| row))
        .chain(at().map(|(_, column)| column))
        .chain([0; 35])
        .chain(at().map(|(row, column)| column * 5 + row))
        .collect();
    let out = rt.poisoned_tensor::<u32>(&[25, 7], &[7, 1]);
    // SAFETY: the tiles cover `out`.
    unsafe { counting::launch_unchecked::<u32>(&rt.client, ONE_CUBE, rt.cube_dim(), out.arg()) };
    let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
    compare("u32", &got, &want, |a, b| a == b)?;
    let out = rt.poisoned_tensor::<f32>(&[25, 7], &[7, 1]);
    // SAFETY: the tiles cover `out`.
    unsafe { counting::launch_unchecked::<f32>(&rt.client, ONE_CUBE, rt.cube_dim(), out.arg()) };
    let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
    let want: Vec<f32> = want.into_iter().map(|value| value as f32).collect();
    compare("f32", &got, &want, |a, b| a == b)
}

#[cube(launch_unchecked)]
fn of_vectors<N: Size>(x: &Tensor<Vector<u32, N>>, out: &mut Tensor<Vector<u32, N>>) {
    let cube = this_cube();
    let x = TileView::<u32, shape![4, 8]>::of(x).load(&cube, (0, 0));
    let mut out = TileViewMut::<u32, shape![4, 8]>::of(out);
    out.store(&cube, x.reshape::<shape![8, 4]>().transpose(), (0, 0));
    out.store(&cube, x.reshape::<shape![2, 16]>().reshape(), (1, 0));
    let iota = Tile::<u32, shape![4, 8]>::iota();
    out.store(&cube, x.sum::<0>(&cube).broadcast_to() + iota, (2, 0));
    out.store(&cube, x.sum::<1>(&cube).broadcast_to(), (3, 0));
    let last = x.inclusive_scan::<1, girih::coop::Sum>(&cube);
    out.store(&cube, last, (4, 0));
    out.store(
        &cube,
        x.inclusive_scan::<0, girih::coop::Sum>(&cube),
        (5, 0),
    );
    let places = x.arg_max::<0>(&cube).broadcast_to() * 10 + x.arg_max::<1>(&cube).broadcast_to();
    out.store(&cube, places, (6, 0));
    let total = x.sum_of_all(&cube);
    out.store(&cube, Tile::<u32, shape![4, 8]>::full(total), (7, 0));
}

fn shapes_of_vectors(rt: &Rt) -> Result<(), String> {
    let x: Vec<u32> = (0..32).map(|at| at * at * 7 % 41).collect();
    let out = rt.poisoned_tensor::<u32>(&[32, 8], &[8, 1]);
    // SAFETY: the tiles cover the tensors.
    unsafe {
        of_vectors::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            4,
            rt.put_tensor(&x, &[4, 8]).arg(),
            out.arg(),
        );
    }
    let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
    let at = || (0..32usize).map(|at| (at / 8, at % 8));
    let first_largest = |values: Vec<u32>| -> u32 {
        let largest = values.iter().max().expect("a line has elements");
        let place = values.iter().position(|value| value == largest);
        place.expect("the largest is there") as u32
    };
    let row = |row: usize| x[8 * row..][..8].to_vec();
    let column = |column: usize| (0..4).map(|row| x[8 * row + column]).collect::<Vec<_>>();
    let want: Vec<u32> = at()
        .map(|(row, column)| x[column * 4 + row])
        .chain(x.clone())
        .chain(at().map(|(i, j)| column(j).iter().sum::<u32>() + (i * 8 + j) as u32))
        .chain(at().map(|(i, _)| row(i).iter().sum()))
        .chain(at().map(|(i, j)| row(i)[..=j].iter().sum()))
        .chain(at().map(|(i, j)| column(j)[..=i].iter().sum()))
        .chain(at().map(|(i, j)| first_largest(column(j)) * 10 + first_largest(row(i))))
        .chain(at().map(|_| x.iter().sum()))
        .collect();
    compare("vectors", &got, &want, |a, b| a == b)
}
