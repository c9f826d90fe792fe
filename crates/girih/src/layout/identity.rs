//! [`KernelIdentity`].

use super::kernel::KernelLayoutExpand;
use super::tuple::{Coordinate, KernelTuple, KernelTupleExpand, Tree};
use super::{
    ComposedLayout, IdentityLayout, IntTuple, Integer, KernelLayout, KernelLayoutCompilationArg,
    Layout, walk,
};
use crate::handle::comptime_handle;
use cubecl::prelude::*;

/// An [`IdentityLayout`] in a kernel: where a [`KernelLayout`] has an offset, it has the coordinate in the whole, and so
/// knows whether that is inside.
///
/// It is launched with an [`IdentityLayout`], or a comptime value without dynamic integers that [`fixed`](Self::fixed)
/// brings in. Cut as the layout of the data, it masks tiles at the edge:
///
/// ```
/// use cubecl::prelude::*;
/// use girih::layout::{KernelIdentity, KernelLayout};
///
/// /// Sums each tile of a matrix, however the last ones stick out. Both arguments are divided by the same tile.
/// #[cube(launch_unchecked)]
/// fn sums(matrix: &[f32], tiles: KernelLayout, whole: KernelIdentity, out: &mut [f32]) {
///     let (tile, at) = (tiles.slice(1, CUBE_POS), whole.slice(1, CUBE_POS));
///     let mut sum = 0f32;
///     for i in 0..tile.size() {
///         if at.is_in_bounds(i) {
///             sum += matrix[tile.offset(i)];
///         }
///     }
///     out[CUBE_POS] = sum;
/// }
///
/// # #[cfg(feature = "cpu")]
/// fn edges(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
///     use girih::layout::{IdentityLayout, Layout, consts::*};
///
///     // Three rows of four in tiles of 2 x 3: the second row of tiles is cut, and the second column.
///     let tiles = Layout::right((3, 4))?.zipped_divide((_2, _3))?;
///     let whole = IdentityLayout::new((3, 4))?.zipped_divide((_2, _3))?;
///     let matrix = client.create_from_slice(f32::as_bytes(&[1.0; 12]));
///     let out = client.empty(4 * size_of::<f32>());
///     // SAFETY: what is in bounds of the matrix is in its buffer, and `out` has an element for each of the 2 x 2 tiles.
///     unsafe {
///         sums::launch_unchecked(
///             client,
///             CubeCount::new_1d(4),
///             CubeDim::new_1d(1),
///             BufferArg::from_raw_parts(matrix, 12),
///             tiles.into(),
///             whole,
///             BufferArg::from_raw_parts(out.clone(), 4),
///         );
///     }
///     let bytes = client.read_one(out)?;
///     assert_eq!(f32::from_bytes(&bytes), [6.0, 3.0, 2.0, 1.0]);
///     Ok(())
/// }
/// # #[cfg(not(feature = "cpu"))]
/// # fn main() {}
/// # #[cfg(feature = "cpu")]
/// # fn main() { edges(&cubecl::Device::Cpu(Default::default()).client()).unwrap() }
/// ```
#[derive(Clone)]
pub struct KernelIdentity(());

/// What a [`KernelIdentity`] is while the kernel is expanded.
#[derive(Clone)]
pub struct KernelIdentityExpand {
    /// The shape that the coordinates are in.
    space: Tree,
    /// For each integer of the space, the layout whose offsets are the coordinates along it.
    axes: Vec<KernelLayoutExpand>,
}

impl CubeType for KernelIdentity {
    type ExpandType = KernelIdentityExpand;
}
comptime_handle!([] KernelIdentityExpand);

impl KernelIdentity {
    /// An identity layout that is a comptime value. One with dynamic integers is refused while the kernel is expanded.
    #[allow(unused_variables)]
    pub fn fixed(layout: IdentityLayout) -> Self {
        cubecl::unexpanded!()
    }
    /// The coordinate in the whole, nested like it, at a coordinate of this layout. It may be past the end.
    #[allow(unused_variables)]
    pub fn coordinate(&self, coordinate: impl Coordinate) -> KernelTuple {
        cubecl::unexpanded!()
    }
    /// Whether the coordinate in the whole at a coordinate of this layout is inside.
    #[allow(unused_variables)]
    pub fn is_in_bounds(&self, coordinate: impl Coordinate) -> bool {
        cubecl::unexpanded!()
    }
    /// The layout of the other modes with mode `index`, a comptime value, fixed at `coordinate`, as
    /// [`KernelLayout::slice`].
    #[allow(unused_variables)]
    pub fn slice(&self, index: usize, coordinate: impl Coordinate) -> KernelIdentity {
        cubecl::unexpanded!()
    }

    /// Expansion of [`fixed`](Self::fixed).
    pub fn __expand_fixed(scope: &Scope, layout: IdentityLayout) -> KernelIdentityExpand {
        let fixed = |layout| KernelLayout::__expand_fixed(scope, layout);
        KernelIdentityExpand {
            space: fixed(space(&layout)).shape,
            axes: layout.axes().iter().cloned().map(fixed).collect(),
        }
    }
}

impl KernelIdentityExpand {
    /// Expansion of [`KernelIdentity::coordinate`].
    pub fn __expand_coordinate_method(
        &self,
        scope: &Scope,
        coordinate: KernelTupleExpand,
    ) -> KernelTupleExpand {
        let axes = self.axes.iter();
        let mut along =
            axes.map(|axis| axis.at("KernelIdentity::coordinate", scope, coordinate.clone()));
        KernelTupleExpand(walk::fill(&self.space, &mut along))
    }
    /// Expansion of [`KernelIdentity::is_in_bounds`].
    pub fn __expand_is_in_bounds_method(
        &self,
        scope: &Scope,
        coordinate: KernelTupleExpand,
    ) -> NativeExpand<bool> {
        let axes = self.axes.iter().zip(self.space.leaves());
        let inside = axes.map(|(axis, extent)| {
            let along = axis.at("KernelIdentity::is_in_bounds", scope, coordinate.clone());
            along.is_below(scope, extent)
        });
        walk::all(scope, inside)
    }
    /// Expansion of [`KernelIdentity::slice`].
    pub fn __expand_slice_method(
        &self,
        scope: &Scope,
        index: NativeExpand<usize>,
        coordinate: KernelTupleExpand,
    ) -> Self {
        let slice = |axis: &KernelLayoutExpand| {
            axis.__expand_slice_method(scope, index, coordinate.clone())
        };
        Self {
            space: self.space.clone(),
            axes: self.axes.iter().map(slice).collect(),
        }
    }
}

/// What a kernel is compiled for of an identity layout that it is launched with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KernelIdentityCompilationArg {
    space: KernelLayoutCompilationArg,
    axes: Vec<KernelLayoutCompilationArg>,
}

impl LaunchArg for KernelIdentity {
    type RuntimeArg = IdentityLayout;
    type CompilationArg = KernelIdentityCompilationArg;

    fn register(layout: IdentityLayout, launcher: &mut KernelLauncher) -> Self::CompilationArg {
        let mut register = |layout| <KernelLayout as LaunchArg>::register(layout, launcher);
        KernelIdentityCompilationArg {
            space: register(space(&layout)),
            axes: layout.axes().iter().cloned().map(register).collect(),
        }
    }

    fn expand(arg: &Self::CompilationArg, builder: &mut KernelBuilder) -> KernelIdentityExpand {
        let mut expand = |arg| <KernelLayout as LaunchArg>::expand(arg, builder);
        KernelIdentityExpand {
            space: expand(&arg.space).shape,
            axes: arg.axes.iter().map(expand).collect(),
        }
    }
}

/// A layout of the space's shape, for that shape alone.
fn space(layout: &IdentityLayout) -> ComposedLayout {
    Layout::new(layout.space(), still(layout.space()))
        .expect("the space has a size, and strides of 0 reach offset 0 only")
        .into()
}

/// A stride of 0 for each extent.
fn still(shape: &IntTuple) -> IntTuple {
    match shape.is_leaf() {
        true => Integer::Static(0).into(),
        false => IntTuple::tuple(shape.modes().map(|mode| still(&mode))),
    }
}
