//! The kernels that answer the vectors of flat gathers and scatters: one for each rank of memory and of the tile. Extents of
//! the tile and of each index tile are set at launch.

use cubecl::prelude::*;
use girih::prelude::*;

use super::{FlatAt, Padding};
use crate::{Rt, Tensor as DeviceTensor};

/// The index tiles and the mask on a device. Without a mask there is one of zeros, which no kernel looks at.
struct Arguments {
    index: Vec<DeviceTensor<i32>>,
    mask: DeviceTensor<u32>,
    masked: bool,
}

impl Arguments {
    fn new(rt: &Rt, at: &FlatAt, shape: &[usize]) -> Self {
        let index = at.idx.iter();
        let mask: Vec<u32> = match &at.mask {
            Some(mask) => mask.iter().map(|&takes_part| takes_part.into()).collect(),
            None => vec![0; shape.iter().product()],
        };
        Self {
            index: index
                .map(|tile| rt.put_tensor(&tile.values, &tile.shape))
                .collect(),
            mask: rt.put_tensor(&mask, shape),
            masked: at.mask.is_some(),
        }
    }
}

macro_rules! flats {
    ($($load:ident $store:ident ($($extent:ident),*) $origin:tt
        [$($index:ident ($($own:ident),*)),*];)*) => {
        $(
            #[cube(launch_unchecked)]
            fn $load<$($extent: Size,)* $($($own: Size,)*)*>(
                source: &Tensor<f32>,
                $($index: &Tensor<i32>,)*
                mask: &Tensor<u32>,
                out: &mut Tensor<f32>,
                #[comptime] masked: bool,
                #[comptime] padding: Padding,
            ) {
                let cube = this_cube();
                $(let $index = TileView::<i32, ($($own,)*)>::of($index).load(&cube, $origin);)*
                let mask = TileView::<u32, ($($extent,)*)>::of(mask).load(&cube, $origin);
                let view = FlatView::<f32, ($($extent,)*)>::of(source);
                let view = if comptime!(masked) { view.mask(&mask) } else { view };
                let tile = view.gather(&cube, padding, ($(&$index,)*));
                TileViewMut::<f32, ($($extent,)*)>::of(out).store(&cube, tile, $origin);
            }

            #[cube(launch_unchecked)]
            fn $store<$($extent: Size,)* $($($own: Size,)*)*>(
                values: &Tensor<f32>,
                $($index: &Tensor<i32>,)*
                mask: &Tensor<u32>,
                destination: &mut Tensor<f32>,
                #[comptime] masked: bool,
            ) {
                let cube = this_cube();
                $(let $index = TileView::<i32, ($($own,)*)>::of($index).load(&cube, $origin);)*
                let mask = TileView::<u32, ($($extent,)*)>::of(mask).load(&cube, $origin);
                let tile = TileView::<f32, ($($extent,)*)>::of(values).load(&cube, $origin);
                let view = FlatViewMut::<f32, ($($extent,)*)>::of(destination);
                let mut view = if comptime!(masked) { view.mask(&mask) } else { view };
                view.scatter(&cube, tile, ($(&$index,)*));
            }
        )*

        /// Gathers one tile; `None` where there is no kernel of its ranks.
        #[allow(non_snake_case, reason = "an extent is named as its type is")]
        pub(super) fn gather(
            rt: &Rt,
            at: &FlatAt,
            source: &DeviceTensor<f32>,
            out: &DeviceTensor<f32>,
            padding: Padding,
        ) -> Option<()> {
            let Arguments { index, mask, masked } = Arguments::new(rt, at, &out.shape);
            let shapes: Vec<&[usize]> = index.iter().map(|tile| tile.shape.as_slice()).collect();
            match (out.shape.as_slice(), shapes.as_slice(), index.as_slice()) {
                $((&[$($extent),*], &[$(&[$($own),*]),*], [$($index),*]) => {
                    // SAFETY: the loads of the index tiles and of the mask and the store to `out` cover the whole of each;
                    // the gather from `source` is masked.
                    unsafe {
                        $load::launch_unchecked(
                            &rt.client, CubeCount::new_single(), rt.cube_dim(), $($extent,)* $($($own,)*)*
                            source.arg(), $($index.arg(),)* mask.arg(), out.arg_with_guard(), masked, padding,
                        );
                    }
                })*
                _ => return None,
            }
            Some(())
        }

        /// Scatters one tile; `None` where there is no kernel of its ranks.
        #[allow(non_snake_case, reason = "an extent is named as its type is")]
        pub(super) fn scatter(
            rt: &Rt,
            at: &FlatAt,
            values: &DeviceTensor<f32>,
            destination: &DeviceTensor<f32>,
        ) -> Option<()> {
            let Arguments { index, mask, masked } = Arguments::new(rt, at, &values.shape);
            let shapes: Vec<&[usize]> = index.iter().map(|tile| tile.shape.as_slice()).collect();
            match (values.shape.as_slice(), shapes.as_slice(), index.as_slice()) {
                $((&[$($extent),*], &[$(&[$($own),*]),*], [$($index),*]) => {
                    // SAFETY: the loads of the index tiles, of the mask and of `values` cover the whole of each; the
                    // scatter to `destination` is masked.
                    unsafe {
                        $store::launch_unchecked(
                            &rt.client, CubeCount::new_single(), rt.cube_dim(), $($extent,)* $($($own,)*)*
                            values.arg(), $($index.arg(),)* mask.arg(), destination.arg_with_guard(), masked,
                        );
                    }
                })*
                _ => return None,
            }
            Some(())
        }
    };
}
flats! {
    load_1_1 store_1_1 (A) (0u32,) [i (Ai)];
    load_2_1 store_2_1 (A) (0u32,) [i (Ai), j (Aj)];
    load_3_1 store_3_1 (A) (0u32,) [i (Ai), j (Aj), k (Ak)];
    load_1_2 store_1_2 (A, B) (0u32, 0u32) [i (Ai, Bi)];
    load_2_2 store_2_2 (A, B) (0u32, 0u32) [i (Ai, Bi), j (Aj, Bj)];
    load_3_2 store_3_2 (A, B) (0u32, 0u32) [i (Ai, Bi), j (Aj, Bj), k (Ak, Bk)];
}
