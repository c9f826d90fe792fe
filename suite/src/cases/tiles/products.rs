//! Products of tiles: by every group, of several elements, in a loop, and what is refused.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Error, Rt, cases, check::same, needs};
use half::f16;

use super::model::{By, ONE_CUBE, Party, group_of};

cases! {
    by_every_group,
    halves_in_floats needs [needs::F16],
    bytes_in_integers,
    vectors,
    a_loop_over_tiles,
    the_book_s_example,
    sums_that_nobody_holds,
    factors_that_do_not_fit,
}

/// Each group adds the product of its tiles to its sums, twice.
#[cube(launch_unchecked)]
fn twice<E: Numeric, F: Numeric, N: Size>(
    a: &Tensor<F>,
    b: &Tensor<Vector<F, N>>,
    before: &Tensor<Vector<E, N>>,
    c: &mut Tensor<Vector<E, N>>,
    #[comptime] by: By,
    #[comptime] size: u32,
) {
    let group = group_of(by);
    let at = UNIT_POS / size;
    let a = TileView::<F, shape![2, 6]>::of(a).load(&group, (at, 0));
    let a = a.share(&group);
    let b = TileView::<F, shape![6, 8]>::of(b).load(&group, (at, 0));
    let before = TileView::<E, shape![2, 8]>::of(before).load(&group, (at, 0));
    let mut sum = before.hold(&group);
    sum.mma(&group, &a, &b);
    sum.mma(&group, &a, &b);
    TileViewMut::<E, shape![2, 8]>::of(c).store(&group, sum, (at, 0));
}

fn products<E, F>(
    rt: &Rt,
    width: usize,
    of: impl Fn(i64) -> F,
    sum: impl Fn(i64) -> E,
) -> Result<(), String>
where
    E: Numeric + CubeElement + girih_testkit::check::Exact,
    F: Numeric + CubeElement,
{
    for party in Party::all(rt) {
        let groups = party.groups();
        let left: Vec<i64> = (0..12 * groups as i64).map(|at| at * 7 % 11 - 5).collect();
        let right: Vec<i64> = (0..48 * groups as i64).map(|at| at * 5 % 13 - 6).collect();
        let typed = |values: &[i64]| values.iter().map(|&value| of(value)).collect::<Vec<F>>();
        let a = rt.put_tensor(&typed(&left), &[2 * groups, 6]);
        let b = rt.put_tensor(&typed(&right), &[6 * groups, 8]);
        let before: Vec<E> = (0..16 * groups as i64).map(|at| sum(at % 9)).collect();
        let before_tensor = rt.put_tensor(&before, &[2 * groups, 8]);
        let c = rt.poisoned_tensor::<E>(&[2 * groups, 8], &[8, 1]);
        // SAFETY: the tiles cover the tensors.
        unsafe {
            twice::launch_unchecked::<E, F>(
                &rt.client,
                ONE_CUBE,
                party.dim(),
                width,
                a.arg(),
                b.arg(),
                before_tensor.arg(),
                c.arg(),
                party.by,
                party.size,
            );
        }
        let got = rt.read_tensor(&c).map_err(|error| error.to_string())?;
        let mut want = vec![];
        for group in 0..groups {
            for row in 0..2 {
                for column in 0..8 {
                    let terms = (0..6).map(|k| {
                        left[(group * 2 + row) * 6 + k] * right[(group * 6 + k) * 8 + column]
                    });
                    let at = (group * 2 + row) * 8 + column;
                    want.push(sum(at as i64 % 9 + 2 * terms.sum::<i64>()));
                }
            }
        }
        same(&got, &want).map_err(|error| format!("{party:?}: {error}"))?;
    }
    Ok(())
}

fn by_every_group(rt: &Rt) -> Result<(), String> {
    products(rt, 1, |value| value as f32, |value| value as f32)?;
    products(rt, 1, |value| value as i32, |value| value as i32)
}

fn halves_in_floats(rt: &Rt) -> Result<(), String> {
    products(
        rt,
        1,
        |value| f16::from_f64(value as f64),
        |value| value as f32,
    )
}

fn bytes_in_integers(rt: &Rt) -> Result<(), String> {
    match (needs::U8.met)(rt) {
        true => products(rt, 1, |value| value as i8, |value| value as i32),
        false => products(rt, 1, |value| value as i32, |value| value as i32),
    }
}

fn vectors(rt: &Rt) -> Result<(), String> {
    products(rt, 4, |value| value as f32, |value| value as f32)
}

/// c = a b, a tile for each cube.
#[cube(launch_unchecked)]
fn product<E: Numeric>(a: &Tensor<E>, b: &Tensor<E>, c: &mut Tensor<E>) {
    let cube = this_cube();
    let steps = a.shape(1).div_ceil(16);
    let (row, column) = (CUBE_POS_X, CUBE_POS_Y);
    let a = TileView::<E, shape![16, 16]>::of(a);
    let b = TileView::<E, shape![16, 16]>::of(b);
    let mut sum = Tile::<E, shape![16, 16]>::zeros().hold(&cube);
    for step in 0..steps {
        let left = a.load_masked(&cube, Zero, (row, step)).share(&cube);
        let right = b.load_masked(&cube, Zero, (step, column)).share(&cube);
        sum.mma(&cube, &left, &right);
    }
    TileViewMut::<E, shape![16, 16]>::of(c).store_masked(&cube, sum, (row, column));
}

fn a_loop_over_tiles(rt: &Rt) -> Result<(), String> {
    for [rows, columns, inner] in [[16, 16, 16], [37, 20, 50], [5, 3, 100], [16, 16, 0]] {
        let number = |at: usize, salt: usize| ((at * 37 + salt) % 17) as f32 - 8.0;
        let left: Vec<f32> = (0..rows * inner).map(|at| number(at, 3)).collect();
        let right: Vec<f32> = (0..inner * columns).map(|at| number(at, 5)).collect();
        let a = rt.put_tensor(&left, &[rows, inner]);
        let b = rt.put_tensor(&right, &[inner, columns]);
        let c = rt.poisoned_tensor::<f32>(&[rows, columns], &[columns, 1]);
        let cubes = CubeCount::new_2d(rows.div_ceil(16) as u32, columns.div_ceil(16) as u32);
        let units = rt.units.min(64);
        // SAFETY: loads and stores are masked.
        unsafe {
            product::launch_unchecked::<f32>(
                &rt.client,
                cubes,
                CubeDim::new_1d(units),
                a.arg(),
                b.arg(),
                c.arg(),
            );
        }
        let got = rt.read_tensor(&c).map_err(|error| error.to_string())?;
        let mut want = vec![];
        for row in 0..rows {
            for column in 0..columns {
                let terms = (0..inner).map(|k| left[row * inner + k] * right[k * columns + column]);
                want.push(terms.sum::<f32>() + 0.0);
            }
        }
        same(&got, &want).map_err(|error| format!("{rows} x {columns} of {inner}: {error}"))?;
    }
    Ok(())
}

/// The example of the book's chapter on tiles.
#[cube(launch_unchecked)]
fn experts(x: &Tensor<f32>, token: &[u32], w: &Tensor<f32>, out: &mut Tensor<f32>) {
    let cube = this_cube();
    let steps = x.shape(1).div_ceil(32);
    let rows = TileView::<u32, shape![16]>::of(token).load_masked(&cube, Zero, CUBE_POS);
    let x = GatherScatterView::<f32, shape![16, 32], 0>::of(x);
    let w = TileView::<f32, shape![32, 16]>::of(w);
    let mut sum = Tile::<f32, shape![16, 16]>::zeros().hold(&cube);
    for step in 0..steps {
        let a = x
            .load_masked(&cube, Zero, (&rows, step as u32 * 32))
            .share(&cube);
        let b = w.load_masked(&cube, Zero, (step, 0)).share(&cube);
        sum.mma(&cube, &a, &b);
    }
    TileViewMut::<f32, shape![16, 16]>::of(out).store_masked(
        &cube,
        sum.maximum(0.0),
        (CUBE_POS, 0),
    );
}

fn the_book_s_example(rt: &Rt) -> Result<(), String> {
    let (tokens, inner, columns) = (20, 70, 16);
    let number = |at: usize, salt: usize| ((at * 37 + salt) % 17) as f32 - 8.0;
    let left: Vec<f32> = (0..tokens * inner).map(|at| number(at, 3)).collect();
    let right: Vec<f32> = (0..inner * columns).map(|at| number(at, 5)).collect();
    let token: Vec<u32> = (0..40).map(|at| (at * 7 % tokens) as u32).collect();
    let x = rt.put_tensor(&left, &[tokens, inner]);
    let w = rt.put_tensor(&right, &[inner, columns]);
    let list = rt.put(&token);
    let out = rt.poisoned_tensor::<f32>(&[40, columns], &[columns, 1]);
    // SAFETY: loads and stores are masked.
    unsafe {
        experts::launch_unchecked(
            &rt.client,
            CubeCount::new_1d(3),
            CubeDim::new_1d(rt.units.min(64)),
            x.arg(),
            list.arg(),
            w.arg(),
            out.arg(),
        );
    }
    let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
    let mut want = vec![];
    for &token in &token {
        for column in 0..columns {
            let terms =
                (0..inner).map(|k| left[token as usize * inner + k] * right[k * columns + column]);
            want.push(terms.sum::<f32>().max(0.0));
        }
    }
    same(&got, &want)
}

#[cube(launch_unchecked)]
fn unheld(out: &mut [u32]) {
    let cube = this_cube();
    let mut sum = Tile::<u32, shape![2, 2]>::zeros();
    let a = Tile::<u32, shape![2, 4]>::iota();
    let b = Tile::<u32, shape![4, 2]>::iota();
    sum.mma(&cube, &a, &b);
    TileViewMut::<u32, shape![4]>::of(out).store(&cube, sum.reshape(), 0);
}

#[cube(launch_unchecked)]
fn unfit<K: Size>(out: &mut Tensor<u32>) {
    let cube = this_cube();
    let mut sum = Tile::<u32, shape![2, 2]>::zeros().hold(&cube);
    let a = Tile::<u32, (Const<2>, K)>::iota();
    let b = Tile::<u32, (K, Const<2>)>::iota().hold(&cube);
    sum.mma(&cube, &a, &b);
    TileViewMut::<u32, shape![2, 2]>::of(out).store(&cube, sum, (0, 0));
}

fn refused(result: Result<Vec<u32>, Error>, text: &str) {
    match result {
        Err(Error::Kernel { reason, .. }) => {
            assert!(reason.contains(text), "`{text}` is not in: {reason}")
        }
        other => panic!("not refused: {other:?}"),
    }
}

fn sums_that_nobody_holds(rt: &Rt) {
    let out = rt.put(&[0u32; 4]);
    // SAFETY: the kernel does not compile.
    unsafe {
        unheld::launch_unchecked(&rt.client, ONE_CUBE, rt.cube_dim(), out.arg());
    }
    refused(
        rt.read(&out),
        "girih: Tile::mma: a sum that no unit holds; `hold` it first",
    );
}

fn factors_that_do_not_fit(rt: &Rt) {
    let out = rt.put_tensor(&[0u32; 4], &[2, 2]);
    // SAFETY: the kernel does not compile.
    unsafe {
        unfit::launch_unchecked(&rt.client, ONE_CUBE, rt.cube_dim(), 3, out.arg());
    }
    refused(
        rt.read_tensor(&out),
        "girih: Tile::mma: a tile in the registers of the units that hold it",
    );
}
