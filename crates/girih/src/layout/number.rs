//! Integers of layouts while a kernel is expanded: known then, or computed by the kernel.

use cubecl::prelude::*;

/// An extent, stride, coordinate or offset. What can be computed while the kernel is expanded is, so that it leaves no
/// instruction behind.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    /// Known while the kernel is expanded.
    Known(u64),
    /// A value of 32 bits, and the least number that is known to be above it.
    Narrow(NativeExpand<u32>, u64),
    /// A value as wide as the kernel's addresses.
    Wide(NativeExpand<usize>),
}
use Number::{Known, Narrow, Wide};

/// What 32 bits count up to.
const NARROW: u64 = 1 << 32;

impl Number {
    pub(super) const ZERO: Self = Known(0);

    /// A value below `bound`.
    pub(crate) fn below(value: NativeExpand<u32>, bound: u64) -> Self {
        match value.constant() {
            Some(constant) => Known(constant.as_u64()),
            None => Narrow(value, bound.min(NARROW)),
        }
    }

    /// The same number, which stays what it is now when the kernel assigns to the variable that it came from.
    pub(super) fn read(self, scope: &Scope) -> Self {
        match self {
            Known(_) => self,
            Narrow(value, bound) => Narrow(value.read_value(scope).into(), bound),
            Wide(value) => Wide(value.read_value(scope).into()),
        }
    }

    /// The number as an address; a known one wraps where addresses of the kernel do.
    pub(crate) fn wide(self, scope: &Scope) -> NativeExpand<usize> {
        match self {
            Known(value) if usize::__expand_size(scope) == 4 => (value as u32 as usize).into(),
            Known(value) => (value as usize).into(),
            Narrow(value, _) => usize::__expand_cast_from(scope, value),
            Wide(value) => value,
        }
    }

    /// The number in 32 bits, which hold it.
    pub(crate) fn narrow(self, scope: &Scope) -> NativeExpand<u32> {
        match self {
            Known(value) => (value as u32).into(),
            Narrow(value, _) => value,
            Wide(value) => u32::__expand_cast_from(scope, value),
        }
    }

    /// The least number known to be above this one, where 32 bits hold this one.
    fn bound(self) -> Option<u64> {
        match self {
            Known(value) => (value < NARROW).then_some(value + 1),
            Narrow(_, bound) => Some(bound),
            Wide(_) => None,
        }
    }

    /// Adds or multiplies: in 32 bits where the bounds of both say that these hold the result, else in addresses.
    fn combine(
        self,
        scope: &Scope,
        other: Self,
        bound: impl Fn(u64, u64) -> Option<u64>,
        narrow: impl Fn(NativeExpand<u32>, NativeExpand<u32>) -> NativeExpand<u32>,
        wide: impl Fn(NativeExpand<usize>, NativeExpand<usize>) -> NativeExpand<usize>,
    ) -> Self {
        let bounds = self.bound().zip(other.bound());
        match bounds.and_then(|(a, b)| bound(a, b)) {
            Some(bound) if bound <= NARROW => {
                Narrow(narrow(self.narrow(scope), other.narrow(scope)), bound)
            }
            _ => Wide(wide(self.wide(scope), other.wide(scope))),
        }
    }

    pub(crate) fn add(self, scope: &Scope, other: Self) -> Self {
        match (self, other) {
            (Known(a), Known(b)) => Known(a.wrapping_add(b)),
            (number, Known(0)) | (Known(0), number) => number,
            _ => self.combine(
                scope,
                other,
                |a, b| Some(a + b - 1),
                |a, b| a.__expand_add_method(scope, b),
                |a, b| a.__expand_add_method(scope, b),
            ),
        }
    }

    pub(crate) fn mul(self, scope: &Scope, other: Self) -> Self {
        match (self, other) {
            (Known(a), Known(b)) => Known(a.wrapping_mul(b)),
            (_, Known(0)) | (Known(0), _) => Known(0),
            (number, Known(1)) | (Known(1), number) => number,
            _ => self.combine(
                scope,
                other,
                |a, b| Some((a - 1).checked_mul(b - 1)? + 1),
                |a, b| a.__expand_mul_method(scope, b),
                |a, b| a.__expand_mul_method(scope, b),
            ),
        }
    }

    /// The remainder of a division by an extent; 0 where the extent is.
    pub(crate) fn rem(self, scope: &Scope, extent: Self) -> Self {
        match (self, extent) {
            (_, Known(0 | 1)) => Known(0),
            (Known(a), Known(b)) => Known(a % b),
            (Narrow(_, bound), Known(extent)) if bound <= extent => self,
            (Narrow(value, _), Known(extent)) => {
                let rest = value.__expand_rem_method(scope, (extent as u32).into());
                Narrow(rest, extent)
            }
            _ => {
                let extent = divisor(scope, extent);
                Wide(self.wide(scope).__expand_rem_method(scope, extent))
            }
        }
    }

    /// The quotient by an extent; no matter what where the extent is 0.
    pub(crate) fn div(self, scope: &Scope, extent: Self) -> Self {
        match (self, extent) {
            (_, Known(1)) => self,
            (_, Known(0)) => Known(0),
            (Known(a), Known(b)) => Known(a / b),
            (Narrow(_, bound), Known(extent)) if bound <= extent => Known(0),
            (Narrow(value, bound), Known(extent)) => {
                let quotient = value.__expand_div_method(scope, (extent as u32).into());
                Narrow(quotient, bound.div_ceil(extent))
            }
            _ => {
                let extent = divisor(scope, extent);
                Wide(self.wide(scope).__expand_div_method(scope, extent))
            }
        }
    }

    pub(crate) fn is_below(self, scope: &Scope, extent: Self) -> NativeExpand<bool> {
        match (self, extent) {
            (Known(a), Known(b)) => (a < b).into(),
            (_, Known(0)) => false.into(),
            (Narrow(_, bound), Known(extent)) if bound <= extent => true.into(),
            (Narrow(value, _), Known(extent)) => {
                value.__expand_lt_method(scope, &(extent as u32).into())
            }
            _ => {
                let extent = extent.wide(scope);
                self.wide(scope).__expand_lt_method(scope, &extent)
            }
        }
    }

    /// `f` of the number where it is known, `g` of it as an address where it is not.
    pub(super) fn map(
        self,
        scope: &Scope,
        f: impl FnOnce(u64) -> u64,
        g: impl FnOnce(NativeExpand<usize>) -> NativeExpand<usize>,
    ) -> Self {
        match self {
            Known(value) => Known(f(value)),
            number => Wide(g(number.wide(scope))),
        }
    }
}

/// What to divide by: an extent that is only known at run time may be 0, and a division by 0 ends the process on a CPU.
fn divisor(scope: &Scope, extent: Number) -> NativeExpand<usize> {
    match extent {
        Known(_) => extent.wide(scope),
        _ => extent.wide(scope).__expand_max_method(scope, 1usize.into()),
    }
}
