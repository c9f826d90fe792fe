//! The coordinates that a layout does not see.

use crate::modes::{Mode, Modes, coalesce, to_layout};
use crate::{Integer, Layout, LayoutError};

impl Layout {
    /// The layout of the linear coordinates that are sent to offset 0.
    ///
    /// Law: `R` reaches every `i < size(L)` with `L(i) = 0` exactly once, in ascending order, and nothing else.
    ///
    /// # Errors
    /// [`LayoutError::Empty`] for a layout without elements.
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let broadcast: Layout = "(4,8,2):(1,0,4)".parse()?;
    /// assert_eq!(broadcast.nullspace()?, "8:4".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn nullspace(&self) -> Result<Layout, LayoutError> {
        self.require_elements()?;
        let mut still = Modes::new();
        let mut place = Integer::ONE;
        for mode in self.leaf_modes() {
            if mode.stride.value() == 0 {
                still.push(Mode {
                    extent: mode.extent,
                    stride: place,
                });
            }
            place = place.try_mul(mode.extent)?;
        }
        to_layout(&coalesce(still.iter().copied()))
    }
}
