//! How long kernels with views take to compile.

use std::time::{Duration, Instant};

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{DeviceKind, Error, Rt, cases};

cases! {
    a_large_tile_compiles_as_fast_as_a_small_one,
}

/// `salt` makes another kernel of it, so that each launch compiles.
#[cube(launch_unchecked)]
fn gathered<A: Size>(x: &Tensor<u32>, list: &[u32], out: &mut Tensor<u32>, #[comptime] salt: u32) {
    let cube = this_cube();
    let rows = TileView::<u32, (A,)>::of(list).load(&cube, 0);
    let view = GatherScatterView::<u32, (A, A), 0>::of(x);
    let tile = view.load_masked(&cube, comptime!(Pad(salt)), (&rows, 0));
    TileViewMut::<u32, (A, A)>::of(out).store_masked(&cube, tile, (0, 0));
}

/// The time that a kernel for a tile of `extent` squared takes to compile: how much longer its first launch takes than
/// the second. The least of several, since others on the machine slow down some.
fn compile_time(rt: &Rt, extent: usize) -> Result<Duration, Error> {
    let values: Vec<u32> = (0..(extent * extent) as u32).collect();
    let x = rt.put_tensor(&values, &[extent, extent]);
    let rows: Vec<u32> = (0..extent as u32).collect();
    let list = rt.put(&rows);
    let launch = |salt: u32| {
        let out = rt.poisoned_tensor::<u32>(&[extent, extent], &[extent, 1]);
        let start = Instant::now();
        // SAFETY: the list is as long as the tile, every other access is masked.
        unsafe {
            gathered::launch_unchecked(
                &rt.client,
                CubeCount::new_single(),
                rt.cube_dim(),
                extent,
                x.arg(),
                list.arg(),
                out.arg(),
                salt,
            );
        }
        let got = rt.read_tensor(&out)?;
        assert_eq!(got, values);
        Ok::<_, Error>(start.elapsed())
    };
    let mut least = Duration::MAX;
    for salt in 0..5 {
        let (first, second) = (launch(salt)?, launch(salt)?);
        least = least.min(first.saturating_sub(second));
    }
    Ok(least)
}

/// Compilations as short as this differ by chance.
const SHORT: Duration = Duration::from_millis(50);

fn a_large_tile_compiles_as_fast_as_a_small_one(rt: &Rt) -> Result<(), Error> {
    // What a device does once is done before.
    compile_time(rt, 4)?;
    let (small, large) = (compile_time(rt, 8)?, compile_time(rt, 128)?);
    assert!(
        large <= 2 * small.max(SHORT),
        "128 x 128: {large:?}, 8 x 8: {small:?}"
    );
    if rt.kind == DeviceKind::Cpu {
        assert!(large < Duration::from_secs(1), "{large:?}");
    }
    Ok(())
}
