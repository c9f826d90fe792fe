//! Views as a kernel author uses them: the numeric examples of the gather-scatter view, paddings, bounds, vectors,
//! large tiles, refusals.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Buffer, Error, Rt, cases, check::assert_same};

pub mod bounds;
pub mod compile_time;
#[cfg(feature = "offline")]
pub mod instructions;
pub mod lists;
mod model;
pub mod partitions;
pub mod policies;
pub mod reports;
pub mod starts;
pub mod stores;

cases! {
    gathers_rows_as_the_first_example,
    gathers_columns_masked_as_the_second_example,
    scatters_rows_as_the_third_example,
    pads_with_every_padding,
    runs_the_kernel_of_the_design,
    streams_a_tile_larger_than_the_registers,
    reads_through_expanded_strides,
    makes_tiles_of_nothing,
    refuses_an_order_that_is_no_permutation,
}

const ONE_CUBE: CubeCount = CubeCount::Static(1, 1, 1);

/// `10 * row + column`, as the examples have it.
fn table(rows: i32, columns: i32) -> Vec<i32> {
    (0..rows)
        .flat_map(|row| (0..columns).map(move |column| 10 * row + column))
        .collect()
}

#[cube(launch_unchecked)]
fn example_1(x: &Tensor<i32>, indices: &[i32], out: &mut Tensor<i32>) {
    let cube = this_cube();
    let view = GatherScatterView::<i32, shape![4, 4], 0>::of(x);
    let rows = TileView::<i32, shape![4]>::of(indices).load(&cube, 0);
    let tile = view.load(&cube, (&rows, 3));
    TileViewMut::<i32, shape![4, 4]>::of(out).store(&cube, tile, (0, 0));
}

fn gathers_rows_as_the_first_example(rt: &Rt) -> Result<(), Error> {
    let x = rt.put_tensor(&table(8, 10), &[8, 10]);
    let indices = rt.put(&[5, 0, 3, 5]);
    let out = rt.poisoned_tensor::<i32>(&[4, 4], &[4, 1]);
    // SAFETY: every index is in range.
    unsafe {
        example_1::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            indices.arg(),
            out.arg(),
        );
    }
    let want = [53, 54, 55, 56, 3, 4, 5, 6, 33, 34, 35, 36, 53, 54, 55, 56];
    assert_same(&rt.read_tensor(&out)?, &want);
    Ok(())
}

#[cube(launch_unchecked)]
fn example_2(x: &Tensor<f32>, indices: &[i32], out: &mut Tensor<f32>) {
    let cube = this_cube();
    let view = GatherScatterView::<f32, shape![4, 4], 1>::of(x);
    let columns = TileView::<i32, shape![4]>::of(indices).load(&cube, 0);
    let tile = view.load_masked(&cube, NegInf, (3, &columns));
    TileViewMut::<f32, shape![4, 4]>::of(out).store(&cube, tile, (0, 0));
}

fn gathers_columns_masked_as_the_second_example(rt: &Rt) -> Result<(), Error> {
    let values: Vec<f32> = table(6, 10).into_iter().map(|value| value as f32).collect();
    let x = rt.put_tensor(&values, &[6, 10]);
    let indices = rt.put(&[5, 6, 10, 1]);
    let out = rt.poisoned_tensor::<f32>(&[4, 4], &[4, 1]);
    // SAFETY: the load is masked, the store covers `out`.
    unsafe {
        example_2::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            indices.arg(),
            out.arg(),
        );
    }
    let m = f32::NEG_INFINITY;
    let want = [
        35., 36., m, 31., 45., 46., m, 41., 55., 56., m, 51., m, m, m, m,
    ];
    assert_same(&rt.read_tensor(&out)?, &want);
    Ok(())
}

#[cube(launch_unchecked)]
fn example_3(x: &mut Tensor<i32>, indices: &[i32], data: &Tensor<i32>) {
    let cube = this_cube();
    let tile = TileView::<i32, shape![2, 4]>::of(data).load(&cube, (0, 0));
    let rows = TileView::<i32, shape![2]>::of(indices).load(&cube, 0);
    GatherScatterViewMut::<i32, shape![2, 4], 0>::of(x).store(&cube, tile, (&rows, 1));
}

fn scatters_rows_as_the_third_example(rt: &Rt) -> Result<(), Error> {
    let mut want = table(6, 10);
    let x = rt.put_tensor(&want, &[6, 10]);
    let indices = rt.put(&[3, 1]);
    let data = rt.put_tensor(&[70, 71, 72, 73, 80, 81, 82, 83], &[2, 4]);
    // SAFETY: every index is in range.
    unsafe {
        example_3::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            indices.arg(),
            data.arg(),
        );
    }
    want[31..35].copy_from_slice(&[70, 71, 72, 73]);
    want[11..15].copy_from_slice(&[80, 81, 82, 83]);
    assert_same(&rt.read_tensor(&x)?, &want);
    Ok(())
}

#[cube(launch_unchecked)]
fn paddings(x: &[f32], out: &mut [f32]) {
    let unit = this_unit();
    let from = TileView::<f32, shape![1]>::of(x);
    let mut to = TileViewMut::<f32, shape![1]>::of(out);
    to.store(&unit, from.load_masked(&unit, Zero, 9), 0);
    to.store(&unit, from.load_masked(&unit, NegZero, 9), 1);
    to.store(&unit, from.load_masked(&unit, NaN, 9), 2);
    to.store(&unit, from.load_masked(&unit, PosInf, 9), 3);
    to.store(&unit, from.load_masked(&unit, NegInf, 9), 4);
    to.store(
        &unit,
        from.load_masked(&unit, comptime!(Pad(-2.5f32)), 9),
        5,
    );
}

fn pads_with_every_padding(rt: &Rt) -> Result<(), Error> {
    let (x, out) = (rt.put(&[1f32; 4]), rt.poisoned::<f32>(6));
    // SAFETY: loads are masked, stores within `out`.
    unsafe {
        paddings::launch_unchecked(&rt.client, ONE_CUBE, CubeDim::new_1d(1), x.arg(), out.arg());
    }
    let got = rt.read(&out)?;
    assert_eq!(got[0].to_bits(), 0);
    assert_eq!(got[1].to_bits(), 0x8000_0000);
    assert!(got[2].is_nan());
    assert_eq!(
        got[2].to_bits(),
        f32::NAN.to_bits(),
        "the padding, not poison"
    );
    assert_eq!(got[3..], [f32::INFINITY, f32::NEG_INFINITY, -2.5]);
    Ok(())
}

// The first kernel of the README.
/// out[n, :] = table[index[n], :], a zero row where the index is out of range.
#[cube(launch_unchecked)]
fn gather_rows<E: Numeric, I: Int>(table: &Tensor<E>, index: &Tensor<I>, out: &mut Tensor<E>) {
    let cube = this_cube();
    let rows = TileView::<I, shape![8]>::of(index).load_masked(&cube, Zero, CUBE_POS);
    let view = GatherScatterView::<E, shape![8, 256], 0>::of(table);
    let tile = view.load_masked(&cube, Zero, (&rows, 0));
    TileViewMut::<E, shape![8, 256]>::of(out).store_masked(&cube, tile, (CUBE_POS, 0));
}

fn runs_the_kernel_of_the_design(rt: &Rt) -> Result<(), Error> {
    let (rows, columns, n) = (30, 100, 19);
    let values: Vec<f32> = (0..rows * columns).map(|value| value as f32).collect();
    let indices: Vec<i32> = (0..n).map(|i| (i * 7) % 34 - 2).collect();
    let table = rt.put_tensor(&values, &[rows, columns]);
    let index = rt.put_tensor(&indices, &[n as usize]);
    let out = rt.poisoned_tensor::<f32>(&[n as usize, columns], &[columns, 1]);
    // SAFETY: every access is masked.
    unsafe {
        gather_rows::launch_unchecked::<f32, i32>(
            &rt.client,
            CubeCount::Static(3, 1, 1),
            rt.cube_dim(),
            table.arg(),
            index.arg(),
            out.arg(),
        );
    }
    let want: Vec<f32> = indices
        .iter()
        .flat_map(|&index| {
            let row = usize::try_from(index).ok().filter(|&row| row < rows);
            (0..columns).map(move |column| row.map_or(0.0, |row| (row * columns + column) as f32))
        })
        .collect();
    assert_same(&rt.read_tensor(&out)?, &want);
    Ok(())
}

#[cube(launch_unchecked)]
pub(super) fn large_tile(x: &Tensor<u32>, indices: &[u32], out: &mut Tensor<u32>) {
    let cube = this_cube();
    let rows = TileView::<u32, shape![128]>::of(indices).load(&cube, 0);
    let view = GatherScatterView::<u32, shape![128, 128], 0>::of(x);
    let tile = view.load_masked(&cube, Zero, (&rows, 0));
    TileViewMut::<u32, shape![128, 128]>::of(out).store_masked(&cube, tile, (0, 0));
}

fn streams_a_tile_larger_than_the_registers(rt: &Rt) -> Result<(), Error> {
    let values: Vec<u32> = (0..200 * 128).collect();
    let indices: Vec<u32> = (0..128).map(|i| (i * 37) % 210).collect();
    let x = rt.put_tensor(&values, &[200, 128]);
    let list = rt.put(&indices);
    let out = rt.poisoned_tensor::<u32>(&[128, 128], &[128, 1]);
    // SAFETY: every access is masked.
    unsafe {
        large_tile::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            list.arg(),
            out.arg(),
        );
    }
    let want: Vec<u32> = indices
        .iter()
        .flat_map(|&row| (0..128).map(move |column| if row < 200 { row * 128 + column } else { 0 }))
        .collect();
    assert_same(&rt.read_tensor(&out)?, &want);
    Ok(())
}

#[cube(launch_unchecked)]
fn square(x: &Tensor<u32>, out: &mut Tensor<u32>) {
    let cube = this_cube();
    let tile = TileView::<u32, shape![4, 4]>::of(x).load_masked(&cube, Zero, (CUBE_POS, 0));
    TileViewMut::<u32, shape![4, 4]>::of(out).store_masked(&cube, tile, (CUBE_POS, 0));
}

fn reads_through_expanded_strides(rt: &Rt) -> Result<(), Error> {
    let x = rt.put(&[5u32, 6, 7]).tensor(&[5, 3], &[0, 1]);
    let out = rt.poisoned_tensor::<u32>(&[5, 3], &[3, 1]);
    // SAFETY: every access is masked.
    unsafe {
        square::launch_unchecked(
            &rt.client,
            CubeCount::Static(2, 1, 1),
            rt.cube_dim(),
            x.arg(),
            out.arg(),
        );
    }
    assert_same(&rt.read_tensor(&out)?, &[5u32, 6, 7].repeat(5));
    Ok(())
}

#[cube(launch_unchecked)]
fn made(value: f32, counted: &mut Tensor<f32>, filled: &mut Tensor<f32>) {
    let cube = this_cube();
    let iota = Tile::<f32, shape![3, 5]>::iota();
    TileViewMut::<f32, shape![3, 5]>::of(counted).store(&cube, iota, (0, 0));
    let full = Tile::<f32, shape![2, 7]>::full(value);
    TileViewMut::<f32, shape![2, 7]>::of(filled).store(&cube, full, (0, 0));
}

fn makes_tiles_of_nothing(rt: &Rt) -> Result<(), Error> {
    let counted = rt.poisoned_tensor::<f32>(&[3, 5], &[5, 1]);
    let filled = rt.poisoned_tensor::<f32>(&[2, 7], &[7, 1]);
    // SAFETY: the stores cover their tensors.
    unsafe {
        made::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            1.5,
            counted.arg(),
            filled.arg(),
        );
    }
    let want: Vec<f32> = (0..15).map(|i| i as f32).collect();
    assert_same(&rt.read_tensor(&counted)?, &want);
    assert_same(&rt.read_tensor(&filled)?, &[1.5; 14]);
    Ok(())
}

/// The error that reading `out` gives, which must hold `text`.
pub(super) fn assert_refused(rt: &Rt, out: &Buffer<u32>, text: &str) {
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

#[cube(launch_unchecked)]
fn disordered(x: &Tensor<u32>, out: &mut Tensor<u32>) {
    let cube = this_cube();
    let tile = TileView::<u32, shape![2, 2]>::of(x)
        .order([1, 1])
        .load(&cube, (0, 0));
    TileViewMut::<u32, shape![2, 2]>::of(out).store(&cube, tile, (0, 0));
}

fn refuses_an_order_that_is_no_permutation(rt: &Rt) {
    let (x, out) = (
        rt.put_tensor(&[0u32; 4], &[2, 2]),
        rt.put_tensor(&[0u32; 4], &[2, 2]),
    );
    // SAFETY: the kernel is refused.
    unsafe {
        disordered::launch_unchecked(&rt.client, ONE_CUBE, rt.cube_dim(), x.arg(), out.arg());
    }
    assert_refused(
        rt,
        &out.storage,
        "girih: TileView::order: [1, 1]; a permutation of 0..2 is needed",
    );
}
