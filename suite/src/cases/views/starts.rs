//! Tiles that start anywhere, and vectors that would be split.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Error, Rt, cases, check::assert_same};

use super::{ONE_CUBE, assert_refused};

cases! {
    masks_starts_on_either_side,
    moves_vectors_from_any_start,
    refuses_stores_that_would_split_a_vector,
}

#[cube(launch_unchecked)]
fn from_start(x: &Tensor<u32>, starts: &[i32], out: &mut Tensor<u32>) {
    let cube = this_cube();
    let list = TileView::<i32, shape![1]>::of(starts).load(&cube, 0);
    let view = GatherScatterView::<u32, shape![1, 6], 0>::of(x);
    let tile = view.load_masked(&cube, comptime!(Pad(9u32)), (&list, starts[1]));
    TileViewMut::<u32, shape![1, 6]>::of(out).store(&cube, tile, (0, 0));
}

fn masks_starts_on_either_side(rt: &Rt) -> Result<(), Error> {
    let x = rt.put_tensor(&[0u32, 1, 2, 3], &[1, 4]);
    let cases = [
        (-2, [9, 9, 0, 1, 2, 3]),
        (3, [3, 9, 9, 9, 9, 9]),
        (-7, [9; 6]),
        (i32::MAX - 6, [9; 6]),
        (i32::MIN, [9; 6]),
    ];
    for (start, want) in cases {
        let starts = rt.put(&[0, start]);
        let out = rt.poisoned_tensor::<u32>(&[1, 6], &[6, 1]);
        // SAFETY: the load is masked, the store covers `out`.
        unsafe {
            from_start::launch_unchecked(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                x.arg(),
                starts.arg(),
                out.arg(),
            );
        }
        assert_same(&rt.read_tensor(&out)?, &want);
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn vectors_from_start<N: Size>(
    x: &Tensor<Vector<u32, N>>,
    starts: &[u32],
    out: &mut Tensor<Vector<u32, N>>,
) {
    let cube = this_cube();
    let rows = TileView::<u32, shape![2]>::of(starts).load(&cube, 1);
    let view = GatherScatterView::<u32, shape![2, 8], 0>::of(x);
    let tile = view.load_masked(&cube, comptime!(Pad(99u32)), (&rows, starts[0]));
    TileViewMut::<u32, shape![2, 8]>::of(out).store(&cube, tile, (0, 0));
}

fn moves_vectors_from_any_start(rt: &Rt) -> Result<(), Error> {
    let values: Vec<u32> = (0..48).collect();
    let x = rt.put_tensor(&values, &[4, 12]);
    for start in [0u32, 4, 8, 1, 3, 6, 11, 12, 13] {
        let starts = rt.put(&[start, 0, 3, 9]);
        let out = rt.poisoned_tensor::<u32>(&[2, 8], &[8, 1]);
        // SAFETY: the load is masked, the store covers `out`.
        unsafe {
            vectors_from_start::launch_unchecked(
                &rt.client,
                ONE_CUBE,
                rt.cube_dim(),
                4,
                x.arg(),
                starts.arg(),
                out.arg(),
            );
        }
        let row = |row: u32| {
            (start..start + 8).map(move |c| if row < 4 && c < 12 { 12 * row + c } else { 99 })
        };
        let want: Vec<u32> = row(3).chain(row(9)).collect();
        assert_same(&rt.read_tensor(&out)?, &want);
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn split_vector<N: Size>(start: u32, indices: &[u32], out: &mut Tensor<Vector<u32, N>>) {
    let cube = this_cube();
    let list = TileView::<u32, shape![1]>::of(indices).load(&cube, 0);
    let tile = Tile::<u32, shape![1, 4]>::full(1u32);
    GatherScatterViewMut::<u32, shape![1, 4], 0>::of(out).store_masked(&cube, tile, (&list, start));
}

fn refuses_stores_that_would_split_a_vector(rt: &Rt) {
    let (list, out) = (rt.put(&[0u32]), rt.put_tensor(&[0u32; 16], &[2, 8]));
    // SAFETY: the kernel is refused.
    unsafe {
        split_vector::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            4,
            1,
            list.arg(),
            out.arg(),
        );
    }
    assert_refused(
        rt,
        &out.storage,
        "girih: GatherScatterViewMut::store: a tile of extents [1, 4]",
    );
}
