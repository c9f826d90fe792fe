//! What a layout leaves out.

use crate::modes::{Mode, Modes, coalesce, to_layout};
use crate::{Integer, Layout, LayoutError};
use alloc::string::ToString;

impl Layout {
    /// The layout of where to repeat this one so that the copies fill a range of at least `max` offsets.
    ///
    /// Law, with `F` the modes of `L` whose stride is not 0: every offset below `size(F) * size(R)` is `F(i) + R(j)`
    /// for exactly one pair `(i, j)`; that size is the first multiple of the reach of `L` (largest stride times its
    /// extent) that is at least `max`; `R` is strictly increasing and coalesced.
    ///
    /// # Errors
    /// [`LayoutError::NoComplement`] when the strides, sorted, are not each a multiple of the reach before them: then
    /// copies overlap or leave holes wherever they are put. [`LayoutError::Empty`] for a layout without elements.
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let columns: Layout = "(2,2):(1,6)".parse()?;
    /// assert_eq!(format!("{:#}", columns.complement(24)?), "(3,2):(2,12)");
    /// assert!("(4,2):(1,3)".parse::<Layout>()?.complement(24).is_err());
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn complement(&self, max: impl Into<Integer>) -> Result<Layout, LayoutError> {
        to_layout(&self.complement_modes(max.into())?)
    }

    /// The leaves of the complement, coalesced.
    pub(crate) fn complement_modes(&self, max: Integer) -> Result<Modes, LayoutError> {
        self.require_elements()?;
        let mut moving: Modes = self
            .leaf_modes()
            .filter(|mode| mode.extent.value() > 1 && mode.stride.value() > 0)
            .collect();
        moving.sort_unstable_by_key(|mode| mode.stride.value());
        let mut reach = Integer::ONE;
        let mut gaps = Modes::new();
        for mode in moving.iter() {
            if mode.stride.value() % reach.value() != 0 {
                return Err(LayoutError::NoComplement {
                    layout: self.to_string(),
                    stride: mode.stride.value(),
                    reach: reach.value(),
                });
            }
            gaps.push(Mode {
                extent: mode.stride.try_div(reach)?,
                stride: reach,
            });
            reach = mode.stride.try_mul(mode.extent)?;
        }
        let copies = max.try_div_ceil(reach)?;
        gaps.push(Mode {
            extent: if copies.value() == 0 {
                Integer::ONE
            } else {
                copies
            },
            stride: reach,
        });
        Ok(coalesce(gaps.iter().copied()))
    }

    pub(crate) fn require_elements(&self) -> Result<(), LayoutError> {
        match self.size().value() {
            0 => Err(LayoutError::Empty {
                layout: self.to_string(),
            }),
            _ => Ok(()),
        }
    }
}
