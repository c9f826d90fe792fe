//! Stores: of other elements, of several elements to one place, through views that read as well, with hints.

use cubecl::prelude::*;
use girih::{
    coop::{Associative, Sum},
    prelude::*,
    view::Winner,
};
use girih_testkit::{Error, Rt, cases, check::Exact, needs};
use half::{bf16, f16};

use super::assert_refused;
use super::model::{coordinates, place, position};

cases! {
    widens_to_32_bits,
    widens_bytes needs [needs::I8, needs::U8],
    widens_halves needs [needs::F16],
    widens_bf16 needs [needs::BF16],
    widens_to_64_bits needs [needs::I64, needs::F64],
    keeps_the_first_or_the_last,
    keeps_the_first_or_the_last_of_vectors,
    keeps_the_first_or_the_last_of_crossed_lists,
    keeps_the_first_or_the_last_at_the_edges,
    combines_in_order,
    combines_of_pairs_and_crossed_lists,
    sums_floats_the_same_in_every_run,
    stores_what_it_loaded_through_one_view,
    exchanges_rows_in_place,
    streams_with_every_latency,
    refuses_to_combine_a_tile_in_registers,
}

const ONE_CUBE: CubeCount = CubeCount::Static(1, 1, 1);

macro_rules! widens {
    ($($kernel:ident: $from:ty => $to:ty;)*) => {$(
        #[cube(launch_unchecked)]
        fn $kernel(x: &[$from], out: &mut [$to]) {
            let cube = this_cube();
            let tile = TileView::<$from, shape![6]>::of(x).load(&cube, 0);
            let mut view = TileViewMut::<$to, shape![6]>::of(out);
            let stored = view.store(&cube, tile, 0);
            view.store(&cube, stored, 1);
        }
    )*};
}
widens! {
    u16_of_u8: u8 => u16;
    i32_of_i8: i8 => i32;
    f32_of_u8: u8 => f32;
    f32_of_i8: i8 => f32;
    f32_of_f16: f16 => f32;
    f32_of_bf16: bf16 => f32;
    i64_of_i32: i32 => i64;
    i64_of_u32: u32 => i64;
    f64_of_f32: f32 => f64;
    f64_of_i32: i32 => f64;
    u32_of_u32: u32 => u32;
}

macro_rules! same_of {
    ($rt:ident, $kernel:ident, $to:ty, $values:expr, $convert:expr) => {{
        let values = $values;
        let convert = $convert;
        let want: Vec<$to> = values
            .iter()
            .chain(&values)
            .map(|&value| convert(value))
            .collect();
        let (x, out) = ($rt.put(&values), $rt.poisoned::<$to>(12));
        // SAFETY: the tile covers `x`, two of it `out`.
        unsafe {
            $kernel::launch_unchecked(&$rt.client, ONE_CUBE, $rt.cube_dim(), x.arg(), out.arg());
        }
        let got = $rt.read(&out)?;
        let alike = got.iter().zip(&want).all(|(got, want)| got.same(*want));
        assert!(alike, "{}: {got:?}, not {want:?}", stringify!($kernel));
    }};
}

fn widens_to_32_bits(rt: &Rt) -> Result<(), Error> {
    same_of!(
        rt,
        u32_of_u32,
        u32,
        [0u32, 1, 2, 3, u32::MAX, 7],
        |value: u32| value
    );
    Ok(())
}

fn widens_bytes(rt: &Rt) -> Result<(), Error> {
    let bytes = [0u8, 1, 127, 128, 254, 255];
    let signed = [0i8, 1, 127, -128, -1, -2];
    same_of!(rt, i32_of_i8, i32, signed, i32::from);
    same_of!(rt, f32_of_u8, f32, bytes, f32::from);
    same_of!(rt, f32_of_i8, f32, signed, f32::from);
    same_of!(rt, u16_of_u8, u16, bytes, u16::from);
    Ok(())
}

fn widens_halves(rt: &Rt) -> Result<(), Error> {
    let values = [
        f16::NEG_ZERO,
        f16::MAX,
        f16::MIN_POSITIVE,
        f16::NAN,
        f16::NEG_INFINITY,
        f16::from_f32(-1.5),
    ];
    same_of!(rt, f32_of_f16, f32, values, f32::from);
    Ok(())
}

fn widens_bf16(rt: &Rt) -> Result<(), Error> {
    let values = [
        bf16::NEG_ZERO,
        bf16::MAX,
        bf16::MIN_POSITIVE,
        bf16::NAN,
        bf16::NEG_INFINITY,
        bf16::from_f32(-1.5),
    ];
    same_of!(rt, f32_of_bf16, f32, values, f32::from);
    Ok(())
}

fn widens_to_64_bits(rt: &Rt) -> Result<(), Error> {
    let signed = [0, 1, -1, i32::MAX, i32::MIN, 77];
    same_of!(rt, i64_of_i32, i64, signed, i64::from);
    same_of!(
        rt,
        i64_of_u32,
        i64,
        [0, 1, u32::MAX, 1 << 31, 5, 6],
        i64::from
    );
    same_of!(rt, f64_of_i32, f64, signed, f64::from);
    let floats = [
        0.1f32,
        -0.0,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE,
    ];
    same_of!(rt, f64_of_f32, f64, floats, f64::from);
    Ok(())
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
        for bounds in super::model::MASKED {
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
        .flat_map(|list| super::model::MASKED.map(|bounds| (*list, bounds)))
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
fn copied_within<N: Size>(x: &mut Tensor<Vector<u32, N>>) {
    let cube = this_cube();
    let mut view = TileViewMut::<u32, shape![2, 8]>::of(x);
    let tile = view.load_masked(&cube, comptime!(Pad(9u32)), (1, 0));
    view.store_masked(&cube, tile, (0, 0));
}

fn stores_what_it_loaded_through_one_view(rt: &Rt) -> Result<(), Error> {
    for width in [1, 4] {
        let values: Vec<u32> = (0..24).collect();
        // Of the second tile one row is in range.
        let x = rt.put_tensor(&values, &[3, 8]);
        // SAFETY: every access is masked.
        unsafe {
            copied_within::launch_unchecked(&rt.client, ONE_CUBE, rt.cube_dim(), width, x.arg());
        }
        let want: Vec<u32> = (16..24).chain([9; 8]).chain(16..24).collect();
        assert_eq!(rt.read_tensor(&x)?, want, "vectors of {width}");
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn exchanged(x: &mut Tensor<u32>, list: &[u32]) {
    let cube = this_cube();
    let mut view = GatherScatterViewMut::<u32, shape![4, 3], 0>::of(x);
    let tile = view.load(&cube, (list, 0));
    cube.sync();
    let rows = Tile::<u32, shape![4]>::iota();
    view.store(&cube, tile, (&rows, 0));
}

fn exchanges_rows_in_place(rt: &Rt) -> Result<(), Error> {
    let values: Vec<u32> = (0..12).collect();
    let list = [2u32, 0, 3, 1];
    let x = rt.put_tensor(&values, &[4, 3]);
    // SAFETY: every index is in range, the store covers `x`.
    unsafe {
        exchanged::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            rt.put(&list).arg(),
        );
    }
    let want: Vec<u32> = list.iter().flat_map(|row| 3 * row..3 * row + 3).collect();
    assert_eq!(rt.read_tensor(&x)?, want);
    Ok(())
}

macro_rules! latencies {
    ($($kernel:ident: $latency:literal;)*) => {
        $(
            #[cube(launch_unchecked)]
            fn $kernel(x: &Tensor<u32>, out: &mut Tensor<u32>) {
                let cube = this_cube();
                let view = TileView::<u32, shape![32, 64]>::of(x).latency::<$latency>().allow_tma(false);
                let tile = view.load_masked(&cube, Zero, (0, 0));
                let view = TileViewMut::<u32, shape![32, 64]>::of(out);
                let mut view = view.latency::<$latency>().allow_tma(true);
                view.store_masked(&cube, tile, (0, 0));
            }
        )*

        fn streams_with_every_latency(rt: &Rt) -> Result<(), Error> {
            let values: Vec<u32> = (0..30 * 60).collect();
            let x = rt.put_tensor(&values, &[30, 60]);
            $(
                let out = rt.poisoned_tensor::<u32>(&[30, 60], &[60, 1]);
                // SAFETY: every access is masked.
                unsafe {
                    $kernel::launch_unchecked(&rt.client, ONE_CUBE, rt.cube_dim(), x.arg(), out.arg());
                }
                assert_eq!(rt.read_tensor(&out)?, values, "latency {}", $latency);
            )*
            Ok(())
        }
    };
}
latencies! {
    streamed_1: 1;
    streamed_2: 2;
    streamed_3: 3;
    streamed_5: 5;
    streamed_10: 10;
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
