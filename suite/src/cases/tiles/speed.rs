//! How long kernels of tiles take to compile.

use std::time::{Duration, Instant};

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{DeviceKind, Rt, cases};

use super::model::ONE_CUBE;

cases! {
    large_tiles_compile_as_fast_as_small_ones,
}

#[cube(launch_unchecked)]
pub(super) fn normalised<A: Size, B: Size>(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    let cube = this_cube();
    let x = TileView::<f32, (A, B)>::of(x).load(&cube, (0, 0));
    let least = x.min::<1>(&cube).broadcast_to::<(A, B)>();
    let most = x.max::<1>(&cube).broadcast_to::<(A, B)>();
    let scaled = (&x - &least) / (most - least).maximum(1.0e-6);
    let sums = scaled.sum::<0>(&cube);
    let y = (scaled * 2.0 - sums.broadcast_to()).tanh();
    TileViewMut::<f32, (A, B)>::of(out).store(&cube, y, (0, 0));
}

/// The first launch of a tile of so many rows and columns, and the read of what it writes.
fn first_launch(rt: &Rt, rows: usize, columns: usize) -> Result<Duration, String> {
    let x = rt.put_tensor(&vec![1f32; rows * columns], &[rows, columns]);
    let out = rt.poisoned_tensor::<f32>(&[rows, columns], &[columns, 1]);
    let start = Instant::now();
    // SAFETY: the tiles cover the tensors.
    unsafe {
        normalised::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            rows,
            columns,
            x.arg(),
            out.arg(),
        );
    }
    let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
    let time = start.elapsed();
    // Each element is 0 after scaling, and so is the result.
    match got.iter().all(|y| *y == 0.0) {
        true => Ok(time),
        false => Err(format!("{} is not 0", got[0])),
    }
}

fn large_tiles_compile_as_fast_as_small_ones(rt: &Rt) -> Result<(), String> {
    // The first kernel of a process pays for more than itself; other tests run at the same time, so the best of several
    // shapes counts.
    first_launch(rt, 4, 4)?;
    let best = |sizes: [usize; 3]| {
        let times = sizes.map(|size| first_launch(rt, size, size));
        times.into_iter().collect::<Result<Vec<_>, _>>()
    };
    let least = |times: Vec<Duration>| times.into_iter().min().unwrap_or_default();
    let small = least(best([8, 7, 9])?);
    let large = least(best([128, 127, 126])?);
    if large > 2 * small + Duration::from_millis(100) {
        return Err(format!("128 x 128 took {large:?}, 8 x 8 {small:?}"));
    }
    if rt.kind == DeviceKind::Cpu && large > Duration::from_secs(1) {
        return Err(format!(
            "128 x 128 took {large:?}; less than 1 s is allowed"
        ));
    }
    Ok(())
}
