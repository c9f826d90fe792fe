//! One layout after another.

use super::extension::Extension;
use crate::modes::{LayoutBuilder, Mode};
use crate::tuple::View;
use crate::{Layout, LayoutError, Tiler};
use alloc::format;
use alloc::string::ToString;

impl Layout {
    /// The layout `A ∘ B`: where `B` sends a coordinate, `A` goes on. A [`Tiler`] of several modes composes mode by mode; modes of `A`
    /// past its rank stay as they are.
    ///
    /// Law: `R(c) = A(B(c))` for every coordinate `c` of `B`, and `B`'s shape is compatible with `R`'s: a coordinate of `B` is one of
    /// `R`. Offsets of `B` past the end of `A` read `A` as [`index_extended`](Layout::index_extended) does.
    ///
    /// # Errors
    /// [`LayoutError::NoComposition`] when no layout obeys the law, [`LayoutError::TilerRank`] when the tiler has more modes than `A`,
    /// [`LayoutError::Empty`], [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let a: Layout = "(6,2):(8,2)".parse()?;
    /// let b: Layout = "(4,3):(3,1)".parse()?;
    /// assert_eq!(a.composition(&b)?, "((2,2),3):((24,2),8)".parse()?);
    ///
    /// // Mode by mode.
    /// let a: Layout = "(12,(4,8)):(59,(13,1))".parse()?;
    /// let tiler = "<3:4,8:2>".parse::<girih_layout::Tiler>()?;
    /// assert_eq!(a.composition(tiler)?, "(3,(2,4)):(236,(26,1))".parse()?);
    ///
    /// // Steps of 3 through rows of 4 are no layout, unless the walk ends before it bends.
    /// let a: Layout = "(4,3):(1,100)".parse()?;
    /// assert!(a.composition(&"4:3".parse::<Layout>()?).is_err());
    /// assert_eq!(a.composition(&"2:3".parse::<Layout>()?)?, "2:3".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn composition(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        match tiler.into() {
            Tiler::Layout(inner) => compose(self, &inner),
            Tiler::Modes(tilers) => self.by_mode(&tilers, |mode, tiler| mode.composition(tiler)),
        }
    }

    /// The layout with `apply` done to each mode that has a tiler.
    pub(crate) fn by_mode(
        &self,
        tilers: &[Tiler],
        apply: impl Fn(&Layout, &Tiler) -> Result<Layout, LayoutError>,
    ) -> Result<Layout, LayoutError> {
        self.require_modes(tilers)?;
        let mut tilers = tilers.iter();
        let mut builder = LayoutBuilder::new();
        let head = builder.open();
        for mode in self.modes() {
            match tilers.next() {
                Some(tiler) => builder.append(&apply(&mode, tiler)?),
                None => builder.append(&mode),
            }
        }
        builder.close(head);
        builder.finish()
    }

    pub(crate) fn require_modes(&self, tilers: &[Tiler]) -> Result<(), LayoutError> {
        if tilers.len() <= self.rank() {
            return Ok(());
        }
        Err(LayoutError::TilerRank {
            tiler: Tiler::Modes(tilers.to_vec()).to_string(),
            tiler_rank: tilers.len(),
            layout: self.to_string(),
            rank: self.rank(),
        })
    }
}

/// `outer ∘ inner`.
pub(crate) fn compose(outer: &Layout, inner: &Layout) -> Result<Layout, LayoutError> {
    // An empty layout composes with anything, also with what has no digits to walk.
    if inner.size().value() == 0 {
        return Layout::new(inner.shape(), inner.stride().map(|_| crate::Integer::ZERO));
    }
    let mut composing = Composing {
        outer,
        extension: Extension::of(outer)?,
        out: LayoutBuilder::new(),
    };
    composing.write(inner.shape().view(), inner.stride().view())?;
    composing.out.finish()
}

struct Composing<'a> {
    outer: &'a Layout,
    extension: Extension,
    out: LayoutBuilder,
}

impl Composing<'_> {
    fn write(&mut self, shape: View<'_>, stride: View<'_>) -> Result<(), LayoutError> {
        if let (Some(extent), Some(stride)) = (shape.leaf(), stride.leaf()) {
            return self.write_leaf(Mode { extent, stride });
        }
        let head = self.out.open();
        for (shape, stride) in shape.modes().zip(stride.modes()) {
            self.write(shape, stride)?;
        }
        self.out.close(head);
        Ok(())
    }

    fn write_leaf(&mut self, leaf: Mode) -> Result<(), LayoutError> {
        match self.extension.walk(leaf.extent, leaf.stride)? {
            Some(modes) => self.out.leaf_or_tuple(&modes),
            None => {
                return Err(LayoutError::NoComposition {
                    outer: self.outer.to_string(),
                    inner: format!("{}:{}", leaf.extent, leaf.stride),
                });
            }
        }
        Ok(())
    }
}
