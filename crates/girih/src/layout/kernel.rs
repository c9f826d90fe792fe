//! [`KernelLayout`].

use super::number::Number;
use super::tuple::{Coordinate, KernelTuple, KernelTupleExpand, Tree, comptime_index};
use super::{ComposedLayout, Swizzle, launch, walk};
use crate::handle::comptime_handle;
use cubecl::prelude::*;

/// A layout in a kernel: a [`Layout`](super::Layout) or [`ComposedLayout`] whose static integers are constants of the
/// kernel and whose dynamic ones are scalars given at launch.
///
/// As a kernel's argument it is launched with a [`ComposedLayout`], or with `layout.into()` for a
/// [`Layout`](super::Layout). All layouts of one [`Profile`](super::Profile) share a compiled kernel. A layout without
/// dynamic integers can also be a comptime value, which [`fixed`](Self::fixed) brings into the kernel.
///
/// # What is computed, and in which type
/// What is known while the kernel is expanded is computed then: a static layout at a constant coordinate is a constant.
/// A `u32` coordinate is split in 32 bits by static extents. An offset is a `usize`, CubeCL's address type, and sums and
/// products are computed in it wherever 32 bits may not hold them. A layout that reaches past what 32 bits count needs
/// a kernel with 64-bit addresses ([`address_type`](Self::address_type) tells); another refuses it while it is expanded.
///
/// A coordinate past the end goes on along the last leaf that it reaches, as
/// [`Layout::index_extended`](super::Layout::index_extended); [`is_in_bounds`](Self::is_in_bounds) asks.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::layout::KernelLayout;
///
/// /// Copies a matrix between any two layouts of its shape.
/// #[cube(launch_unchecked)]
/// fn copy(source: &[f32], from: KernelLayout, target: &mut [f32], to: KernelLayout) {
///     if from.is_in_bounds(ABSOLUTE_POS) {
///         target[to.offset(ABSOLUTE_POS)] = source[from.offset(ABSOLUTE_POS)];
///     }
/// }
///
/// # #[cfg(feature = "cpu")]
/// fn transposed(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
///     use girih::layout::{Layout, consts::*};
///
///     let (rows, columns) = (Layout::right((_2, 3))?, Layout::left((_2, 3))?);
///     let source = client.create_from_slice(f32::as_bytes(&[0., 1., 2., 10., 11., 12.]));
///     let target = client.empty(6 * size_of::<f32>());
///     // SAFETY: both layouts stay below 6, the length of both buffers.
///     unsafe {
///         copy::launch_unchecked(
///             client,
///             CubeCount::new_1d(6),
///             CubeDim::new_1d(1),
///             BufferArg::from_raw_parts(source, 6),
///             rows.into(),
///             BufferArg::from_raw_parts(target.clone(), 6),
///             columns.into(),
///         );
///     }
///     let bytes = client.read_one(target)?;
///     assert_eq!(f32::from_bytes(&bytes), [0., 10., 1., 11., 2., 12.]);
///     Ok(())
/// }
/// # #[cfg(not(feature = "cpu"))]
/// # fn main() {}
/// # #[cfg(feature = "cpu")]
/// # fn main() { transposed(&cubecl::Device::Cpu(Default::default()).client()).unwrap() }
/// ```
#[derive(Clone)]
pub struct KernelLayout(());

/// What a [`KernelLayout`] is while the kernel is expanded.
#[derive(Clone)]
pub struct KernelLayoutExpand {
    pub(super) swizzle: Swizzle,
    /// Added to every offset, before the swizzle.
    pub(super) start: Number,
    pub(super) shape: Tree,
    pub(super) stride: Tree,
}

impl CubeType for KernelLayout {
    type ExpandType = KernelLayoutExpand;
}
comptime_handle!([] KernelLayoutExpand);

impl KernelLayout {
    /// A layout that is a comptime value: a [`Layout`](super::Layout) or a [`ComposedLayout`].
    ///
    /// One with dynamic integers is refused while the kernel is expanded: it is an argument.
    ///
    /// ```
    /// use cubecl::prelude::*;
    /// use girih::layout::{KernelLayout, Layout};
    ///
    /// #[cube(launch_unchecked)]
    /// fn offsets(out: &mut [u32], #[comptime] layout: Layout) {
    ///     let layout = KernelLayout::fixed(layout);
    ///     if layout.is_in_bounds(ABSOLUTE_POS) {
    ///         out[ABSOLUTE_POS] = layout.offset(ABSOLUTE_POS) as u32;
    ///     }
    /// }
    /// # fn main() {}
    /// ```
    #[allow(unused_variables)]
    pub fn fixed(layout: impl Into<ComposedLayout>) -> Self {
        cubecl::unexpanded!()
    }
    /// The offset of a coordinate, CuTe's `crd2idx`.
    #[allow(unused_variables)]
    pub fn offset(&self, coordinate: impl Coordinate) -> usize {
        cubecl::unexpanded!()
    }
    /// Whether every integer of the coordinate is below the size of what it goes through. What is known while the kernel
    /// is expanded costs no comparison.
    #[allow(unused_variables)]
    pub fn is_in_bounds(&self, coordinate: impl Coordinate) -> bool {
        cubecl::unexpanded!()
    }
    /// The same coordinate nested like the shape, CuTe's `idx2crd` and `crd2crd`.
    #[allow(unused_variables)]
    pub fn coordinate(&self, coordinate: impl Coordinate) -> KernelTuple {
        cubecl::unexpanded!()
    }
    /// How many coordinates there are; a constant where every extent is static.
    pub fn size(&self) -> usize {
        cubecl::unexpanded!()
    }
    /// The extents.
    pub fn shape(&self) -> KernelTuple {
        cubecl::unexpanded!()
    }
    /// The strides, nested like the shape.
    pub fn stride(&self) -> KernelTuple {
        cubecl::unexpanded!()
    }
    /// The number of modes, a comptime value; 1 for an integer shape.
    pub fn rank(&self) -> usize {
        cubecl::unexpanded!()
    }
    /// The layout along mode `index`, a comptime value: every other mode stays at 0. A layout of an integer shape has one
    /// mode, itself.
    #[allow(unused_variables)]
    pub fn mode(&self, index: usize) -> KernelLayout {
        cubecl::unexpanded!()
    }
    /// The layout of the other modes with mode `index`, a comptime value, fixed at `coordinate`: CuTe's slice. What is
    /// left of two modes is the other one itself.
    ///
    /// With a [divided](super::Layout::zipped_divide) layout it is a tile, with a
    /// [thread-value](super::ThreadValueLayout) layout a unit's part.
    ///
    /// ```
    /// use cubecl::prelude::*;
    /// use girih::layout::KernelLayout;
    ///
    /// /// Sums each tile. Mode 0 of `tiles` goes through a tile, mode 1 from tile to tile.
    /// #[cube(launch_unchecked)]
    /// fn sums(matrix: &[f32], tiles: KernelLayout, out: &mut [f32]) {
    ///     let tile = tiles.slice(1, CUBE_POS);
    ///     let mut sum = 0f32;
    ///     for i in 0..tile.size() {
    ///         sum += matrix[tile.offset(i)];
    ///     }
    ///     out[CUBE_POS] = sum;
    /// }
    /// # fn main() {}
    /// ```
    #[allow(unused_variables)]
    pub fn slice(&self, index: usize, coordinate: impl Coordinate) -> KernelLayout {
        cubecl::unexpanded!()
    }

    /// The narrowest addresses of a kernel that can take the layout: an [`AddressType::U64`] where a size, stride or
    /// offset of it needs more than 32 bits, or its swizzle reads or writes bits beyond them.
    ///
    /// ```
    /// use cubecl::prelude::AddressType;
    /// use girih::layout::{KernelLayout, Layout};
    ///
    /// let small = Layout::right((1000, 1000))?;
    /// let large = Layout::right((100_000, 100_000))?;
    /// assert_eq!(KernelLayout::address_type(&small.into()), AddressType::U32);
    /// assert_eq!(KernelLayout::address_type(&large.into()), AddressType::U64);
    /// # Ok::<(), girih::layout::LayoutError>(())
    /// ```
    pub fn address_type(layout: &ComposedLayout) -> AddressType {
        launch::address_type(layout)
    }

    /// Expansion of [`fixed`](Self::fixed).
    pub fn __expand_fixed(scope: &Scope, layout: ComposedLayout) -> KernelLayoutExpand {
        assert!(
            layout.layout().is_static() && layout.offset().is_static(),
            "girih: KernelLayout::fixed: {layout}, which has dynamic integers; static ones are needed, a layout with \
             dynamic ones is an argument of the launch"
        );
        launch::require_addresses(scope, &layout);
        KernelLayoutExpand::known(layout)
    }
}

impl KernelLayoutExpand {
    /// The layout, every integer of it known.
    pub(crate) fn known(layout: impl Into<ComposedLayout>) -> Self {
        let layout = layout.into();
        let mut number = |leaf: super::Integer| Number::Known(leaf.value());
        Self {
            swizzle: layout.swizzle(),
            start: number(layout.offset()),
            shape: Tree::of(layout.shape(), &mut number),
            stride: Tree::of(layout.layout().stride(), &mut number),
        }
    }

    /// The offset of a coordinate of one number per mode, as many as there are.
    pub(crate) fn number(&self, scope: &Scope, coord: impl IntoIterator<Item = Number>) -> Number {
        let coord = coord.into_iter().map(Tree::Leaf).collect();
        self.index(scope, &Tree::Tuple(coord))
    }

    /// The offset of a coordinate that fits.
    fn index(&self, scope: &Scope, coord: &Tree) -> Number {
        let inner = walk::offset(scope, coord, &self.shape, &self.stride);
        walk::swizzled(scope, self.swizzle, inner.add(scope, self.start))
    }

    /// The coordinate as it is now, if it fits.
    fn checked(&self, call: &str, scope: &Scope, coord: KernelTupleExpand) -> Tree {
        let coord = coord.0.read(scope);
        assert!(
            coord.fits(&self.shape),
            "girih: {call}: coordinate {coord} into shape {}; at each level one integer, or as many as the \
             shape has modes there",
            self.shape
        );
        coord
    }

    /// The offset of a coordinate that `call` was given.
    pub(super) fn at(&self, call: &str, scope: &Scope, coord: KernelTupleExpand) -> Number {
        let coord = self.checked(call, scope, coord);
        self.index(scope, &coord)
    }

    /// Expansion of [`KernelLayout::offset`].
    pub fn __expand_offset_method(
        &self,
        scope: &Scope,
        coordinate: KernelTupleExpand,
    ) -> NativeExpand<usize> {
        self.at("KernelLayout::offset", scope, coordinate)
            .wide(scope)
    }
    /// Expansion of [`KernelLayout::is_in_bounds`].
    pub fn __expand_is_in_bounds_method(
        &self,
        scope: &Scope,
        coordinate: KernelTupleExpand,
    ) -> NativeExpand<bool> {
        let coord = self.checked("KernelLayout::is_in_bounds", scope, coordinate);
        walk::is_in_bounds(scope, &coord, &self.shape)
    }
    /// Expansion of [`KernelLayout::coordinate`].
    pub fn __expand_coordinate_method(
        &self,
        scope: &Scope,
        coordinate: KernelTupleExpand,
    ) -> KernelTupleExpand {
        let coord = self.checked("KernelLayout::coordinate", scope, coordinate);
        KernelTupleExpand(walk::nested(scope, &coord, &self.shape))
    }
    /// Expansion of [`KernelLayout::size`].
    pub fn __expand_size_method(&self, scope: &Scope) -> NativeExpand<usize> {
        self.shape.size(scope).wide(scope)
    }
    /// Expansion of [`KernelLayout::shape`].
    pub fn __expand_shape_method(&self, _scope: &Scope) -> KernelTupleExpand {
        KernelTupleExpand(self.shape.clone())
    }
    /// Expansion of [`KernelLayout::stride`].
    pub fn __expand_stride_method(&self, _scope: &Scope) -> KernelTupleExpand {
        KernelTupleExpand(self.stride.clone())
    }
    /// Expansion of [`KernelLayout::rank`].
    pub fn __expand_rank_method(&self, _scope: &Scope) -> usize {
        self.shape.rank()
    }
    /// Expansion of [`KernelLayout::mode`].
    pub fn __expand_mode_method(&self, _scope: &Scope, index: NativeExpand<usize>) -> Self {
        let index = comptime_index("KernelLayout::mode", index);
        Self {
            shape: self.shape.mode("KernelLayout::mode", index).clone(),
            stride: self.stride.mode("KernelLayout::mode", index).clone(),
            ..self.clone()
        }
    }
    /// Expansion of [`KernelLayout::slice`].
    pub fn __expand_slice_method(
        &self,
        scope: &Scope,
        index: NativeExpand<usize>,
        coordinate: KernelTupleExpand,
    ) -> Self {
        let index = comptime_index("KernelLayout::slice", index);
        let fixed = Self {
            shape: self.shape.mode("KernelLayout::slice", index).clone(),
            stride: self.stride.mode("KernelLayout::slice", index).clone(),
            ..self.clone()
        };
        let coord = fixed.checked("KernelLayout::slice", scope, coordinate);
        let moved = walk::offset(scope, &coord, &fixed.shape, &fixed.stride);
        Self {
            swizzle: self.swizzle,
            start: moved.add(scope, self.start),
            shape: without(&self.shape, index),
            stride: without(&self.stride, index),
        }
    }
}

/// The tuple without mode `index`; one mode that is left stands for itself.
fn without(tuple: &Tree, index: usize) -> Tree {
    let mut modes = tuple.modes().to_vec();
    modes.remove(index);
    match modes.len() {
        1 => modes.remove(0),
        _ => Tree::Tuple(modes),
    }
}
