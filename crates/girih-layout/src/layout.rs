//! Layouts: shape and stride as a function from coordinates to offsets.

use crate::coord::{compact_left, crd2idx_extended, require_congruent};
use crate::modes::LayoutBuilder;
use crate::tuple::View;
use crate::{IntTuple, Integer, LayoutError, Path, Profile, crd2idx, idx2crd};
use alloc::vec::Vec;

/// A function from coordinates to offsets, `shape:stride`: each leaf of a coordinate is multiplied by its stride, and
/// the products are added up.
///
/// Shape and stride nest in the same way, and both the size and the largest offset fit in 64 bits. Strides are never
/// negative.
///
/// ```
/// use girih_layout::Layout;
///
/// // A 4 x 3 matrix, its columns one after the other, with 8 elements from one column to the next.
/// let layout = Layout::new((4, 3), (1, 8))?;
/// assert_eq!(layout.size().value(), 12);
/// assert_eq!(layout.cosize().value(), 20);
/// assert_eq!(layout.index((2, 1))?.value(), 10);
/// assert_eq!(layout.index(6)?.value(), 10);
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: IntTuple,
    stride: IntTuple,
}

impl Layout {
    /// The layout `shape:stride`.
    ///
    /// # Errors
    /// [`LayoutError::NotCongruent`] when they nest differently, [`LayoutError::Overflow`] when the size or the largest
    /// offset needs more than 64 bits.
    pub fn new(
        shape: impl Into<IntTuple>,
        stride: impl Into<IntTuple>,
    ) -> Result<Self, LayoutError> {
        let (shape, stride) = (shape.into(), stride.into());
        require_congruent(&shape, &stride)?;
        Self::from_congruent(shape, stride)
    }

    /// As [`new`](Self::new), for tuples that nest in the same way.
    #[inline]
    pub(crate) fn from_congruent(shape: IntTuple, stride: IntTuple) -> Result<Self, LayoutError> {
        if !fits(shape.view(), stride.view()) {
            shape.size()?;
            cosize(shape.view(), stride.view())?;
        }
        Ok(Self { shape, stride })
    }

    /// The compact layout of `shape` whose leftmost leaf moves fastest (column-major): each stride is the product of
    /// the extents to its left.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] when the size needs more than 64 bits.
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// assert_eq!(Layout::left((2, 3, 4))?, "(2,3,4):(_1,2,6)".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn left(shape: impl Into<IntTuple>) -> Result<Self, LayoutError> {
        let shape = shape.into();
        let stride = compact_left(&shape)?;
        Self::new(shape, stride)
    }

    /// The compact layout of `shape` whose rightmost leaf moves fastest (row-major): each stride is the product of the
    /// extents to its right.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] when the size needs more than 64 bits.
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// assert_eq!(Layout::right((2, 3, 4))?, "(2,3,4):(12,4,_1)".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn right(shape: impl Into<IntTuple>) -> Result<Self, LayoutError> {
        let shape = shape.into();
        let extents: Vec<_> = shape.leaves().collect();
        let order: Vec<_> = (0..extents.len()).rev().collect();
        Self::compact(shape, &extents, &order)
    }

    /// The compact layout of `shape` whose leaf with the lowest number in `order` moves fastest; equal numbers go from
    /// left to right.
    ///
    /// # Errors
    /// [`LayoutError::NotCongruent`] when shape and order nest differently, [`LayoutError::Overflow`] when the size
    /// needs more than 64 bits.
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// assert_eq!(Layout::ordered((2, 3, 4), (1, 0, 2))?, "(2,3,4):(3,_1,6)".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn ordered(
        shape: impl Into<IntTuple>,
        order: impl Into<IntTuple>,
    ) -> Result<Self, LayoutError> {
        use alloc::string::ToString;
        let (shape, order) = (shape.into(), order.into());
        if !shape.congruent(&order) {
            return Err(LayoutError::NotCongruent {
                left_name: "shape",
                left: shape.to_string(),
                right_name: "order",
                right: order.to_string(),
            });
        }
        let ranks: Vec<_> = order.leaves().map(Integer::value).collect();
        let extents: Vec<_> = shape.leaves().collect();
        let mut leaves: Vec<_> = (0..extents.len()).collect();
        leaves.sort_by_key(|&leaf| ranks[leaf]);
        Self::compact(shape, &extents, &leaves)
    }

    /// Compact strides given to the leaves in the order of `leaves`.
    fn compact(
        shape: IntTuple,
        extents: &[Integer],
        leaves: &[usize],
    ) -> Result<Self, LayoutError> {
        let in_order = IntTuple::tuple(leaves.iter().map(|&leaf| extents[leaf].into()));
        let mut strides = Vec::from(extents);
        for (&leaf, stride) in leaves.iter().zip(compact_left(&in_order)?.leaves()) {
            strides[leaf] = stride;
        }
        let mut strides = strides.into_iter();
        let stride = shape.map(|extent| strides.next().unwrap_or(extent));
        Self::new(shape, stride)
    }

    /// The layout `extent:1`, which sends every coordinate to itself.
    pub(crate) fn consecutive(extent: Integer) -> Self {
        Self {
            shape: extent.into(),
            stride: Integer::ONE.into(),
        }
    }

    /// The layout with these layouts as its modes.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] when the size or the largest offset needs more than 64 bits.
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let modes: [Layout; 2] = ["2:1".parse()?, "(3,4):(2,6)".parse()?];
    /// assert_eq!(Layout::from_modes(&modes)?, "(2,(3,4)):(1,(2,6))".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn from_modes(modes: &[Layout]) -> Result<Self, LayoutError> {
        let mut builder = LayoutBuilder::new();
        let head = builder.open();
        for mode in modes {
            builder.append(mode);
        }
        builder.close(head);
        builder.finish()
    }

    /// The extents.
    pub fn shape(&self) -> &IntTuple {
        &self.shape
    }

    /// The strides, nested like the shape.
    pub fn stride(&self) -> &IntTuple {
        &self.stride
    }

    /// The number of modes; 1 for an integer shape.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// How deep the shape nests: 0 for an integer shape.
    pub fn depth(&self) -> usize {
        self.shape.depth()
    }

    /// How many coordinates there are: the product of the extents.
    pub fn size(&self) -> Integer {
        // `new` has made sure that this fits.
        self.shape.size().unwrap_or_default()
    }

    /// How long a range of offsets is reached: 1 + the largest offset, 0 for an empty layout.
    pub fn cosize(&self) -> Integer {
        // `new` has made sure that this fits.
        cosize(self.shape.view(), self.stride.view()).unwrap_or_default()
    }

    /// The part of the layout at `path`: its shape and stride there. By it every question can be asked of a part:
    /// `layout.mode([1, 0])?.size()` is CuTe's `size<1,0>(layout)`.
    ///
    /// # Errors
    /// [`LayoutError::NoMode`] where the path leads nowhere.
    pub fn mode(&self, path: impl Path) -> Result<Layout, LayoutError> {
        Ok(Self {
            shape: self.shape.get(path.indices())?,
            stride: self.stride.get(path.indices())?,
        })
    }

    /// The modes in order; a layout of an integer shape has one, itself.
    pub fn modes(&self) -> impl ExactSizeIterator<Item = Layout> + '_ {
        self.shape
            .modes()
            .zip(self.stride.modes())
            .map(|(shape, stride)| Self { shape, stride })
    }

    /// The offset of a coordinate: linear, one integer per mode, fully nested, or mixed.
    ///
    /// # Errors
    /// [`LayoutError::CoordProfile`] when the coordinate does not fit the shape, [`LayoutError::CoordOutOfRange`] when
    /// it is past an extent.
    pub fn index(&self, coord: impl Into<IntTuple>) -> Result<Integer, LayoutError> {
        crd2idx(&coord.into(), &self.shape, &self.stride)
    }

    /// The offset of a coordinate that may be past the end: the last leaf that an integer of the coordinate reaches is
    /// taken as endless. This is how tiles that stick out of a layout are addressed; what lies there is the caller's
    /// affair.
    ///
    /// # Errors
    /// [`LayoutError::CoordProfile`] when the coordinate does not fit the shape, [`LayoutError::DivisionByZero`] where
    /// an extent before the last is 0, [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let layout: Layout = "(4,3):(1,8)".parse()?;
    /// assert!(layout.index(13).is_err());
    /// assert_eq!(layout.index_extended(13)?.value(), 25);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn index_extended(&self, coord: impl Into<IntTuple>) -> Result<Integer, LayoutError> {
        crd2idx_extended(&coord.into(), &self.shape, &self.stride)
    }

    /// The coordinate at a linear coordinate, nested like the shape.
    ///
    /// # Errors
    /// [`LayoutError::CoordOutOfRange`] when `linear` is not below the size.
    pub fn coord(&self, linear: impl Into<Integer>) -> Result<IntTuple, LayoutError> {
        idx2crd(linear, &self.shape)
    }

    /// The offsets of all coordinates, the first mode fastest.
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let layout = Layout::new((2, 3), (3, 1))?;
    /// assert!(layout.offsets().eq([0, 3, 1, 4, 2, 5]));
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn offsets(&self) -> impl Iterator<Item = u64> + '_ {
        // Neither the size nor an offset in it overflows.
        (0..self.size().value()).map(|i| self.index(i).map_or(0, Integer::value))
    }

    /// The same layout without nesting: every leaf is a mode. An integer shape stays one.
    pub fn flatten(&self) -> Layout {
        Self {
            shape: self.shape.flatten(),
            stride: self.stride.flatten(),
        }
    }

    /// Whether every extent and stride is static.
    pub fn is_static(&self) -> bool {
        self.shape.is_static() && self.stride.is_static()
    }

    /// The same numbers, all static.
    pub fn to_static(&self) -> Layout {
        Self {
            shape: self.shape.to_static(),
            stride: self.stride.to_static(),
        }
    }

    /// The same numbers, all dynamic.
    pub fn to_dynamic(&self) -> Layout {
        Self {
            shape: self.shape.to_dynamic(),
            stride: self.stride.to_dynamic(),
        }
    }

    /// The dynamic values: those of the shape, then those of the stride, each from left to right.
    pub fn dynamics(&self) -> impl Iterator<Item = u64> + '_ {
        self.shape
            .leaves()
            .chain(self.stride.leaves())
            .filter(|leaf| !leaf.is_static())
            .map(Integer::value)
    }

    /// The layout without its dynamic values: what a kernel is compiled for.
    pub fn profile(&self) -> Profile {
        Profile::of(self)
    }
}

/// Whether size and cosize fit in 64 bits; `false` also where a 0 makes up for what does not.
fn fits(shape: View<'_>, stride: View<'_>) -> bool {
    let leaves = shape.leaves().zip(stride.leaves());
    let size_and_last =
        leaves
            .into_iter()
            .try_fold((1u64, 0u64), |(size, last), (extent, stride)| {
                let reach = extent.value().checked_sub(1)?.checked_mul(stride.value())?;
                Some((size.checked_mul(extent.value())?, last.checked_add(reach)?))
            });
    size_and_last.is_some_and(|(_, last)| last < u64::MAX)
}

fn cosize(shape: View<'_>, stride: View<'_>) -> Result<Integer, LayoutError> {
    let size = shape.size()?;
    if size.value() == 0 {
        return Ok(size);
    }
    let mut last = Integer::ZERO;
    for (extent, stride) in shape.leaves().zip(stride.leaves()) {
        let steps = match extent {
            Integer::Static(extent) => Integer::Static(extent - 1),
            Integer::Dynamic(extent) => Integer::Dynamic(extent - 1),
        };
        // What never moves, or moves by nothing, adds nothing: the sum stays static.
        if steps != Integer::ZERO && stride != Integer::ZERO {
            last = last.try_add(steps.try_mul(stride)?)?;
        }
    }
    last.try_add(Integer::ONE)
}
