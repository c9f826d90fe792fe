//! Parts of a layout: the tile at a place, and what of a tile belongs to a unit.

use crate::{ComposedLayout, IntTuple, Integer, Layout, LayoutError, Tiler, idx2crd};
use alloc::string::ToString;

impl Layout {
    /// The tile at `coord` among the tiles that `tiler` cuts the layout into.
    ///
    /// Law: `R(i) = Z(i, coord)` with `Z = zipped_divide(L, tiler)`. A tile at the edge may stick out of the layout;
    /// the tile of an [`IdentityLayout`](crate::IdentityLayout) tells where.
    ///
    /// # Errors
    /// [`LayoutError::CoordOutOfRange`] or [`LayoutError::CoordProfile`] for a `coord` that is no tile, and those of
    /// [`zipped_divide`](Layout::zipped_divide).
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let matrix: Layout = "(8,12):(12,1)".parse()?;
    /// let tile = matrix.local_tile((4, 3), (1, 2))?;
    /// assert_eq!(tile.offset().value(), 4 * 12 + 2 * 3);
    /// assert_eq!(tile.layout(), &"(4,3):(12,1)".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn local_tile(
        &self,
        tiler: impl Into<Tiler>,
        coord: impl Into<IntTuple>,
    ) -> Result<ComposedLayout, LayoutError> {
        ComposedLayout::from(self).local_tile(tiler, coord)
    }

    /// What belongs to `unit` when the layout is cut into tiles of the shape of `units`, and of each tile every unit
    /// takes the element at its own coordinate.
    ///
    /// Law: `R(j) = Z(c, j)` with `Z = zipped_divide(L, shape(units))` and `units(c) = unit`. Over all units, every
    /// element is taken exactly once.
    ///
    /// # Errors
    /// [`LayoutError::NoUnit`] for a unit that `units` does not reach, those of [`left_inverse`](Layout::left_inverse)
    /// for `units`, and those of [`zipped_divide`](Layout::zipped_divide).
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let matrix: Layout = "(8,12):(1,8)".parse()?;
    /// let units: Layout = "(4,2):(2,1)".parse()?;
    /// // Unit 3 is at (1, 1) of each 4 x 2 tile, of which there are 2 x 6.
    /// let part = matrix.local_partition(&units, 3)?;
    /// assert_eq!(part.offset().value(), 9);
    /// assert_eq!(part.layout(), &"(2,6):(4,16)".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn local_partition(
        &self,
        units: &Layout,
        unit: u64,
    ) -> Result<ComposedLayout, LayoutError> {
        ComposedLayout::from(self).local_partition(units, unit)
    }
}

impl ComposedLayout {
    /// The tile at `coord`, as [`Layout::local_tile`].
    ///
    /// # Errors
    /// Those of [`Layout::local_tile`].
    pub fn local_tile(
        &self,
        tiler: impl Into<Tiler>,
        coord: impl Into<IntTuple>,
    ) -> Result<Self, LayoutError> {
        let (tile, rest) = self.layout().divide(&tiler.into())?;
        self.moved(rest.index(coord)?, tile)
    }

    /// What belongs to `unit`, as [`Layout::local_partition`].
    ///
    /// # Errors
    /// Those of [`Layout::local_partition`].
    pub fn local_partition(&self, units: &Layout, unit: u64) -> Result<Self, LayoutError> {
        let (coord, shape) = coord_of_unit(units, unit)?;
        let (tile, rest) = self.layout().divide(&Tiler::from(shape))?;
        self.moved(tile.index(coord)?, rest)
    }

    fn moved(&self, by: Integer, layout: Layout) -> Result<Self, LayoutError> {
        Self::new(self.swizzle(), self.offset().try_add(by)?, layout)
    }
}

/// The coordinate of a unit, one integer per mode, and the shape that it is in.
fn coord_of_unit(units: &Layout, unit: u64) -> Result<(IntTuple, IntTuple), LayoutError> {
    let shape = units.shape().product_each()?;
    let linear = units.left_inverse()?.index(unit);
    let reached = linear.and_then(|linear| Ok((linear, units.index(linear)?)));
    match reached {
        Ok((linear, reached)) if reached.value() == unit => Ok((idx2crd(linear, &shape)?, shape)),
        _ => Err(LayoutError::NoUnit {
            unit,
            units: units.to_string(),
        }),
    }
}
