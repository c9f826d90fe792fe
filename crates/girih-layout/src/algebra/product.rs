//! Layouts repeated.

use super::composition::compose;
use super::divide::{flat, tiled, unzip};
use crate::modes::{LayoutBuilder, Mode};
use crate::{Integer, Layout, LayoutError, Tiler};

impl Layout {
    /// The layout repeated: mode 0 is `A` itself, mode 1 goes from copy to copy as `B` says. An integer `n` makes `n`
    /// copies, one after the other. A [`Tiler`] of several modes works mode by mode; modes past its rank stay as they
    /// are.
    ///
    /// Law: `R = (A, complement(A, size(A) * cosize(B)) ∘ B)`, so `R(i, j) = A(i) + A*(B(j))`; copies do not overlap.
    ///
    /// # Errors
    /// Those of [`complement`](Layout::complement) for `A` and of [`composition`](Layout::composition).
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let a: Layout = "(2,2):(4,1)".parse()?;
    /// let b: Layout = "6:1".parse()?;
    /// assert_eq!(a.logical_product(&b)?, "((2,2),(2,3)):((4,1),(2,8))".parse()?);
    /// assert_eq!(a.logical_product(6)?, a.logical_product(&b)?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn logical_product(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        match tiler.into() {
            Tiler::Layout(copies) => {
                let max = self.size().try_mul(copies.cosize())?;
                let places = compose(&self.complement(max)?, &copies)?;
                Layout::from_modes(&[self.clone(), places])
            }
            Tiler::Modes(tilers) => {
                self.by_mode(&tilers, |mode, tiler| mode.logical_product(tiler))
            }
        }
    }

    /// [`logical_product`](Layout::logical_product) with all modes of `A` first: `((A...), (copies...))`. Modes without
    /// a tiler follow the copies.
    ///
    /// # Errors
    /// Those of [`logical_product`](Layout::logical_product).
    pub fn zipped_product(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        let (block, copies) = self.product(&tiler.into())?;
        Layout::from_modes(&[block, copies])
    }

    /// [`zipped_product`](Layout::zipped_product) with the copies unpacked: `((A...), copies...)`.
    ///
    /// # Errors
    /// Those of [`logical_product`](Layout::logical_product).
    pub fn tiled_product(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        let (block, copies) = self.product(&tiler.into())?;
        tiled(&block, &copies)
    }

    /// [`zipped_product`](Layout::zipped_product) with both unpacked: `(A..., copies...)`.
    ///
    /// # Errors
    /// Those of [`logical_product`](Layout::logical_product).
    pub fn flat_product(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        let (block, copies) = self.product(&tiler.into())?;
        flat(&block, &copies)
    }

    /// The layout repeated as blocks: each mode goes through the block first, then from block to block. A 2 x 5 block
    /// times a 3 x 4 grid is a 6 x 20 matrix of 12 whole blocks.
    ///
    /// Law: `R((i_0, j_0), (i_1, j_1), ...) = P(i, j)` with `P = logical_product(A, B)`. The one of lower rank gets
    /// modes of extent 1 at its end.
    ///
    /// # Errors
    /// Those of [`logical_product`](Layout::logical_product).
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let block: Layout = "(2,5):(5,1)".parse()?;
    /// let grid: Layout = "(3,4):(1,3)".parse()?;
    /// assert_eq!(block.blocked_product(&grid)?, "((2,3),(5,4)):((5,10),(1,30))".parse()?);
    /// assert_eq!(block.raked_product(&grid)?, "((3,2),(4,5)):((10,5),(30,1))".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn blocked_product(&self, grid: &Layout) -> Result<Layout, LayoutError> {
        let (block, copies) = self.padded_product(grid)?;
        interleave(&block, &copies)
    }

    /// The layout repeated as interleaved copies: each mode goes through the copies first, then through the block.
    ///
    /// Law: `R((j_0, i_0), (j_1, i_1), ...) = P(i, j)` with `P = logical_product(A, B)`. The one of lower rank gets
    /// modes of extent 1 at its end.
    ///
    /// # Errors
    /// Those of [`logical_product`](Layout::logical_product).
    pub fn raked_product(&self, grid: &Layout) -> Result<Layout, LayoutError> {
        let (block, copies) = self.padded_product(grid)?;
        interleave(&copies, &block)
    }

    /// The block and the copies of a product.
    fn product(&self, tiler: &Tiler) -> Result<(Layout, Layout), LayoutError> {
        unzip(self, tiler, |block, copies| block.logical_product(copies))
    }

    fn padded_product(&self, grid: &Layout) -> Result<(Layout, Layout), LayoutError> {
        let rank = self.rank().max(grid.rank());
        let product = self.padded(rank)?.logical_product(grid.padded(rank)?)?;
        Ok((product.mode(0)?, product.mode(1)?))
    }

    /// The layout as a tuple of `rank` modes, with modes `1:0` at its end where it has fewer.
    fn padded(&self, rank: usize) -> Result<Layout, LayoutError> {
        let mut builder = LayoutBuilder::new();
        let head = builder.open();
        builder.append_modes(self);
        for _ in self.rank()..rank {
            builder.leaf(Mode {
                extent: Integer::ONE,
                stride: Integer::ZERO,
            });
        }
        builder.close(head);
        builder.finish()
    }
}

/// Mode `i` of the result is the pair of the modes `i`.
fn interleave(inner: &Layout, outer: &Layout) -> Result<Layout, LayoutError> {
    let mut builder = LayoutBuilder::new();
    let head = builder.open();
    for (inner, outer) in inner.modes().zip(outer.modes()) {
        let pair = builder.open();
        builder.append(&inner);
        builder.append(&outer);
        builder.close(pair);
    }
    builder.close(head);
    builder.finish()
}
