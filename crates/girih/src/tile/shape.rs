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

/// `AXIS` is a dimension of the shape.
#[diagnostic::on_unimplemented(
    message = "{AXIS} is not a dimension of the tile shape `{Self}`",
    note = "dimensions count from 0, and are less than the rank of the shape"
)]
pub trait HasAxis<const AXIS: usize>: TileShape {
    /// The same shape with extent 1 there.
    type Reduced: TileShape + SameRank<Self>;
}

/// The shapes have as many dimensions.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` has not the rank of shape `{S}`",
    note = "`reshape` adds or drops dimensions of extent 1"
)]
pub trait SameRank<S: TileShape>: TileShape {}

macro_rules! axes {
    ($axis:literal: [$($before:ident),*] $at:ident [$($after:ident),*]) => {
        #[diagnostic::do_not_recommend]
        impl<$($before: Size,)* $at: Size, $($after: Size),*> HasAxis<$axis> for ($($before,)* $at, $($after,)*) {
            type Reduced = ($($before,)* Const<1>, $($after,)*);
        }
    };
}
axes!(0: [] A []);
axes!(0: [] A [B]);
axes!(1: [A] B []);
axes!(0: [] A [B, C]);
axes!(1: [A] B [C]);
axes!(2: [A, B] C []);
axes!(0: [] A [B, C, D]);
axes!(1: [A] B [C, D]);
axes!(2: [A, B] C [D]);
axes!(3: [A, B, C] D []);
axes!(0: [] A [B, C, D, F]);
axes!(1: [A] B [C, D, F]);
axes!(2: [A, B] C [D, F]);
axes!(3: [A, B, C] D [F]);
axes!(4: [A, B, C, D] F []);

macro_rules! same_rank {
    ($($dim:ident $other:ident),*) => {
        #[diagnostic::do_not_recommend]
        impl<$($dim: Size, $other: Size),*> SameRank<($($other,)*)> for ($($dim,)*) {}
    };
}
same_rank!(A A2);
same_rank!(A A2, B B2);
same_rank!(A A2, B B2, C C2);
same_rank!(A A2, B B2, C C2, D D2);
same_rank!(A A2, B B2, C C2, D D2, F F2);
