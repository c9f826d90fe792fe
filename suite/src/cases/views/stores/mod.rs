//! Stores: of other elements, of several elements to one through views that read as well, with hints.

pub mod combining;
pub mod widening;
pub mod winners;

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Error, Rt, cases};

cases! {
    stores_what_it_loaded_through_one_view,
    exchanges_rows_in_place,
    streams_with_every_latency,
}

const ONE_CUBE: CubeCount = CubeCount::Static(1, 1, 1);

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
