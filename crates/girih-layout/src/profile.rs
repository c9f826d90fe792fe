//! Layouts without their dynamic values.

use crate::coord::require_congruent;
use crate::{IntTuple, Integer, Layout, LayoutError};
use alloc::string::ToString;

/// A layout whose dynamic integers are numbered instead of known: `Dynamic(k)` in its shape or stride stands for value
/// number `k` of [`Layout::dynamics`]. Equal profiles can share a compiled kernel.
///
/// ```
/// use girih_layout::{Layout, consts::*};
///
/// let small = Layout::new((_8, 10), (_1, 80))?;
/// let large = Layout::new((_8, 99), (_1, 1024))?;
/// assert_eq!(small.profile(), large.profile());
/// assert_eq!(small.profile().to_string(), "(_8,?0):(_1,?1)");
/// assert_eq!(small.profile().bind(&[99, 1024])?, large);
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Profile {
    shape: IntTuple,
    stride: IntTuple,
}

impl Profile {
    pub(crate) fn of(layout: &Layout) -> Self {
        let mut next = 0;
        let mut number = |leaf| match leaf {
            Integer::Static(_) => leaf,
            Integer::Dynamic(_) => {
                next += 1;
                Integer::Dynamic(next - 1)
            }
        };
        Self {
            shape: layout.shape().map(&mut number),
            stride: layout.stride().map(&mut number),
        }
    }

    /// The extents, each static or the number of a dynamic value.
    pub fn shape(&self) -> &IntTuple {
        &self.shape
    }

    /// The strides, each static or the number of a dynamic value.
    pub fn stride(&self) -> &IntTuple {
        &self.stride
    }

    /// How many dynamic values there are.
    pub fn dynamic_count(&self) -> usize {
        let leaves = self.shape.leaves().chain(self.stride.leaves());
        leaves.filter(|leaf| !leaf.is_static()).count()
    }

    /// The layout with these dynamic values.
    ///
    /// # Errors
    /// [`LayoutError::DynamicCount`] when there are more or fewer than the profile takes, [`LayoutError::Overflow`]
    /// when the layout would not fit in 64 bits.
    pub fn bind(&self, values: &[u64]) -> Result<Layout, LayoutError> {
        require_congruent(&self.shape, &self.stride)?;
        if values.len() != self.dynamic_count() {
            return Err(LayoutError::DynamicCount {
                profile: self.to_string(),
                expected: self.dynamic_count(),
                given: values.len(),
            });
        }
        let bind = |leaf| match leaf {
            Integer::Dynamic(number) => Integer::Dynamic(values[number as usize]),
            leaf => leaf,
        };
        Layout::new(self.shape.map(bind), self.stride.map(bind))
    }
}
