//! Rules for indices along every axis: lists, starts of every integer type, numbers of tiles, vectors.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Error, Rt, cases, check::assert_same, needs};

use super::assert_refused;
use super::model::{MASKED, load, place};

cases! {
    starts_of_8_bits needs [needs::I8, needs::U8],
    starts_of_16_bits needs [needs::I16, needs::U16],
    starts_of_32_bits,
    starts_of_64_bits needs [needs::I64, needs::U64],
    numbers_of_tiles,
    numbers_of_tiles_of_64_bits needs [needs::I64, needs::U64],
    vectors_from_every_start,
    a_rule_for_each_dimension,
    refuses_to_clamp_stored_vectors,
}

const ONE_CUBE: CubeCount = CubeCount::Static(1, 1, 1);
const PADDING: u32 = 77;

macro_rules! starts {
    ($($kernel:ident $test:ident: $start:ty;)*) => {$(
        /// Six elements of one row from a start.
        #[cube(launch_unchecked)]
        fn $kernel(x: &Tensor<u32>, start: &[$start], out: &mut Tensor<u32>, #[comptime] bounds: Bounds) {
            let cube = this_cube();
            let rows = Tile::<u32, shape![1]>::full(0u32);
            let view = GatherScatterView::<u32, shape![1, 6], 0>::of(x).bounds([Bounds::Mask, bounds]);
            let tile = view.load_masked(&cube, comptime!(Pad(77u32)), (&rows, start[0]));
            TileViewMut::<u32, shape![1, 6]>::of(out).store(&cube, tile, (0, 0));
        }

        fn $test(rt: &Rt, starts: &[$start]) -> Result<(), Error> {
            for extent in [0, 1, 4] {
                let values: Vec<u32> = (0..extent as u32).map(|i| 10 + i).collect();
                let x = rt.put(&[10u32, 11, 12, 13]).tensor(&[1, extent], &[4, 1]);
                for (bounds, &first) in MASKED.iter().flat_map(|rule| starts.iter().map(move |first| (*rule, first))) {
                    let start = rt.put(&[first]);
                    let out = rt.poisoned_tensor::<u32>(&[1, 6], &[6, 1]);
                    // SAFETY: the load is masked, the store covers `out`.
                    unsafe {
                        $kernel::launch_unchecked(
                            &rt.client, ONE_CUBE, rt.cube_dim(), x.arg(), start.arg(), out.arg(), bounds,
                        );
                    }
                    let want = load(&values, &[extent], &[6], PADDING, |at| {
                        vec![place(first as i128 + at[0] as i128, extent, bounds)]
                    });
                    let got = rt.read_tensor(&out)?;
                    assert_eq!(got, want, "{bounds:?} from {first} of {extent}");
                }
            }
            Ok(())
        }
    )*};
}
starts! {
    from_i8 by_i8: i8;
    from_u8 by_u8: u8;
    from_i16 by_i16: i16;
    from_u16 by_u16: u16;
    from_i32 by_i32: i32;
    from_u32 by_u32: u32;
    from_i64 by_i64: i64;
    from_u64 by_u64: u64;
}

macro_rules! of_width {
    ($($name:ident: $signed:ident $by_signed:ident, $unsigned:ident $by_unsigned:ident;)*) => {$(
        fn $name(rt: &Rt) -> Result<(), Error> {
            let top = $signed::MAX;
            $by_signed(rt, &[-11, -10, -9, -6, -5, -4, -3, -1, 0, 1, 3, 4, 5, top, top - 3, $signed::MIN, $signed::MIN + 2])?;
            $by_unsigned(rt, &[0, 1, 3, 4, 5, $unsigned::MAX, $unsigned::MAX - 2, $unsigned::MAX / 2 + 1])
        }
    )*};
}
of_width! {
    starts_of_8_bits: i8 by_i8, u8 by_u8;
    starts_of_16_bits: i16 by_i16, u16 by_u16;
    starts_of_32_bits: i32 by_i32, u32 by_u32;
    starts_of_64_bits: i64 by_i64, u64 by_u64;
}

macro_rules! tiles {
    ($($kernel:ident $test:ident: $number:ty;)*) => {$(
        #[cube(launch_unchecked)]
        fn $kernel(x: &[u32], number: &[$number], out: &mut [u32], #[comptime] step: u32, #[comptime] bounds: Bounds) {
            let cube = this_cube();
            let view = TileView::<u32, shape![4]>::of(x).step([step]).bounds(bounds);
            let tile = view.load_masked(&cube, comptime!(Pad(77u32)), number[0]);
            TileViewMut::<u32, shape![4]>::of(out).store(&cube, tile, 0);
        }

        fn $test(rt: &Rt, numbers: &[$number]) -> Result<(), Error> {
            let values: Vec<u32> = (0..9).collect();
            let x = rt.put(&values);
            for step in [1, 4, 5] {
                for (bounds, &number) in MASKED.iter().flat_map(|rule| numbers.iter().map(move |number| (*rule, number))) {
                    let (list, out) = (rt.put(&[number]), rt.poisoned::<u32>(4));
                    // SAFETY: the load is masked, the store covers `out`.
                    unsafe {
                        $kernel::launch_unchecked(
                            &rt.client, ONE_CUBE, rt.cube_dim(), x.arg(), list.arg(), out.arg(), step, bounds,
                        );
                    }
                    let first = number as i128 * i128::from(step);
                    let want = load(&values, &[9], &[4], PADDING, |at| vec![place(first + at[0] as i128, 9, bounds)]);
                    assert_eq!(rt.read(&out)?, want, "{bounds:?}, tile {number} of step {step}");
                }
            }
            Ok(())
        }
    )*};
}
tiles! {
    tile_of_i32 tiles_by_i32: i32;
    tile_of_u32 tiles_by_u32: u32;
    tile_of_i64 tiles_by_i64: i64;
    tile_of_u64 tiles_by_u64: u64;
}

fn numbers_of_tiles(rt: &Rt) -> Result<(), Error> {
    let (most, least) = (i32::MAX, i32::MIN);
    tiles_by_i32(
        rt,
        &[
            -4,
            -3,
            -2,
            -1,
            0,
            1,
            2,
            3,
            most,
            most / 4,
            most / 4 + 1,
            least,
            least / 4,
            least / 5,
        ],
    )?;
    tiles_by_u32(
        rt,
        &[
            0,
            1,
            2,
            3,
            1 << 30,
            (1 << 30) + 1,
            858_993_460,
            1 << 31,
            u32::MAX,
        ],
    )
}

fn numbers_of_tiles_of_64_bits(rt: &Rt) -> Result<(), Error> {
    tiles_by_i64(
        rt,
        &[
            -3,
            -1,
            0,
            1,
            1 << 30,
            1 << 32,
            i64::MAX,
            i64::MIN,
            i64::MIN / 4,
        ],
    )?;
    tiles_by_u64(rt, &[0, 1, 1 << 30, 1 << 32, 1 << 62, u64::MAX])
}

#[cube(launch_unchecked)]
fn vectors<N: Size>(
    x: &Tensor<Vector<u32, N>>,
    start: &[i32],
    out: &mut Tensor<Vector<u32, N>>,
    #[comptime] bounds: Bounds,
) {
    let cube = this_cube();
    let rows = Tile::<u32, shape![2]>::iota();
    let view = GatherScatterView::<u32, shape![2, 8], 0>::of(x).bounds([Bounds::Mask, bounds]);
    let tile = view.load_masked(&cube, comptime!(Pad(77u32)), (&rows, start[0]));
    TileViewMut::<u32, shape![2, 8]>::of(out).store(&cube, tile, (0, 0));
}

fn vectors_from_every_start(rt: &Rt) -> Result<(), Error> {
    let values: Vec<u32> = (0..24).collect();
    let x = rt.put_tensor(&values, &[2, 12]);
    for bounds in MASKED {
        for first in [
            -24,
            -21,
            -16,
            -12,
            -8,
            -6,
            -4,
            -1,
            0,
            2,
            4,
            8,
            11,
            12,
            16,
            i32::MAX - 3,
            i32::MIN,
        ] {
            let start = rt.put(&[first]);
            let out = rt.poisoned_tensor::<u32>(&[2, 8], &[8, 1]);
            // SAFETY: the load is masked, the store covers `out`.
            unsafe {
                vectors::launch_unchecked(
                    &rt.client,
                    ONE_CUBE,
                    rt.cube_dim(),
                    4,
                    x.arg(),
                    start.arg(),
                    out.arg(),
                    bounds,
                );
            }
            let want = load(&values, &[2, 12], &[2, 8], PADDING, |at| {
                vec![
                    Some(at[0]),
                    place(i128::from(first) + at[1] as i128, 12, bounds),
                ]
            });
            assert_eq!(rt.read_tensor(&out)?, want, "{bounds:?} from {first}");
        }
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn two_rules(
    x: &Tensor<u32>,
    list: &[i32],
    start: i32,
    out: &mut Tensor<u32>,
    #[comptime] bounds: [Bounds; 2],
) {
    let cube = this_cube();
    let view = GatherScatterView::<u32, shape![5, 7], 0>::of(x).bounds(bounds);
    let tile = view.load_masked(&cube, comptime!(Pad(77u32)), (list, start));
    TileViewMut::<u32, shape![5, 7]>::of(out).store(&cube, tile, (0, 0));
}

fn a_rule_for_each_dimension(rt: &Rt) -> Result<(), Error> {
    let values: Vec<u32> = (0..12).collect();
    let x = rt.put_tensor(&values, &[3, 4]);
    let indices = [2, -1, -4, 3, 0];
    let list = rt.put(&indices);
    for (rows, columns) in MASKED
        .iter()
        .flat_map(|rows| MASKED.map(|columns| (*rows, columns)))
    {
        for start in [-5, -2, 1] {
            let out = rt.poisoned_tensor::<u32>(&[5, 7], &[7, 1]);
            // SAFETY: the load is masked, the store covers `out`.
            unsafe {
                two_rules::launch_unchecked(
                    &rt.client,
                    ONE_CUBE,
                    rt.cube_dim(),
                    x.arg(),
                    list.arg(),
                    start,
                    out.arg(),
                    [rows, columns],
                );
            }
            let want = load(&values, &[3, 4], &[5, 7], PADDING, |at| {
                let column = i128::from(start) + at[1] as i128;
                vec![
                    place(indices[at[0]].into(), 3, rows),
                    place(column, 4, columns),
                ]
            });
            assert_same(&rt.read_tensor(&out)?, &want);
        }
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn clamped_vectors<N: Size>(start: u32, out: &mut Tensor<Vector<u32, N>>) {
    let cube = this_cube();
    let tile = Tile::<u32, shape![4]>::full(1u32);
    TileViewMut::<u32, shape![4]>::of(out)
        .bounds(Bounds::Clamp)
        .store_masked(&cube, tile, start);
}

fn refuses_to_clamp_stored_vectors(rt: &Rt) {
    let out = rt.put_tensor(&[0u32; 8], &[8]);
    // SAFETY: the kernel is refused.
    unsafe {
        clamped_vectors::launch_unchecked(&rt.client, ONE_CUBE, rt.cube_dim(), 4, 1, out.arg());
    }
    assert_refused(
        rt,
        &out.storage,
        "girih: TileViewMut::store: Bounds::Clamp along the last axis of vectors of 4 elements",
    );
}
