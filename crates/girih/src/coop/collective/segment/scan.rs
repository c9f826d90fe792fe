//! Running values of a segment, and those before each.

use super::super::super::lower::{self, WordType};
use super::super::super::machine::{Kernel, Machine};
use super::super::super::operators::{Associative, Known};
use super::super::super::words;
use super::{Order, Segment, word_type};
use cubecl::prelude::*;

/// Whether what comes before a value is its sum less the value, and nothing is 0.
pub(in crate::coop) fn has_differences<E: CubePrimitive, O: Associative<E>>(scope: &Scope) -> bool {
    let is_integer = matches!(
        word_type::<E>(scope),
        Some(WordType::Signed | WordType::Unsigned)
    );
    is_integer && O::KNOWN == Some(Known::Sum)
}

/// Whether the target adds floats from lane to lane in a way that also gives what comes before them.
fn adds_floats<E: CubePrimitive, O: Associative<E>>(kernel: &Kernel<'_>) -> bool {
    let is_float = word_type::<E>(kernel.scope()) == Some(WordType::Float);
    is_float && O::KNOWN == Some(Known::Sum) && kernel.is_ptx()
}

impl Segment<'_> {
    /// The values up to this unit's combined.
    pub(in crate::coop) fn scan<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
    ) -> NativeExpand<E> {
        if let Some(sums) = self.sums::<E, O>(value) {
            return sums;
        }
        self.strides().fold(value, |value, stride| {
            self.combine_from_before::<E, O>(value, stride)
        })
    }

    /// The same of sums of neighbours, in two instructions a step where the target has them.
    fn sums<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
    ) -> Option<NativeExpand<E>> {
        let Order::Neighbours(first, _) = self.order else {
            return None;
        };
        let ty = word_type::<E>(self.scope())?;
        if O::KNOWN != Some(Known::Sum) {
            return None;
        }
        let strides: Vec<u32> = self.strides().collect();
        let word = words::split::<E>(self.scope(), self.call, value)[0];
        let sums = lower::sums_of_neighbours(self.kernel, word, ty, &strides, first, self.lanes)?;
        Some(words::join::<E>(self.scope(), self.call, &[sums]))
    }

    fn combine_from_before<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
        stride: u32,
    ) -> NativeExpand<E> {
        let kernel = self.kernel;
        let is_first = kernel.is_below(self.rank, stride.into());
        let rank = kernel.sub(self.rank, stride.into());
        let rank = kernel.select(is_first, self.rank, rank);
        let other = self.fetch(value, rank, true.into());
        let both = O::__expand_combine(self.scope(), other, value);
        select::expand::<E>(self.scope(), is_first, value, both)
    }

    /// The values up to this unit's combined, and those before it; on the first, nothing where [differences](has_differences)
    /// say it, else anything.
    pub(in crate::coop) fn scan_and_before<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
    ) -> [NativeExpand<E>; 2] {
        if let Some(both) = self.sums_and_before::<E, O>(value) {
            return both;
        }
        let scanned = self.scan::<E, O>(value);
        [scanned, self.before::<E, O>(scanned, value)]
    }

    /// By one shuffle a step: what a unit is told it adds to its sum, and to the sum of those before it.
    fn sums_and_before<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
    ) -> Option<[NativeExpand<E>; 2]> {
        let Order::Neighbours(first, _) = self.order else {
            return None;
        };
        let strides: Vec<u32> = self.strides().collect();
        if !adds_floats::<E, O>(self.kernel) || strides.is_empty() {
            return None;
        }
        let word = words::split::<E>(self.scope(), self.call, value)[0];
        let sums = lower::sums_and_before(self.kernel, word, &strides, first, self.lanes)?;
        Some(sums.map(|word| words::join::<E>(self.scope(), self.call, &[word])))
    }

    /// What the unit before this one has of a scan, in which this unit's value came to `scanned`; on the first, nothing where
    /// [differences](has_differences) say it, else anything.
    fn before<E: CubePrimitive, O: Associative<E>>(
        &self,
        scanned: NativeExpand<E>,
        value: NativeExpand<E>,
    ) -> NativeExpand<E> {
        let (kernel, scope) = (self.kernel, self.scope());
        if has_differences::<E, O>(scope) {
            let [all, own] =
                [scanned, value].map(|value| words::split::<E>(scope, self.call, value)[0]);
            return words::join::<E>(scope, self.call, &[kernel.sub(all, own)]);
        }
        let is_first = kernel.is_below(self.rank, 1u32.into());
        let rank = kernel.sub(self.rank, 1u32.into());
        let rank = kernel.select(is_first, self.rank, rank);
        self.fetch(scanned, rank, true.into())
    }
}
