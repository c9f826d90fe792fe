//! How far two layouts go together.

use super::composition::compose;
use crate::modes::{Mode, Modes, to_layout};
use crate::{Integer, Layout, LayoutError};

impl Layout {
    /// The largest layout of linear coordinates at which `self` and `other` both have the offsets `0, 1, 2, ...`: the
    /// elements that a vector access can copy between the two.
    ///
    /// Law: `A(R(i)) = B(R(i)) = i` for every `i < size(R)`; `R` is the longest prefix of `B`'s [right
    /// inverse](Layout::right_inverse) that obeys this inside `A`.
    ///
    /// # Errors
    /// [`LayoutError::Empty`] for a layout without elements.
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let memory: Layout = "(8,4):(1,16)".parse()?;
    /// let registers: Layout = "(8,4):(1,8)".parse()?;
    /// assert_eq!(format!("{:#}", memory.max_common_layout(&registers)?), "8:1");
    /// assert_eq!(memory.max_common_vector(&registers)?.value(), 8);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn max_common_layout(&self, other: &Layout) -> Result<Layout, LayoutError> {
        self.require_elements()?;
        let inverse = other.right_inverse()?;
        let mut prefix = Modes::new();
        for mode in inverse.leaf_modes() {
            let extent = self.longest_count(&prefix, mode);
            if extent.value() > 1 {
                prefix.push(Mode { extent, ..mode });
            }
            if extent.value() < mode.extent.value() {
                break;
            }
        }
        Ok(to_layout(&prefix)?.coalesce())
    }

    /// How many consecutive offsets, from 0 on, belong to the same elements in `self` and in `other`: the widest vector
    /// access that can copy between the two, alignment aside.
    ///
    /// Law: it is the size of the [largest common layout](Layout::max_common_layout).
    ///
    /// # Errors
    /// [`LayoutError::Empty`] for a layout without elements.
    pub fn max_common_vector(&self, other: &Layout) -> Result<Integer, LayoutError> {
        Ok(self.max_common_layout(other)?.size())
    }

    /// The largest extent up to that of `mode` with which `prefix` and it still count `0, 1, 2, ...`.
    fn longest_count(&self, prefix: &Modes, mode: Mode) -> Integer {
        let counts = |extent: u64| {
            let mut modes = prefix.clone();
            modes.push(Mode {
                extent: Integer::Static(extent),
                ..mode
            });
            to_layout(&modes).is_ok_and(|coords| self.counts_along(&coords))
        };
        if counts(mode.extent.value()) {
            return mode.extent;
        }
        // Every shorter count is part of a longer one, so the longest is found by halving.
        let (mut good, mut bad) = (1, mode.extent.value());
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            match counts(middle) {
                true => good = middle,
                false => bad = middle,
            }
        }
        Integer::Dynamic(good)
    }

    /// Whether the offsets along `coords`, all of them inside this layout, are `0, 1, 2, ...`.
    fn counts_along(&self, coords: &Layout) -> bool {
        if coords.cosize().value() > self.size().value() {
            return false;
        }
        compose(self, coords).is_ok_and(|walk| {
            let walk = walk.coalesce();
            let stride = walk.stride().as_integer();
            walk.size().value() == 1 || stride.is_some_and(|stride| stride.value() == 1)
        })
    }
}
