//! The kernels that answer the vectors of views: one for each kind of access, rank and gather dimension. Extents are set
//! at launch, so that each is compiled for the shapes that the vectors have and no others.

use cubecl::{ir::Scope, prelude::*};
use girih::{prelude::*, view::Padding as ViewPadding};

use super::{Access, GatherAt, Padding, TileAt, ViewVector, flat};
use crate::{Error, Rt, Tensor as DeviceTensor, buffer::row_major};

impl ViewPadding<f32> for Padding {
    fn expand(self, scope: &Scope) -> NativeExpand<f32> {
        match self {
            Self::Zero => Zero.expand(scope),
            Self::NegZero => NegZero.expand(scope),
            Self::NaN => NaN.expand(scope),
            Self::PosInf => PosInf.expand(scope),
            Self::NegInf => NegInf.expand(scope),
            Self::Value(value) => Pad(value).expand(scope),
        }
    }
}

/// The answer of the device: the tile that was loaded, or the whole storage after a store. `None` where girih has no such
/// view.
pub(super) fn answer(vector: &ViewVector, rt: &Rt) -> Option<Result<Vec<f32>, Error>> {
    let memory = rt
        .put(&vector.storage())
        .tensor(&vector.extents, &vector.strides);
    let shape = &vector.tile_shape;
    let loaded = || rt.poisoned_tensor::<f32>(shape, &row_major(shape));
    let stored = || rt.put_tensor(&vector.stored(), shape);
    match &vector.access {
        Access::GatherLoad { at, padding } => {
            let out = loaded();
            gather_load(rt, at, &memory, &out, *padding)?;
            Some(rt.read(&out.storage))
        }
        Access::GatherStore { at } => {
            gather_store(rt, at, &stored(), &memory)?;
            Some(rt.read(&memory.storage))
        }
        Access::TileLoad { at, padding } => {
            let out = loaded();
            tile_load(rt, at, &memory, &out, *padding)?;
            Some(rt.read(&out.storage))
        }
        Access::TileStore { at } => {
            tile_store(rt, at, &stored(), &memory)?;
            Some(rt.read(&memory.storage))
        }
        Access::GatherFlat { at, padding } => {
            let out = loaded();
            flat::gather(rt, at, &memory, &out, *padding)?;
            Some(rt.read(&out.storage))
        }
        Access::ScatterFlat { at } => {
            flat::scatter(rt, at, &stored(), &memory)?;
            Some(rt.read(&memory.storage))
        }
    }
}

macro_rules! gathers {
    ($($load:ident $store:ident $dim:literal ($($extent:ident),*) $listed:ident:
        |$start:ident, $list:ident| $index:tt, $origin:tt;)*) => {
        $(
            #[cube(launch_unchecked)]
            fn $load<$($extent: Size),*>(
                source: &Tensor<f32>,
                index: &[i32],
                $start: &[i32],
                out: &mut Tensor<f32>,
                #[comptime] padding: Padding,
            ) {
                let cube = this_cube();
                let $list = TileView::<i32, ($listed,)>::of(index).load(&cube, 0u32);
                let view = GatherScatterView::<f32, ($($extent,)*), $dim>::of(source);
                let tile = view.load_masked(&cube, padding, $index);
                TileViewMut::<f32, ($($extent,)*)>::of(out).store(&cube, tile, $origin);
            }

            #[cube(launch_unchecked)]
            fn $store<$($extent: Size),*>(
                values: &Tensor<f32>,
                index: &[i32],
                $start: &[i32],
                destination: &mut Tensor<f32>,
            ) {
                let cube = this_cube();
                let $list = TileView::<i32, ($listed,)>::of(index).load(&cube, 0u32);
                let tile = TileView::<f32, ($($extent,)*)>::of(values).load(&cube, $origin);
                GatherScatterViewMut::<f32, ($($extent,)*), $dim>::of(destination)
                    .store_masked(&cube, tile, $index);
            }
        )*

        /// Loads one tile through a gather view; `None` where there is no kernel of its rank.
        #[allow(non_snake_case, reason = "an extent is named as its type is")]
        fn gather_load(
            rt: &Rt,
            at: &GatherAt,
            source: &DeviceTensor<f32>,
            out: &DeviceTensor<f32>,
            padding: Padding,
        ) -> Option<()> {
            let (index, start) = (rt.put(&at.idx), rt.put(&at.start));
            match (at.gather_dim, out.shape.as_slice()) {
                $(($dim, &[$($extent),*]) => {
                    // SAFETY: the loads of `index` and the store to `out` cover the whole of each, and `start` has an
                    // element for each dimension; the load from `source` is masked.
                    unsafe {
                        $load::launch_unchecked(
                            &rt.client, CubeCount::new_single(), rt.cube_dim(), $($extent,)*
                            source.arg(), index.arg(), start.arg(), out.arg_with_guard(), padding,
                        );
                    }
                })*
                _ => return None,
            }
            Some(())
        }

        /// Stores one tile through a scatter view; `None` where there is no kernel of its rank.
        #[allow(non_snake_case, reason = "an extent is named as its type is")]
        fn gather_store(
            rt: &Rt,
            at: &GatherAt,
            values: &DeviceTensor<f32>,
            destination: &DeviceTensor<f32>,
        ) -> Option<()> {
            let (index, start) = (rt.put(&at.idx), rt.put(&at.start));
            match (at.gather_dim, values.shape.as_slice()) {
                $(($dim, &[$($extent),*]) => {
                    // SAFETY: the loads of `index` and `values` cover the whole of each, and `start` has an element for
                    // each dimension; the store to `destination` is masked.
                    unsafe {
                        $store::launch_unchecked(
                            &rt.client, CubeCount::new_single(), rt.cube_dim(), $($extent,)*
                            values.arg(), index.arg(), start.arg(), destination.arg_with_guard(),
                        );
                    }
                })*
                _ => return None,
            }
            Some(())
        }
    };
}
gathers! {
    load_1_0 store_1_0 0 (A) A: |_start, list| (&list,), (0u32,);
    load_2_0 store_2_0 0 (A, B) A: |start, list| (&list, start[1]), (0u32, 0u32);
    load_2_1 store_2_1 1 (A, B) B: |start, list| (start[0], &list), (0u32, 0u32);
    load_3_0 store_3_0 0 (A, B, C) A: |start, list| (&list, start[1], start[2]), (0u32, 0u32, 0u32);
    load_3_1 store_3_1 1 (A, B, C) B: |start, list| (start[0], &list, start[2]), (0u32, 0u32, 0u32);
    load_3_2 store_3_2 2 (A, B, C) C: |start, list| (start[0], start[1], &list), (0u32, 0u32, 0u32);
    load_4_0 store_4_0 0 (A, B, C, D) A: |start, list| (&list, start[1], start[2], start[3]), (0u32, 0u32, 0u32, 0u32);
    load_4_1 store_4_1 1 (A, B, C, D) B: |start, list| (start[0], &list, start[2], start[3]), (0u32, 0u32, 0u32, 0u32);
    load_4_2 store_4_2 2 (A, B, C, D) C: |start, list| (start[0], start[1], &list, start[3]), (0u32, 0u32, 0u32, 0u32);
    load_4_3 store_4_3 3 (A, B, C, D) D: |start, list| (start[0], start[1], start[2], &list), (0u32, 0u32, 0u32, 0u32);
}

macro_rules! tiles {
    ($($load:ident $store:ident ($($extent:ident),*): |$index:ident| $place:tt, $origin:tt;)*) => {
        $(
            #[cube(launch_unchecked)]
            fn $load<$($extent: Size),*>(
                source: &Tensor<f32>,
                $index: &[u32],
                out: &mut Tensor<f32>,
                #[comptime] order: Vec<usize>,
                #[comptime] step: Vec<usize>,
                #[comptime] padding: Padding,
            ) {
                let cube = this_cube();
                let view = TileView::<f32, ($($extent,)*)>::of(source).order(order).step(step);
                let tile = view.load_masked(&cube, padding, $place);
                TileViewMut::<f32, ($($extent,)*)>::of(out).store(&cube, tile, $origin);
            }

            #[cube(launch_unchecked)]
            fn $store<$($extent: Size),*>(
                values: &Tensor<f32>,
                $index: &[u32],
                destination: &mut Tensor<f32>,
                #[comptime] order: Vec<usize>,
                #[comptime] step: Vec<usize>,
            ) {
                let cube = this_cube();
                let tile = TileView::<f32, ($($extent,)*)>::of(values).load(&cube, $origin);
                let view = TileViewMut::<f32, ($($extent,)*)>::of(destination);
                view.order(order).step(step).store_masked(&cube, tile, $place);
            }
        )*

        /// Loads one tile of a partition; `None` where there is no kernel of its rank.
        #[allow(non_snake_case, reason = "an extent is named as its type is")]
        fn tile_load(
            rt: &Rt,
            at: &TileAt,
            source: &DeviceTensor<f32>,
            out: &DeviceTensor<f32>,
            padding: Padding,
        ) -> Option<()> {
            let index = rt.put(&at.tile_index);
            match out.shape.as_slice() {
                $(&[$($extent),*] => {
                    // SAFETY: the store to `out` covers the whole of it, and `index` has an element for each dimension;
                    // the load from `source` is masked.
                    unsafe {
                        $load::launch_unchecked(
                            &rt.client, CubeCount::new_single(), rt.cube_dim(), $($extent,)*
                            source.arg(), index.arg(), out.arg_with_guard(),
                            at.order.clone(), at.step.clone(), padding,
                        );
                    }
                })*
                _ => return None,
            }
            Some(())
        }

        /// Stores one tile of a partition; `None` where there is no kernel of its rank.
        #[allow(non_snake_case, reason = "an extent is named as its type is")]
        fn tile_store(
            rt: &Rt,
            at: &TileAt,
            values: &DeviceTensor<f32>,
            destination: &DeviceTensor<f32>,
        ) -> Option<()> {
            let index = rt.put(&at.tile_index);
            match values.shape.as_slice() {
                $(&[$($extent),*] => {
                    // SAFETY: the load of `values` covers the whole of it, and `index` has an element for each dimension;
                    // the store to `destination` is masked.
                    unsafe {
                        $store::launch_unchecked(
                            &rt.client, CubeCount::new_single(), rt.cube_dim(), $($extent,)*
                            values.arg(), index.arg(), destination.arg_with_guard(),
                            at.order.clone(), at.step.clone(),
                        );
                    }
                })*
                _ => return None,
            }
            Some(())
        }
    };
}
tiles! {
    tile_load_1 tile_store_1 (A): |index| (index[0],), (0u32,);
    tile_load_2 tile_store_2 (A, B): |index| (index[0], index[1]), (0u32, 0u32);
    tile_load_3 tile_store_3 (A, B, C): |index| (index[0], index[1], index[2]), (0u32, 0u32, 0u32);
}
