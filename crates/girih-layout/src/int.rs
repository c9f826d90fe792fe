//! Integers that are constants or values of a run.

use crate::LayoutError;

/// An extent, stride or coordinate: a constant of the program ([`Static`](Integer::Static)) or a value known when it
/// runs ([`Dynamic`](Integer::Dynamic)).
///
/// Arithmetic gives a static result only when both operands are static, and an error where 64 bits do not hold the
/// result.
///
/// ```
/// use girih_layout::Integer::{Dynamic, Static};
///
/// assert_eq!(Dynamic(4).try_add(Static(3))?, Dynamic(7));
/// assert_eq!(Static(2).try_mul(Static(3))?, Static(6));
/// assert!(Static(u64::MAX).try_add(Static(1)).is_err());
/// assert_eq!(format!("{} {}", Static(2), Dynamic(2)), "_2 2");
/// assert_eq!(format!("{:#}", Static(2)), "2");
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Integer {
    /// A constant: part of the program, with no data at run time. Printed `_4`.
    Static(u64),
    /// A value of this run. Printed `4`.
    Dynamic(u64),
}

impl Integer {
    pub(crate) const ZERO: Self = Self::Static(0);
    pub(crate) const ONE: Self = Self::Static(1);

    /// The number, static or not.
    #[inline]
    pub const fn value(self) -> u64 {
        match self {
            Self::Static(value) | Self::Dynamic(value) => value,
        }
    }

    /// Whether this is a constant.
    pub const fn is_static(self) -> bool {
        matches!(self, Self::Static(_))
    }

    /// The same number as a constant.
    pub const fn to_static(self) -> Self {
        Self::Static(self.value())
    }

    /// The same number as a value of the run.
    pub const fn to_dynamic(self) -> Self {
        Self::Dynamic(self.value())
    }

    /// The sum.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] above 64 bits.
    #[inline]
    pub fn try_add(self, other: Self) -> Result<Self, LayoutError> {
        self.combine(other, "+", u64::checked_add)
    }

    /// The product.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] above 64 bits.
    #[inline]
    pub fn try_mul(self, other: Self) -> Result<Self, LayoutError> {
        self.combine(other, "*", u64::checked_mul)
    }

    /// The quotient, rounded down.
    ///
    /// # Errors
    /// [`LayoutError::DivisionByZero`] when `other` is 0.
    #[inline]
    pub fn try_div(self, other: Self) -> Result<Self, LayoutError> {
        self.combine(other, "/", u64::checked_div)
    }

    /// The quotient, rounded up.
    ///
    /// # Errors
    /// [`LayoutError::DivisionByZero`] when `other` is 0.
    #[inline]
    pub fn try_div_ceil(self, other: Self) -> Result<Self, LayoutError> {
        self.combine(other, "/", |a, b| (b > 0).then(|| a.div_ceil(b)))
    }

    /// The remainder of the division.
    ///
    /// # Errors
    /// [`LayoutError::DivisionByZero`] when `other` is 0.
    #[inline]
    pub fn try_rem(self, other: Self) -> Result<Self, LayoutError> {
        self.combine(other, "%", u64::checked_rem)
    }

    #[inline]
    fn combine(
        self,
        other: Self,
        operation: &'static str,
        apply: impl Fn(u64, u64) -> Option<u64>,
    ) -> Result<Self, LayoutError> {
        match apply(self.value(), other.value()) {
            Some(value) => Ok(self.with_value(other, value)),
            None => Err(self.failed(other, operation)),
        }
    }

    /// Why `self operation other` has no result. Kept out of the way of the results that there are.
    #[cold]
    fn failed(self, other: Self, operation: &'static str) -> LayoutError {
        let (left, right) = (self.value(), other.value());
        match (operation, right) {
            ("/" | "%", 0) => LayoutError::DivisionByZero { dividend: left },
            _ => LayoutError::Overflow {
                left,
                operation,
                right,
            },
        }
    }

    /// `value`, static when both operands it came from are.
    #[inline]
    pub(crate) fn with_value(self, other: Self, value: u64) -> Self {
        match (self, other) {
            (Self::Static(_), Self::Static(_)) => Self::Static(value),
            _ => Self::Dynamic(value),
        }
    }
}

impl From<u64> for Integer {
    /// A dynamic integer, as a plain `int` is in CuTe; [`Static`](crate::Static) makes static ones.
    fn from(value: u64) -> Self {
        Self::Dynamic(value)
    }
}

impl Default for Integer {
    fn default() -> Self {
        Self::ZERO
    }
}
