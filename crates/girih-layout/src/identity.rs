//! Layouts of coordinates.

use crate::{ComposedLayout, IntTuple, Integer, Layout, LayoutError, Tiler};
use alloc::vec::Vec;

/// A layout whose values are coordinates instead of offsets, CuTe's identity tensor: cut in the same way as a layout of
/// data, it tells for each element of a tile where in the whole it is, and so whether it is inside.
///
/// Law: before it is cut, `R(c) = c`; a part made with the operations below has at `i` the coordinate whose element a
/// data layout cut in the same way has at `i`, also past the end.
///
/// ```
/// use girih_layout::IdentityLayout;
///
/// // Tiles of 4 x 4 cut from a 6 x 10 matrix: the last one sticks out both ways.
/// let whole = IdentityLayout::new((6, 10))?;
/// let tile = whole.local_tile((4, 4), (1, 2))?;
/// assert_eq!(tile.index((1, 1))?, (5, 9).into());
/// assert!(tile.in_bounds((1, 1))?);
/// assert_eq!(tile.index((2, 3))?, (6, 11).into());
/// assert!(!tile.in_bounds((2, 3))?);
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdentityLayout {
    /// What the coordinates are coordinates of.
    space: IntTuple,
    /// What this layout is indexed by.
    shape: IntTuple,
    /// For each leaf of the space, its coordinate as a layout.
    axes: Vec<ComposedLayout>,
}

impl IdentityLayout {
    /// The layout that has at every coordinate of `shape` that coordinate.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] when the size of the shape needs more than 64 bits.
    pub fn new(shape: impl Into<IntTuple>) -> Result<Self, LayoutError> {
        let space = shape.into();
        let axes = (0..space.leaves().count()).map(|axis| {
            let mut leaf = 0..;
            let along = |_| Integer::Static(u64::from(leaf.next() == Some(axis)));
            let stride = space.map(along);
            Layout::new(&space, stride).map(ComposedLayout::from)
        });
        Ok(Self {
            axes: axes.collect::<Result<_, _>>()?,
            shape: space.clone(),
            space,
        })
    }

    /// The shape that the coordinates are in.
    pub fn space(&self) -> &IntTuple {
        &self.space
    }

    /// The shape that this layout is indexed by.
    pub fn shape(&self) -> &IntTuple {
        &self.shape
    }

    /// For each integer of the space, in order, the layout whose offsets are the coordinates along it. They have the
    /// modes of [`shape`](IdentityLayout::shape); inside a mode they may nest each in its own way.
    pub fn axes(&self) -> &[ComposedLayout] {
        &self.axes
    }

    /// The coordinate at a coordinate of this layout, nested like the space; it may be past the space's extents.
    ///
    /// # Errors
    /// [`LayoutError::CoordProfile`] and [`LayoutError::CoordOutOfRange`] when `coord` is not one of this layout's
    /// shape.
    pub fn index(&self, coord: impl Into<IntTuple>) -> Result<IntTuple, LayoutError> {
        let coord = coord.into();
        Layout::left(&self.shape)?.index(&coord)?;
        let along = |axis: &ComposedLayout| axis.index_extended(&coord);
        let mut leaves = self
            .axes
            .iter()
            .map(along)
            .collect::<Result<Vec<_>, _>>()?
            .into_iter();
        Ok(self.space.map(|extent| leaves.next().unwrap_or(extent)))
    }

    /// Whether the coordinate at a coordinate of this layout is inside the space.
    ///
    /// # Errors
    /// Those of [`index`](IdentityLayout::index).
    pub fn in_bounds(&self, coord: impl Into<IntTuple>) -> Result<bool, LayoutError> {
        let at = self.index(coord)?;
        let mut pairs = at.leaves().zip(self.space.leaves());
        Ok(pairs.all(|(at, extent)| at.value() < extent.value()))
    }

    /// The coordinates along `tiler`, as [`Layout::composition`].
    ///
    /// # Errors
    /// Those of [`Layout::composition`].
    pub fn composition(&self, tiler: impl Into<Tiler>) -> Result<Self, LayoutError> {
        let tiler = tiler.into();
        self.cut(|axis| axis.composition(&tiler), |cut| tiler.shape_on(cut))
    }

    /// The coordinates of all tiles, as [`Layout::zipped_divide`]: mode 0 goes through a tile, mode 1 from tile to tile.
    ///
    /// Law: `R(i, coord) = T(i)` with `T` the [tile](IdentityLayout::local_tile) at `coord`.
    ///
    /// # Errors
    /// Those of [`Layout::zipped_divide`].
    pub fn zipped_divide(&self, tiler: impl Into<Tiler>) -> Result<Self, LayoutError> {
        let tiler = tiler.into();
        self.cut(
            |axis| axis.with_layout(axis.layout().zipped_divide(&tiler)?),
            |cut| {
                let (tile, rest) = (tiler.shape_on(&cut.get(0)?)?, cut.get(1)?.product_each()?);
                Ok(IntTuple::tuple([tile, rest]))
            },
        )
    }

    /// The coordinates of a tile, as [`Layout::local_tile`].
    ///
    /// # Errors
    /// Those of [`Layout::local_tile`].
    pub fn local_tile(
        &self,
        tiler: impl Into<Tiler>,
        coord: impl Into<IntTuple>,
    ) -> Result<Self, LayoutError> {
        let (tiler, coord) = (tiler.into(), coord.into());
        self.cut(
            |axis| axis.local_tile(&tiler, &coord),
            |cut| tiler.shape_on(cut),
        )
    }

    /// The coordinates of what belongs to a unit, as [`Layout::local_partition`].
    ///
    /// # Errors
    /// Those of [`Layout::local_partition`].
    pub fn local_partition(&self, units: &Layout, unit: u64) -> Result<Self, LayoutError> {
        self.cut(
            |axis| axis.local_partition(units, unit),
            IntTuple::product_each,
        )
    }

    /// Every axis cut in the same way. How far each cut nests can differ, so the shape is the coarse one that all of
    /// them have.
    fn cut(
        &self,
        cut: impl Fn(&ComposedLayout) -> Result<ComposedLayout, LayoutError>,
        shape: impl Fn(&IntTuple) -> Result<IntTuple, LayoutError>,
    ) -> Result<Self, LayoutError> {
        let axes = self.axes.iter().map(cut).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            space: self.space.clone(),
            shape: match axes.first() {
                Some(axis) => shape(axis.shape())?,
                None => self.shape.clone(),
            },
            axes,
        })
    }
}
