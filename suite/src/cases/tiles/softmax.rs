//! The worked example of the book's chapter on tiles.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Rt, cases, check::close};

use super::model::compare;
use crate::random::for_all;

cases! {
    softmax_of_gathered_rows,
}

// The kernel of the chapter.
/// out[n, :] = softmax(table[index[n], :]), zeros where the index is out of range.
#[cube(launch_unchecked)]
pub(super) fn softmax(table: &Tensor<f32>, index: &Tensor<i32>, out: &mut Tensor<f32>) {
    let cube = this_cube();
    let rows = TileView::<i32, shape![8]>::of(index).load_masked(&cube, Zero, CUBE_POS);
    let view = GatherScatterView::<f32, shape![8, 128], 0>::of(table);
    // Each row is read three times: by the maximum, the sum, and the store.
    let x = view.load_masked(&cube, NegInf, (&rows, 0)).share(&cube);
    let most = x.max::<1>(&cube);
    let e = (&x - most.broadcast_to()).exp().share(&cube);
    let sum = e.sum::<1>(&cube);
    // A row out of range is -inf throughout, whose softmax is no number.
    let is_there = most.gt(f32::MIN).broadcast_to::<shape![8, 128]>();
    let y = (e / sum.broadcast_to()).select(is_there, 0.0);
    TileViewMut::<f32, shape![8, 128]>::of(out).store_masked(&cube, y, (CUBE_POS, 0));
}

fn softmax_of_gathered_rows(rt: &Rt) -> Result<(), String> {
    let (rows, columns, n) = (20usize, 128usize, 19usize);
    let values = proptest::collection::vec(-20.0f32..20.0, rows * columns);
    let index = proptest::collection::vec(-2i32..22, n);
    for_all((values, index), |(table, index)| {
        let out = rt.poisoned_tensor::<f32>(&[n, columns], &[columns, 1]);
        // SAFETY: every access is masked.
        unsafe {
            softmax::launch_unchecked(
                &rt.client,
                CubeCount::Static(n.div_ceil(8) as u32, 1, 1),
                rt.cube_dim(),
                rt.put_tensor(&table, &[rows, columns]).arg(),
                rt.put_tensor(&index, &[n]).arg(),
                out.arg(),
            );
        }
        let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
        let row = |index: i32| -> Vec<f32> {
            let Some(start) = usize::try_from(index).ok().filter(|row| *row < rows) else {
                return vec![0.0; columns];
            };
            let row = &table[start * columns..][..columns];
            let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let e: Vec<f64> = row.iter().map(|x| f64::from(x - most).exp()).collect();
            let sum: f64 = e.iter().sum();
            e.iter().map(|e| (e / sum) as f32).collect()
        };
        let want: Vec<f32> = index.iter().flat_map(|index| row(*index)).collect();
        compare("softmax", &got, &want, |a, b| {
            close(&[a], &[b], 1e-5).is_ok()
        })
    })
}
