//! Shapes of tiles, as types.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use cubecl::prelude::*;

/// The extents of a tile, as a type: a tuple of CubeCL [`Size`]s, outermost first.
///
/// Write it with [`shape!`](crate::shape). An extent is a constant (`Const<8>`), or a `Size` parameter of the kernel
/// whose value is given at launch. The rank is always known to rustc, so a wrong rank does not compile.
#[cube]
pub trait TileShape: 'static + Send + Sync + Copy + core::fmt::Debug {
    /// The number of dimensions.
    const RANK: usize;
    /// The extents, outermost first; known when the kernel is expanded.
    fn dims() -> comptime_type!(Vec<usize>);
}

macro_rules! tile_shape {
    ($rank:literal; $($dim:ident),*) => {
        #[cube]
        impl<$($dim: Size),*> TileShape for ($($dim,)*) {
            const RANK: usize = $rank;
            fn dims() -> comptime_type!(Vec<usize>) {
                intrinsic!(|scope| vec![$($dim::__expand_value(scope)),*])
            }
        }
    };
}
tile_shape!(1; A);
tile_shape!(2; A, B);
tile_shape!(3; A, B, C);
tile_shape!(4; A, B, C, D);
tile_shape!(5; A, B, C, D, F);

/// The type of a tile's shape: `shape![8, 256]` is `(Const<8>, Const<256>)`.
#[macro_export]
macro_rules! shape {
    ($($extent:expr),+ $(,)?) => { ($(::cubecl::prelude::Const<{ $extent }>,)+) };
}
