//! One layout after another.

use super::extension::{Extension, Parts};
use crate::modes::{LayoutBuilder, Mode, to_layout};
use crate::tuple::View;
use crate::{Integer, Layout, LayoutError, Tiler};
use alloc::format;
use alloc::string::ToString;

impl Layout {
    /// The layout `A ∘ B`: where `B` sends a coordinate, `A` goes on. A [`Tiler`] of several modes composes mode by
    /// mode; modes of `A` past its rank stay as they are.
    ///
    /// Law: `R(c) = A(B(c))` for every coordinate `c` of `B`, and `B`'s shape is compatible with `R`'s: a coordinate of
    /// `B` is one of `R`. Offsets of `B` past the end of `A` read `A` as [`index_extended`](Layout::index_extended)
    /// does.
    ///
    /// # Errors
    /// [`LayoutError::NoComposition`] when no layout obeys the law, or when more than 2^16 sums would have to be looked
    /// at to tell (only where carries of several modes could cancel), [`LayoutError::TilerRank`] when the tiler has
    /// more modes than `A`, [`LayoutError::Empty`], [`LayoutError::Overflow`].
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
        return Layout::new(inner.shape(), inner.stride().map(|_| Integer::ZERO));
    }
    let extension = Extension::of(outer)?;
    let mut composing = Composing::new(&extension);
    composing.add(inner);
    if composing.exists()? {
        return composing.out.finish();
    }
    Err(LayoutError::NoComposition {
        outer: outer.to_string(),
        inner: inner.to_string(),
    })
}

/// `outer ∘ (first, second)`, of layouts that are not empty.
pub(crate) fn compose_pair(
    outer: &Layout,
    first: &Layout,
    second: &[Mode],
) -> Result<Layout, LayoutError> {
    let extension = Extension::of(outer)?;
    let mut composing = Composing::new(&extension);
    let head = composing.out.open();
    composing.add(first);
    composing.add_modes(second);
    composing.out.close(head);
    if composing.exists()? {
        return composing.out.finish();
    }
    Err(LayoutError::NoComposition {
        outer: outer.to_string(),
        inner: format!("({first}, {})", to_layout(second)?),
    })
}

/// A composition that is being written, leaf by leaf of the inner layout. Each leaf has one possible image; together
/// they must add up as well.
struct Composing<'a> {
    extension: &'a Extension,
    parts: Parts,
    out: LayoutBuilder,
    /// Whether each leaf so far has an image: an error, or none.
    so_far: Result<bool, LayoutError>,
}

impl<'a> Composing<'a> {
    #[inline]
    fn new(extension: &'a Extension) -> Self {
        Self {
            extension,
            parts: Parts::new(),
            out: LayoutBuilder::new(),
            so_far: Ok(true),
        }
    }

    fn add(&mut self, inner: &Layout) {
        self.add_part(inner.shape().view(), inner.stride().view());
    }

    fn add_part(&mut self, shape: View<'_>, stride: View<'_>) {
        if let (Some(extent), Some(stride)) = (shape.leaf(), stride.leaf()) {
            return self.add_leaf(extent, stride);
        }
        let head = self.out.open();
        for (shape, stride) in shape.modes().zip(stride.modes()) {
            self.add_part(shape, stride);
        }
        self.out.close(head);
    }

    /// One leaf as a leaf, several as a tuple.
    fn add_modes(&mut self, modes: &[Mode]) {
        if let [mode] = modes {
            return self.add_leaf(mode.extent, mode.stride);
        }
        let head = self.out.open();
        for mode in modes {
            self.add_leaf(mode.extent, mode.stride);
        }
        self.out.close(head);
    }

    fn add_leaf(&mut self, extent: Integer, stride: Integer) {
        if !matches!(self.so_far, Ok(true)) {
            return;
        }
        let start = self.parts.len();
        match self.extension.walk(extent, stride, &mut self.parts) {
            Ok(true) => {}
            refused => self.so_far = refused,
        }
        let images = self.parts[start..].iter().map(|part| Mode {
            extent: part.extent,
            stride: part.stride,
        });
        self.out.leaf_or_tuple(images);
    }

    /// Whether all that was added has an image.
    fn exists(&mut self) -> Result<bool, LayoutError> {
        let each = core::mem::replace(&mut self.so_far, Ok(false))?;
        Ok(each && self.extension.adds_up(&self.parts))
    }
}
