//! Fewer modes, the same function.

use crate::modes::{LayoutBuilder, coalesce, to_layout};
use crate::{IntTuple, Layout, LayoutError};
use alloc::string::ToString;

impl Layout {
    /// The layout with the fewest modes that is the same function of the linear coordinate.
    ///
    /// Law: `size(R) = size(L)`, `R(i) = L(i)` for every `i < size(L)`, the depth of `R` is at most 1, and no layout
    /// with fewer leaves obeys this.
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let layout: Layout = "(2,(1,6)):(1,(6,2))".parse()?;
    /// assert_eq!(layout.coalesce(), "12:1".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn coalesce(&self) -> Layout {
        // No coalesced layout is larger than what it came from, and that one fits.
        to_layout(&coalesce(self.leaf_modes())).unwrap_or_else(|_| self.clone())
    }

    /// The layout with each mode coalesced where `profile` has an integer; modes of `profile` that are tuples reach
    /// into the mode, and modes past its rank stay as they are. Only the nesting of `profile` matters.
    ///
    /// # Errors
    /// [`LayoutError::TilerRank`] when a tuple of `profile` has more modes than the layout there.
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let layout: Layout = "(2,(1,6)):(1,(6,2))".parse()?;
    /// assert_eq!(layout.coalesce_by((1, 1))?, "(2,6):(1,2)".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn coalesce_by(&self, profile: impl Into<IntTuple>) -> Result<Layout, LayoutError> {
        let profile = profile.into();
        if profile.is_leaf() {
            return Ok(self.coalesce());
        }
        if profile.rank() > self.rank() {
            return Err(LayoutError::TilerRank {
                tiler: profile.to_string(),
                tiler_rank: profile.rank(),
                layout: self.to_string(),
                rank: self.rank(),
            });
        }
        let mut profiles = profile.modes();
        let mut builder = LayoutBuilder::new();
        let head = builder.open();
        for mode in self.modes() {
            match profiles.next() {
                Some(profile) => builder.append(&mode.coalesce_by(profile)?),
                None => builder.append(&mode),
            }
        }
        builder.close(head);
        builder.finish()
    }

    /// The layout without the modes that reach nothing new: those of stride 0 and of extent 1.
    ///
    /// Law: `R` is coalesced, reaches the same offsets as `L`, and has no mode of stride 0 or extent 1 (unless it is
    /// `1:0`).
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let broadcast: Layout = "(4,(8,2)):(0,(1,0))".parse()?;
    /// assert_eq!(broadcast.filter(), "8:1".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn filter(&self) -> Layout {
        let moving = self
            .leaf_modes()
            .filter(|mode| mode.stride.value() != 0 || mode.extent.value() == 0);
        to_layout(&coalesce(moving)).unwrap_or_else(|_| self.clone())
    }
}
