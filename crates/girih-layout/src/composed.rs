//! Layouts that start somewhere, and swizzled layouts.

use crate::{IntTuple, Integer, Layout, LayoutError, Swizzle, Tiler};

/// A layout followed by an offset and a swizzle: `R(c) = swizzle(offset + layout(c))`, written `Sw<3,3,3> o 0 o
/// (8,64):(64,1)`.
///
/// A part of a layout, such as a [tile](Layout::local_tile), is one with the [identity](Swizzle::IDENTITY) swizzle.
///
/// ```
/// use girih_layout::ComposedLayout;
///
/// let layout: ComposedLayout = "Sw<1,0,2> o 0 o (4,4):(4,1)".parse()?;
/// // Rows 1 and 3 have the columns of each pair exchanged.
/// assert!((0..4).map(|j| layout.index((1, j)).map(|offset| offset.value())).eq([5, 4, 7, 6].map(Ok)));
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ComposedLayout {
    swizzle: Swizzle,
    offset: Integer,
    layout: Layout,
}

impl ComposedLayout {
    /// The layout `c -> swizzle(offset + layout(c))`.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] when the largest offset needs more than 64 bits.
    pub fn new(
        swizzle: Swizzle,
        offset: impl Into<Integer>,
        layout: Layout,
    ) -> Result<Self, LayoutError> {
        let offset = offset.into();
        offset.try_add(layout.cosize())?;
        Ok(Self {
            swizzle,
            offset,
            layout,
        })
    }

    /// The swizzle, which comes last.
    pub fn swizzle(&self) -> Swizzle {
        self.swizzle
    }

    /// What is added to the offsets of the layout.
    pub fn offset(&self) -> Integer {
        self.offset
    }

    /// The layout, which comes first.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The extents.
    pub fn shape(&self) -> &IntTuple {
        self.layout.shape()
    }

    /// The number of modes; 1 for an integer shape.
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// The number of coordinates.
    pub fn size(&self) -> Integer {
        self.layout.size()
    }

    /// The offset of a coordinate: linear, one integer per mode, fully nested, or mixed.
    ///
    /// # Errors
    /// Those of [`Layout::index`].
    pub fn index(&self, coord: impl Into<IntTuple>) -> Result<Integer, LayoutError> {
        self.place(self.layout.index(coord)?)
    }

    /// The offset of a coordinate that may be past the end.
    ///
    /// # Errors
    /// Those of [`Layout::index_extended`].
    pub fn index_extended(&self, coord: impl Into<IntTuple>) -> Result<Integer, LayoutError> {
        self.place(self.layout.index_extended(coord)?)
    }

    /// The offsets of all coordinates, the first mode fastest.
    pub fn offsets(&self) -> impl Iterator<Item = u64> + '_ {
        // `new` has made sure that the sum fits.
        let offset = self.offset.value();
        self.layout
            .offsets()
            .map(move |inner| self.swizzle.apply(offset + inner))
    }

    /// The layout `self ∘ tiler`.
    ///
    /// Law: `R(c) = self(tiler(c))`, with a tiler of several modes mode by mode.
    ///
    /// # Errors
    /// Those of [`Layout::composition`].
    pub fn composition(&self, tiler: impl Into<Tiler>) -> Result<Self, LayoutError> {
        self.with_layout(self.layout.composition(tiler)?)
    }

    /// Swizzle and offset kept, another layout before them.
    pub(crate) fn with_layout(&self, layout: Layout) -> Result<Self, LayoutError> {
        Self::new(self.swizzle, self.offset, layout)
    }

    fn place(&self, inner: Integer) -> Result<Integer, LayoutError> {
        let offset = self.offset.try_add(inner)?;
        Ok(offset.with_value(offset, self.swizzle.apply(offset.value())))
    }
}

impl From<Layout> for ComposedLayout {
    fn from(layout: Layout) -> Self {
        Self {
            swizzle: Swizzle::IDENTITY,
            offset: Integer::ZERO,
            layout,
        }
    }
}

impl From<&Layout> for ComposedLayout {
    fn from(layout: &Layout) -> Self {
        layout.clone().into()
    }
}

impl From<&ComposedLayout> for ComposedLayout {
    fn from(layout: &ComposedLayout) -> Self {
        layout.clone()
    }
}
