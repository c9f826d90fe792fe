//! Starts and numbers of tiles of up to 64 bits, far past the end of small memory.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Rt, cases, check::same};

use super::ADDRESSES_64;

cases! {
    loads_nothing_from_starts_far_past_the_end,
    stores_nothing_at_starts_far_past_the_end,
}

/// The same start as an element, as a chunk, and as the number of a tile.
#[cube(launch_unchecked, address_type = "dynamic")]
fn load_far(x: &Tensor<u32>, row: &[u32], start: usize, out: &mut Tensor<u32>) {
    let cube = this_cube();
    let rows = TileView::<u32, shape![1]>::of(row).load(&cube, 0u32);
    let view = GatherScatterView::<u32, shape![1, 3], 0>::of(x);
    let element = view.load_masked(&cube, comptime!(Pad(9u32)), (&rows, start));
    let as_chunk = view.load_masked(&cube, comptime!(Pad(9u32)), (&rows, chunk(start)));
    let tiles = TileView::<u32, shape![1, 3]>::of(x);
    let number = tiles.load_masked(&cube, comptime!(Pad(9u32)), (0u32, start));
    let apart = tiles
        .step([1, 5])
        .load_masked(&cube, comptime!(Pad(9u32)), (0u32, start));
    let mut to = TileViewMut::<u32, shape![1, 3]>::of(out);
    to.store(&cube, element, (0u32, 0u32));
    to.store(&cube, as_chunk, (1u32, 0u32));
    to.store(&cube, number, (2u32, 0u32));
    to.store(&cube, apart, (3u32, 0u32));
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn store_far(x: &mut Tensor<u32>, row: &[u32], start: usize) {
    let cube = this_cube();
    let rows = TileView::<u32, shape![1]>::of(row).load(&cube, 0u32);
    let tile = Tile::<u32, shape![1, 3]>::full(5u32);
    let mut view = GatherScatterViewMut::<u32, shape![1, 3], 0>::of(x);
    let tile = view.store_masked(&cube, tile, (&rows, start));
    let tile = view.store_masked(&cube, tile, (&rows, chunk(start)));
    TileViewMut::<u32, shape![1, 3]>::of(view.span()).store_masked(&cube, tile, (0u32, start));
}

/// The address types of the device, each with starts near its end and near where three or five times them wraps around.
fn far_starts(rt: &Rt) -> Vec<(AddressType, usize)> {
    let most_32 = u32::MAX as usize;
    let near = |most: usize| {
        let thirds = [most / 3, most / 3 + 1, most / 3 + 2];
        let fifths = [most / 5, most / 5 + 1, most / 5 + 2];
        [
            &[most, most - 1, most / 2, most / 2 + 1][..],
            &thirds,
            &fifths,
        ]
        .concat()
    };
    let mut starts: Vec<_> = near(most_32)
        .into_iter()
        .map(|start| (AddressType::U32, start))
        .collect();
    if (ADDRESSES_64.met)(rt) {
        let wide = [
            near(most_32),
            near(usize::MAX),
            vec![most_32 + 1, most_32 + 2],
        ]
        .concat();
        starts.extend(wide.into_iter().map(|start| (AddressType::U64, start)));
    }
    starts
}

fn loads_nothing_from_starts_far_past_the_end(rt: &Rt) -> Result<(), String> {
    let near = [0usize, 1, 2, 5, 6, 7].map(|start| (AddressType::U32, start));
    for (address, start) in near.into_iter().chain(far_starts(rt)) {
        let x = rt.put_tensor(&[10u32, 11, 12, 13, 14, 15, 16], &[1, 7]);
        let (row, out) = (rt.put(&[0u32]), rt.poisoned_tensor::<u32>(&[4, 3], &[3, 1]));
        // SAFETY: the loads are masked, the stores cover `out`.
        unsafe {
            load_far::launch_unchecked(
                &rt.client,
                CubeCount::new_single(),
                rt.cube_dim(),
                address,
                x.arg(),
                row.arg(),
                start,
                out.arg_with_guard(),
            );
        }
        let run =
            |first: u128| (first..first + 3).map(|at| if at < 7 { 10 + at as u32 } else { 9 });
        let firsts = [1u128, 3, 3, 5].map(|step| start as u128 * step);
        let want: Vec<u32> = firsts.into_iter().flat_map(run).collect();
        let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
        same(&got, &want).map_err(|reason| format!("start {start}, {address}: {reason}"))?;
    }
    Ok(())
}

fn stores_nothing_at_starts_far_past_the_end(rt: &Rt) -> Result<(), String> {
    for (address, start) in far_starts(rt) {
        let values = [10u32, 11, 12, 13, 14, 15, 16];
        let (x, row) = (rt.put_tensor(&values, &[1, 7]), rt.put(&[0u32]));
        // SAFETY: the stores are masked.
        unsafe {
            store_far::launch_unchecked(
                &rt.client,
                CubeCount::new_single(),
                rt.cube_dim(),
                address,
                x.arg_with_guard(),
                row.arg(),
                start,
            );
        }
        let got = rt.read_tensor(&x).map_err(|error| error.to_string())?;
        same(&got, &values).map_err(|reason| format!("start {start}, {address}: {reason}"))?;
    }
    Ok(())
}
