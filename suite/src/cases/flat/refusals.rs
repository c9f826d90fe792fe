//! What flat views refuse, by name.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Rt, cases};

use super::super::views::assert_refused;
use super::{ONE_CUBE, table};

cases! {
    refuses_indices_that_do_not_broadcast,
    refuses_a_mask_that_does_not_broadcast,
    refuses_to_scatter_to_vectors,
    refuses_report_without_a_reporter,
}

#[cube(launch_unchecked)]
fn mismatched(x: &Tensor<u32>, out: &mut [u32], #[comptime] of_mask: bool) {
    let cube = this_cube();
    let three = Tile::<u32, shape![3]>::full(0u32);
    let four = Tile::<u32, shape![4]>::full(0u32);
    let view = FlatView::<u32, shape![4]>::of(x);
    let tile = if comptime!(of_mask) {
        view.mask(&three).gather(&cube, Zero, (&four, &four))
    } else {
        view.gather(&cube, Zero, (&four, &three))
    };
    TileViewMut::<u32, shape![4]>::of(out).store(&cube, tile, 0u32);
}

fn refused_mismatch(rt: &Rt, of_mask: bool, text: &str) {
    let (x, out) = (rt.put_tensor(&table(), &[4, 6]), rt.put(&[0u32; 4]));
    // SAFETY: the kernel is refused.
    unsafe {
        mismatched::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            out.arg(),
            of_mask,
        );
    }
    assert_refused(rt, &out, text);
}

fn refuses_indices_that_do_not_broadcast(rt: &Rt) {
    let text = "girih: FlatView::gather: indices of axis 1 of extents [3] for a tile of extents [4]; each extent is the";
    refused_mismatch(rt, false, text);
}

fn refuses_a_mask_that_does_not_broadcast(rt: &Rt) {
    let text = "girih: FlatView::gather: a mask of extents [3] for a tile of extents [4]; each extent is the";
    refused_mismatch(rt, true, text);
}

#[cube(launch_unchecked)]
fn to_vectors<N: Size>(out: &mut Tensor<Vector<u32, N>>) {
    let cube = this_cube();
    let index = Tile::<u32, shape![4]>::iota();
    let tile = Tile::<u32, shape![4]>::full(1u32);
    FlatViewMut::<u32, shape![4]>::of(out).scatter(&cube, tile, &index);
}

fn refuses_to_scatter_to_vectors(rt: &Rt) {
    let out = rt.put_tensor(&[0u32; 8], &[8]);
    // SAFETY: the kernel is refused.
    unsafe {
        to_vectors::launch_unchecked(&rt.client, ONE_CUBE, rt.cube_dim(), 4, out.arg());
    }
    let text =
        "girih: FlatViewMut::scatter: memory of vectors of 4 elements; memory of scalars is needed";
    assert_refused(rt, &out.storage, text);
}

#[cube(launch_unchecked)]
fn unreported(x: &[u32], out: &mut [u32]) {
    let cube = this_cube();
    let index = Tile::<u32, shape![4]>::iota();
    let view = FlatView::<u32, shape![4]>::of(x).bounds(Bounds::Report);
    let tile = view.gather(&cube, Zero, &index);
    TileViewMut::<u32, shape![4]>::of(out).store(&cube, tile, 0u32);
}

fn refuses_report_without_a_reporter(rt: &Rt) {
    let (x, out) = (rt.put(&[1u32; 4]), rt.put(&[0u32; 4]));
    // SAFETY: the kernel is refused.
    unsafe {
        unreported::launch_unchecked(&rt.client, ONE_CUBE, rt.cube_dim(), x.arg(), out.arg());
    }
    let text = "girih: FlatView::bounds: Bounds::Report; call `report(reporter)`";
    assert_refused(rt, &out, text);
}
