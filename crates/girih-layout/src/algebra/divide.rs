//! Layouts cut into tiles.

use super::composition::compose_pair;
use crate::modes::LayoutBuilder;
use crate::{Layout, LayoutError, Tiler};

impl Layout {
    /// The layout cut into tiles: mode 0 goes through a tile, mode 1 from tile to tile. A [`Tiler`] of several modes
    /// cuts mode by mode, so that each mode becomes such a pair; modes past its rank stay whole.
    ///
    /// Law: `R = A ∘ (B, complement(B, size(A)))`, so `R(i, j) = A(B(i) + B*(j))`. Where `B` does not divide `A`, the
    /// last tiles stick out and read `A` as [`index_extended`](Layout::index_extended) does.
    ///
    /// # Errors
    /// Those of [`complement`](Layout::complement) for `B` and of [`composition`](Layout::composition).
    ///
    /// ```
    /// # use girih_layout::{Layout, Tiler};
    /// let a: Layout = "(4,2,3):(2,1,8)".parse()?;
    /// assert_eq!(a.logical_divide(&"4:2".parse::<Layout>()?)?, "((2,2),(2,3)):((4,1),(2,8))".parse()?);
    ///
    /// // Mode by mode: 3 of 9 rows, every 4th; 8 of 32 columns.
    /// let a: Layout = "(9,(4,8)):(59,(13,1))".parse()?;
    /// let tiler: Tiler = "<3:3,(2,4):(1,8)>".parse()?;
    /// assert_eq!(a.logical_divide(&tiler)?, "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn logical_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        match tiler.into() {
            Tiler::Layout(tile) => {
                let rest = tile.complement_modes(self.size())?;
                compose_pair(self, &tile, &rest)
            }
            Tiler::Modes(tilers) => self.by_mode(&tilers, |mode, tiler| mode.logical_divide(tiler)),
        }
    }

    /// [`logical_divide`](Layout::logical_divide) with all tile modes first: `((tile...), (rest...))`. Modes without a
    /// tiler go to the rest.
    ///
    /// # Errors
    /// Those of [`logical_divide`](Layout::logical_divide).
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let matrix: Layout = "(8,12):(1,8)".parse()?;
    /// assert_eq!(matrix.zipped_divide((4, 3))?, "((4,3),(2,4)):((1,8),(4,24))".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn zipped_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        let (tile, rest) = self.divide(&tiler.into())?;
        Layout::from_modes(&[tile, rest])
    }

    /// [`zipped_divide`](Layout::zipped_divide) with the rest unpacked: `((tile...), rest...)`.
    ///
    /// # Errors
    /// Those of [`logical_divide`](Layout::logical_divide).
    pub fn tiled_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        let (tile, rest) = self.divide(&tiler.into())?;
        tiled(&tile, &rest)
    }

    /// [`zipped_divide`](Layout::zipped_divide) with both unpacked: `(tile..., rest...)`.
    ///
    /// # Errors
    /// Those of [`logical_divide`](Layout::logical_divide).
    pub fn flat_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        let (tile, rest) = self.divide(&tiler.into())?;
        flat(&tile, &rest)
    }

    /// The tile and the rest of a division.
    pub(crate) fn divide(&self, tiler: &Tiler) -> Result<(Layout, Layout), LayoutError> {
        unzip(self, tiler, |layout, tile| layout.logical_divide(tile))
    }
}

/// `(first, second...)`.
pub(crate) fn tiled(first: &Layout, second: &Layout) -> Result<Layout, LayoutError> {
    let mut builder = LayoutBuilder::new();
    let head = builder.open();
    builder.append(first);
    builder.append_modes(second);
    builder.close(head);
    builder.finish()
}

/// `(first..., second...)`.
pub(crate) fn flat(first: &Layout, second: &Layout) -> Result<Layout, LayoutError> {
    let mut builder = LayoutBuilder::new();
    let head = builder.open();
    builder.append_modes(first);
    builder.append_modes(second);
    builder.close(head);
    builder.finish()
}

/// The two modes that `apply` makes, gathered over the modes of a tiler. Modes without a tiler go to the second.
pub(crate) fn unzip(
    layout: &Layout,
    tiler: &Tiler,
    apply: impl Fn(&Layout, &Layout) -> Result<Layout, LayoutError> + Copy,
) -> Result<(Layout, Layout), LayoutError> {
    let (mut first, mut second) = (LayoutBuilder::new(), LayoutBuilder::new());
    unzip_into(layout, tiler, apply, &mut first, &mut second)?;
    Ok((first.finish()?, second.finish()?))
}

fn unzip_into(
    layout: &Layout,
    tiler: &Tiler,
    apply: impl Fn(&Layout, &Layout) -> Result<Layout, LayoutError> + Copy,
    first: &mut LayoutBuilder,
    second: &mut LayoutBuilder,
) -> Result<(), LayoutError> {
    let tilers = match tiler {
        Tiler::Layout(tile) => {
            let pair = apply(layout, tile)?;
            first.append_mode(&pair, 0);
            second.append_mode(&pair, 1);
            return Ok(());
        }
        Tiler::Modes(tilers) => tilers,
    };
    layout.require_modes(tilers)?;
    let heads = (first.open(), second.open());
    let mut tilers = tilers.iter();
    for mode in layout.modes() {
        match tilers.next() {
            None => second.append(&mode),
            Some(tiler) => unzip_into(&mode, tiler, apply, first, second)?,
        }
    }
    first.close(heads.0);
    second.close(heads.1);
    Ok(())
}
